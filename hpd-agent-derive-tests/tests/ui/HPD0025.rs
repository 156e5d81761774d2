//! Two definitions of one agent, both places marked.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "team.reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Edits.
    #[subagent(agent_id = "team.reviewer")]
    fn editor(&self) -> AgentConfig {
        AgentConfig::new("Editor")
    }
}
// ANCHOR_END: example

const ID: &str = "team.writer";

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// A literal.
    #[subagent(agent_id = "team.writer")]
    fn literal(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A constant of the same text.
    #[subagent(agent_id = ID)]
    fn constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
