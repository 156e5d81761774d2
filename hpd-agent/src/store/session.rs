use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{CommitError, LeaseError, StoreError};
use crate::{
    event::{Event, ThreadHeader, ThreadKind},
    future::BoxFuture,
    id::{AgentId, CommitId, EventId, OwnerId, SessionId, ThreadKey, Timestamp},
};

/// A place in the order of all commits of a store; grows with every commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// How many records a thread must have for an append to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// So many in its current generation: for the owner of the thread. 0 for a new thread.
    Exactly(u64),
    /// As many as it has: for somebody who leaves a notice in a thread of others. Creates nothing by itself.
    Any,
}

/// Events for one thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Append {
    /// The thread.
    pub thread: ThreadKey,
    /// What the thread must look like.
    pub expected: Expected,
    /// The last event that the writer has seen: a thread that was deleted and made anew may have as many records as the
    /// one that the writer knew. Checked if present. On the heap, because only the first commit of a run has it.
    pub after: Option<Box<EventId>>,
    /// The lease under which the owner writes; checked if present.
    pub fence: Option<Box<Fence>>,
    /// Creates the thread. It is an error if it exists.
    pub create: Option<Arc<ThreadHeader>>,
    /// Begins a new generation before the events are appended: reads see the new one, the old one stays for forks and
    /// export. `expected` speaks of the generation before.
    pub begin_generation: bool,
    /// The events, in order. All of them are durable ones.
    pub events: Vec<Arc<Event>>,
}

impl Append {
    /// Events for a thread that exists.
    #[must_use]
    pub fn new(thread: ThreadKey, expected: Expected, events: Vec<Arc<Event>>) -> Self {
        Self { thread, expected, after: None, fence: None, create: None, begin_generation: false, events }
    }

    /// A new thread with its first events.
    #[must_use]
    pub fn create(header: Arc<ThreadHeader>, events: Vec<Arc<Event>>) -> Self {
        Self { create: Some(Arc::clone(&header)), ..Self::new(header.key.clone(), Expected::Exactly(0), events) }
    }

    /// The same, provided that the last record of the thread is this event.
    #[must_use]
    pub fn with_after(mut self, event: EventId) -> Self {
        self.after = Some(Box::new(event));
        self
    }

    /// The same under a lease.
    #[must_use]
    pub fn with_fence(mut self, fence: Fence) -> Self {
        self.fence = Some(Box::new(fence));
        self
    }

    /// The same as the beginning of a new generation.
    #[must_use]
    pub fn beginning_a_generation(mut self) -> Self {
        self.begin_generation = true;
        self
    }
}

/// What is committed together or not at all; may span threads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Batch {
    /// Its identity, so that a batch whose outcome is unknown can be submitted again: the second time changes
    /// nothing. A store knows at least the last 4,096 of them.
    pub id: CommitId,
    /// Events, each thread at most once.
    pub appends: Vec<Append>,
    /// Notices for threads that somebody else may own.
    pub enqueue: Vec<OutboxEntry>,
    /// Notices that are in a conversation now.
    pub consume: Vec<OutboxCursor>,
}

impl Batch {
    /// Events for threads.
    #[must_use]
    pub fn new(appends: Vec<Append>) -> Self {
        Self { id: CommitId::generate(), appends, enqueue: Vec::new(), consume: Vec::new() }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Its place in the order of all commits.
    pub position: Position,
}

impl Committed {
    /// A batch at `position`.
    #[must_use]
    pub const fn at(position: Position) -> Self {
        Self { position }
    }
}

/// One event of a thread, with its place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// Its number in its generation, from 1.
    pub sequence: u64,
    /// Its place in the order of all commits; equal for the events of one batch.
    pub position: Position,
    /// The event.
    pub event: Arc<Event>,
}

impl Record {
    /// A record; for stores.
    #[must_use]
    pub fn new(sequence: u64, position: Position, event: Arc<Event>) -> Self {
        Self { sequence, position, event }
    }
}

/// Which threads are asked for. Everything that is `None` is not asked about.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ThreadQuery {
    /// One thread.
    pub key: Option<ThreadKey>,
    /// All of a session.
    pub session: Option<SessionId>,
    /// The children of a thread.
    pub parent: Option<ThreadKey>,
    /// Of one kind.
    pub kind: Option<ThreadKind>,
    /// Of one agent.
    pub agent: Option<AgentId>,
    /// Hidden ones too.
    pub include_hidden: bool,
    /// Only those after this one, in the order of their keys.
    pub after: Option<ThreadKey>,
    /// At most so many; 0 means 1,000.
    pub limit: usize,
}

impl ThreadQuery {
    /// Exactly this thread, hidden or not.
    #[must_use]
    pub fn key(key: ThreadKey) -> Self {
        Self { key: Some(key), include_hidden: true, ..Self::default() }
    }

    /// All threads of a session, the hidden ones too.
    #[must_use]
    pub fn session(session: SessionId) -> Self {
        Self { session: Some(session), include_hidden: true, ..Self::default() }
    }

    /// The children of a thread, wherever they live.
    #[must_use]
    pub fn children_of(parent: ThreadKey) -> Self {
        Self { parent: Some(parent), include_hidden: true, ..Self::default() }
    }

