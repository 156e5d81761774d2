//! What all handles of one agent share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;

use super::{
    RunError,
    blueprint::{Blueprint, Client},
    clients::OtherClients,
    tree::Tree,
};
use crate::{
    declare::PriceTable,
    id::{AgentId, EventId, SessionId, ThreadKey},
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
    pub(crate) clients: OtherClients,
    pub(crate) permissions: Permissions,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) agent_store: Arc<dyn AgentStore>,
    pub(crate) prices: PriceTable,
    /// How many model calls may run at a time; `None`: any number.
    pub(crate) model_slots: Option<Semaphore>,
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
    /// The event that the thread ended with.
    pub(crate) last_event: EventId,
    pub(crate) memory: Arc<SessionMemory>,
}

impl AgentInner {
    pub(crate) fn new(
        blueprints: Vec<Blueprint>,
        client: Option<Client>,
        clients: OtherClients,
        permissions: Permissions,
        store: Arc<dyn SessionStore>,
        agent_store: Arc<dyn AgentStore>,
        limits: (PriceTable, Option<Semaphore>),
    ) -> Self {
        let (prices, model_slots) = limits;
        Self {
            blueprints,
            client,
            clients,
            permissions,
            store,
            agent_store,
            prices,
            model_slots,
            threads: Mutex::default(),
        }
    }

    /// The blueprint at an index that a tool or a lane was given by the builder.
    pub(crate) fn blueprint(&self, index: usize) -> Option<&Blueprint> {
        self.blueprints.get(index)
    }

    /// The blueprints of all agents of this tree; the root's is the first.
    pub(crate) fn blueprints(&self) -> &[Blueprint] {
        &self.blueprints
    }

    /// The index of the blueprint of an agent of this tree.
    pub(crate) fn find(&self, agent: &AgentId) -> Option<usize> {
        self.blueprints.iter().position(|blueprint| blueprint.agent_id == *agent)
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thread for a run. What was kept of it comes with it. `new`: nobody else can know it.
    pub(crate) fn claim(&self, key: &ThreadKey, tree: &Arc<Tree>, new: bool) -> Result<Option<Box<Kept>>, RunError> {
        let mut threads = self.lock();
        // A child works on its thread without a slot of its own.
        if !new && threads.trees().any(|tree| tree.execution(key).is_some()) {
            return Err(RunError::ThreadBusy { thread: key.clone() });
        }
        if !new && let Some(memory) = threads.memory(&key.session_id) {
            // Set by nobody else: a tree takes one thread.
            let _ = tree.memory.set(memory);
        }
        tree.memory.get_or_init(Arc::default);
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
        self.lock().trees().cloned().collect()
    }

    /// The name of a running thread of a session, if there is one.
    pub(crate) fn running_in(&self, session: &SessionId) -> Option<ThreadKey> {
        let threads = self.lock();
        let running =
            |(key, slot): &(&ThreadKey, &Slot)| key.session_id == *session && matches!(slot, Slot::Running(_));
        let root = threads.slots.iter().find(running).map(|(key, _)| key.clone());
        root.or_else(|| threads.trees().find_map(|tree| tree.execution_in(session)))
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
    /// What a session remembers, if a thread of it is known: all of them share it.
    fn memory(&self, session: &SessionId) -> Option<Arc<SessionMemory>> {
        let of_session = self.slots.iter().filter(|(key, _)| key.session_id == *session);
        let mut memories = of_session.filter_map(|(_, slot)| match slot {
            Slot::Running(tree) => tree.memory.get(),
            Slot::Idle { kept, .. } => Some(&kept.memory),
        });
        memories.next().cloned()
    }

    fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.slots.values().filter_map(|slot| match slot {
            Slot::Running(tree) => Some(tree),
            Slot::Idle { .. } => None,
        })
    }

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
