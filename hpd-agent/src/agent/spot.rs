//! Where a run begins: a thread, the agent that works on it, and the first commit.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::{
    Agent, RunError,
    answer::{load_above, load_memory},
    delegate::{child_model, ledger},
    execute::{Order, Place},
    lane::{Lane, LaneState},
    resolver::{ResolveError, Resolved},
    tree::Tree,
};
use crate::{
    declare::AgentRunConfig,
    event::{AgentScope, EventBody, EventSource, ExecutionSettings, ThreadHeader},
    history::History,
    id::{AgentId, EventId, MessageId, ThreadKey, Timestamp},
    message::Message,
    permission::SessionMemory,
    session::{SessionError, ThreadState, load},
};

/// A thread of an agent, and the tree of a run on it.
pub(super) struct Spot {
    pub(super) agent: Agent,
    pub(super) tree: Arc<Tree>,
    pub(super) key: ThreadKey,
}

impl Spot {
    /// A lane as a run would have it on a conversation that is there, or on a new one. Nothing may be committed on it.
    pub(super) fn preview(
        agent: &Agent,
        key: ThreadKey,
        conversation: Option<(ThreadState, Option<AgentId>)>,
        config: Option<Arc<AgentRunConfig>>,
    ) -> Result<Lane, RunError> {
        let spot = Self { agent: agent.clone(), tree: Arc::default(), key: key.clone() };
        let (thread, by) = conversation.map_or((None, None), |(thread, by)| (Some(thread), by));
        let create = thread.is_none();
        let place = Place { key, new: create, existing: !create, agent: by };
        let order = Order { place, input: Some(Arc::new(Message::user(""))), config, queued: false };
        let thread = match thread {
            Some(thread) => thread,
            None => spot.new_thread(&order)?,
        };
        let agent_id = order.place.agent.as_ref().unwrap_or(&thread.header.default_agent_id);
        let unknown = || RunError::UnknownAgent { thread: spot.key.clone(), agent_id: agent_id.clone() };
        let forest = &agent.inner().forest;
        let at = Resolved::of(forest, forest.find(agent_id).ok_or_else(unknown)?);
        spot.lane(thread, create, &order, at)
    }

    /// Commits the beginning of the run on a thread in this state, up to the first request.
    pub(super) async fn begin(
        &self,
        thread: ThreadState,
        after: Option<EventId>,
        create: bool,
        order: &Order,
    ) -> Result<(Arc<Lane>, Option<MessageId>), RunError> {
        if order.input.is_none() && thread.suspended.is_none() {
            return Err(RunError::NothingToResume { thread: self.key.clone() });
        }
        if thread.header.origin.is_some() {
            let above = load_above(&*self.agent.inner().store, &thread.header).await?;
            // Set by nobody else: a tree takes one thread.
            let _ = self.tree.above.set(above);
        }
        // A turn that goes on counts on.
        if let Some(taken) = thread.suspended.as_ref().filter(|_| order.input.is_none()) {
            self.tree.resume(&taken.by_agent);
        }
        let at = self.resolve(&thread, order).await?;
        let lane = Arc::new(self.lane(thread, create, order, at)?);
        let now = Timestamp::now();
        let mut state = lane.lock().await;
        state.after = after.map(Box::new);
        if create {
            let header = Arc::clone(&state.thread.header);
            state.record(&lane.source, now, EventBody::ThreadCreated(header));
        }
        let request = match &order.input {
            Some(input) => {
                lane.record_start(&mut state, now, Arc::clone(input))?;
                Some(lane.record_request(&mut state, now))
            }
            None => {
                lane.record_execution(&mut state, now)?;
                None
            }
        };
        lane.began();
        if let Err(error) = lane.flush(&mut state).await {
            lane.ended();
            return Err(error);
        }
        drop(state);
        Ok((lane, request))
    }

    pub(super) async fn begin_from_store(&self, order: &Order) -> Result<(Arc<Lane>, Option<MessageId>), RunError> {
        let (thread, create) = self.open_thread(order).await?;
        self.begin(thread, None, create, order).await
    }

    pub(super) fn new_thread(&self, order: &Order) -> Result<ThreadState, RunError> {
        let agent_id = match &order.place.agent {
            Some(agent) => agent.clone(),
            None => self.agent.root()?.agent_id.clone(),
        };
        let header = ThreadHeader::conversation(self.key.clone(), agent_id);
        Ok(ThreadState::new(Arc::new(header), History::new()))
    }

    /// What the session remembers; shared by all its threads.
    pub(super) fn memory(&self) -> Arc<SessionMemory> {
        Arc::clone(self.tree.memory.get_or_init(Arc::default))
    }

    async fn open_thread(&self, order: &Order) -> Result<(ThreadState, bool), RunError> {
        let store = &*self.agent.inner().store;
        load_memory(store, &self.key, &self.memory()).await?;
        match load(store, &self.key).await {
            Ok(thread) => Ok((thread, false)),
            Err(SessionError::NotFound { .. }) if !order.place.existing => Ok((self.new_thread(order)?, true)),
            Err(error) => Err(error.into()),
        }
    }

