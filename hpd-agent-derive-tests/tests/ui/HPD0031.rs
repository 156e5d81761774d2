//! Descriptions without a word in them.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", description = "")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// A comment that the argument would replace.
    #[ai_function(description = " \n")]
    fn search(&self) {}

    #[ai_function(description = Self::BLANK)]
    fn constant(&self) {}

    /// Of a parameter.
    #[ai_function]
    fn parameter(&self, #[arg(description = " ")] text: String) -> String {
        text
    }

    /// Of a parameter, by a constant.
    #[ai_function]
    fn parameter_constant(&self, #[arg(description = Self::BLANK)] text: String) -> String {
        text
    }

    const BLANK: &str = "\t";
}
// ANCHOR_END: example

#[derive(Default)]
struct Computed;

#[tool_harness]
impl Computed {
    #[doc = concat!(" ", "")]
    #[ai_function]
    fn computed(&self) {}

    ///
    #[doc = include_str!("../../src/blank.md")]
    #[subagent(agent_id = "included")]
    fn included(&self) -> AgentConfig {
        AgentConfig::new("Included")
    }

    /// Has words.
    #[doc = concat!(" ", "")]
    #[ai_function]
    fn words(&self) {}

    #[doc = concat!(" ", "")]
    #[ai_function(description = "Is described elsewhere.")]
    fn elsewhere(&self) {}
}

fn main() {}
