use std::sync::Arc;

use crate::{
    error::BoxError,
    future::BoxFuture,
    id::{AgentId, Timestamp},
};

/// A stored definition of an agent. The store does not look into it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentRecord {
    /// The agent.
    pub id: AgentId,
    /// The version, from 1; set by the store.
    pub version: u64,
    /// The definition, as JSON.
    pub definition: Arc<str>,
    /// Who declared it (`crate:Harness.method`); `None` for one that a user made.
    pub owner: Option<Arc<str>>,
    /// The fingerprint of what makes the agent what it is: SHA-256 of the definition, as 64 upper-case digits.
    pub fingerprint: Option<Arc<str>>,
    /// Where the definition came from, as thread metadata say it (`SuppliedAgentConfiguration`, …); `None` for one that
    /// a user made.
    pub source: Option<Arc<str>>,
    /// What the tool of its owner said when this version was saved, as JSON: name, description, policies. It does not
    /// make the agent what it is, and may be different today.
    pub declaration: Option<Arc<str>>,
    /// When this version was saved; set by the store.
    pub updated_at: Timestamp,
}

impl AgentRecord {
    /// A definition that nobody owns.
    #[must_use]
    pub fn new(id: AgentId, definition: impl Into<Arc<str>>) -> Self {
        Self {
            id,
            version: 0,
            definition: definition.into(),
            owner: None,
            fingerprint: None,
            source: None,
            declaration: None,
            updated_at: Timestamp::from_millis(0),
        }
    }

    /// The same with an owner and a fingerprint.
    #[must_use]
    pub fn owned_by(mut self, owner: impl Into<Arc<str>>, fingerprint: impl Into<Arc<str>>) -> Self {
        self.owner = Some(owner.into());
        self.fingerprint = Some(fingerprint.into());
        self
    }

    /// The same with the kind of its source and the declaration of its tool.
    #[must_use]
    pub fn declared_as(mut self, source: impl Into<Arc<str>>, declaration: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self.declaration = Some(declaration.into());
        self
    }
}

/// What must be there for a definition to be saved or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedVersion {
    /// Nothing of this id.
    Absent,
    /// This version.
    Exactly(u64),
    /// Anything.
    Any,
}

/// Which definitions are asked for, in the order of their ids.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AgentQuery {
    /// Only those whose id begins with this.
    pub prefix: Option<String>,
    /// Only those after this one.
    pub after: Option<AgentId>,
    /// At most so many; 0 means 1,000.
    pub limit: usize,
}

/// A definition that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentStoreError {
    /// There is no definition of this id.
    #[error("there is no definition of agent `{id}` in the store")]
    NotFound {
        /// The agent.
        id: AgentId,
    },
    /// Somebody else has changed it.
    #[error(
        "the definition of agent `{id}` has {}, not the expected one: load it again",
        match actual { Some(version) => format!("version {version}"), None => "no version".to_owned() }
    )]
    Conflict {
        /// The agent.
        id: AgentId,
        /// The version that is there.
        actual: Option<u64>,
    },
    /// The medium failed.
    #[error("the agent store failed: {source}")]
    Backend {
        /// Why.
        source: BoxError,
    },
}

impl AgentStoreError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "agent_not_found",
            Self::Conflict { .. } => "agent_version_conflict",
            Self::Backend { .. } => "agent_store_failed",
        }
    }
}

/// Keeps the definitions of agents, with their versions.
pub trait AgentStore: Send + Sync + 'static {
    /// The current version of a definition.
    ///
    /// # Errors
    ///
    /// [`AgentStoreError::Backend`] if the medium fails; an absent definition is `None`.
    fn load(&self, id: AgentId) -> BoxFuture<'_, Result<Option<AgentRecord>, AgentStoreError>>;

    /// The current versions of many.
    ///
    /// # Errors
    ///
    /// [`AgentStoreError::Backend`] if the medium fails.
    fn list(&self, query: AgentQuery) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>>;

    /// All versions of one that are still there, the oldest first.
    ///
    /// # Errors
    ///
    /// [`AgentStoreError::Backend`] if the medium fails; an absent definition has none.
    fn versions(&self, id: AgentId) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>>;

    /// Saves a new version and returns its number; the earlier ones stay.
    ///
    /// # Errors
    ///
    /// [`AgentStoreError::Conflict`] if there is something else than expected.
    fn save(&self, record: AgentRecord, expected: ExpectedVersion) -> BoxFuture<'_, Result<u64, AgentStoreError>>;

    /// Deletes a definition with all its versions.
    ///
    /// # Errors
    ///
    /// [`AgentStoreError::NotFound`] if there is none, [`AgentStoreError::Conflict`] if there is something else than
    /// expected.
    fn delete(&self, id: AgentId, expected: ExpectedVersion) -> BoxFuture<'_, Result<(), AgentStoreError>>;
}
