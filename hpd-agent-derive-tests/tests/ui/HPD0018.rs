//! Values of metadata that are no JSON.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", metadata(since = std::time::Duration::ZERO, priority = 1))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// A pair, and a constant.
    #[subagent(agent_id = "a", metadata(pair = ((), 1), constant = Self::PATH))]
    fn others(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    const PATH: Option<&std::path::Path> = None;
}
// ANCHOR_END: example

fn main() {}
