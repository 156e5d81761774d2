//! What a `#[subagent]` method gives back.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> String {
        "Review the draft.".to_owned()
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Nothing.
    #[subagent(agent_id = "a")]
    fn nothing(&self) {}

    /// In a result.
    #[subagent(agent_id = "b")]
    async fn result(&self) -> Result<u32, ToolError> {
        Ok(1)
    }

    /// Maybe.
    #[subagent(agent_id = "c")]
    fn option(&self) -> Option<AgentConfig> {
        None
    }

    /// Later, without `async`.
    #[subagent(agent_id = "d")]
    fn future(&self) -> std::future::Ready<AgentConfig> {
        std::future::ready(AgentConfig::new("A"))
    }

    /// Something.
    #[subagent]
    fn something(&self) -> impl Sized {
        SubAgent::from_parent("e")
    }

    /// By reference.
    #[subagent(agent_id = "f")]
    fn reference(&self) -> &'static AgentConfig {
        unreachable!()
    }
}

#[derive(Default)]
struct Never;

#[tool_harness]
impl Never {
    /// Never returns.
    #[subagent(agent_id = "g")]
    fn never(&self) -> ! {
        panic!()
    }
}

fn main() {}
