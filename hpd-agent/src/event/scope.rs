use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// Which agent of a tree an event comes from: the `metadata` of the wire form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentScope {
    /// The agent's name; for a child the name of the tool that started it.
    pub agent_name: Arc<str>,
    /// The agent's id.
    pub agent_id: AgentId,
    /// The id of the agent that delegated to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// The names from the root to this agent.
    pub agent_chain: Box<[Arc<str>]>,
    /// 0 for the root, one more for each delegation.
    pub depth: u32,
}

impl AgentScope {
    pub(crate) fn root(agent_name: Arc<str>, agent_id: AgentId) -> Self {
        Self {
            agent_chain: Box::from([Arc::clone(&agent_name)]),
            agent_name,
            agent_id,
            parent_agent_id: None,
            depth: 0,
        }
    }

    pub(crate) fn child(&self, agent_name: Arc<str>, agent_id: AgentId) -> Self {
        let agent_chain = self.agent_chain.iter().chain([&agent_name]).cloned().collect();
        Self { agent_name, agent_id, parent_agent_id: Some(self.agent_id.clone()), agent_chain, depth: self.depth + 1 }
    }
}
