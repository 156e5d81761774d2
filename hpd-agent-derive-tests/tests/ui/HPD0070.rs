//! Types that are no harness.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
struct SearchTools;

#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", tool_harnesses = [SearchTools])]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Beside one that is a harness and one that does not exist.
    #[subagent(agent_id = "a", tool_harnesses = [Tools, SearchTools, Missing])]
    fn several(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// As a value.
    #[subagent]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("b").with_tool_harness::<SearchTools>()
    }
}

fn main() {
    let _ = Agent::builder().with_tool_harness_value(SearchTools);
    // It has a `Default`, which is not what it lacks.
    let _ = Agent::builder().with_tool_harness::<u32>();
}
