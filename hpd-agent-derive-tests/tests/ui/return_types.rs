//! What a method gives back.
use hpd_agent::prelude::*;

struct NotAnError;

struct Unshowable;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Not a subagent.
    #[subagent(agent_id = "a")]
    fn number(&self) -> u32 {
        1
    }

    /// Nothing.
    #[subagent(agent_id = "a")]
    fn nothing(&self) {}

    /// Not a subagent, in a result.
    #[subagent(agent_id = "a")]
    async fn result(&self) -> Result<u32, ToolError> {
        Ok(1)
    }

    /// Not an error.
    #[subagent(agent_id = "a")]
    fn error(&self) -> Result<AgentConfig, NotAnError> {
        Err(NotAnError)
    }

    /// No id comes with it.
    #[subagent]
    fn no_id(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// No id comes with it, in a result.
    #[subagent]
    async fn no_id_later(&self) -> Result<AgentConfig, ToolError> {
        Ok(AgentConfig::new("A"))
    }

    /// Neither an id nor a subagent.
    #[subagent]
    fn text(&self) -> String {
        String::new()
    }

    /// Not a value that can be shown to a model.
    #[ai_function]
    fn unshowable(&self) -> Unshowable {
        Unshowable
    }

    /// Not a value that can be shown to a model, in a result.
    #[ai_function]
    async fn unshowable_result(&self) -> Result<Unshowable, ToolError> {
        Ok(Unshowable)
    }

    /// Not an error of a function.
    #[ai_function]
    fn function_error(&self) -> Result<u32, NotAnError> {
        Err(NotAnError)
    }
}

fn main() {}
