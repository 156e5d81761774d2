//! The JSON schemas of tools: four texts for subagents, and one composed from the parameters of a function.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{
    chat::Schema,
    declare::{AgentInvocationModePolicy, ParamDefault, ParamInfo, Params, SubAgentContextPolicy},
};

macro_rules! subagent_text {
    ($($property:expr),*) => {
        concat!(
            r#"{"type":"object","properties":{"input":{"type":"string","description":"The task for the subagent, in full. "#,
            r#"Say what it has to do, everything it must know for it, and what its answer should look like."}"#,
            $(",", $property,)*
            r#"},"required":["input"],"additionalProperties":false}"#
        )
    };
}

macro_rules! mode_property {
    () => {
        concat!(
            r#""invocationMode":{"type":"string","enum":["synchronous","background"],"default":"synchronous","#,
            r#""description":"`synchronous` waits for the answer and returns it; the right choice unless the work can "#,
            r#"go on without you. `background` returns at once, and the answer comes later."}"#
        )
    };
}

macro_rules! context_property {
    () => {
        concat!(
            r#""context":{"type":"string","enum":["fork","fresh"],"default":"fresh","#,
            r#""description":"What the subagent knows when it starts. `fresh`: only `input`; the right choice unless it "#,
            r#"needs the conversation so far. `fork`: the whole conversation up to now."}"#
        )
    };
}

/// The schema of a subagent's arguments. One of four texts: `invocationMode` and `context` are there only where the
/// policy leaves the choice to the model.
///
/// ```
/// use hpd_agent::{declare::{AgentInvocationModePolicy, SubAgentContextPolicy}, tool::schema::subagent_schema};
///
/// const SCHEMA: &str = subagent_schema(AgentInvocationModePolicy::SynchronousOnly, SubAgentContextPolicy::ModelChoice);
/// assert!(SCHEMA.contains("\"context\"") && !SCHEMA.contains("\"invocationMode\""));
/// ```
#[must_use]
pub const fn subagent_schema(mode: AgentInvocationModePolicy, context: SubAgentContextPolicy) -> &'static str {
    match (mode.is_model_choice(), context.is_model_choice()) {
        (false, false) => subagent_text!(),
        (true, false) => subagent_text!(mode_property!()),
        (false, true) => subagent_text!(context_property!()),
        (true, true) => subagent_text!(mode_property!(), context_property!()),
    }
}

/// The schema of a function's arguments: an object with the parameters that the model gives, in the order of the
/// declaration. Subschemas stand in their place; only a type that contains itself gets a definition.
#[doc(hidden)]
#[must_use]
pub fn function_schema(params: &Params) -> Schema {
    match params {
        Params::Schema(schema) => schema.schema().clone(),
        params => schema_of(params.iter()),
    }
}

fn schema_of<'a>(params: impl IntoIterator<Item = ParamInfo<'a>>) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut generator = settings.into_generator();
    let mut properties = Members::default();
    let mut required = Vec::new();
    for param in params.into_iter().filter(|param| param.in_schema) {
        let default = param.default.map(ParamDefault::value);
        let is_required = default.is_none() && !(param.optional)();
        let schema = described((param.schema)(&mut generator).to_value(), param.doc, default);
        properties.push(param.name, &schema);
        if is_required {
            required.push(param.name);
        }
    }
    let mut object = Members::default();
    object.push("type", &"object".into());
    object.push_text("properties", &properties.close());
    if !required.is_empty() {
        object.push("required", &required.into());
    }
    object.push("additionalProperties", &false.into());
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        object.push("$defs", &Value::Object(definitions));
    }
    Schema::from_text(object.close())
}

/// The schema with the parameter's doc comment as its description, and its default.
fn described(schema: Value, doc: Option<&str>, default: Option<Value>) -> Value {
    let default = default.filter(|default| !default.is_null());
    if doc.is_none() && default.is_none() {
        return schema;
    }
    let mut members = match schema {
        Value::Object(members) => members,
        // `true`: any value.
        _ => serde_json::Map::new(),
    };
    if let Some(doc) = doc {
        members.insert("description".to_owned(), doc.into());
    }
    if let Some(default) = default {
        members.insert("default".to_owned(), default);
    }
    Value::Object(members)
}

/// The text of a JSON object whose members stay in the order in which they come, whatever the features of the JSON
/// library are.
#[derive(Default)]
struct Members(String);

