//! Work that cannot move between threads.
use std::rc::Rc;

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

fn main() {}
