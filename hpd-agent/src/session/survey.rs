//! Makes the graph of a session: lists its threads, folds the journal of each once, and adds up.
//!
//! A fork's journal has only what was said since. So a fold also notes how long a thread was at each point that somebody
//! forked it at, and the length of a fork is a sum along its chain. No history is put together for it.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    ChildStatus, ForkGroup, RuntimeChild, SessionError, ThreadGraph, ThreadState, ThreadSummary,
    load::{PAGE, load},
};
use crate::{
    event::{EventBody, ExecutionOutcome, ForkPoint, ThreadHeader, ThreadKind},
    history::History,
    id::{AgentId, SessionId, ThreadId, ThreadKey, Timestamp},
    store::{SessionStore, ThreadQuery, ThreadRecord},
};

/// How many journals are read at once.
const READ_AT_ONCE: usize = 16;

/// What only the runtime knows.
pub(crate) trait Runtime: Sync {
    /// The threads of a session that somebody works on now.
    fn executing(&self, session: &SessionId) -> HashSet<ThreadKey>;
    /// The name of an agent.
    fn agent_name(&self, agent: &AgentId) -> Option<Arc<str>>;
}

/// One generation of a thread.
type Generation = (ThreadId, u64);

/// The graph of a session; an empty one if there is no such session.
pub(crate) async fn survey(
    store: &dyn SessionStore,
    session: SessionId,
    runtime: &dyn Runtime,
) -> Result<ThreadGraph, SessionError> {
    let records = list(store, &session).await?;
    let folds = fold_all(store, &records).await?;
    let lengths = Lengths::of(store, &records, &folds).await?;
    // Asked for after everything was read: what began later is not in the folds.
    let executing = runtime.executing(&session);

    let mut threads = Vec::with_capacity(records.len());
    let mut runtime_children = Vec::new();
    for record in &records {
        let key = (record.header.key.thread_id.clone(), record.generation);
        let Some(fold) = folds.get(&key) else { continue };
        let summary = ThreadSummary {
            header: Arc::clone(&record.header),
            message_count: lengths.total(&key, fold),
            last_activity: fold.last_activity,
        };
        if summary.header.origin.is_some() {
            let status = fold.status(store, &executing).await?;
            let name = runtime.agent_name(&summary.header.default_agent_id);
            runtime_children.extend(RuntimeChild::of(&summary, status, name));
        }
        threads.push(summary);
    }
    threads.sort_by(|a, b| by_creation(&a.header, &b.header));
    runtime_children.sort_by(|a, b| by_place(a).cmp(&by_place(b)));
    let fork_groups = fork_groups(&threads);
    Ok(ThreadGraph { session_id: session, threads, fork_groups, runtime_children })
}

fn by_place(child: &RuntimeChild) -> (&SessionId, &ThreadId, Timestamp, &ThreadId) {
    (&child.parent_session_id, &child.parent_thread_id, child.created_at, &child.thread_id)
}

fn by_creation(a: &ThreadHeader, b: &ThreadHeader) -> Ordering {
    (a.created_at, &a.key.thread_id).cmp(&(b.created_at, &b.key.thread_id))
}

