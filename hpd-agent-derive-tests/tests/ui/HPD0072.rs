//! Harnesses that calls cannot share.
use hpd_agent::prelude::*;

// ANCHOR: example
use std::{cell::Cell, rc::Rc};

#[derive(Default)]
struct Counter(Cell<u32>);

#[tool_harness]
impl Counter {
    /// Counts.
    #[ai_function]
    fn count(&self) -> u32 {
        self.0.replace(self.0.get() + 1)
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Shared(Rc<str>);

#[tool_harness]
impl Shared {
    /// Is neither sent nor shared; its methods are no mistakes of their own.
    #[ai_function]
    async fn text(&self) -> String {
        std::future::ready(()).await;
        self.0.to_string()
    }

    /// Nor is this one.
    #[subagent(agent_id = "a")]
    async fn sub_agent(&self) -> AgentConfig {
        std::future::ready(()).await;
        AgentConfig::new(&*self.0)
    }
}

fn main() {}
