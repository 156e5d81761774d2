//! Work that cannot move between threads, and a harness that cannot be shared.
use std::{cell::Cell, rc::Rc};

use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Holds an `Rc` over an await.
    #[ai_function]
    async fn holds(&self, text: String) -> usize {
        let text = Rc::new(text);
        std::future::ready(()).await;
        text.len()
    }

    /// The same for a subagent.
    #[subagent(agent_id = "a")]
    async fn sub_agent(&self) -> AgentConfig {
        let text = Rc::new("A");
        std::future::ready(()).await;
        AgentConfig::new(*text)
    }
}

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

fn main() {}
