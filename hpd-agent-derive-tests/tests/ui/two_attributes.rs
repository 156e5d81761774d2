//! A method is one tool.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Both.
    #[subagent(agent_id = "a")]
    #[ai_function]
    fn both(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Twice.
    #[ai_function]
    #[ai_function(name = "b")]
    fn twice(&self) {}
}

fn main() {
    Tools.both();
    Tools.twice();
}
