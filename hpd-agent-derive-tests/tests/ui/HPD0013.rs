//! Arguments without the value that they need.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", context = , availability)]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness(name, crate)]
impl Others {
    /// Nothing at all.
    #[subagent(agent_id, name, description, tool_harnesses, metadata, lifecycle =)]
    fn nothing(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Within metadata.
    #[subagent(agent_id = "a", metadata(team, priority = ))]
    fn metadata(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A flag that begins to say something.
    #[ai_function(exclusive = )]
    fn flag(&self, #[arg(name)] what: u32) -> u32 {
        what
    }
}

fn main() {}
