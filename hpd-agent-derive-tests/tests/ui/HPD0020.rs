//! Agent ids that are not legal, as literals and as constants.
use hpd_agent::prelude::*;

mod ids {
    pub const SPACE: &str = "has space";
}

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "the reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    const LONG: &str = concat!(
        "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-",
        "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz"
    );

    /// Empty.
    #[subagent(agent_id = "")]
    fn empty(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Begins with a sign.
    #[subagent(agent_id = ".hidden")]
    fn sign(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Not ASCII.
    #[subagent(agent_id = "prüfer")]
    fn not_ascii(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A constant of another module.
    #[subagent(agent_id = ids::SPACE)]
    fn constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A constant of the block.
    #[subagent(agent_id = Self::LONG)]
    fn own_constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// An expression.
    #[subagent(agent_id = concat!("team", " ", "reviewer"))]
    fn expression(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
