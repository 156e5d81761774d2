//! Arguments that do not exist, are there twice, or have the wrong value.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness(names = "tools", name = 5, crate = "hpd_agent")]
impl Tools {
    /// Unknown, with a near one and without.
    #[subagent(agentid = "a", temperature = 0.1, context_policy = Fork, harnesses = [Tools])]
    fn unknown(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// Repeated.
    #[subagent(agent_id = "a", context = Fork, agent_id = "b", metadata(team = "a", team = "b"))]
    fn repeated(&self) -> AgentConfig {
        AgentConfig::new("Repeated")
    }

    /// Without a value, or with an empty one.
    #[subagent(agent_id, context = , availability, metadata)]
    fn missing(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// With another kind of value.
    #[subagent(agent_id = 7, name = ["x"], description = true, tool_harnesses = Tools, metadata = "x", context("x"))]
    fn wrong(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// With something between two arguments.
    #[subagent(agent_id = "a" context = Fork)]
    fn separator(&self) -> AgentConfig {
        AgentConfig::new("Separator")
    }

    /// With another shape.
    #[subagent = "a"]
    fn shape(&self) -> SubAgent {
        SubAgent::from_parent("a")
    }

    /// A function has no agent.
    #[ai_function(agent_id = "a", requires_permissions, exclusive = "yes")]
    fn function(&self) {}

    /// Metadata without a key or without a value.
    #[subagent(agent_id = "a", metadata(1 = 2))]
    fn metadata_key(&self) -> AgentConfig {
        AgentConfig::new("Metadata")
    }

    /// Metadata without a value.
    #[subagent(agent_id = "a", metadata(team))]
    fn metadata_value(&self) -> AgentConfig {
        AgentConfig::new("Metadata")
    }
}

fn main() {
    fn harness<T: hpd_agent::declare::ToolHarness>() {}
    harness::<Tools>();
    Tools.unknown();
    Tools.function();
}
