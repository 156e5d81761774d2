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
}
// ANCHOR_END: example

fn handler(value: u32) -> u32 {
    value
}

#[derive(Default)]
struct Constants;

#[tool_harness]
impl Constants {
    #[ai_function]
    const HANDLER: fn(u32) -> u32 = handler;
}

macro_rules! nothing {
    () => {};
}
use nothing;

fn main() {
    let _ = (Tools::DEPTH, Constants::HANDLER);
}
