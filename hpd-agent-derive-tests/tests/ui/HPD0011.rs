//! Arguments that do not exist, with the nearest one that does.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agentid = "reviewer", context_policy = Fork)]
    fn reviewer(&self) -> SubAgent {
        SubAgent::from_parent("reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness(names = "others")]
impl Others {
    /// One that is near, one in another case, a part of one, and one that nothing is near to.
    #[subagent(agent_ids = "a", toolHarnesses = [Tools], mode = Fork, temperature = 0.1)]
    fn sub_agent(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// Those of other attributes.
    #[subagent(agent_id = "b", requires_permission, crate = hpd_agent)]
    fn of_others(&self) -> AgentConfig {
        AgentConfig::new("B")
    }

    /// A function has no agent.
    #[ai_function(agent_id = "a", requires_permissions, r#exclusiv)]
    fn function(&self) {}

    /// A parameter has other ones.
    #[ai_function]
    fn parameter(&self, #[arg(desc = "What.", defaults = 1)] what: u32) -> u32 {
        what
    }
}

#[derive(Default)]
struct OtherWords;

#[tool_harness]
impl OtherWords {
    /// What others call it.
    #[subagent(id = "a", tools = [OtherWords], max_depth = 2, model = "m")]
    fn other_words(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
