//! One block per type.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self) {}
}

#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "a")]
    fn review(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
