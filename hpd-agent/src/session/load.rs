use std::sync::Arc;

use super::ThreadState;
use crate::{
    chat::BoxFuture,
    event::{ForkPoint, ThreadHeader},
    history::History,
    id::ThreadKey,
    store::{SessionStore, StoreError, ThreadQuery},
};

const PAGE: usize = 1_000;
/// A chain of forks longer than this is taken for a circle.
const DEEPEST_FORK: usize = 1_000;

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

/// Reads a thread: the history that it was forked from, and over it its own events.
pub(crate) async fn load(store: &dyn SessionStore, key: &ThreadKey) -> Result<ThreadState, SessionError> {
    load_at_depth(store, key, None, 0).await
}

async fn header(store: &dyn SessionStore, key: &ThreadKey) -> Result<Option<(Arc<ThreadHeader>, u64)>, StoreError> {
    let found = store.threads(ThreadQuery::key(key.clone())).await?;
    Ok(found.into_iter().next().map(|thread| (thread.header, thread.generation)))
}

fn load_at_depth<'a>(
    store: &'a dyn SessionStore,
    key: &'a ThreadKey,
    until: Option<&'a ForkPoint>,
    depth: usize,
) -> BoxFuture<'a, Result<ThreadState, SessionError>> {
    Box::pin(async move {
        let (header, current) =
            header(store, key).await?.ok_or_else(|| SessionError::NotFound { thread: key.clone() })?;
        let generation = until.map_or(current, |point| point.generation);
        // A later generation holds everything that it begins with.
        let history = match &header.forked_from {
            Some(point) if generation == 1 => fork_source(store, key, point, depth).await?,
            _ => History::new(),
        };
        let mut state = ThreadState::new(header, history);
        state.generation = generation;
        let last = until.map_or(u64::MAX, |point| point.sequence);
        while state.len < last {
            let limit = usize::try_from(last - state.len).unwrap_or(PAGE).min(PAGE);
            let records = store.read(key.clone(), Some(generation), state.len + 1, limit).await?;
            if records.is_empty() {
                break;
            }
            for record in records {
                state.apply(&record.event);
            }
        }
        Ok(state)
    })
}

async fn fork_source(
    store: &dyn SessionStore,
    key: &ThreadKey,
    point: &ForkPoint,
    depth: usize,
) -> Result<History, SessionError> {
    let broken =
        |reason: String| SessionError::BrokenFork { thread: key.clone(), source_thread: point.thread.clone(), reason };
    if depth >= DEEPEST_FORK {
        return Err(broken("the chain of forks has no end".to_owned()));
    }
    match load_at_depth(store, &point.thread, Some(point), depth + 1).await {
        Ok(source) => Ok(source.fork_history()),
        Err(SessionError::Store(error @ StoreError::Backend { .. })) => Err(error.into()),
        Err(error) => Err(broken(error.to_string())),
    }
}
