//! `#[subagent]` in all its forms.

use hpd_agent::{declare::BackgroundNotification, prelude::*};
use serde_json::json;

use super::*;

mod ids {
    pub(super) const REVIEWER: &str = "team.reviewer";
}

#[derive(Default)]
struct SearchTools;

#[tool_harness]
impl SearchTools {}

#[derive(Default)]
struct Tools {
    topic: String,
}

#[tool_harness(name = Self::HARNESS)]
impl Tools {
    const HARNESS: &'static str = "sub-agents";
    const DEPTH: u32 = 3;
    const NAME: &'static str = "from-a-constant";

    /// The smallest form.
    #[subagent(agent_id = "team.smallest")]
    fn smallest(&self) -> AgentConfig {
        AgentConfig::new("Smallest")
    }

    /// Everything that can be said.
    ///
    /// In two paragraphs,
    ///   with an indented line.
    #[subagent(
        agent_id = ids::REVIEWER,
        name = "review-draft",
        description = "Reviews a draft.",
        context = ModelChoice,
        invocation_mode = if cfg!(target_os = "none") { BackgroundOnly } else { AgentInvocationModePolicy::ModelChoice },
        availability = SubAgentAvailability::through_depth(Self::DEPTH),
        lifecycle = Continuable,
        fork_compaction = Disable,
        background_notification = BackgroundNotification::None,
        tool_harnesses = [SearchTools, Tools],
        metadata(team = "writing", "max-rounds" = 3, strict = true),
    )]
    fn everything(&self, context: &HarnessContext) -> AgentConfig {
        AgentConfig::new(format!("{} for {}", self.topic, context.agent_name()))
    }

    /// The definition as a value.
    #[subagent]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("team.value").with_tool_harness::<SearchTools>()
    }

    /// A value that may fail.
    #[subagent]
    fn fallible(&self) -> Result<SubAgent, ToolError> {
        if self.topic.is_empty() {
            Err(ToolError::new("no topic"))
        } else {
            Ok(SubAgent::from_agent_id("team.fallible"))
        }
    }

    /// A configuration that may fail, later, with an error of another kind.
    #[subagent(agent_id = "team.later")]
    async fn later(&self, context: &HarnessContext) -> Result<AgentConfig, std::num::ParseIntError> {
        tokio::task::yield_now().await;
        let number: u32 = if self.topic.is_empty() { "x".parse()? } else { "7".parse()? };
        Ok(AgentConfig::new(format!("{number} {}", context.agent_name())))
    }

    /// Without a receiver, with an error that is a text.
    #[subagent(agent_id = "team.static", name = Self::NAME)]
    fn without_receiver() -> Result<AgentConfig, String> {
        Ok(AgentConfig::new("Static"))
    }

    /// Named lifetimes.
    #[subagent]
    async fn lifetimes<'a>(&'a self, context: &'a HarnessContext) -> SubAgent {
        SubAgent::from_parent(context.agent_name())
    }

    /// A keyword for a name.
    #[subagent(agent_id = "team.keyword")]
    #[allow(clippy::needless_arbitrary_self_type)]
    fn r#type(self: &Self) -> AgentConfig {
        AgentConfig::new("Keyword")
    }

    /// Not a tool, but a method like every other.
    fn ordinary(&self) -> usize {
        self.topic.len()
    }
}

#[tokio::test]
async fn methods_in_order_and_nothing_else() {
    let tools = Tools { topic: "rivers".into() };
    assert_eq!(
        methods(&tools),
        ["smallest", "everything", "value", "fallible", "later", "without_receiver", "lifetimes", "type"]
    );
    assert_eq!(tools.ordinary(), 6);
    assert_eq!(methods(&SearchTools), [""; 0]);
    assert_eq!(ErasedHarness::name(&tools), "sub-agents");
    assert_eq!(ErasedHarness::package(&tools), "hpd-agent-derive-tests");
}

