//! Policies by the names that are in scope in them, and by others.

use hpd_agent::{compaction::ForkCompaction, declare::BackgroundNotification, prelude::*};

use super::*;

/// A name that stands in for one that is in scope.
const FORK: SubAgentContextPolicy = SubAgentContextPolicy::Isolated;

const fn chosen(deep: bool) -> SubAgentAvailability {
    if deep { SubAgentAvailability::ANY_ALLOWED_DEPTH } else { SubAgentAvailability::ROOT_ONLY }
}

#[derive(Default)]
struct Tools;

#[tool_harness]
#[allow(clippy::if_same_then_else, reason = "any expression may stand there")]
impl Tools {
    /// By bare names.
    #[subagent(
        agent_id = "policies.bare",
        context = Fresh,
        invocation_mode = BackgroundOnly,
        availability = through_depth(2),
        lifecycle = OneShot,
        fork_compaction = Inherit,
        background_notification = None
    )]
    fn bare(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// By other bare names.
    #[subagent(
        agent_id = "policies.structure",
        invocation_mode = ModelChoice,
        availability = ROOT_ONLY,
        background_notification = OnFinalState { completed: true, faulted: false, cancelled: false }
    )]
    fn structure(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// By constants and functions of the user's own.
    #[subagent(agent_id = "policies.own", context = FORK, availability = chosen(false))]
    fn own(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// By expressions.
    #[subagent(
        agent_id = "policies.expression",
        context = if cfg!(debug_assertions) { Fork } else { Fork },
        availability = SubAgentAvailability::through_depth(1 + 1)
    )]
    fn expression(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    #[subagent]
    fn described_by_its_value(&self) -> SubAgent {
        SubAgent::from_parent("policies.value").with_description("Says what it does.")
    }
}

#[test]
fn names_in_scope_are_those_of_the_policy() {
    let bare = sub_agent(&Tools, "bare");
    assert_eq!(bare.context, Some(SubAgentContextPolicy::Fresh));
    assert_eq!(bare.invocation_mode, Some(AgentInvocationModePolicy::BackgroundOnly));
    assert_eq!(bare.availability, Some(SubAgentAvailability::through_depth(2)));
    assert_eq!(bare.lifecycle, Some(SubAgentLifecycle::OneShot));
    assert_eq!(bare.fork_compaction, Some(ForkCompaction::Inherit));
    assert_eq!(bare.background_notification, Some(BackgroundNotification::None));
    let structure = sub_agent(&Tools, "structure");
    assert_eq!(structure.availability, Some(SubAgentAvailability::ROOT_ONLY));
    assert!(matches!(
        structure.background_notification,
        Some(BackgroundNotification::OnFinalState { completed: true, faulted: false, cancelled: false })
    ));
}

#[test]
fn other_constants_mean_what_they_mean_elsewhere() {
    let own = sub_agent(&Tools, "own");
    assert_eq!(own.context, Some(SubAgentContextPolicy::Isolated));
    assert_eq!(own.availability, Some(SubAgentAvailability::ROOT_ONLY));
    let expression = sub_agent(&Tools, "expression");
    assert_eq!(expression.context, Some(SubAgentContextPolicy::Fork));
    assert_eq!(expression.availability, Some(SubAgentAvailability::through_depth(2)));
}

#[tokio::test]
async fn a_value_may_bring_the_description_along() {
    assert_eq!(info(&Tools, "described_by_its_value").doc, None);
    let value = define(&Tools, "described_by_its_value").await.unwrap();
    assert_eq!(value.description(), Some("Says what it does."));
}
