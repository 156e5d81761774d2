//! What is no argument at all.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent("reviewer", context: Fork)]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness("others")]
impl Others {
    /// Without a comma.
    #[subagent(agent_id = "a" context = Fork)]
    fn comma(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Other signs.
    #[subagent(agent_id => "a", name == "b", = "c", , description = ;)]
    fn signs(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// Within metadata.
    #[subagent(agent_id = "a", metadata(team = "a" priority = 1, owner = +))]
    fn metadata(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

#[derive(Default)]
struct Colons;

#[tool_harness]
impl Colons {
    /// As in a literal of a struct.
    #[subagent(agent_id: "a", metadata(team: "writing"))]
    fn colons(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
