use std::time::Duration;

use crate::{
    error::BoxError,
    id::{OwnerId, ThreadKey},
};

/// A store that could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such thread.
    #[error("there is no thread `{thread}` in the store")]
    NotFound {
        /// The thread.
        thread: ThreadKey,
    },
    /// The batch breaks a rule of the store.
    #[error("the batch was refused: {reason}")]
    InvalidBatch {
        /// Which rule.
        reason: String,
    },
    /// The medium failed.
    #[error("the store failed: {source}")]
    Backend {
        /// Why.
        source: BoxError,
    },
}

impl StoreError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "thread_not_found",
            Self::InvalidBatch { .. } => "invalid_batch",
            Self::Backend { .. } => "store_failed",
        }
    }
}

/// A batch that was not committed, or perhaps was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The thread does not look as expected: somebody else has written to it.
    #[error("thread `{thread}` has {actual} records, not the expected {expected}: somebody else has written to it")]
    Conflict {
        /// The thread.
        thread: ThreadKey,
        /// How many records the writer expected.
        expected: u64,
        /// How many there are.
        actual: u64,
    },
    /// The thread ends with another event than expected: it was made anew, or began a new generation.
    #[error("thread `{thread}` is not the one that was read: it was made anew by somebody else")]
    Replaced {
        /// The thread.
        thread: ThreadKey,
    },
    /// A thread that was to be created exists.
    #[error("thread `{thread}` exists already")]
    Exists {
        /// The thread.
        thread: ThreadKey,
    },
    /// The writer has lost its lease.
    #[error("the lease on thread `{thread}` was taken over by somebody else")]
    Fenced {
        /// The thread.
        thread: ThreadKey,
    },
    /// The outcome is unknown: submit the same batch again.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(#[source] StoreError),
    /// It was not committed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "commit_conflict",
            Self::Replaced { .. } => "thread_replaced",
            Self::Exists { .. } => "thread_exists",
            Self::Fenced { .. } => "lease_lost",
            Self::Unknown(_) => "commit_outcome_unknown",
            Self::Store(error) => error.code(),
        }
    }
}

/// A lease that could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Somebody else has it.
    #[error("thread `{thread}` is owned by {owner} for another {remaining:?}")]
    Held {
        /// The thread.
        thread: ThreadKey,
        /// Who has it.
        owner: OwnerId,
        /// How long it holds unless it is renewed.
        remaining: Duration,
    },
    /// It has expired and somebody else has taken it, or it was released.
    #[error("the lease on thread `{thread}` is lost")]
    Lost {
        /// The thread.
        thread: ThreadKey,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LeaseError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Held { .. } => "lease_held",
            Self::Lost { .. } => "lease_lost",
            Self::Store(error) => error.code(),
        }
    }
}
