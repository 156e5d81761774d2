//! `#[arg]` on what is no argument of the model.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self, #[arg(default)] context: &FunctionContext) {
        let _ = context;
    }

    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self, #[arg(name = "input")] context: &HarnessContext) -> AgentConfig {
        AgentConfig::new(context.agent_name())
    }

    fn helper(&self, #[arg(default)] text: String) -> String {
        text
    }

    /// The receiver.
    #[ai_function]
    fn receiver(#[arg(description = "The tools.")] &self) {}
}
// ANCHOR_END: example

fn main() {}
