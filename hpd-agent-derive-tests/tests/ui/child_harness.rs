//! Types that are no harness.
use hpd_agent::prelude::*;

struct NotAHarness;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Has a child without tools.
    #[subagent(agent_id = "a", tool_harnesses = [Tools, NotAHarness, Missing])]
    fn child(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// The same as a value.
    #[subagent]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("a").with_tool_harness::<NotAHarness>()
    }

    /// Not types.
    #[subagent(agent_id = "a", tool_harnesses = [1, "x"])]
    fn not_types(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
