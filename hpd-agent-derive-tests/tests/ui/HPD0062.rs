//! Tools that nobody can call.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", availability = through_depth(0))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// By a constant.
    #[subagent(agent_id = "a", availability = SubAgentAvailability::through_depth(Self::DEPTH))]
    fn constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    const DEPTH: u32 = 0;
}
// ANCHOR_END: example

fn main() {}
