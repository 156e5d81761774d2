//! Two parameters that the model would know by one name.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Copies.
    #[ai_function]
    fn copy(&self, from: String, #[arg(name = "from")] to: String) -> String {
        from + &to
    }
}
// ANCHOR_END: example

fn main() {}
