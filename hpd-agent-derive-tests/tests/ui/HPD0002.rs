//! `#[tool_harness]` on what is no `impl` block.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
#[derive(Default)]
pub struct Search;
// ANCHOR_END: example

#[tool_harness]
pub async fn function() {}

#[tool_harness]
enum Enum {}

#[tool_harness]
mod module {}

#[tool_harness]
trait Trait {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> SubAgent;
}

#[tool_harness]
const CONSTANT: u32 = 1;

#[tool_harness]
macro_rules! rules {
    () => {};
}

fn main() {
    // All of them are still there.
    let _ = (Search::default(), function(), CONSTANT, Tools);
    fn trait_is_there(_: &dyn Trait) {}
    fn enum_is_there(_: Enum) {}
}
