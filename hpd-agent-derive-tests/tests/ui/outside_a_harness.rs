//! The attributes of methods where nothing collects them.
use hpd_agent::prelude::*;
use hpd_agent::subagent as sa;

struct Tools;

impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Echoes. The comment on the parameter is no second mistake.
    #[ai_function]
    fn echo(
        &self,
        /// What to say.
        text: String,
    ) -> String {
        text
    }
}

/// Adds.
#[ai_function]
fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[tool_harness]
impl Tools {
    /// Under another name.
    #[sa(agent_id = "renamed")]
    fn renamed(&self) -> AgentConfig {
        AgentConfig::new("Renamed")
    }

    /// Behind a condition.
    #[cfg_attr(all(), subagent(agent_id = "conditional"))]
    fn conditional(&self) -> AgentConfig {
        AgentConfig::new("Conditional")
    }

    /// On a constant.
    #[ai_function]
    const DEPTH: u32 = 1;
}

fn main() {
    // All of them are still there.
    Tools.reviewer();
    Tools.echo(String::new());
    Tools.renamed();
    Tools.conditional();
    add(Tools::DEPTH, 2);
}
