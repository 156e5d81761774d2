use std::{collections::HashSet, sync::Arc};

use super::ThreadState;
use crate::{
    event::{ForkPoint, ThreadHeader},
    history::History,
    id::ThreadKey,
    store::{SessionStore, StoreError, ThreadQuery},
};

/// How many records are read at once.
pub(super) const PAGE: usize = 1_000;

/// A thread that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such thread.
    #[error("there is no thread `{thread}`: run the agent on a new thread, or check the session and thread ids")]
    NotFound {
        /// The thread.
        thread: ThreadKey,
    },
    /// A fork whose source is gone or refers to itself.
    #[error("thread `{thread}` is a fork of `{source_thread}`, which cannot be read: {reason}")]
    BrokenFork {
        /// The fork.
        thread: ThreadKey,
        /// Where it was forked from.
        source_thread: ThreadKey,
        /// Why.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "thread_not_found",
            Self::BrokenFork { .. } => "broken_fork",
            Self::Store(error) => error.code(),
        }
    }
}

/// One thread of a chain of forks.
struct Link {
    header: Arc<ThreadHeader>,
    generation: u64,
    /// The last record that counts.
    last: u64,
}

/// Reads a thread: the history that it was forked from, and over it its own events. A conversation that is forked for
/// every change of mind is a long chain, so this does not recurse.
pub(crate) async fn load(store: &dyn SessionStore, key: &ThreadKey) -> Result<ThreadState, SessionError> {
    let mut chain = Vec::with_capacity(1);
    let mut next = Some(link(store, key, None).await?);
    let mut seen = HashSet::new();
    while let Some(link) = next {
        // A later generation holds everything that it begins with.
        let point = link.header.forked_from.clone().filter(|_| link.generation == 1);
        chain.push(link);
        next = match point {
            None => None,
            Some(point) => Some(fork_source(store, &chain, &mut seen, &point).await?),
        };
    }
    let (mut history, mut last_agent) = (History::new(), None);
    loop {
        let Some(link) = chain.pop() else { return Err(SessionError::NotFound { thread: key.clone() }) };
        let source_thread = link.header.key.clone();
        let mut state = ThreadState::new(Arc::clone(&link.header), history);
        // Who goes on with a child's conversation in a fork of it has the child's place and the child's denials.
        state.last_agent = last_agent.filter(|_| link.header.origin.is_none());
        let folded = fold(store, link, state).await;
        let Some(fork) = chain.last() else { return folded };
        let folded = match folded {
            Err(SessionError::Store(error @ StoreError::NotFound { .. })) => {
                return Err(broken(&fork.header.key, source_thread, error.to_string()));
            }
            folded => folded?,
        };
        history = folded.fork_history();
        last_agent = folded.last_agent;
    }
}

async fn link(store: &dyn SessionStore, key: &ThreadKey, until: Option<&ForkPoint>) -> Result<Link, SessionError> {
    let found = store.threads(ThreadQuery::key(key.clone())).await?;
    let thread = found.into_iter().next().ok_or_else(|| SessionError::NotFound { thread: key.clone() })?;
    Ok(match until {
        None => Link { header: thread.header, generation: thread.generation, last: u64::MAX },
        Some(point) => Link { header: thread.header, generation: point.generation, last: point.sequence },
    })
}

/// The thread that the last one of `chain` was forked from.
async fn fork_source(
    store: &dyn SessionStore,
    chain: &[Link],
    seen: &mut HashSet<ThreadKey>,
    point: &ForkPoint,
) -> Result<Link, SessionError> {
    let fork = chain.last().map_or(&point.thread, |link| &link.header.key);
    let broken = |reason| broken(fork, point.thread.clone(), reason);
    if !seen.insert(point.thread.clone()) {
        return Err(broken("the chain of forks has no end".to_owned()));
    }
    match link(store, &point.thread, Some(point)).await {
        Err(error @ SessionError::NotFound { .. }) => Err(broken(error.to_string())),
        other => other,
    }
}

fn broken(fork: &ThreadKey, source_thread: ThreadKey, reason: String) -> SessionError {
    SessionError::BrokenFork { thread: fork.clone(), source_thread, reason }
}

async fn fold(store: &dyn SessionStore, link: Link, mut state: ThreadState) -> Result<ThreadState, SessionError> {
    let key = link.header.key.clone();
    state.generation = link.generation;
    while state.len < link.last {
        let limit = usize::try_from(link.last - state.len).unwrap_or(PAGE).min(PAGE);
        let records = store.read(key.clone(), Some(link.generation), state.len + 1, limit).await?;
        if records.is_empty() {
            break;
        }
        for record in records {
            state.apply(&record.event);
        }
    }
    Ok(state)
}
