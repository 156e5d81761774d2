//! Defaults that the model cannot be told.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[derive(Default, serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    near: String,
}

#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self, #[arg(default)] filter: Filter) -> String {
        filter.near
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// What the runtime gives has no default.
    #[ai_function]
    fn cancelled(&self, #[arg(default = std::process::abort())] cancellation: Cancellation) {
        let _ = cancellation;
    }
}

fn main() {}
