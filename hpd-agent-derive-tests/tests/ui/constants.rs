//! Constants of the wrong type, and what is no constant: in the compiler's own words, each at its own place, and beside
//! mistakes that the macro reports.
use hpd_agent::prelude::*;

mod ids {
    pub const NUMBER: u32 = 7;
}

fn policy() -> SubAgentContextPolicy {
    SubAgentContextPolicy::Fork
}

const BLANK: &str = " ";

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// An id that is no text.
    #[subagent(agent_id = ids::NUMBER)]
    fn number(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A policy of another kind.
    #[subagent(agent_id = "a", context = AgentInvocationModePolicy::ModelChoice)]
    fn other_policy(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A policy that does not exist.
    #[subagent(agent_id = "b", context = SubAgentContextPolicy::Forked)]
    fn no_policy(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A constant that does not exist.
    #[subagent(agent_id = "c", context = CONTEXT)]
    fn no_constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Not a constant.
    #[subagent(agent_id = "d", context = policy())]
    fn not_constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A policy without its fields.
    #[subagent(agent_id = "e", invocation_mode = BackgroundOnly, background_notification = OnFinalState)]
    fn no_fields(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A default of another type.
    #[ai_function]
    fn default(&self, #[arg(default = "ten")] limit: u32) -> u32 {
        limit
    }

    /// A mistake that the macro reports.
    #[ai_function(exclusiv, requires_permission = 1 + 1)]
    fn mistake(&self, #[arg(description = BLANK)] _text: String) {}

    /// One that the macro reports hides none of the constants beside it, nor of the types.
    #[subagent(
        agent_id = ids::NUMBER,
        name = " ",
        context = SubAgentContextPolicy::Frsh,
        tool_harnesses = [Toools, Tools, u32],
        metadata(kind = 1, team = Tools)
    )]
    fn beside(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
