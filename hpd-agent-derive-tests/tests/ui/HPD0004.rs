//! `#[tool_harness]` on an `impl` of something without a name of its own.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
trait Reviews {}

#[tool_harness]
impl dyn Reviews {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }
}
// ANCHOR_END: example

#[tool_harness]
impl &Tools {
    /// Searches.
    #[ai_function]
    fn search(&self) {}
}

#[tool_harness]
impl (Tools, Tools) {}

#[tool_harness]
impl [Tools; 2] {}

fn main() {}
