//! Values of another kind than the argument takes.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = 7, availability = 2, tool_harnesses = Tools)]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness(name = 5, crate = "hpd_agent")]
impl Others {
    /// Every argument.
    #[subagent(
        agent_id = ["a"],
        name = true,
        description("Reviews."),
        context("fork"),
        invocation_mode = 1,
        lifecycle = [OneShot],
        fork_compaction = false,
        background_notification = 'n',
        metadata = "team"
    )]
    fn every(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Not types.
    #[subagent(agent_id = "a", tool_harnesses = [1, "x"])]
    fn not_types(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Not flags.
    #[ai_function(exclusive = "yes", requires_permission(true))]
    fn flags(&self) {}

    /// Not a name, not a text, not a default.
    #[ai_function]
    fn parameter(&self, #[arg(name = NAME, description = 1, default(1))] what: u32) -> u32 {
        what
    }
}

#[derive(Default)]
struct Open;

#[tool_harness]
impl Open {
    /// A type that nothing says.
    #[subagent(agent_id = "open", tool_harnesses = [_, Vec<_>])]
    fn open(&self) -> AgentConfig {
        AgentConfig::new("Open")
    }
}

fn main() {}
