//! Where the blueprint of a child comes from when it is needed: the tree, the agent store, or a resolver of the
//! application's.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    Agent, BuildError, BuildProblem,
    blueprint::{Blueprint, Client, Forest},
    clients::Providers,
    compile::compile,
    freeze::{Definition, DefinitionSource, Factory, Freezer},
    place::Place,
    sources::config_of,
};
use crate::{
    chat::ChatClient,
    clients::ClientSet,
    declare::{ErasedHarness, HarnessContext, HarnessKey},
    error::BoxError,
    future::BoxFuture,
    id::{AgentId, SessionId, ThreadId, ThreadKey},
    store::{AgentStore, AgentStoreError},
    tool::DynamicRegistry,
};

/// Gives the agents that work on children's threads, for applications that build them themselves: from a service, with
/// clients of their own, or from a pool.
///
/// It is asked whenever a child is about to begin, and when the conversation of an agent is continued that is not the
/// root's. The parent's journal, permissions, budget and cancellation hold for what it gives.
///
/// ```
/// use hpd_agent::{
///     agent::{AgentLease, AgentRuntimeResolver, ResolveError},
///     future::BoxFuture,
///     id::{AgentId, SessionId, ThreadId},
///     prelude::*,
/// };
///
/// /// Has one agent ready, and leaves the others to the tree.
/// struct Ready(AgentId, Agent);
///
/// impl AgentRuntimeResolver for Ready {
///     fn get_or_build(
///         &self,
///         agent: AgentId,
///         _session: SessionId,
///         _thread: ThreadId,
///     ) -> BoxFuture<'_, Result<Option<AgentLease>, ResolveError>> {
///         let found = (agent == self.0).then(|| AgentLease::new(self.1.clone()));
///         Box::pin(std::future::ready(Ok(found)))
///     }
/// }
/// ```
pub trait AgentRuntimeResolver: Send + Sync + 'static {
    /// The agent of this id for work on this thread. `None`: the one that the tree declares, or else the one that the
    /// agent store has.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] if there has to be one and is none: the child is not started, and the parent's model is told why.
    fn get_or_build(
        &self,
        agent: AgentId,
        session: SessionId,
        thread: ThreadId,
    ) -> BoxFuture<'_, Result<Option<AgentLease>, ResolveError>>;
}

/// An agent that is used for a while. What is given with it is dropped when it is used no longer.
pub struct AgentLease {
    agent: Agent,
    /// Only to be dropped.
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl AgentLease {
    /// An agent that nobody waits for to be given back.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self { agent, _guard: None }
    }

    /// The same with something that is dropped when the agent is used no longer.
    #[must_use]
    pub fn with_guard(self, guard: impl Any + Send + Sync) -> Self {
        Self { _guard: Some(Box::new(guard)), ..self }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }
}

impl fmt::Debug for AgentLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentLease").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Why there is no agent for a thread.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Neither the tree nor the agent store has it.
    #[error("there is no definition of agent `{id}`, neither in the tree nor in the agent store")]
    NotFound {
        /// The agent.
        id: AgentId,
    },
    /// A child of a stored agent, whose record belongs to somebody else.
    #[error("agent `{id}` is declared by `{here}`, and the agent store has one of `{stored}`")]
    Owned {
        /// The agent.
        id: AgentId,
        /// Who declares it.
        here: String,
        /// Who owns the record.
        stored: String,
    },
    /// What the agent store has of it does not make an agent.
    #[error("agent `{id}` cannot be built: {source}")]
    Build {
        /// The agent.
        id: AgentId,
        /// Why.
        source: BuildError,
    },
    /// The agent store failed.
    #[error(transparent)]
    Store(#[from] AgentStoreError),
    /// The resolver failed.
    #[error("agent `{id}` could not be had: {source}")]
    Other {
        /// The agent.
        id: AgentId,
        /// Why.
        source: BoxError,
    },
}

impl ResolveError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "agent_not_found",
            Self::Owned { .. } => "agent_owned",
            Self::Build { .. } => "agent_not_built",
            Self::Store(error) => error.code(),
            Self::Other { .. } => "agent_not_resolved",
        }
    }
}

/// A blueprint, and what it needs to be used.
pub(crate) struct Resolved {
    pub(crate) forest: Arc<Forest>,
    pub(crate) index: usize,
    /// The client of the agent that was leased.
    pub(crate) client: Option<Client>,
    /// Those beside its model that it was given.
    pub(crate) clients: Option<Arc<ClientSet>>,
    pub(crate) lease: Option<Box<AgentLease>>,
}

impl Resolved {
    pub(crate) fn of(forest: &Arc<Forest>, index: usize) -> Self {
        Self { forest: Arc::clone(forest), index, client: None, clients: None, lease: None }
    }

