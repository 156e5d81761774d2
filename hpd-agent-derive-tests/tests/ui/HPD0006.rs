//! A method is one tool.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    #[ai_function]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[tool_harness]
impl Others {
    /// Twice the same.
    #[ai_function]
    #[ai_function(name = "other")]
    fn search(&self) {}

    /// Three of them.
    #[subagent(agent_id = "a")]
    #[subagent(agent_id = "b")]
    #[ai_function]
    fn thrice(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// By its path.
    #[hpd_agent::subagent(agent_id = "c")]
    #[hpd_agent::ai_function]
    fn by_path(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

#[derive(Default)]
struct Others;

fn main() {
    Tools.reviewer();
    Others.search();
    Others.thrice();
    Others.by_path();
}

#[derive(Default)]
struct Conditional;

#[tool_harness]
impl Conditional {
    /// Only one of them is there.
    #[cfg_attr(all(), ai_function)]
    #[cfg_attr(not(all()), ai_function(exclusive))]
    fn one(&self) {}

    /// Both are there.
    #[cfg_attr(all(), ai_function)]
    #[cfg_attr(not(any()), ai_function(exclusive))]
    fn both(&self) {}
}
