//! Types that a model cannot choose.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Prints.
    #[ai_function]
    fn print<T: ToString>(&self, value: T) -> String {
        value.to_string()
    }

    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer<const N: usize>(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Each of them; lifetimes are fine.
    #[ai_function]
    fn both<'a, T, const N: usize>(&'a self, value: [u32; 1]) -> u32 {
        value[0]
    }
}
// ANCHOR_END: example

fn main() {}
