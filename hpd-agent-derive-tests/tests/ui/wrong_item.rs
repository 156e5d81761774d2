//! `#[tool_harness]` on what is no inherent impl.
use hpd_agent::prelude::*;

#[tool_harness]
#[derive(Default)]
pub struct Tools;

#[tool_harness]
pub async fn function() {}

#[tool_harness]
trait Trait {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> SubAgent;
}

#[tool_harness]
impl Trait for Tools {
    /// Reviews.
    #[subagent]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }
}

#[tool_harness]
mod module {}

#[tool_harness]
impl dyn Trait {
    /// Reviews.
    #[subagent]
    fn other(&self) -> SubAgent {
        SubAgent::from_parent("other")
    }
}

fn main() {
    // All of them are still there.
    Tools::default().reviewer();
    let _ = function();
}
