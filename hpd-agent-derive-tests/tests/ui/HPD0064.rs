//! Names that are nearly those of a policy.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", context = fork, invocation_mode = Background)]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Texts and calls.
    #[subagent(
        agent_id = "a",
        context = "model-choice",
        availability = throughDepth(2),
        lifecycle = continuable,
        fork_compaction = Disabled,
        background_notification = OnFinalStates { completed: true }
    )]
    fn others(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// What nothing is near to, and what belongs to another policy.
    #[subagent(agent_id = "b", context = Inherit, recursion = Yes, invocation_mode = through_depth(2))]
    fn strange(&self) -> AgentConfig {
        AgentConfig::new("B")
    }
}

fn main() {}
