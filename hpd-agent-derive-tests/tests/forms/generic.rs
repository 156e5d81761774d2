//! Blocks with parameters: harnesses by type, not by name.

use hpd_agent::{
    declare::{HarnessRef, ToolHarness},
    prelude::*,
    tool::registry,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::*;

trait Named {
    const ID: &'static str;
    const DEPTH: u32;
}

impl Named for u8 {
    const ID: &'static str = "generic.u8";
    const DEPTH: u32 = 2;
}

impl Named for String {
    const ID: &'static str = "generic.string";
    const DEPTH: u32 = 3;
}

struct Generic<T, const N: usize>(T);

#[tool_harness]
impl<T: Named + Clone + Send + Sync + Serialize + DeserializeOwned + JsonSchema, const N: usize> Generic<T, N>
where
    T: std::fmt::Debug,
{
    const LENGTH: u32 = T::DEPTH;

    /// Depends on the parameters.
    #[subagent(
        agent_id = T::ID,
        availability = SubAgentAvailability::through_depth(Self::LENGTH),
        context = Fresh,
        tool_harnesses = [Generic<u8, 1>, Generic<T, N>],
        metadata(n = N),
    )]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new(format!("{:?}", self.0))
    }

    /// Later.
    #[subagent]
    async fn later(&self) -> SubAgent {
        SubAgent::from_parent(T::ID)
    }

    /// Compares.
    #[ai_function]
    async fn echo(&self, value: T) -> (T, T) {
        (self.0.clone(), value)
    }
}

#[derive(Default)]
struct Borrowing<'a>(&'a str);

#[tool_harness]
impl<'a> Borrowing<'a> {
    const POLICY: SubAgentContextPolicy = SubAgentContextPolicy::Isolated;

    /// Says what it borrows.
    #[ai_function]
    fn text(&self) -> &'a str {
        self.0
    }

    /// Takes what it borrows.
    #[subagent(context = Self::POLICY)]
    fn sub_agent(&self) -> SubAgent {
        SubAgent::from_parent(self.0)
    }

    /// Borrows for longer than it runs.
    #[ai_function]
    async fn later<'c>(&'c self, times: Option<usize>, ctx: &'c FunctionContext) -> Result<(&'a str, &'c str), String> {
        tokio::task::yield_now().await;
        if times.is_some() { Err("not yet".into()) } else { Ok((self.0, ctx.tool_name())) }
    }

    /// The same of a subagent.
    #[subagent(agent_id = "generic.later")]
    async fn later_sub_agent(&self, context: &HarnessContext) -> AgentConfig {
        tokio::task::yield_now().await;
        AgentConfig::new(format!("{} {}", self.0, context.agent_name()))
    }
}

/// Lifetimes that have no name, and a bound that names one.
struct Open<'a, 'b: 'a, T: 'a>(&'a T, &'b str);

#[tool_harness(name = "generic.open")]
impl<'b, T: Send + Sync + ToString + 'b> Open<'_, 'b, T>
where
    &'b T: Sized,
{
    /// Says what it borrows.
    #[ai_function]
    async fn both(&self) -> (String, &'b str) {
        (self.0.to_string(), self.1)
    }
}

#[tokio::test]
async fn parameters_of_the_block_are_known_in_the_table() {
    let (byte, string) = (Generic::<u8, 4>(1), Generic::<String, 5>("x".into()));
    assert_eq!(sub_agent(&byte, "reviewer").agent_id, Some("generic.u8"));
    assert_eq!(sub_agent(&string, "reviewer").agent_id, Some("generic.string"));
    let depth = |harness: &dyn ErasedHarness| sub_agent(harness, "reviewer").availability.unwrap().deepest_child();
    assert_eq!((depth(&byte), depth(&string)), (Some(2), Some(3)));
    assert_eq!(sub_agent(&byte, "reviewer").context, Some(SubAgentContextPolicy::Fresh));
    assert_eq!(sub_agent(&byte, "reviewer").metadata.unwrap()()["n"], 4);
    assert_eq!(sub_agent(&byte, "reviewer").tool_harnesses.len(), 2);
    assert_eq!(define(&string, "reviewer").await.unwrap().agent_id(), "generic.string");
    assert_eq!(define(&string, "later").await.unwrap().agent_id(), "generic.string");
    assert_eq!(text(&byte, "echo", r#"{"value":2}"#).await, "[1,2]");
    assert_eq!(text(&string, "echo", r#"{"value":"y"}"#).await, r#"["x","y"]"#);
}

#[tokio::test]
async fn a_type_with_a_lifetime_is_a_harness_where_it_is_static() {
    let borrowing = Borrowing("static");
    assert_eq!(text(&borrowing, "text", "{}").await, "static");
    assert_eq!(define(&borrowing, "sub_agent").await.unwrap().agent_id(), "static");
    assert_eq!(sub_agent(&borrowing, "sub_agent").context, Some(SubAgentContextPolicy::Isolated));
    assert_eq!(text(&borrowing, "later", "{}").await, r#"["static","test"]"#);
    assert_eq!(refusal(&borrowing, "later", r#"{"times":1}"#).await, "not yet");
    assert_eq!(define(&borrowing, "later_sub_agent").await.unwrap().agent_id(), "generic.later");
    assert_eq!(text(&Open(&7, "static"), "both", "{}").await, r#"["7","static"]"#);
}

#[test]
fn only_types_that_can_be_named_are_registered() {
    for name in ["Generic", "generic.open"] {
        assert_eq!(registry::harness(name).unwrap_err().code(), "unknown_harness");
    }
    assert_eq!(HarnessRef::of::<Generic<u8, 1>>().name(), "Generic");
    // There is one `Borrowing` that is a harness: that of what is there for good.
    assert_eq!(registry::harness("Borrowing").unwrap().harness().name(), "Borrowing");
}

#[test]
fn a_default_is_used_where_there_is_one() {
    struct Without;
    #[tool_harness]
    impl Without {}
    #[derive(Default)]
    struct With;
    #[tool_harness]
    impl With {}
    assert!(<With as ToolHarness>::TYPE.default.is_some());
    assert!(<Without as ToolHarness>::TYPE.default.is_none());
    assert!(<Borrowing<'static> as ToolHarness>::TYPE.default.is_some());
    assert!(<Generic<u8, 1> as ToolHarness>::TYPE.default.is_none());
}