/// All conversations of a session.
async fn list(store: &dyn SessionStore, session: &SessionId) -> Result<Vec<ThreadRecord>, SessionError> {
    let mut all = Vec::new();
    let mut query = ThreadQuery::session(session.clone());
    loop {
        let page = store.threads(query.clone()).await?;
        let Some(last) = page.last() else { break };
        query.after = Some(last.header.key.clone());
        let is_last = page.len() < query.effective_limit();
        all.extend(page.into_iter().filter(|record| record.header.thread_kind != ThreadKind::Session));
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// What the graph needs to know of one generation of a thread.
struct Fold {
    key: ThreadKey,
    generation: u64,
    /// How many records were read.
    len: u64,
    /// How many messages are its own.
    messages: usize,
    /// How many of them a fork at a record sees.
    at: HashMap<u64, usize>,
    /// How its last execution ended; `None`: there is no end.
    outcome: Option<ExecutionOutcome>,
    last_activity: Timestamp,
}

async fn fold_all(
    store: &dyn SessionStore,
    records: &[ThreadRecord],
) -> Result<HashMap<Generation, Fold>, SessionError> {
    let mut points: HashMap<Generation, BTreeSet<u64>> = HashMap::new();
    for (point, session) in records.iter().filter_map(|r| Some((r.header.forked_from.as_ref()?, &r.header.key))) {
        if point.thread.session_id == session.session_id {
            let generation = (point.thread.thread_id.clone(), point.generation);
            points.entry(generation).or_default().insert(point.sequence);
        }
    }
    let mut jobs = Vec::with_capacity(records.len());
    for record in records {
        let id = &record.header.key.thread_id;
        let current = points.remove(&(id.clone(), record.generation)).unwrap_or_default();
        jobs.push((&record.header, record.generation, record.len, current));
        // A thread that began anew since it was forked.
        for generation in 1..record.generation {
            if let Some(points) = points.remove(&(id.clone(), generation)) {
                let last = points.last().copied().unwrap_or_default();
                jobs.push((&record.header, generation, last, points));
            }
        }
    }
    let folds = jobs.into_iter().map(|(header, generation, len, points)| fold(store, header, generation, len, points));
    let folds = stream::iter(folds.collect::<Vec<_>>()).buffer_unordered(READ_AT_ONCE);
    folds.map_ok(|fold| ((fold.key.thread_id.clone(), fold.generation), fold)).try_collect().await
}

/// Reads the first `len` records of a generation.
async fn fold(
    store: &dyn SessionStore,
    header: &Arc<ThreadHeader>,
    generation: u64,
    len: u64,
    points: BTreeSet<u64>,
) -> Result<Fold, SessionError> {
    let mut state = ThreadState::new(Arc::clone(header), History::new());
    let mut at = HashMap::with_capacity(points.len());
    // A fork of a fork in which nothing has happened.
    at.extend(points.first().filter(|first| **first == 0).map(|none| (*none, 0)));
    let mut outcome = None;
    let mut last_activity = header.created_at;
    while state.len < len {
        let limit = usize::try_from(len - state.len).unwrap_or(PAGE).min(PAGE);
        let records = store.read(header.key.clone(), Some(generation), state.len + 1, limit).await?;
        if records.is_empty() {
            break;
        }
        for record in records {
            state.apply(&record.event);
            outcome = outcome_after(outcome, record.event.body());
            last_activity = last_activity.max(record.event.timestamp());
            if points.contains(&state.len) {
                at.insert(state.len, state.fork_history().len());
            }
        }
    }
    let messages = state.history.len();
    Ok(Fold { key: header.key.clone(), generation, len: state.len, messages, at, outcome, last_activity })
}

fn outcome_after(before: Option<ExecutionOutcome>, body: &EventBody) -> Option<ExecutionOutcome> {
    match body {
        EventBody::ExecutionStarted(_) => None,
        EventBody::ExecutionFinished(finished) => Some(finished.outcome),
        _ => before,
    }
}

impl Fold {
    async fn status(
        &self,
        store: &dyn SessionStore,
        executing: &HashSet<ThreadKey>,
    ) -> Result<ChildStatus, SessionError> {
        if let Some(outcome) = self.outcome {
            return Ok(outcome.into());
        }
        if executing.contains(&self.key) {
            return Ok(ChildStatus::Active);
        }
        // It may have ended between the fold and the question who works.
        let (mut len, mut outcome) = (self.len, None);
        loop {
            let records = store.read(self.key.clone(), Some(self.generation), len + 1, PAGE).await?;
            let Some(last) = records.last() else { break };
            len = last.sequence;
            outcome = records.iter().fold(outcome, |outcome, record| outcome_after(outcome, record.event.body()));
        }
        Ok(match outcome {
            Some(outcome) => outcome.into(),
            None if len > self.len => ChildStatus::Active,
            None => ChildStatus::Interrupted,
        })
    }
}

/// How many messages stand before the own ones of each generation.
struct Lengths(HashMap<Generation, usize>);

impl Lengths {
    async fn of(
        store: &dyn SessionStore,
        records: &[ThreadRecord],
        folds: &HashMap<Generation, Fold>,
    ) -> Result<Self, SessionError> {
        let headers: HashMap<&ThreadId, &Arc<ThreadHeader>> =
            records.iter().map(|record| (&record.header.key.thread_id, &record.header)).collect();
        // A later generation holds everything that it begins with.
        let point_of = |(id, generation): &Generation| {
            headers.get(id).and_then(|header| header.forked_from.as_ref()).filter(|_| *generation == 1)
        };
        let mut before = HashMap::with_capacity(folds.len());
        for start in folds.keys() {
            // Down to what is known, and up again: chains can be long, and share most of their links.
            let mut chain = Vec::new();
            let mut seen = HashSet::new();
            let mut next = start.clone();
            let mut length = loop {
                if let Some(&known) = before.get(&next) {
                    break known;
                }
                let Some(point) = point_of(&next) else {
                    before.insert(next, 0);
                    break 0;
                };
                let source = (point.thread.thread_id.clone(), point.generation);
                let at = folds.get(&source).and_then(|fold| fold.at.get(&point.sequence)).copied();
                let outside = headers.get(&next.0).is_none_or(|h| h.key.session_id != point.thread.session_id);
                match at {
                    Some(at) if !outside && seen.insert(next.clone()) => {
                        chain.push((next, at));
                        next = source;
                    }
                    _ => {
                        let length = before_elsewhere(store, headers.get(&next.0), folds.get(&next)).await?;
                        before.insert(next, length);
                        break length;
                    }
                }
            };
            while let Some((generation, at)) = chain.pop() {
                length += at;
                before.insert(generation, length);
            }
        }
        Ok(Self(before))
    }

    fn total(&self, generation: &Generation, fold: &Fold) -> usize {
        self.0.get(generation).copied().unwrap_or_default() + fold.messages
    }
}

/// The same for a fork whose source is not in this session, which nothing here makes but a store can hold.
async fn before_elsewhere(
    store: &dyn SessionStore,
    header: Option<&&Arc<ThreadHeader>>,
    fold: Option<&Fold>,
) -> Result<usize, SessionError> {
    let (Some(header), Some(fold)) = (header, fold) else { return Ok(0) };
    match load(store, &header.key).await {
        Ok(state) => Ok(state.history.len().saturating_sub(fold.messages)),
        Err(SessionError::BrokenFork { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The forks by their points. `threads` are in the order of their creation.
fn fork_groups(threads: &[ThreadSummary]) -> Vec<ForkGroup> {
    let mut groups: BTreeMap<(&ThreadKey, u64, u64), (&ForkPoint, Vec<ThreadId>)> = BTreeMap::new();
    for header in threads.iter().map(|thread| &thread.header) {
        if let Some(point) = &header.forked_from {
            let group = groups.entry((&point.thread, point.generation, point.sequence)).or_insert((point, Vec::new()));
            group.1.push(header.key.thread_id.clone());
        }
    }
    groups.into_values().map(|(point, threads)| ForkGroup { forked_from: point.clone(), threads }).collect()
}
