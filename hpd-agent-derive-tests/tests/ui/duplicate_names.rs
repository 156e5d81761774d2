//! Two tools with one name, both places marked.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self) {}

    /// Searches elsewhere.
    #[subagent(agent_id = "a", name = "search")]
    fn search_elsewhere(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A keyword.
    #[ai_function]
    fn r#type(&self) {}

    /// The same name, given.
    #[ai_function(name = "type")]
    fn kind(&self) {}
}

fn main() {}
