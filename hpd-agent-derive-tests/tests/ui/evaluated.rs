//! Constants of the right type with the wrong value: nothing else is wrong, so that they are evaluated.
use hpd_agent::prelude::*;

mod ids {
    pub const SPACE: &str = "has space";
}

const NAME: &str = "tools.weather";
const BLANK: &str = "  ";

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    const DEPTH: u32 = 0;

    /// An id that is not legal.
    #[subagent(agent_id = ids::SPACE)]
    fn id(&self) -> AgentConfig {
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
}

fn main() {}
