//! What a method takes.
#![allow(unused_variables)]
use hpd_agent::prelude::*;

struct Unreadable;

#[derive(serde::Deserialize)]
struct WithoutSchema;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// A borrowed text.
    #[ai_function]
    fn text(&self, text: &str) -> usize {
        text.len()
    }

    /// A borrowed list.
    #[ai_function]
    fn list(&self, list: &[u32]) -> usize {
        list.len()
    }

    /// A pattern.
    #[ai_function]
    fn pattern(&self, (a, b): (u32, u32)) -> u32 {
        a + b
    }

    /// Any type.
    #[ai_function]
    fn any(&self, value: impl ToString) -> String {
        value.to_string()
    }

    /// A condition.
    #[ai_function]
    fn condition(&self, #[cfg(all())] value: u32) -> u32 {
        value
    }

    /// Too many.
    #[subagent(agent_id = "a")]
    fn two(&self, context: &HarnessContext, input: String) -> AgentConfig {
        AgentConfig::new(input)
    }

    /// Any type.
    #[subagent(agent_id = "a")]
    fn any_context(&self, context: impl AsRef<HarnessContext>) -> AgentConfig {
        AgentConfig::new("A")
    }
}

#[derive(Default)]
struct Typed;

#[tool_harness]
impl Typed {
    /// Cannot be read.
    #[ai_function]
    fn unreadable(&self, value: Unreadable) {}

    /// Has no schema.
    #[ai_function]
    async fn without_schema(&self, value: WithoutSchema) {}

    /// The context of a subagent is not that of a function.
    #[ai_function]
    fn other_context(&self, context: &HarnessContext) {}

    /// The input goes to the child.
    #[subagent(agent_id = "a")]
    fn input(&self, input: String) -> AgentConfig {
        AgentConfig::new(input)
    }

    /// The context of a function is not that of a subagent.
    #[subagent(agent_id = "a")]
    fn function_context(&self, context: &FunctionContext) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {
    Tools.text("");
    Tools.pattern((1, 2));
}