    /// The blueprint of the agent that works on the thread: the tree's, or one that the agent store has.
    async fn resolve(&self, thread: &ThreadState, order: &Order) -> Result<Resolved, RunError> {
        let inner = self.agent.inner();
        // A turn that goes on does so with the agent that it began with.
        let default_agent =
            waiting(thread, order).map_or(&thread.header.default_agent_id, |settings| &settings.agent_id);
        let agent_id = order.place.agent.as_ref().unwrap_or(default_agent);
        let known = inner.forest.find(agent_id);
        let child = known.and_then(|index| inner.forest.get(index));
        match known {
            Some(0) => return Ok(Resolved::of(&inner.forest, 0)),
            Some(index) if !child.is_some_and(|child| inner.resolver.is_asked(child)) => {
                return Ok(Resolved::of(&inner.forest, index));
            }
            _ => {}
        }
        let known = known.map(|index| (&inner.forest, index));
        match Box::pin(inner.resolver.resolve(agent_id, &self.key, known, &*inner.agent_store)).await {
            Ok(at) => Ok(at),
            Err(ResolveError::NotFound { id }) => {
                Err(RunError::UnknownAgent { thread: self.key.clone(), agent_id: id })
            }
            Err(source) => Err(RunError::Agent { source }),
        }
    }

    /// The agent that works on the thread: the one that was asked for, or the one that continues the thread. A child
    /// that is continued keeps its name, its depth and what it was denied.
    fn lane(&self, thread: ThreadState, create: bool, order: &Order, at: Resolved) -> Result<Lane, RunError> {
        let inner = self.agent.inner();
        let Resolved { forest, index, client: leased, clients: given, lease } = at;
        let missing = || RunError::Internal { reason: "a blueprint is missing" };
        let (root, blueprint) = (self.agent.root()?, forest.get(index).ok_or_else(missing)?);
        let agent_id = &blueprint.agent_id;
        let client = leased.or_else(|| root.client.clone()).or_else(|| inner.client.clone());
        let client = client.ok_or(RunError::Internal { reason: "the agent has no chat client" })?;
        // And with the settings.
        let config = match (&order.config, waiting(&thread, order).and_then(|settings| settings.run_config.as_deref()))
        {
            (None, Some(before)) => Some(Arc::new(before.parse::<AgentRunConfig>().map_err(
                // Without them the turn might do what it was forbidden.
                |_| RunError::Internal { reason: "the settings of a turn that waits cannot be read" },
            )?)),
            (said, _) => said.clone(),
        };
        // What a declaration demands for its child's run, it demands here too.
        let declared = inner.forest.declaration(&thread.header).filter(|declared| declared.agent_id() == agent_id);
        let config = match declared.map(|declared| declared.rest().run_config.overrides()) {
            Some(overrides) if overrides.tightens() => {
                Some(Arc::new(config.as_deref().cloned().unwrap_or_default().tightened_by(overrides)))
            }
            _ => config,
        };
        let is_root = std::ptr::eq(root, blueprint);
        let inherited = (!is_root).then_some(&*root.options);
        let (client, options) = child_model(&client, inherited, blueprint, config.as_deref());
        let clients = inner.clients((root, blueprint), given.as_deref(), declared, config.as_deref())?;
        let own = blueprint.config.max_sub_agent_depth();
        // A child has the name of its tool, also when another agent spoke in its stead.
        let name = match &thread.header.origin {
            Some(origin) if *agent_id == thread.header.default_agent_id => origin.sub_agent_name.shared(),
            _ => Arc::clone(blueprint.config.shared_name()),
        };
        let (scope, denials, ceiling) = match &thread.last_agent {
            Some((scope, settings)) if scope.depth > 0 => {
                let ceiling = settings.budget.max_sub_agent_depth.min(own);
                (scope.continued_by(&name, agent_id), Arc::clone(&settings.denials), ceiling)
            }
            _ => (Arc::new(AgentScope::root(name, agent_id.clone())), Arc::default(), own),
        };
        let taken = thread.suspended.as_deref().filter(|_| order.input.is_none());
        let ledger = ledger(config.as_deref(), None, taken);
        let ceiling = ledger.as_ref().and_then(|ledger| ledger.max_depth()).map_or(ceiling, |most| ceiling.min(most));
        Ok(Lane {
            agent: Arc::clone(inner),
            tree: Arc::clone(&self.tree),
            forest: Arc::clone(&forest),
            blueprint: index,
            lease,
            system: blueprint.system_for(config.as_deref(), thread.header.is_forked_child()),
            key: self.key.clone(),
            generation: thread.generation,
            source: Arc::new(EventSource::root(scope)),
            parent: None,
            selection: client.0.info().selection(&options),
            client,
            options,
            clients,
            memory: self.memory(),
            denials,
            ceiling,
            ledger,
            run_config: config,
            filtered: OnceLock::new(),
            state: Mutex::new(LaneState::new(thread, create)),
        })
    }
}

/// The settings of a turn that waits, if the run is to go on with it.
fn waiting<'t>(thread: &'t ThreadState, order: &Order) -> Option<&'t Arc<ExecutionSettings>> {
    thread.last_agent.as_ref().filter(|_| order.input.is_none()).map(|(_, settings)| settings)
}
