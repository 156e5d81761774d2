//! What a root run and all its descendants share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use crate::{
    declare::Cancellation,
    event::{AgentScope, EventHub},
    id::{ExecutionId, SessionId, ThreadKey},
    message::{AgentUsage, Usage},
    permission::{Broker, SessionMemory},
};

/// One hub, one cancellation, one broker for a whole tree of agents: a waiting child owns no channel and no timer.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) hub: EventHub,
    pub(crate) cancellation: Cancellation,
    pub(crate) broker: Arc<Broker>,
    /// What the session of the root remembers; set when the run takes its thread.
    pub(crate) memory: OnceLock<Arc<SessionMemory>>,
    /// What the other sessions above the root remember, if a child's conversation is continued as the root.
    pub(crate) above: OnceLock<Vec<Arc<SessionMemory>>>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Few agents make up a tree: a scan beats a map.
    usage: SmallVec<[AgentUsage; 2]>,
    executions: SmallVec<[(ThreadKey, ExecutionId); 2]>,
}

impl Tree {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_usage(&self, agent: &AgentScope, usage: Usage) {
        let mut shared = self.lock();
        let of_agent =
            |entry: &&mut AgentUsage| entry.agent_id == agent.agent_id && entry.agent_name == agent.agent_name;
        match shared.usage.iter_mut().find(of_agent) {
            Some(entry) => {
                entry.usage += usage;
                entry.model_calls += 1;
            }
            None => shared.usage.push(AgentUsage {
                agent_name: Arc::clone(&agent.agent_name),
                agent_id: agent.agent_id.clone(),
                model_calls: 1,
                usage,
            }),
        }
    }

    /// Goes on with what they took before.
    pub(crate) fn resume(&self, usage: &[AgentUsage]) {
        self.lock().usage = usage.into();
    }

    /// What the agents took, in the order of their first call.
    pub(crate) fn usage(&self) -> Vec<AgentUsage> {
        self.lock().usage.to_vec()
    }

    pub(crate) fn began(&self, thread: &ThreadKey, execution: ExecutionId) {
        self.lock().executions.push((thread.clone(), execution));
    }

    pub(crate) fn ended(&self, execution: ExecutionId) {
        let executions = &mut self.lock().executions;
        // What began last ends first, mostly.
        if let Some(at) = executions.iter().rposition(|(_, id)| *id == execution) {
            executions.swap_remove(at);
        }
    }

    /// The execution that works on a thread, if one does.
    pub(crate) fn execution(&self, thread: &ThreadKey) -> Option<ExecutionId> {
        self.lock().executions.iter().find(|(key, _)| key == thread).map(|(_, id)| *id)
    }

    /// Adds the threads of a session on which something works.
    pub(crate) fn executions_in(&self, session: &SessionId, all: &mut std::collections::HashSet<ThreadKey>) {
        let shared = self.lock();
        all.extend(shared.executions.iter().filter(|(key, _)| key.session_id == *session).map(|(key, _)| key.clone()));
    }

    /// A thread of a session on which something works, if there is one.
    pub(crate) fn execution_in(&self, session: &SessionId) -> Option<ThreadKey> {
        self.lock().executions.iter().find(|(key, _)| key.session_id == *session).map(|(key, _)| key.clone())
    }

    /// Ends everything that waits for this tree.
    pub(crate) fn close(&self) {
        self.broker.shut();
        self.hub.close();
    }
}
