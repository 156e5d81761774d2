//! Receivers that calls cannot share.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Counts.
    #[ai_function]
    fn count(&mut self) {}

    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// In a box.
    #[ai_function]
    fn boxed(self: Box<Self>) {}

    /// Shared.
    #[ai_function]
    fn shared(self: std::sync::Arc<Self>) {}

    /// Behind two pointers.
    #[ai_function]
    fn twice(self: &std::sync::Arc<Self>) {}

    /// Forever.
    #[ai_function]
    async fn forever(&'static self) {}

    /// Mutable, by value.
    #[ai_function]
    fn mutable(mut self) {
        self = Self;
        let _ = self;
    }

    /// Fine.
    #[ai_function]
    fn fine(self: &Self) {}

    /// Fine.
    #[ai_function]
    fn named<'a>(self: &'a Others) {}
}

fn main() {
    Tools.count();
    Tools.reviewer();
}