    /// Whether a thread is one of those asked for, `after` and `limit` apart.
    #[must_use]
    pub fn matches(&self, header: &ThreadHeader) -> bool {
        let parent = |key: &ThreadKey| {
            header.origin.as_ref().is_some_and(|origin| {
                origin.parent_session_id == key.session_id && origin.parent_thread_id == key.thread_id
            })
        };
        self.key.as_ref().is_none_or(|key| *key == header.key)
            && self.session.as_ref().is_none_or(|session| *session == header.key.session_id)
            && self.parent.as_ref().is_none_or(parent)
            && self.kind.is_none_or(|kind| kind == header.thread_kind)
            && self.agent.as_ref().is_none_or(|agent| *agent == header.default_agent_id)
            && (self.include_hidden || header.visibility == crate::event::Visibility::Visible)
    }

    /// The largest number of threads in the answer.
    #[must_use]
    pub fn effective_limit(&self) -> usize {
        if self.limit == 0 { 1_000 } else { self.limit }
    }
}

/// A thread as the store knows it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ThreadRecord {
    /// What it is.
    pub header: Arc<ThreadHeader>,
    /// Its current generation, from 1.
    pub generation: u64,
    /// How many records that has.
    pub len: u64,
    /// When something was last appended.
    pub last_activity: Timestamp,
}

impl ThreadRecord {
    /// A thread record; for stores.
    #[must_use]
    pub fn new(header: Arc<ThreadHeader>, generation: u64, len: u64, last_activity: Timestamp) -> Self {
        Self { header, generation, len, last_activity }
    }
}

/// A notice for a thread that somebody else may own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OutboxEntry {
    /// Its identity; a second entry of the same identity is not added.
    pub id: EventId,
    /// The thread that it is for.
    pub recipient: ThreadKey,
    /// What it says, as JSON.
    pub payload: Arc<str>,
    /// Its place in the order of all commits; set by the store.
    pub position: Position,
}

impl OutboxEntry {
    /// A notice for `recipient`.
    #[must_use]
    pub fn new(id: EventId, recipient: ThreadKey, payload: impl Into<Arc<str>>) -> Self {
        Self { id, recipient, payload: payload.into(), position: Position::default() }
    }
}

/// A notice that is consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxCursor {
    /// The notice.
    pub id: EventId,
}

impl OutboxCursor {
    /// The notice of this identity.
    #[must_use]
    pub const fn new(id: EventId) -> Self {
        Self { id }
    }
}

/// Which notices are asked for; the oldest come first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OutboxQuery {
    /// For one thread; `None`: for all.
    pub recipient: Option<ThreadKey>,
    /// At most so many; 0 means 1,000.
    pub limit: usize,
}

impl OutboxQuery {
    /// The notices for one thread.
    #[must_use]
    pub fn recipient(thread: ThreadKey) -> Self {
        Self { recipient: Some(thread), limit: 0 }
    }
}

/// A lease on a thread. Its number grows with every new owner, so that one who has lost it can't write any more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fence {
    /// The thread.
    pub thread: ThreadKey,
    /// Who holds it.
    pub owner: OwnerId,
    /// The number of this tenure.
    pub token: u64,
}

impl Fence {
    /// A lease; for stores.
    #[must_use]
    pub fn new(thread: ThreadKey, owner: OwnerId, token: u64) -> Self {
        Self { thread, owner, token }
    }
}

/// Keeps threads: append-only logs of events, created, appended to and deleted by batches.
///
/// The contract, for those who implement it:
///
/// - A batch is committed whole or not at all, whatever number of threads it spans; when `commit` returns `Ok`, it is
///   as durable as the store.
/// - All expectations, fences and creations are checked before anything is changed.
/// - Dropping a future does not undo what it began.
/// - A store keeps the text of an event ([`Event::to_json`]) and never encodes it a second time.
/// - Time for leases is the store's own.
pub trait SessionStore: Send + Sync + 'static {
    /// Whether what is committed outlives the process.
    fn is_durable(&self) -> bool;

    /// Commits a batch.
    ///
    /// # Errors
    ///
    /// [`CommitError`]; nothing was changed, except perhaps after [`CommitError::Unknown`].
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>>;

    /// Reads up to `limit` records of a thread's generation (`None`: the current one), from number `from` (1 is the
    /// first) on. A thread that was forked has only its own records; its header says where those before it are.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if there is no such thread or generation.
    fn read(
        &self,
        thread: ThreadKey,
        generation: Option<u64>,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, StoreError>>;

    /// Lists threads in the order of their keys.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the medium fails.
    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRecord>, StoreError>>;

    /// Lists notices that nobody has consumed yet.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the medium fails.
    fn outbox(&self, query: OutboxQuery) -> BoxFuture<'_, Result<Vec<OutboxEntry>, StoreError>>;

    /// Takes the lease on a thread, which need not exist yet, for `ttl`. Its owner gets it again, with the same number.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Held`] if somebody else has it.
    fn acquire(&self, thread: ThreadKey, owner: OwnerId, ttl: Duration) -> BoxFuture<'_, Result<Fence, LeaseError>>;

    /// Lets leases hold for `ttl` from now on: all or none.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Lost`] names the first that is lost.
    fn renew(&self, fences: Vec<Fence>, ttl: Duration) -> BoxFuture<'_, Result<(), LeaseError>>;

    /// Gives a lease back. Nothing happens if it is lost already.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Store`] if the medium fails.
    fn release(&self, fence: Fence) -> BoxFuture<'_, Result<(), LeaseError>>;

    /// Resolves when something is committed after `after`, with the new last position: how other processes wake up.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the medium fails.
    fn changed(&self, after: Position) -> BoxFuture<'_, Result<Position, StoreError>>;

    /// Deletes a session with all its threads, leases and notices. Nothing happens if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the medium fails.
    fn delete_session(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>>;
}
