//! Compaction of forks where nothing is ever forked.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer", context = Fresh, fork_compaction = Disable)]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Isolated, by constants.
    #[subagent(agent_id = "a", context = Self::CONTEXT, fork_compaction = ForkCompaction::Disable)]
    fn constants(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Fine: the default is a fork, the model may fork, and what is inherited does not matter.
    #[subagent(agent_id = "b", fork_compaction = Disable)]
    fn default(&self) -> AgentConfig {
        AgentConfig::new("B")
    }

    /// Fine.
    #[subagent(agent_id = "c", context = ModelChoice, fork_compaction = Disable)]
    fn choice(&self) -> AgentConfig {
        AgentConfig::new("C")
    }

    /// Fine.
    #[subagent(agent_id = "d", context = Fresh, fork_compaction = Inherit)]
    fn inherited(&self) -> AgentConfig {
        AgentConfig::new("D")
    }

    const CONTEXT: SubAgentContextPolicy = SubAgentContextPolicy::Isolated;
}

fn main() {}
