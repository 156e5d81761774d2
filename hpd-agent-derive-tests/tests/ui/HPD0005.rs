//! The attribute of a tool on what is no method.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// On a constant.
    #[ai_function]
    const DEPTH: u32 = 1;

    /// On a type.
    #[subagent]
    type Child = u32;

    #[ai_function]
    nothing!();

    /// On a constant that is a function.
    #[ai_function]
    const HALF: fn(u32) -> u32 = |n| n / 2;
}
// ANCHOR_END: example

macro_rules! nothing {
    () => {};
}
use nothing;

fn main() {
    let _ = (Tools::DEPTH, Tools::HALF);
}
