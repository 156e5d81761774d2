//! What all handles of one agent share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    RunError,
    blueprint::{Blueprint, Client},
    tree::Tree,
};
use crate::{
    id::{SessionId, ThreadKey},
    permission::{Permissions, SessionMemory},
    session::ThreadState,
    store::{AgentStore, SessionStore},
};

/// How many threads that nobody works on are kept folded, so that continuing them reads nothing.
const KEPT_THREADS: usize = 128;

pub(crate) struct AgentInner {
    /// Index 0 is the root agent.
    blueprints: Vec<Blueprint>,
    pub(crate) client: Option<Client>,
    pub(crate) permissions: Permissions,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) agent_store: Arc<dyn AgentStore>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    slots: HashMap<ThreadKey, Slot>,
    clock: u64,
    idle: usize,
}

enum Slot {
    Running(Arc<Tree>),
    Idle { used: u64, kept: Box<Kept> },
}

/// A thread that nobody works on, with what its session remembers.
pub(crate) struct Kept {
    pub(crate) state: ThreadState,
    pub(crate) memory: Arc<SessionMemory>,
}

impl AgentInner {
    pub(crate) fn new(
        blueprints: Vec<Blueprint>,
        client: Option<Client>,
        permissions: Permissions,
        store: Arc<dyn SessionStore>,
        agent_store: Arc<dyn AgentStore>,
    ) -> Self {
        Self { blueprints, client, permissions, store, agent_store, threads: Mutex::default() }
    }

    /// The blueprint at an index that a tool or a lane was given by the builder.
    pub(crate) fn blueprint(&self, index: usize) -> Option<&Blueprint> {
        self.blueprints.get(index)
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thread for a run. What was kept of it comes with it.
    pub(crate) fn claim(&self, key: &ThreadKey, tree: &Arc<Tree>) -> Result<Option<Box<Kept>>, RunError> {
        let mut threads = self.lock();
        match threads.slots.get_mut(key) {
            Some(Slot::Running(_)) => Err(RunError::ThreadBusy { thread: key.clone() }),
            Some(slot) => match std::mem::replace(slot, Slot::Running(Arc::clone(tree))) {
                Slot::Idle { kept, .. } => {
                    threads.idle -= 1;
                    Ok(Some(kept))
                }
                Slot::Running(_) => Ok(None),
            },
            None => {
                threads.slots.insert(key.clone(), Slot::Running(Arc::clone(tree)));
                Ok(None)
            }
        }
    }

    /// Gives a thread back; what is worth keeping is kept.
    pub(crate) fn release(&self, key: &ThreadKey, kept: Option<Box<Kept>>) {
        let mut threads = self.lock();
        threads.clock += 1;
        let used = threads.clock;
        match kept {
            Some(kept) => {
                threads.slots.insert(key.clone(), Slot::Idle { used, kept });
                threads.idle += 1;
                if threads.idle > KEPT_THREADS {
                    threads.evict();
                }
            }
            None => {
                threads.slots.remove(key);
            }
        }
    }

    /// The trees that run now.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        let running = |slot: &Slot| match slot {
            Slot::Running(tree) => Some(Arc::clone(tree)),
            Slot::Idle { .. } => None,
        };
        self.lock().slots.values().filter_map(running).collect()
    }

    /// The name of a running thread of a session, if there is one.
    pub(crate) fn running_in(&self, session: &SessionId) -> Option<ThreadKey> {
        let threads = self.lock();
        let running =
            |(key, slot): &(&ThreadKey, &Slot)| key.session_id == *session && matches!(slot, Slot::Running(_));
        threads.slots.iter().find(running).map(|(key, _)| key.clone())
    }

    /// Forgets what is kept of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut threads = self.lock();
        let before = threads.slots.len();
        threads.slots.retain(|key, slot| key.session_id != *session || matches!(slot, Slot::Running(_)));
        threads.idle -= before - threads.slots.len();
    }
}

impl Threads {
    fn evict(&mut self) {
        let oldest = self.slots.iter().filter_map(|(key, slot)| match slot {
            Slot::Idle { used, .. } => Some((*used, key)),
            Slot::Running(_) => None,
        });
        if let Some(key) = oldest.min().map(|(_, key)| key.clone()) {
            self.slots.remove(&key);
            self.idle -= 1;
        }
    }
}
