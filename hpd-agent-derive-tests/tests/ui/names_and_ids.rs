//! Literal ids and names, and names that come from methods.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness(name = "my tools")]
impl Tools {
    /// An id with a space.
    #[subagent(agent_id = "has space")]
    fn space(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// An empty id.
    #[subagent(agent_id = "")]
    fn empty(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// A name with a dot.
    #[ai_function(name = "tools.weather")]
    fn dot(&self) {}

    /// A name that is too long.
    #[ai_function]
    fn a_name_of_sixty_five_characters_which_is_one_more_than_is_allowed_(&self) {}

    /// A name that no provider accepts.
    #[ai_function]
    fn größe(&self) {}

    /// With a name of its own it is fine.
    #[ai_function(name = "size")]
    fn größe2(&self) {}

    /// A parameter that no provider accepts.
    #[ai_function]
    fn parameter(&self, größe: u32) -> u32 {
        größe
    }
}

#[derive(Default)]
struct Größe;

#[tool_harness]
impl Größe {}

fn main() {
    Tools.größe();
}
