//! Types that are no harness.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
struct SearchTools;

#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", tool_harnesses = [Tools, SearchTools, Missing])]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// As a value.
    #[subagent]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("a").with_tool_harness::<SearchTools>()
    }
}
// ANCHOR_END: example

fn main() {
    let _ = Agent::builder().with_tool_harness_value(SearchTools);
}
