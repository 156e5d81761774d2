//! Values that are constants: evaluated and checked by the compiler, each at its own place.
use hpd_agent::prelude::*;

mod ids {
    pub const SPACE: &str = "has space";
    pub const NUMBER: u32 = 7;
}

const HARNESS: &str = "my tools";
const NAME: &str = "tools.weather";
const BLANK: &str = "  ";

fn policy() -> SubAgentContextPolicy {
    SubAgentContextPolicy::Fork
}

#[derive(Default)]
struct Tools;

#[tool_harness(name = HARNESS)]
impl Tools {
    const DEPTH: u32 = 0;

    /// An id that is not legal.
    #[subagent(agent_id = ids::SPACE)]
    fn id(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// An id that is no text.
    #[subagent(agent_id = ids::NUMBER)]
    fn number(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A name that is not legal.
    #[ai_function(name = NAME)]
    fn name(&self) {}

    #[ai_function(description = BLANK)]
    fn description(&self) {}

    /// Nobody can call it.
    #[subagent(agent_id = "a", availability = SubAgentAvailability::through_depth(0))]
    fn depth(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Nor this one.
    #[subagent(agent_id = "a", availability = SubAgentAvailability::through_depth(Self::DEPTH))]
    fn own_constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A policy of another kind.
    #[subagent(agent_id = "a", context = AgentInvocationModePolicy::ModelChoice)]
    fn other_policy(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A policy that does not exist.
    #[subagent(agent_id = "a", context = Forked)]
    fn no_policy(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A text is no policy.
    #[subagent(agent_id = "a", invocation_mode = "background")]
    fn text(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Not a constant.
    #[subagent(agent_id = "a", context = policy())]
    fn not_constant(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
