//! Receivers, generics and qualifiers that a model cannot serve.
use hpd_agent::prelude::*;

#[derive(Default, Clone)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Changes the harness.
    #[ai_function]
    fn exclusive(&mut self) {}

    /// Takes the harness.
    #[subagent(agent_id = "a")]
    fn owned(self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Wants it in a box.
    #[ai_function]
    fn boxed(self: Box<Self>) {}

    /// For any type.
    #[ai_function]
    fn generic<T: ToString>(&self, value: T) -> String {
        value.to_string()
    }

    /// For any number.
    #[subagent(agent_id = "a")]
    fn number<const N: usize>(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Wants a promise.
    #[ai_function]
    unsafe fn promise(&self) {}
}

fn main() {
    Tools.clone().exclusive();
    Tools.owned();
    Tools.generic(1);
}
