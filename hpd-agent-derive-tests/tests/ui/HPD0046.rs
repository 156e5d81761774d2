//! Errors that do not become errors of a tool.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
struct NotAnError;

#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> Result<AgentConfig, NotAnError> {
        Err(NotAnError)
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Searches.
    #[ai_function]
    fn search(&self) -> Result<u32, Box<dyn std::error::Error>> {
        Ok(1)
    }

    /// A boxed error that cannot be sent.
    #[subagent]
    async fn boxed(&self) -> Result<SubAgent, Box<dyn std::error::Error>> {
        Ok(SubAgent::from_parent("a"))
    }

    /// Nothing at all.
    #[ai_function]
    async fn unit(&self) -> Result<(), ()> {
        Ok(())
    }
}

fn main() {}