#[test]
fn what_is_not_said_is_none() {
    let tools = Tools::default();
    let info = info(&tools, "smallest");
    assert_eq!(
        (info.name.as_deref(), info.description.as_deref(), info.doc.as_deref()),
        (None, None, Some("The smallest form."))
    );
    assert!(info.origin.to_string().contains("sub_agents.rs:"));
    let sub_agent = sub_agent(&tools, "smallest");
    assert_eq!(sub_agent.agent_id, Some("team.smallest"));
    assert!(sub_agent.context.is_none() && sub_agent.invocation_mode.is_none() && sub_agent.availability.is_none());
    assert!(sub_agent.lifecycle.is_none() && sub_agent.fork_compaction.is_none());
    assert!(sub_agent.background_notification.is_none() && sub_agent.metadata.is_none());
    assert!(sub_agent.tool_harnesses.is_empty());
}

#[test]
fn everything_that_is_said_is_in_the_table() {
    let tools = Tools::default();
    let info = info(&tools, "everything");
    assert_eq!((info.name.as_deref(), info.description.as_deref()), (Some("review-draft"), Some("Reviews a draft.")));
    assert_eq!(
        info.doc.as_deref(),
        Some("Everything that can be said.\n\nIn two paragraphs,\n  with an indented line.")
    );
    let sub_agent = sub_agent(&tools, "everything");
    assert_eq!(sub_agent.agent_id, Some("team.reviewer"));
    assert_eq!(sub_agent.context, Some(SubAgentContextPolicy::ModelChoice));
    assert_eq!(sub_agent.invocation_mode, Some(AgentInvocationModePolicy::ModelChoice));
    assert_eq!(sub_agent.availability, Some(SubAgentAvailability::through_depth(3)));
    assert_eq!(sub_agent.lifecycle, Some(SubAgentLifecycle::Continuable));
    assert_eq!(sub_agent.fork_compaction, Some(ForkCompaction::Disable));
    assert_eq!(sub_agent.background_notification, Some(BackgroundNotification::None));
    let harnesses: Vec<_> = sub_agent.tool_harnesses.iter().map(|harness| harness.name()).collect();
    assert_eq!(harnesses, ["SearchTools", "sub-agents"], "a harness may name itself");
    let metadata = sub_agent.metadata.unwrap()();
    assert_eq!(json!(metadata), json!({"team": "writing", "max-rounds": 3, "strict": true}));
}

#[test]
fn every_method_has_its_own_line() {
    let tools = Tools::default();
    let lines: Vec<_> = (0..tools.len()).map(|index| tools.info(index).unwrap().origin.line()).collect();
    assert!(lines.windows(2).all(|pair| pair[0] < pair[1]), "{lines:?}");
}

#[tokio::test]
async fn every_return_type_becomes_a_subagent() {
    let tools = Tools { topic: "rivers".into() };
    for (method, id) in [
        ("smallest", "team.smallest"),
        ("everything", "team.reviewer"),
        ("value", "team.value"),
        ("fallible", "team.fallible"),
        ("later", "team.later"),
        ("without_receiver", "team.static"),
        ("lifetimes", "test"),
        ("type", "team.keyword"),
    ] {
        assert_eq!(define(&tools, method).await.unwrap().agent_id(), id, "{method}");
    }
    let named = |sub_agent: SubAgent| match sub_agent.source() {
        hpd_agent::declare::SubAgentSource::Supplied(config) => config.name().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(named(define(&tools, "everything").await.unwrap()), "rivers for test");
    assert_eq!(named(define(&tools, "later").await.unwrap()), "7 test");
}

#[tokio::test]
async fn errors_of_a_definition_keep_their_words() {
    let tools = Tools::default();
    assert_eq!(define(&tools, "fallible").await.unwrap_err().to_string(), "no topic");
    assert!(define(&tools, "later").await.unwrap_err().to_string().contains("invalid digit"));
}

#[test]
fn a_constant_may_be_a_name() {
    let tools = Tools::default();
    assert_eq!(info(&tools, "without_receiver").name.as_deref(), Some("from-a-constant"));
    assert_eq!(info(&tools, "type").name, None);
}
