use std::{collections::HashMap, sync::Arc};

use tokio::sync::Semaphore;

use super::{
    Agent, AgentRuntimeResolver, BuildError, BuildProblem,
    blueprint::Client,
    clients::Providers,
    compile::{check_root_client, compile},
    freeze::{Definition, DefinitionSource, Factory, Freezer},
    inner::AgentInner,
    materialize,
    place::Place,
    resolver::{Recipe, Resolver},
};
use crate::{
    chat::{ChatClient, ChatConfig, ChatProviderRegistry},
    clients::ClientSet,
    declare::{
        AgentConfig, DefaultHarness, DynamicHarness, ErasedHarness, HarnessContext, HarnessKey, HarnessRef, PriceTable,
        ToolHarness,
    },
    id::{AgentId, slug},
    permission::Permissions,
    store::{
        AgentStore, SessionStore,
        memory::{MemoryAgentStore, MemorySessionStore},
    },
    tool::DynamicRegistry,
};

/// Builds an [`Agent`].
///
/// ```
/// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let agent = Agent::builder()
///     .with_name("Assistant")
///     .with_system_instructions("Answer in one sentence.")
///     .with_chat_client(ScriptedChatClient::texts(["Hello."]))
///     .build()
///     .await?;
/// assert_eq!(agent.run("Hi!").await?.text(), "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct AgentBuilder {
    config: AgentConfig,
    agent_id: Option<Arc<str>>,
    client: Option<Arc<dyn ChatClient>>,
    pub(super) clients: ClientSet,
    pub(super) providers: Providers,
    harnesses: Vec<Wanted>,
    instances: HashMap<HarnessKey, Arc<dyn ErasedHarness>>,
    factories: HashMap<HarnessKey, Factory>,
    registry: DynamicRegistry,
    permissions: Permissions,
    session_store: Option<Arc<dyn SessionStore>>,
    agent_store: Option<Arc<dyn AgentStore>>,
    replaced: Vec<Arc<str>>,
    prices: PriceTable,
    max_model_calls: Option<usize>,
    resolver: Option<Arc<dyn AgentRuntimeResolver>>,
}

/// A harness of the root agent.
enum Wanted {
    Type(HarnessRef),
    Value(Arc<dyn ErasedHarness>),
    Dynamic(Arc<DynamicHarness>),
    Name(Arc<str>),
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Default for AgentBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl AgentBuilder {
    /// An agent named `Agent`, without model and tools.
    pub fn new() -> Self {
        Self {
            config: AgentConfig::new("Agent"),
            agent_id: None,
            client: None,
            clients: ClientSet::default(),
            providers: Providers::default(),
            harnesses: Vec::new(),
            instances: HashMap::new(),
            factories: HashMap::new(),
            registry: DynamicRegistry::new(),
            permissions: Permissions::default(),
            session_store: None,
            agent_store: None,
            replaced: Vec::new(),
            prices: PriceTable::new(),
            max_model_calls: None,
            resolver: None,
        }
    }

    /// The whole definition at once; what was said before about name, instructions and limits is replaced.
    pub fn with_config(mut self, config: AgentConfig) -> Self {
        self.config = config;
        self
    }

    /// Changes the definition with the methods of [`AgentConfig`].
    pub(super) fn edit(mut self, edit: impl FnOnce(AgentConfig) -> AgentConfig) -> Self {
        self.config = edit(self.config);
        self
    }

    /// The agent's name.
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.config.set_name(name.into());
        self
    }

