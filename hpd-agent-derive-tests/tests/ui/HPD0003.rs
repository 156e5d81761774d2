//! `#[tool_harness]` on the implementation of a trait.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
trait Reviews {
    fn reviewer(&self) -> SubAgent;
}

#[tool_harness]
impl Reviews for Tools {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }
}
// ANCHOR_END: example

trait Generic<T> {
    fn value(&self) -> T;
}

#[tool_harness]
impl<T: Default> Generic<T> for Tools {
    fn value(&self) -> T {
        T::default()
    }
}

fn main() {
    // They are still there.
    Tools.reviewer();
    let _: u32 = Tools.value();
}
