//! Names of the user's own that are those of the standard library, of ours, or of what is generated.
#![allow(
    non_camel_case_types,
    non_snake_case,
    dead_code,
    clippy::wrong_self_convention,
    clippy::too_many_arguments,
    clippy::should_implement_trait
)]

use super::{define, function, info, methods, refusal, sub_agent, text};

mod own {
    //! Nothing of this is what it looks like.

    pub(super) struct bool;
    pub(super) struct Box;
    pub(super) struct Vec;
    pub(super) struct Option;
    pub(super) struct Result;
    pub(super) struct SubAgentContextPolicy;
    pub(super) struct AgentInvocationModePolicy;
    pub(super) struct HarnessRef;
    pub(super) struct Metadata;
    pub(super) fn Ok() {}
    pub(super) fn Some() {}
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait Default {}
    pub(super) trait Fn {}
    pub(super) trait Future {}
    pub(super) trait ToolHarness {
        const HARNESS: u32 = 1;
    }
}
mod plain {
    #[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Nothing;
}
mod arguments {
    pub(super) use super::plain::{Nothing as String, Nothing as str};
}
#[allow(unused_imports)]
use {arguments::*, own::*};

mod core {}
mod std {}
mod alloc {}
mod hpd_agent_private {}
mod inventory {}
mod __private {}

#[allow(unused_macros)]
mod macros {
    macro_rules! env {
        ($($any:tt)*) => {
            compile_error!("not ours")
        };
    }
    macro_rules! module_path {
        ($($any:tt)*) => {
            compile_error!("not ours")
        };
    }
    pub(super) use {env, module_path};
}
#[allow(unused_imports)]
use macros::{env, module_path};

/// Methods for everything, by names that the generated code calls.
trait Everywhere: Sized {
    fn finish(self) {}
    fn name(self) {}
    fn agent_id(self) {}
    fn into_sub_agent(self) {}
    fn from_harness_context(self) {}
    fn requires_permission(self) {}
}
impl<T> Everywhere for T {}

#[derive(::core::default::Default)]
struct Shadowed;

impl own::ToolHarness for Shadowed {}

#[::hpd_agent::tool_harness(name = NAME)]
impl Shadowed {
    const HARNESS: &'static ::core::primitive::str = "shadowed.constant";
    const DEFAULT: u32 = 2;
    const ENTRIES: u32 = 3;

    fn default() -> u32 {
        Self::DEFAULT
    }

    /// All the names of generated parameters.
    #[ai_function(name = "names", exclusive, requires_permission)]
    async fn call(
        &self,
        this: u32,
        arguments: u32,
        context: u32,
        value: u32,
        metadata: u32,
        __value: u32,
        __hpd: u32,
        ctx: &::hpd_agent::declare::FunctionContext,
    ) -> ::core::result::Result<u32, ::std::string::String> {
        let _ = ctx;
        ::core::result::Result::Ok(this + arguments + context + value + metadata + __value + __hpd)
    }

    /// The names of generated methods.
    #[ai_function]
    fn define(&self, text: String) -> String {
        text
    }

    /// A type by the name of a primitive one.
    #[ai_function]
    fn function(text: str, #[arg(default = arguments::str)] other: str) -> str {
        let _ = other;
        text
    }

    /// Policies by the names of their variants, where the types are others.
    #[subagent(
        agent_id = Self::HARNESS,
        name = "sub",
        context = ModelChoice,
        invocation_mode = SynchronousOnly,
        availability = ::hpd_agent::declare::SubAgentAvailability::through_depth(Self::DEFAULT),
        lifecycle = Continuable,
        fork_compaction = Disable,
        tool_harnesses = [Shadowed, self::Shadowed],
        metadata(Ok = 1, this = "x"),
    )]
    fn sub_agent(&self, this: &::hpd_agent::declare::HarnessContext) -> ::hpd_agent::declare::AgentConfig {
        ::hpd_agent::declare::AgentConfig::new(this.agent_name())
    }

    /// Neither a name nor an id is said.
    #[subagent]
    #[allow(clippy::new_ret_no_self)]
    async fn new() -> ::core::result::Result<::hpd_agent::declare::SubAgent, ::std::string::String> {
        ::core::result::Result::Ok(::hpd_agent::declare::SubAgent::from_parent("shadowed.new"))
    }
}

const NAME: &::core::primitive::str = "shadowed";

fn id(sub_agent: &::hpd_agent::declare::SubAgent) -> &::core::primitive::str {
    ::hpd_agent::declare::SubAgent::agent_id(sub_agent)
}

#[::tokio::test]
async fn generated_code_means_what_it_says() {
    let tools = Shadowed;
    assert_eq!(methods(&tools), ["call", "define", "function", "sub_agent", "new"]);
    let ones = r#"{"this":1,"arguments":1,"context":1,"value":1,"metadata":1,"__value":1,"__hpd":1}"#;
    assert_eq!(text(&tools, "call", ones).await, "7");
    assert!(function(&tools, "call").exclusive && function(&tools, "call").requires_permission);
    assert_eq!(text(&tools, "define", r#"{"text":null}"#).await, "null");
    assert_eq!(text(&tools, "function", r#"{"text":null}"#).await, "null");
    assert!(refusal(&tools, "function", r#"{"text":1}"#).await.contains("`text` is wrong"));
    assert_eq!(info(&tools, "sub_agent").name.as_deref(), ::core::option::Option::Some("sub"));
    let said = sub_agent(&tools, "sub_agent");
    assert_eq!(said.agent_id, ::core::option::Option::Some("shadowed.constant"));
    assert_eq!(said.tool_harnesses.len(), 2);
    assert_eq!(said.metadata.unwrap()().len(), 2);
    assert_eq!(id(&define(&tools, "sub_agent").await.unwrap()), "shadowed.constant");
    assert_eq!(id(&define(&tools, "new").await.unwrap()), "shadowed.new");
    assert_eq!(::hpd_agent::tool::registry::harness("shadowed").unwrap().package(), "hpd-agent-derive-tests");
    assert_eq!(Shadowed::default() + Shadowed::ENTRIES, 5);
}
