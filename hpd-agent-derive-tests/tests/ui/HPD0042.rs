//! Qualifiers that no tool has.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Deletes.
    #[ai_function]
    unsafe fn delete(&self) {}

    /// Adds.
    #[ai_function]
    const fn add(&self, a: u32, b: u32) -> u32 {
        a + b
    }

    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    extern "C" fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// All of them.
    #[ai_function]
    const unsafe extern "C" fn all(&self) {}
}
// ANCHOR_END: example

fn main() {
    // They are still there.
    const SUM: u32 = Tools.add(1, 2);
    let _ = SUM;
    Tools.reviewer();
}
