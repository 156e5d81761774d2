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

    /// The same place in a tree, for the agent that goes on there: itself, or another one in its stead.
    pub(crate) fn continued_by(self: &Arc<Self>, name: &Arc<str>, agent_id: &AgentId) -> Arc<Self> {
        if self.agent_id == *agent_id {
            return Arc::clone(self);
        }
        let above = self.agent_chain.iter().take(self.agent_chain.len().saturating_sub(1));
        Arc::new(Self {
            agent_name: Arc::clone(name),
            agent_id: agent_id.clone(),
            parent_agent_id: self.parent_agent_id.clone(),
            agent_chain: above.chain([name]).cloned().collect(),
            depth: self.depth,
        })
    }

    pub(crate) fn child(&self, agent_name: Arc<str>, agent_id: AgentId) -> Self {
        let agent_chain = self.agent_chain.iter().chain([&agent_name]).cloned().collect();
        Self { agent_name, agent_id, parent_agent_id: Some(self.agent_id.clone()), agent_chain, depth: self.depth + 1 }
    }
}
