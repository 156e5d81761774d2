//! Real types, their schemas, and the forms of these that providers are sent.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::indexing_slicing, clippy::panic, reason = "a test may fail loudly")]

mod by_hand;
mod golden;
mod properties;
mod samples;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use hpd_agent::{
    chat::Schema,
    declare::{AgentInvocationModePolicy, OwnedParam, ParamInfo, Params, SubAgentContextPolicy},
    tool::schema::{function_schema, subagent_schema},
};

/// The schema of a function with one parameter, `value`.
fn schema_of<T: DeserializeOwned + JsonSchema>() -> Schema {
    function_schema(&Params::Owned(vec![OwnedParam::of::<T>("value", Some("The value."))]))
}

/// The schema of a function whose parameter has a default.
fn with_default() -> Schema {
    const DAYS: &[ParamInfo<'static>] = &[ParamInfo::of::<u8>("days", Some("For how long.")).with_default(|| 3.into())];
    function_schema(&Params::Static(DAYS))
}

/// The four schemas of subagents.
fn subagents() -> [(&'static str, Schema); 4] {
    use AgentInvocationModePolicy as Mode;
    use SubAgentContextPolicy as Context;
    [
        ("subagent", Mode::SynchronousOnly, Context::Fresh),
        ("subagent_with_context", Mode::SynchronousOnly, Context::ModelChoice),
        ("subagent_with_mode", Mode::ModelChoice, Context::Fork),
        ("subagent_with_mode_and_context", Mode::ModelChoice, Context::ModelChoice),
    ]
    .map(|(name, mode, context)| (name, Schema::from_static(subagent_schema(mode, context))))
}

/// What is wrong with a schema as a schema.
fn against_the_meta_schema(schema: &Value) -> Vec<String> {
    jsonschema::draft202012::meta::validator().iter_errors(schema).map(|error| error.to_string()).collect()
}

/// What is wrong with a value.
fn complaints(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
