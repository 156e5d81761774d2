//! Metadata keys that the runtime sets itself.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", metadata(visibility = "hidden", team = "writing"))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[tool_harness]
impl Others {
    /// As a string, as a keyword.
    #[subagent(agent_id = "a", metadata("invocationId" = 1, r#kind = 2))]
    fn others(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Fine: keys are compared whole and with their case.
    #[subagent(agent_id = "b", metadata(Kind = 1, invocation = 2))]
    fn fine(&self) -> AgentConfig {
        AgentConfig::new("B")
    }
}

#[derive(Default)]
struct Others;

fn main() {}
