//! What a `#[subagent]` method takes.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self, input: String) -> AgentConfig {
        AgentConfig::new(input)
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Too many.
    #[subagent(agent_id = "a")]
    fn two(&self, context: &HarnessContext, input: String) -> AgentConfig {
        let _ = context;
        AgentConfig::new(input)
    }

    /// Any type.
    #[subagent(agent_id = "b")]
    fn any(&self, context: impl AsRef<HarnessContext>) -> AgentConfig {
        let _ = context;
        AgentConfig::new("A")
    }
}

#[derive(Default)]
struct Typed;

#[tool_harness]
impl Typed {
    /// By value.
    #[subagent(agent_id = "c")]
    fn by_value(&self, context: HarnessContext) -> AgentConfig {
        AgentConfig::new(context.agent_name())
    }

    /// The context of a function is not that of a subagent.
    #[subagent(agent_id = "d")]
    async fn function_context(&self, context: &FunctionContext) -> AgentConfig {
        let _ = context;
        AgentConfig::new("A")
    }
}

#[derive(Default)]
struct Conditional;

#[tool_harness]
impl Conditional {
    /// One is there.
    #[subagent(agent_id = "e")]
    fn one(&self, #[cfg(all())] context: &HarnessContext, #[cfg(any())] context: &HarnessContext) -> AgentConfig {
        AgentConfig::new(context.agent_name())
    }

    /// Both are there.
    #[subagent(agent_id = "f")]
    fn both(&self, #[cfg(all())] one: &HarnessContext, #[cfg(not(any()))] other: &HarnessContext) -> AgentConfig {
        AgentConfig::new(format!("{} {}", one.agent_name(), other.agent_name()))
    }
}

fn main() {}
