//! What all handles of one agent share.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;

use super::{
    RunError,
    blueprint::{Client, Forest},
    queue::{Queues, Turn},
    resolver::Resolver,
    tree::Tree,
};
use crate::{
    clients::ClientSet,
    declare::PriceTable,
    id::{AgentId, EventId, SessionId, ThreadKey},
    permission::{Permissions, SessionMemory},
    session::{Runtime, ThreadState},
    store::{AgentStore, SessionStore},
};

/// How many threads that nobody works on are kept folded, so that continuing them reads nothing.
const KEPT_THREADS: usize = 128;

pub(crate) struct AgentInner {
    pub(crate) forest: Arc<Forest>,
    pub(crate) resolver: Resolver,
    pub(crate) client: Option<Client>,
    /// The clients beside the model that the application gave to the root.
    pub(crate) clients: Option<Arc<ClientSet>>,
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
    queues: Queues,
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

/// What a run gets that wants a thread.
pub(crate) enum Claimed {
    /// The thread, with what is kept of it.
    Now(Option<Box<Kept>>),
    /// A place in the queue for it.
    Later(Turn),
}

impl AgentInner {
    pub(crate) fn new(
        (forest, resolver): (Arc<Forest>, Resolver),
        client: Option<Client>,
        clients: Option<Arc<ClientSet>>,
        permissions: Permissions,
        store: Arc<dyn SessionStore>,
        agent_store: Arc<dyn AgentStore>,
        limits: (PriceTable, Option<Semaphore>),
    ) -> Self {
        let (prices, model_slots) = limits;
        let threads = Mutex::default();
        Self { forest, resolver, client, clients, permissions, store, agent_store, prices, model_slots, threads }
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thread for a run, or a place in its queue if the run is `queued` and somebody works on the thread.
    /// `new`: nobody else can know the thread.
    pub(crate) fn claim(
        &self,
        key: &ThreadKey,
        tree: &Arc<Tree>,
        new: bool,
        queued: bool,
    ) -> Result<Claimed, RunError> {
        let mut threads = self.lock();
        match !new && threads.is_busy(key) {
            false => Ok(Claimed::Now(threads.take(key, tree, new))),
            true if queued => Ok(Claimed::Later(threads.queues.join(key, tree))),
            true => Err(RunError::ThreadBusy { thread: key.clone() }),
        }
    }

    /// Gives a thread back; what is worth keeping is kept, or handed to the run that waits.
    pub(crate) fn release(&self, key: &ThreadKey, kept: Option<Box<Kept>>) {
        let mut threads = self.lock();
        threads.put_back(key, kept);
        threads.serve(key);
        if threads.idle > KEPT_THREADS {
            threads.evict();
        }
    }

    /// A child does not work on its thread any more.
    pub(crate) fn freed(&self, key: &ThreadKey) {
        self.lock().serve(key);
    }

    /// A run does not wait for a thread any more.
    pub(crate) fn leave(&self, key: &ThreadKey, tree: &Arc<Tree>) {
        self.lock().queues.leave(key, tree);
    }

    /// How many runs wait for a thread.
    pub(crate) fn queued(&self, key: &ThreadKey) -> usize {
        self.lock().queues.len(key)
    }

    /// The trees that run now.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        self.lock().trees().cloned().collect()
    }

    /// What a session remembers, if a thread of it is known here.
    pub(crate) fn memory(&self, session: &SessionId) -> Option<Arc<SessionMemory>> {
        self.lock().memory(session)
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

impl Runtime for AgentInner {
    fn executing(&self, session: &SessionId) -> HashSet<ThreadKey> {
        let threads = self.lock();
        let roots = threads.slots.iter().filter(|(_, slot)| matches!(slot, Slot::Running(_))).map(|(key, _)| key);
        let mut executing: HashSet<_> = roots.filter(|key| key.session_id == *session).cloned().collect();
        threads.trees().for_each(|tree| tree.executions_in(session, &mut executing));
        executing
    }

    fn agent_name(&self, agent: &AgentId) -> Option<Arc<str>> {
        let blueprint = self.forest.get(self.forest.find(agent)?)?;
        Some(Arc::clone(blueprint.config.shared_name()))
    }
}

impl Threads {
    /// Whether somebody works on a thread. A child does so without a slot of its own.
    fn is_busy(&self, key: &ThreadKey) -> bool {
        matches!(self.slots.get(key), Some(Slot::Running(_))) || self.trees().any(|tree| tree.execution(key).is_some())
    }

    /// Gives a thread that nobody works on to a run. What was kept of it comes with it.
    fn take(&mut self, key: &ThreadKey, tree: &Arc<Tree>, new: bool) -> Option<Box<Kept>> {
        if !new && let Some(memory) = self.memory(&key.session_id) {
            // Set by nobody else: a tree takes one thread.
            let _ = tree.memory.set(memory);
        }
        tree.memory.get_or_init(Arc::default);
        match self.slots.insert(key.clone(), Slot::Running(Arc::clone(tree))) {
            Some(Slot::Idle { kept, .. }) => {
                self.idle -= 1;
                Some(kept)
            }
            Some(Slot::Running(_)) | None => None,
        }
    }

    fn put_back(&mut self, key: &ThreadKey, kept: Option<Box<Kept>>) {
        self.clock += 1;
        match kept {
            Some(kept) => {
                self.slots.insert(key.clone(), Slot::Idle { used: self.clock, kept });
                self.idle += 1;
            }
            None => {
                self.slots.remove(key);
            }
        }
    }

    /// Hands a thread that may be free to the run that has waited for it longest.
    fn serve(&mut self, key: &ThreadKey) {
        while self.queues.len(key) > 0 && !self.is_busy(key) {
            let Some(waiter) = self.queues.next(key) else { return };
            let kept = self.take(key, &waiter.tree, false);
            if let Err(kept) = waiter.turn.send(kept) {
                // It has gone this very moment.
                self.put_back(key, kept);
            }
        }
    }

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