    /// The agent's stable identity. Default: made of its name (lower case, other characters become `-`).
    pub fn with_agent_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.agent_id = Some(id.into());
        self
    }

    /// What the agent is told about its task.
    pub fn with_system_instructions(self, instructions: impl Into<Arc<str>>) -> Self {
        self.edit(|config| config.with_system_instructions(instructions))
    }

    /// A further named section of the system prompt.
    pub fn with_section(self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        self.edit(|config| config.with_section(name, text))
    }

    /// The largest number of model calls in one turn. Default: 10.
    pub fn with_max_iterations(self, calls: u32) -> Self {
        self.edit(|config| config.with_max_iterations(calls))
    }

    /// The depth of the deepest child below this agent. Default: 4.
    pub fn with_max_sub_agent_depth(self, depth: u32) -> Self {
        self.edit(|config| config.with_max_sub_agent_depth(depth))
    }

    /// How many tool calls of one message run at a time. Default: 10.
    pub fn with_max_parallel_tool_calls(self, calls: u32) -> Self {
        self.edit(|config| config.with_max_parallel_tool_calls(calls))
    }

    /// The model of the agent, and of its children as far as they name no provider of their own.
    pub fn with_chat_client(mut self, client: impl ChatClient) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    /// The model as a stored choice: provider, model, options. The provider is looked up in the registry.
    pub fn with_chat(self, chat: ChatConfig) -> Self {
        self.edit(|config| config.with_chat(chat))
    }

    /// The providers by which stored choices of a model find their clients.
    pub fn with_chat_providers(mut self, providers: ChatProviderRegistry) -> Self {
        self.providers.chat = providers;
        self
    }

    /// The tools of a harness type; its instance is `T::default()`.
    pub fn with_tool_harness<T: ToolHarness + DefaultHarness>(mut self) -> Self {
        self.factories.entry(HarnessRef::of::<T>().key()).or_insert_with(|| Arc::new(|| Arc::new(T::default())));
        self.harnesses.push(Wanted::Type(HarnessRef::of::<T>()));
        self
    }

    /// The tools of a harness that you made. Children that carry the same type share the instance.
    pub fn with_tool_harness_value<T: ToolHarness>(mut self, harness: T) -> Self {
        let harness: Arc<dyn ErasedHarness> = Arc::new(harness);
        self.instances.insert(harness.key(), Arc::clone(&harness));
        self.harnesses.push(Wanted::Value(harness));
        self
    }

    /// How instances of a harness type are made, wherever in the tree it is asked for. Gives the agent itself no
    /// tools.
    pub fn with_tool_harness_factory<T: ToolHarness>(mut self, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        self.factories.insert(HarnessRef::of::<T>().key(), Arc::new(move || Arc::new(make())));
        self
    }

    /// The tools of a harness that was made at run time. Children find it by its name, like those of the
    /// [registry](Self::with_dynamic_registry).
    pub fn with_dynamic_harness(mut self, harness: impl Into<Arc<DynamicHarness>>) -> Self {
        self.harnesses.push(Wanted::Dynamic(harness.into()));
        self
    }

    /// Where harnesses are looked up by names that the generated registry does not have. Gives the agent itself no
    /// tools. What is in the registry when [`build`](Self::build) is called counts.
    pub fn with_dynamic_registry(mut self, registry: DynamicRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// The tools of a harness, by the name under which it is registered: in the program, or in the registry of
    /// [`with_dynamic_registry`](Self::with_dynamic_registry).
    pub fn with_tool_harness_named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.harnesses.push(Wanted::Name(name.into()));
        self
    }

    /// Which calls may run. Default: [`Permissions::ask`].
    pub fn with_permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// What the models cost, for budgets with a [cost](crate::declare::Budget::with_max_cost).
    pub fn with_prices(mut self, prices: PriceTable) -> Self {
        self.prices = prices;
        self
    }

    /// How many model calls may run at a time, in all runs of this agent and their descendants; at least 1. More wait
    /// for their turn. Default: any number.
    ///
    /// An agent that waits for its children asks no model meanwhile, so no limit keeps a tree from coming to its end.
    pub fn with_max_concurrent_model_calls(mut self, calls: usize) -> Self {
        self.max_model_calls = Some(calls);
        self
    }

    /// Where threads are kept. Default: in memory, for this agent alone.
    pub fn with_session_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.session_store = Some(store);
        self
    }

    /// Where definitions of agents are kept. Default: in memory, for this agent alone.
    pub fn with_agent_store(mut self, store: Arc<dyn AgentStore>) -> Self {
        self.agent_store = Some(store);
        self
    }

    /// Who gives the agents that work on children's threads. Default: the tree has those that are declared, and those that
    /// are in the agent store are built when they are needed, each version once: what a user changes there holds from
    /// the next call on.
    pub fn with_runtime_resolver(mut self, resolver: Arc<dyn AgentRuntimeResolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Lets [`build`](Self::build) write a new version of a child's definition in the agent store, when the declaration
    /// has changed on purpose. Earlier versions stay. Without this a definition that is another one than the store's, or
    /// that of another owner, is an error.
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, store::memory::MemoryAgentStore, testing::ScriptedChatClient};
    /// # use std::sync::Arc;
    /// struct Team { instructions: &'static str }
    ///
    /// #[tool_harness]
    /// impl Team {
    ///     /// Reviews a draft.
    ///     #[subagent(agent_id = "reviewer")]
    ///     fn reviewer(&self) -> AgentConfig {
    ///         AgentConfig::new("Reviewer").with_system_instructions(self.instructions)
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let store = Arc::new(MemoryAgentStore::new());
    /// let builder = |instructions| {
    ///     Agent::builder()
    ///         .with_chat_client(ScriptedChatClient::texts(["Hello."]))
    ///         .with_agent_store(store.clone())
    ///         .with_tool_harness_value(Team { instructions })
    /// };
    /// builder("Be kind.").build().await?;
    /// assert!(builder("Be strict.").build().await.is_err());
    /// builder("Be strict.").replace_definition("reviewer").build().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_definition(mut self, agent_id: impl Into<Arc<str>>) -> Self {
        self.replaced.push(agent_id.into());
        self
    }

    /// Evaluates and checks all declarations, builds the agent, and keeps the definitions of its children in the agent
    /// store.
    ///
    /// # Errors
    ///
    /// [`BuildError`] lists everything that is wrong, not only the first.
    pub async fn build(self) -> Result<Agent, BuildError> {
        let registry = self.registry.snapshot();
        let mut freezer = Freezer::new(self.instances.clone(), self.factories.clone(), registry.clone());
        let at = Place::Builder;
        if self.agent_id.is_none() && self.session_store.as_ref().is_some_and(|store| store.is_durable()) {
            freezer.problems.push(BuildProblem::MissingAgentId { agent: self.config.name().to_owned() });
        }
        let id = self.agent_id.unwrap_or_else(|| slug(self.config.name()).into());
        let agent_id = AgentId::new(id).unwrap_or_else(|source| {
            freezer.problems.push(BuildProblem::InvalidId { at: at.to_string(), source });
            AgentId::trusted("agent")
        });

        let names: Vec<Arc<str>> = self.config.tool_harnesses().map(Arc::from).collect();
        let context = HarnessContext::new(agent_id.clone(), Arc::clone(self.config.shared_name()));
        freezer.definitions.push(Definition {
            agent_id,
            config: self.config,
            harnesses: Vec::new(),
            declared: 0,
            at: at.clone(),
            source: DefinitionSource::Root,
        });
        // All are there by name before the first one is looked up.
        for wanted in &self.harnesses {
            if let Wanted::Dynamic(harness) = wanted
                && let Err(source) = registry.add(Arc::clone(harness))
            {
                freezer.problems.push(BuildProblem::HarnessName { source });
            }
        }
        let mut harnesses = Vec::new();
        for wanted in self.harnesses.into_iter().chain(names.into_iter().map(Wanted::Name)) {
            let (name, place) = match wanted {
                Wanted::Type(harness) => (harness.name().to_owned(), freezer.harness(&harness, &at)),
                Wanted::Value(harness) => (harness.name().to_owned(), Some(freezer.add(harness))),
                Wanted::Dynamic(harness) => (harness.name().to_owned(), Some(freezer.add(harness))),
                Wanted::Name(name) => (name.to_string(), freezer.harness_named(&name, &at)),
            };
            match place {
                Some(place) if harnesses.contains(&place) => {
                    freezer.problems.push(BuildProblem::DuplicateHarness { at: at.to_string(), harness: name });
                }
                place => harnesses.extend(place),
            }
        }
        if let Some(root) = freezer.definitions.first_mut() {
            root.harnesses = harnesses;
        }
        if self.max_model_calls == Some(0) {
            let limit = "max_concurrent_model_calls";
            freezer.problems.push(BuildProblem::ZeroLimit { at: at.to_string(), limit });
        }
        let agent_store = self.agent_store.unwrap_or_else(|| Arc::new(MemoryAgentStore::new()));
        freezer.run(&context).await;
        freezer.resolve_sources(&*agent_store, &context).await;
        let writes = freezer.compare(&*agent_store, &self.replaced).await;

        check_root_client(&mut freezer, self.client.as_ref());
        let forest = compile(&mut freezer, self.client.as_ref(), &self.providers);
        if freezer.problems.is_empty() {
            // Nothing of an agent that cannot be built is kept.
            freezer.problems = materialize::write(writes, &*agent_store).await;
        }
        if !freezer.problems.is_empty() {
            return Err(BuildError::new(freezer.problems));
        }
        let recipe = Recipe {
            instances: self.instances,
            factories: self.factories,
            registry,
            providers: self.providers,
            client: self.client.clone(),
            context,
        };
        Ok(Agent::new(AgentInner::new(
            (Arc::new(forest), Resolver::new(self.resolver, recipe)),
            self.client.map(Client),
            (!self.clients.is_empty()).then(|| Arc::new(self.clients)),
            self.permissions,
            self.session_store.unwrap_or_else(|| Arc::new(MemorySessionStore::new())),
            agent_store,
            (self.prices, self.max_model_calls.map(Semaphore::new)),
        )))
    }
}
