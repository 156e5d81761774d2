//! A configuration without the id of its agent.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Later, in a result.
    #[subagent]
    async fn later(&self) -> Result<AgentConfig, ToolError> {
        Ok(AgentConfig::new("A"))
    }
}
// ANCHOR_END: example

fn main() {}
