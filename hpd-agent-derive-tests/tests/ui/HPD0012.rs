//! Arguments that were given already.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", context = Fork, agent_id = "editor")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness(name = "others", name = "other")]
impl Others {
    /// A list, a key, and a type within a list.
    #[subagent(
        agent_id = "a",
        metadata(team = "a", "team" = "b"),
        tool_harnesses = [Tools, Tools],
        tool_harnesses = [Tools]
    )]
    fn lists(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A flag.
    #[ai_function(exclusive, exclusive = false)]
    fn flag(&self) {}

    /// In two attributes of one parameter.
    #[ai_function]
    fn parameter(&self, #[arg(default = 1)] #[arg(default = 2)] what: u32) -> u32 {
        what
    }
}

fn main() {}
