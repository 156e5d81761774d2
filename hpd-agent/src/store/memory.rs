//! Stores that live as long as their process: what an agent uses unless it is given another one.

use std::{
    collections::{BTreeMap, HashMap, VecDeque, btree_map::Entry},
    future::ready,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::{
    AgentQuery, AgentRecord, AgentStore, AgentStoreError, Append, Batch, CommitError, Committed, Expected,
    ExpectedVersion, Fence, LeaseError, OutboxEntry, OutboxQuery, Position, Record, SessionStore, StoreError,
    ThreadQuery, ThreadRecord,
};
use crate::{
    event::{Event, ThreadHeader},
    future::BoxFuture,
    id::{AgentId, CommitId, EventId, OwnerId, SessionId, ThreadId, ThreadKey, Timestamp},
};

/// How many commit ids are remembered, so that a batch can be submitted again.
const REMEMBERED_COMMITS: usize = 4_096;

/// A [`SessionStore`] in memory. One lock: it makes batches over several threads atomic and their order total.
///
/// ```
/// # use hpd_agent::{event::*, id::*, store::{memory::MemorySessionStore, *}};
/// # use std::sync::Arc;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemorySessionStore::new();
/// let key = ThreadKey::new("session", "main")?;
/// let header = Arc::new(ThreadHeader::conversation(key.clone(), AgentId::new("assistant")?));
/// store.commit(Batch::new(vec![Append::create(header, vec![])])).await?;
/// assert_eq!(store.threads(ThreadQuery::key(key)).await?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemorySessionStore {
    inner: Mutex<Sessions>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Sessions {
    sessions: HashMap<SessionId, HashMap<ThreadId, Log>>,
    position: u64,
    commits: Commits,
    outbox: BTreeMap<u64, OutboxEntry>,
    outbox_ids: HashMap<EventId, u64>,
    leases: HashMap<ThreadKey, Lease>,
    tokens: u64,
}

#[derive(Debug)]
struct Log {
    header: Arc<ThreadHeader>,
    generation: u64,
    records: Vec<Stored>,
    earlier: Vec<Vec<Stored>>,
}

#[derive(Debug)]
struct Stored {
    event: Arc<Event>,
    position: u64,
}

#[derive(Debug)]
struct Lease {
    fence: Fence,
    until: Instant,
}

/// The last commits by id.
#[derive(Debug, Default)]
struct Commits {
    positions: HashMap<CommitId, u64, BuildHasherDefault<AsItIs>>,
    order: VecDeque<CommitId>,
}

/// Commit ids are random: half of one is as good as a hash of it.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, id: u128) {
        self.0 = (id as u64) ^ ((id >> 64) as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}

impl Commits {
    fn remember(&mut self, id: CommitId, position: u64) {
        if self.order.len() == REMEMBERED_COMMITS
            && let Some(oldest) = self.order.pop_front()
        {
            self.positions.remove(&oldest);
        }
        self.order.push_back(id);
        self.positions.insert(id, position);
    }
}

impl Log {
    fn generation(&self, generation: Option<u64>) -> Option<&[Stored]> {
        match generation {
            None => Some(&self.records),
            Some(number) if number == self.generation => Some(&self.records),
            Some(number) => {
                let index = usize::try_from(number.checked_sub(1)?).ok()?;
                self.earlier.get(index).map(Vec::as_slice)
            }
        }
    }
}

impl Sessions {
    fn log(&self, key: &ThreadKey) -> Option<&Log> {
        self.sessions.get(&key.session_id)?.get(&key.thread_id)
    }

    fn check(&self, batch: &Batch) -> Result<(), CommitError> {
        for (index, append) in batch.appends.iter().enumerate() {
            let invalid = |reason: String| CommitError::Store(StoreError::InvalidBatch { reason });
            if batch.appends.iter().take(index).any(|earlier| earlier.thread == append.thread) {
                return Err(invalid(format!("thread `{}` occurs twice", append.thread)));
            }
            if let Some(event) = append.events.iter().find(|event| !event.body().is_durable()) {
                return Err(invalid(format!("a {} event is not journaled", event.type_name())));
            }
            if let Some(fence) = &append.fence {
                let held = self.leases.get(&append.thread).is_some_and(|lease| lease.fence == **fence);
                if !held {
                    return Err(CommitError::Fenced { thread: append.thread.clone() });
                }
            }
            let log = self.log(&append.thread);
            match (&append.create, log) {
                (Some(_), Some(_)) => return Err(CommitError::Exists { thread: append.thread.clone() }),
                (Some(header), None) if header.key != append.thread => {
                    return Err(invalid(format!("the header is one of thread `{}`", header.key)));
                }
                (None, None) => return Err(StoreError::NotFound { thread: append.thread.clone() }.into()),
                _ => {}
            }
            let actual = log.map_or(0, |log| log.records.len() as u64);
            if let Expected::Exactly(expected) = append.expected
                && expected != actual
            {
                return Err(CommitError::Conflict { thread: append.thread.clone(), expected, actual });
            }
            let last = || log.and_then(|log| log.records.last()).map(|stored| stored.event.id());
            if append.after.as_ref().is_some_and(|after| last() != Some(**after)) {
                return Err(CommitError::Replaced { thread: append.thread.clone() });
            }
        }
        Ok(())
    }

    fn append(&mut self, append: Append, position: u64) {
        let threads = self.sessions.entry(append.thread.session_id).or_default();
        let log = match append.create {
            Some(header) => threads.entry(append.thread.thread_id).or_insert(Log {
                header,
                generation: 1,
                records: Vec::new(),
                earlier: Vec::new(),
            }),
            None => match threads.get_mut(&append.thread.thread_id) {
                Some(log) => log,
                // `check` has seen it under the same lock.
                None => return,
            },
        };
        if append.begin_generation {
            log.earlier.push(std::mem::take(&mut log.records));
            log.generation += 1;
        }
        log.records.extend(append.events.into_iter().map(|event| Stored { event, position }));
    }

    fn commit(&mut self, batch: Batch) -> Result<Committed, CommitError> {
        if let Some(&position) = self.commits.positions.get(&batch.id) {
            return Ok(Committed::at(Position(position)));
        }
        self.check(&batch)?;
        self.position += 1;
        let position = self.position;
        self.commits.remember(batch.id, position);
        for append in batch.appends {
            self.append(append, position);
        }
        for mut entry in batch.enqueue {
            if self.outbox_ids.contains_key(&entry.id) {
                continue;
            }
            // Several notices of one batch need an order among themselves.
            let key = self.outbox.last_key_value().map_or(0, |(key, _)| key + 1);
            entry.position = Position(position);
            self.outbox_ids.insert(entry.id, key);
            self.outbox.insert(key, entry);
        }
        for cursor in batch.consume {
            if let Some(key) = self.outbox_ids.remove(&cursor.id) {
                self.outbox.remove(&key);
            }
        }
        Ok(Committed::at(Position(position)))
    }

    fn read(
        &self,
        thread: &ThreadKey,
        generation: Option<u64>,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let records = self
            .log(thread)
            .and_then(|log| log.generation(generation))
            .ok_or_else(|| StoreError::NotFound { thread: thread.clone() })?;
        let skip = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        let numbered = (1u64..).zip(records).skip(skip).take(limit);
        Ok(numbered
            .map(|(sequence, stored)| Record::new(sequence, Position(stored.position), Arc::clone(&stored.event)))
            .collect())
    }

    fn threads(&self, query: &ThreadQuery) -> Vec<ThreadRecord> {
        let mut found: Vec<&Log> = match (&query.key, &query.session) {
            (Some(key), _) => self.log(key).into_iter().collect(),
            (None, Some(session)) => self.sessions.get(session).into_iter().flat_map(HashMap::values).collect(),
            (None, None) => self.sessions.values().flat_map(HashMap::values).collect(),
        };
        found.retain(|log| query.matches(&log.header));
        found.sort_unstable_by(|a, b| a.header.key.cmp(&b.header.key));
        found
            .into_iter()
            .filter(|log| query.after.as_ref().is_none_or(|after| log.header.key > *after))
            .take(query.effective_limit())
            .map(|log| {
                let last = log.records.last().map_or(log.header.created_at, |stored| stored.event.timestamp());
                ThreadRecord::new(Arc::clone(&log.header), log.generation, log.records.len() as u64, last)
            })
            .collect()
    }

    fn acquire(&mut self, thread: ThreadKey, owner: OwnerId, ttl: Duration) -> Result<Fence, LeaseError> {
        let now = Instant::now();
        if let Some(lease) = self.leases.get_mut(&thread)
            && lease.until > now
        {
            if lease.fence.owner != owner {
                let remaining = lease.until - now;
                return Err(LeaseError::Held { thread, owner: lease.fence.owner, remaining });
            }
            lease.until = now + ttl;
            return Ok(lease.fence.clone());
        }
        self.tokens += 1;
        let fence = Fence::new(thread.clone(), owner, self.tokens);
        self.leases.insert(thread, Lease { fence: fence.clone(), until: now + ttl });
        Ok(fence)
    }

    fn renew(&mut self, fences: &[Fence], ttl: Duration) -> Result<(), LeaseError> {
        let lost = fences.iter().find(|fence| self.leases.get(&fence.thread).is_none_or(|l| l.fence != **fence));
        if let Some(fence) = lost {
            return Err(LeaseError::Lost { thread: fence.thread.clone() });
        }
        let until = Instant::now() + ttl;
        for fence in fences {
            if let Some(lease) = self.leases.get_mut(&fence.thread) {
                lease.until = until;
            }
        }
        Ok(())
    }

    fn delete_session(&mut self, session: &SessionId) {
        self.sessions.remove(session);
        self.leases.retain(|thread, _| thread.session_id != *session);
        let ids = &mut self.outbox_ids;
        self.outbox.retain(|_, entry| {
            let keep = entry.recipient.session_id != *session;
            if !keep {
                ids.remove(&entry.id);
            }
            keep
        });
    }
}

impl MemorySessionStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemorySessionStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        let result = self.lock().commit(batch);
        if result.is_ok() {
            self.changed.notify_waiters();
        }
        Box::pin(ready(result))
    }

    fn read(
        &self,
        thread: ThreadKey,
        generation: Option<u64>,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        Box::pin(ready(self.lock().read(&thread, generation, from, limit)))
    }

    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRecord>, StoreError>> {
        Box::pin(ready(Ok(self.lock().threads(&query))))
    }

    fn outbox(&self, query: OutboxQuery) -> BoxFuture<'_, Result<Vec<OutboxEntry>, StoreError>> {
        let limit = if query.limit == 0 { 1_000 } else { query.limit };
        let inner = self.lock();
        let found =
            inner.outbox.values().filter(|entry| query.recipient.as_ref().is_none_or(|r| *r == entry.recipient));
        Box::pin(ready(Ok(found.take(limit).cloned().collect())))
    }

    fn acquire(&self, thread: ThreadKey, owner: OwnerId, ttl: Duration) -> BoxFuture<'_, Result<Fence, LeaseError>> {
        Box::pin(ready(self.lock().acquire(thread, owner, ttl)))
    }

    fn renew(&self, fences: Vec<Fence>, ttl: Duration) -> BoxFuture<'_, Result<(), LeaseError>> {
        Box::pin(ready(self.lock().renew(&fences, ttl)))
    }

    fn release(&self, fence: Fence) -> BoxFuture<'_, Result<(), LeaseError>> {
        let mut inner = self.lock();
        if inner.leases.get(&fence.thread).is_some_and(|lease| lease.fence == fence) {
            inner.leases.remove(&fence.thread);
        }
        Box::pin(ready(Ok(())))
    }

    fn changed(&self, after: Position) -> BoxFuture<'_, Result<Position, StoreError>> {
        Box::pin(async move {
            loop {
                let notified = self.changed.notified();
                let position = self.lock().position;
                if position > after.0 {
                    return Ok(Position(position));
                }
                notified.await;
            }
        })
    }

    fn delete_session(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.lock().delete_session(&session);
        Box::pin(ready(Ok(())))
    }
}

