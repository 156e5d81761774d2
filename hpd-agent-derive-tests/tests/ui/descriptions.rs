//! Tools that no model could choose.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    #[subagent(agent_id = "a")]
    fn none(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    ///
    #[ai_function]
    fn blank_comment(&self) {}

    /// A comment that a blank argument would replace.
    #[ai_function(description = " \n")]
    fn blank_argument(&self) {}

    #[ai_function(description = "Says something.")]
    fn fine(&self) {}
}

fn main() {
    Tools.fine();
}
