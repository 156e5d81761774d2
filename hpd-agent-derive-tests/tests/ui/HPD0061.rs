//! Notification of the background where nothing is ever in it.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", background_notification = None)]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Said aloud, without an id.
    #[subagent(
        invocation_mode = SynchronousOnly,
        background_notification = OnFinalState { completed: true, faulted: true, cancelled: true }
    )]
    fn aloud(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// Fine.
    #[subagent(agent_id = "b", invocation_mode = ModelChoice, background_notification = None)]
    fn choice(&self) -> AgentConfig {
        AgentConfig::new("B")
    }

    /// Fine: the returned value may say the mode.
    #[subagent(background_notification = BackgroundNotification::None)]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("c").with_invocation_mode(AgentInvocationModePolicy::BackgroundOnly)
    }
}

fn main() {}
