//! Parameters of any type.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Prints.
    #[ai_function]
    fn print(&self, value: impl ToString) -> String {
        value.to_string()
    }
}
// ANCHOR_END: example

fn main() {}
