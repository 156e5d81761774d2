//! Parameters without a name.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Adds.
    #[ai_function]
    fn add(&self, (a, b): (u32, u32)) -> u32 {
        a + b
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// A wildcard, and a structure.
    #[ai_function]
    fn others(&self, _: u32, Point { x, y }: Point) -> u32 {
        x + y
    }

    /// A name does not make a parameter of a pattern.
    #[ai_function]
    fn named(&self, #[arg(name = "pair")] [a, b]: [u32; 2]) -> u32 {
        a + b
    }

    /// Fine.
    #[ai_function]
    fn fine(&self, mut a: u32, #[arg(name = "later")] _: u32) -> u32 {
        a += 1;
        a
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Point {
    x: u32,
    y: u32,
}

fn main() {}
