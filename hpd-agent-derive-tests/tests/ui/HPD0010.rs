//! An attribute in a shape that it does not have.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent = "reviewer"]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }

    /// Searches.
    #[ai_function = "search"]
    fn search(&self) {}

    /// Finds.
    #[ai_function]
    fn find(&self, #[arg = "what"] what: String) -> String {
        what
    }
}
// ANCHOR_END: example

fn main() {}
