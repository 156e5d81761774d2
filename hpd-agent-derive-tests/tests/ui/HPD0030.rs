//! Tools without a description.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    #[ai_function]
    fn search(&self) {}
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    ///
    #[ai_function]
    fn blank_comment(&self) {}

    #[doc = " "]
    #[doc(hidden)]
    #[ai_function]
    fn blank_attribute(&self) {}

    // No doc comment.
    #[ai_function]
    fn plain_comment(&self) {}

    #[ai_function(description = "Says something.")]
    fn fine(&self) {}

    // A whole `SubAgent` may bring a description along.
    #[subagent]
    fn value(&self) -> SubAgent {
        SubAgent::from_parent("a").with_description("Says something.")
    }
}

#[derive(Default)]
struct Conditional;

#[tool_harness]
impl Conditional {
    /// Is described.
    #[cfg_attr(any(), doc = "More of it.")]
    #[ai_function]
    fn more(&self) {}

    #[cfg_attr(all(), doc = "Is described.")]
    #[ai_function]
    fn described(&self) {}

    #[cfg_attr(any(), doc = "Is not there.")]
    #[ai_function]
    fn not_described(&self) {}

    #[cfg_attr(all(), ai_function)]
    fn not_described_under_a_condition(&self) {}
}

fn main() {}
