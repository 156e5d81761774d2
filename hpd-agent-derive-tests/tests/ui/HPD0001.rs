//! The attributes of methods where nothing collects them.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

impl Tools {
    /// Echoes. The comment on the parameter is no second mistake, nor is what describes it.
    #[ai_function]
    fn echo(
        &self,
        /// What to say.
        #[arg(default = "nothing")]
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

trait Reviews {
    /// Declared in a trait, without a body.
    #[subagent(agent_id = "reviews")]
    fn reviews(&self) -> AgentConfig;

    /// With a body.
    #[ai_function]
    fn counts(&self) -> u32 {
        1
    }
}

impl Reviews for Tools {
    /// The implementation of a trait is no harness.
    #[subagent(agent_id = "reviews")]
    fn reviews(&self) -> AgentConfig {
        AgentConfig::new("Reviews")
    }
}

/// On a type.
#[subagent]
struct Reviewer;

use hpd_agent::subagent as sa;

#[derive(Default)]
struct Renamed;

#[tool_harness]
impl Renamed {
    /// Under another name, which `#[tool_harness]` cannot know.
    #[sa(agent_id = "renamed")]
    fn renamed(&self) -> AgentConfig {
        AgentConfig::new("Renamed")
    }
}

fn main() {
    // All of them are still there.
    Tools.reviewer();
    Tools.echo(String::new());
    Tools.reviews();
    Tools.counts();
    Renamed.renamed();
    add(1, 2);
    let _ = Reviewer;
}