    fn leased(lease: AgentLease) -> Self {
        let inner = lease.agent.inner();
        let (forest, client) = (Arc::clone(&inner.forest), inner.client.clone());
        Self { forest, index: 0, client, clients: inner.clients.clone(), lease: Some(Box::new(lease)) }
    }
}

/// What builds agents of the agent store when they are needed, each version once.
pub(crate) struct Resolver {
    pub(crate) custom: Option<Arc<dyn AgentRuntimeResolver>>,
    pub(crate) recipe: Recipe,
    built: Mutex<HashMap<AgentId, (u64, Arc<Forest>)>>,
}

/// What a definition needs besides itself to become an agent: all that the builder was given.
pub(crate) struct Recipe {
    pub(crate) instances: HashMap<HarnessKey, Arc<dyn ErasedHarness>>,
    pub(crate) factories: HashMap<HarnessKey, Factory>,
    pub(crate) registry: DynamicRegistry,
    pub(crate) providers: Providers,
    pub(crate) client: Option<Arc<dyn ChatClient>>,
    pub(crate) context: HarnessContext,
}

impl Recipe {
    pub(crate) fn freezer(&self) -> Freezer {
        Freezer::new(self.instances.clone(), self.factories.clone(), self.registry.clone())
    }
}

impl Resolver {
    pub(crate) fn new(custom: Option<Arc<dyn AgentRuntimeResolver>>, recipe: Recipe) -> Self {
        Self { custom, recipe, built: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, (u64, Arc<Forest>)>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the blueprint of a child may be another one than the tree's, so that somebody has to be asked.
    pub(crate) fn is_asked(&self, child: &Blueprint) -> bool {
        self.custom.is_some() || child.stored_version.is_some()
    }

    /// The agent for work on a thread. `known`: the one that the tree has.
    pub(crate) async fn resolve(
        &self,
        id: &AgentId,
        thread: &ThreadKey,
        known: Option<(&Arc<Forest>, usize)>,
        store: &dyn AgentStore,
    ) -> Result<Resolved, ResolveError> {
        if let Some(custom) = &self.custom {
            let (session, thread) = (thread.session_id.clone(), thread.thread_id.clone());
            if let Some(lease) = custom.get_or_build(id.clone(), session, thread).await? {
                return Ok(Resolved::leased(lease));
            }
        }
        let blueprint = known.and_then(|(forest, index)| forest.get(index));
        if let Some((forest, index)) = known.filter(|_| blueprint.is_some_and(|known| known.stored_version.is_none())) {
            return Ok(Resolved::of(forest, index));
        }
        let record = store.load(id.clone()).await?;
        let record = record.ok_or_else(|| ResolveError::NotFound { id: id.clone() })?;
        if let Some((forest, index)) =
            known.filter(|_| blueprint.and_then(|b| b.stored_version) == Some(record.version))
        {
            return Ok(Resolved::of(forest, index));
        }
        let built = self.lock().get(id).filter(|(version, _)| *version == record.version).map(|(_, f)| Arc::clone(f));
        if let Some(forest) = built {
            return Ok(Resolved::of(&forest, 0));
        }
        let unreadable = |reason| {
            let (at, id, version) = (Place::Builder.to_string(), id.to_string(), record.version);
            BuildError::new(vec![BuildProblem::StoredAgent { at, id, version, reason }])
        };
        let config =
            config_of(&record).map_err(|reason| ResolveError::Build { id: id.clone(), source: unreadable(reason) })?;
        let mut freezer = self.recipe.freezer();
        let at = Place::Builder;
        let mut harnesses = Vec::new();
        // What the declaration gives the child, the store knows nothing of.
        for harness in blueprint.iter().flat_map(|known| known.harnesses.iter().take(known.declared)) {
            harnesses.push(freezer.add(Arc::clone(harness)));
        }
        let declared = harnesses.len();
        freezer.add_named(&config, &mut harnesses, &at);
        let source = DefinitionSource::Stored { version: Some(record.version) };
        freezer.definitions.push(Definition { agent_id: id.clone(), config, harnesses, declared, at, source });
        let forest = Arc::new(self.build(id, freezer, store).await?);
        self.lock().insert(id.clone(), (record.version, Arc::clone(&forest)));
        Ok(Resolved::of(&forest, 0))
    }

    /// Builds without writing anything.
    async fn build(&self, id: &AgentId, mut freezer: Freezer, store: &dyn AgentStore) -> Result<Forest, ResolveError> {
        freezer.run(&self.recipe.context).await;
        freezer.resolve_sources(store, &self.recipe.context).await;
        freezer.take_recorded(store).await?;
        let forest = compile(&mut freezer, self.recipe.client.as_ref(), &self.recipe.providers);
        match freezer.problems.is_empty() {
            true => Ok(forest),
            false => Err(ResolveError::Build { id: id.clone(), source: BuildError::new(freezer.problems) }),
        }
    }
}