impl Members {
    fn push(&mut self, name: &str, value: &Value) {
        self.push_text(name, &value.to_string());
    }

    fn push_text(&mut self, name: &str, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
    }

    fn close(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::declare::{Cancellation, FunctionContext};

    fn subagent(mode: AgentInvocationModePolicy, context: SubAgentContextPolicy) -> Value {
        serde_json::from_str(subagent_schema(mode, context)).unwrap()
    }

    fn property_order(text: &str) -> Vec<&str> {
        let mut found: Vec<_> = ["input", "invocationMode", "context"]
            .into_iter()
            .filter_map(|name| text.find(&format!("\"{name}\":{{")).map(|at| (at, name)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn the_policies_decide_which_of_four_texts_it_is() {
        use AgentInvocationModePolicy as Mode;
        use SubAgentContextPolicy as Context;
        for mode in [Mode::SynchronousOnly, Mode::BackgroundOnly, Mode::ModelChoice] {
            for context in [Context::Fork, Context::Fresh, Context::Isolated, Context::ModelChoice] {
                let text = subagent_schema(mode, context);
                let schema = subagent(mode, context);
                let mut expected = vec!["input"];
                expected.extend(mode.is_model_choice().then_some("invocationMode"));
                expected.extend(context.is_model_choice().then_some("context"));
                assert_eq!(property_order(text), expected, "{mode:?} {context:?}");
                assert_eq!(schema["properties"].as_object().unwrap().len(), expected.len());
                assert_eq!(schema["required"], json!(["input"]));
                assert_eq!(schema["additionalProperties"], json!(false));
                assert!(schema.get("$schema").is_none());
            }
        }
    }

    #[test]
    fn golden_text_of_the_largest_subagent_schema() {
        let text = subagent_schema(AgentInvocationModePolicy::ModelChoice, SubAgentContextPolicy::ModelChoice);
        assert_eq!(text, include_str!("subagent_schema.golden.json").trim_end());
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Place {
        /// Its name.
        name: String,
        near: Option<Coordinates>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Coordinates {
        latitude: f64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Tree {
        children: Vec<Tree>,
    }

    #[test]
    fn a_function_schema_keeps_the_order_and_leaves_out_what_comes_from_the_runtime() {
        let schema = schema_of([
            ParamInfo::of::<Place>("place", Some("Where.\n\nSecond paragraph.")),
            ParamInfo::of::<&FunctionContext>("ctx", None),
            ParamInfo::of::<Option<u32>>("days", None),
            ParamInfo::of::<Cancellation>("cancellation", None),
            ParamInfo::of::<bool>("aloud", None),
        ]);
        let text = schema.text();
        let at = |name: &str| text.find(&format!("\"{name}\":")).unwrap();
        assert!(at("place") < at("days") && at("days") < at("aloud"), "{text}");
        let value = schema.value();
        assert_eq!(value["required"], json!(["place", "aloud"]));
        assert_eq!(value["additionalProperties"], json!(false));
        assert_eq!(value["properties"].as_object().unwrap().len(), 3);
        assert_eq!(value["properties"]["place"]["description"], "Where.\n\nSecond paragraph.");
        assert_eq!(value["properties"]["place"]["properties"]["name"]["description"], "Its name.");
        assert!(!text.contains("$ref") && !text.contains("$defs") && !text.contains("$schema"), "{text}");
    }

    #[test]
    fn only_recursive_types_have_definitions() {
        let schema = schema_of([ParamInfo::of::<Tree>("tree", Some("A tree."))]);
        let value = schema.value();
        assert!(value["$defs"].as_object().unwrap().contains_key("Tree"), "{value}");
        assert!(schema.text().contains("#/$defs/Tree"), "{value}");
        assert_eq!(value["properties"]["tree"]["description"], "A tree.");
    }

    #[test]
    fn a_function_without_parameters_takes_an_empty_object() {
        assert_eq!(schema_of([]).text(), r#"{"type":"object","properties":{},"additionalProperties":false}"#);
    }

    #[test]
    fn any_value_with_a_description_is_an_object_schema() {
        let schema = schema_of([ParamInfo::of::<Value>("value", Some("Anything."))]);
        assert_eq!(schema.value()["properties"]["value"]["description"], "Anything.");
    }
}
