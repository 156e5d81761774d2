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

#[derive(Default)]
struct Conditional;

#[tool_harness]
impl Conditional {
    /// Both are there.
    #[ai_function]
    fn both(&self, #[cfg(all())] from: String, #[cfg(all())] #[arg(name = "from")] to: String) -> String {
        from + &to
    }

    /// One of them is there.
    #[ai_function]
    fn one(&self, #[cfg(all())] from: String, #[cfg(not(all()))] from: String) -> String {
        from
    }
}

fn main() {}