/// An [`AgentStore`] in memory.
///
/// ```
/// # use hpd_agent::{id::AgentId, store::{memory::MemoryAgentStore, *}};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryAgentStore::new();
/// let id = AgentId::new("specialist.reviewer")?;
/// let version = store.save(AgentRecord::new(id.clone(), r#"{"name": "Reviewer"}"#), ExpectedVersion::Absent).await?;
/// assert_eq!(version, 1);
/// assert!(store.load(id).await?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryAgentStore {
    agents: Mutex<BTreeMap<AgentId, Vec<AgentRecord>>>,
}

impl MemoryAgentStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Vec<AgentRecord>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_version(id: &AgentId, actual: Option<u64>, expected: ExpectedVersion) -> Result<(), AgentStoreError> {
    let as_expected = match expected {
        ExpectedVersion::Any => true,
        ExpectedVersion::Absent => actual.is_none(),
        ExpectedVersion::Exactly(version) => actual == Some(version),
    };
    if as_expected { Ok(()) } else { Err(AgentStoreError::Conflict { id: id.clone(), actual }) }
}

impl AgentStore for MemoryAgentStore {
    fn load(&self, id: AgentId) -> BoxFuture<'_, Result<Option<AgentRecord>, AgentStoreError>> {
        Box::pin(ready(Ok(self.lock().get(&id).and_then(|versions| versions.last().cloned()))))
    }

    fn list(&self, query: AgentQuery) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>> {
        let limit = if query.limit == 0 { 1_000 } else { query.limit };
        let agents = self.lock();
        let found = agents.values().filter_map(|versions| versions.last()).filter(|record| {
            query.prefix.as_ref().is_none_or(|prefix| record.id.as_str().starts_with(prefix.as_str()))
                && query.after.as_ref().is_none_or(|after| record.id > *after)
        });
        Box::pin(ready(Ok(found.take(limit).cloned().collect())))
    }

    fn versions(&self, id: AgentId) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>> {
        Box::pin(ready(Ok(self.lock().get(&id).cloned().unwrap_or_default())))
    }

    fn save(&self, mut record: AgentRecord, expected: ExpectedVersion) -> BoxFuture<'_, Result<u64, AgentStoreError>> {
        let mut agents = self.lock();
        let actual = agents.get(&record.id).and_then(|versions| versions.last()).map(|record| record.version);
        let result = check_version(&record.id, actual, expected).map(|()| {
            record.version = actual.unwrap_or(0) + 1;
            record.updated_at = Timestamp::now();
            let version = record.version;
            match agents.entry(record.id.clone()) {
                // Most have one version.
                Entry::Vacant(entry) => drop(entry.insert(vec![record])),
                Entry::Occupied(entry) => entry.into_mut().push(record),
            }
            version
        });
        Box::pin(ready(result))
    }

    fn delete(&self, id: AgentId, expected: ExpectedVersion) -> BoxFuture<'_, Result<(), AgentStoreError>> {
        let mut agents = self.lock();
        let actual = agents.get(&id).and_then(|versions| versions.last()).map(|record| record.version);
        let result = match actual {
            None => Err(AgentStoreError::NotFound { id }),
            Some(_) => check_version(&id, actual, expected).map(|()| {
                agents.remove(&id);
            }),
        };
        Box::pin(ready(result))
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
