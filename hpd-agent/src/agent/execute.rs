//! A root run's task: from the claim of its thread to its result.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::{
    Agent, RunError, RunResult,
    delegate::{child_model, ledger},
    driver::Ended,
    inner::Kept,
    lane::{Lane, LaneState},
    permit::load_memory,
    tree::Tree,
};
use crate::{
    declare::AgentRunConfig,
    event::{AgentScope, EventBody, EventSource, ThreadHeader},
    history::History,
    id::{AgentId, EventId, MessageId, ThreadKey, Timestamp},
    message::Message,
    permission::SessionMemory,
    session::{SessionError, ThreadState, load},
    store::{CommitError, StoreError},
};

/// What a run is to do.
pub(super) struct Order {
    pub(super) place: Place,
    pub(super) input: Arc<Message>,
    pub(super) config: Option<Arc<AgentRunConfig>>,
}

/// Where a run happens.
pub(super) struct Place {
    pub(super) key: ThreadKey,
    /// The thread is known to be new.
    pub(super) new: bool,
    /// The agent that shall work; `None`: the one that continues the thread.
    pub(super) agent: Option<AgentId>,
}

/// Whatever happens to a run's task, nobody waits for its tree afterwards; even if it is never polled.
pub(super) struct OpenTree(pub(super) Arc<Tree>);

impl Drop for OpenTree {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The task of a root run.
pub(super) async fn execute(agent: Agent, tree: OpenTree, order: Box<Order>) -> Result<RunResult, RunError> {
    let key = order.place.key.clone();
    // Whatever happens, the thread is free afterwards.
    let mut claim = Claim { agent: &agent, tree: &tree.0, key: &key, kept: None, claimed: false };
    let result = claim.run(order).await;
    drop(claim);
    result
}

struct Claim<'a> {
    agent: &'a Agent,
    tree: &'a Arc<Tree>,
    key: &'a ThreadKey,
    kept: Option<Box<Kept>>,
    claimed: bool,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.claimed {
            self.agent.inner().release(self.key, self.kept.take());
        }
    }
}

/// A lane as a run of the agent would have it, on a conversation that is there or on a new one. Nothing is claimed and
/// nothing may be committed.
pub(super) fn preview_lane(
    agent: &Agent,
    key: &ThreadKey,
    conversation: Option<(ThreadState, Option<AgentId>)>,
    config: Option<Arc<AgentRunConfig>>,
) -> Result<Lane, RunError> {
    let (thread, by) = conversation.map_or((None, None), |(thread, by)| (Some(thread), by));
    let order = Order {
        place: Place { key: key.clone(), new: thread.is_none(), agent: by },
        input: Arc::new(Message::user("")),
        config,
    };
    let tree = Arc::default();
    let claim = Claim { agent, tree: &tree, key, kept: None, claimed: false };
    let create = thread.is_none();
    let thread = match thread {
        Some(thread) => thread,
        None => claim.new_thread(&order)?,
    };
    claim.lane(thread, create, &order)
}

impl Claim<'_> {
    async fn run(&mut self, order: Box<Order>) -> Result<RunResult, RunError> {
        let inner = self.agent.inner();
        let kept = inner.claim(self.key, self.tree, order.place.new)?;
        self.claimed = true;
        let (lane, request) = match kept {
            Some(kept) => match self.begin(kept.state, Some(kept.last_event), false, &order).await {
                // Another process has continued, deleted or replaced the thread: what was kept is old.
                Err(RunError::Commit(
                    CommitError::Conflict { .. }
                    | CommitError::Replaced { .. }
                    | CommitError::Store(StoreError::NotFound { .. }),
                )) => {
                    self.memory().clear();
                    self.begin_from_store(&order).await?
                }
                begun => begun?,
            },
            None if order.place.new => self.begin(self.new_thread(&order)?, None, true, &order).await?,
            None => match self.begin_from_store(&order).await {
                // Another process has begun or continued it at the same moment.
                Err(RunError::Commit(CommitError::Exists { .. } | CommitError::Conflict { .. })) => {
                    self.begin_from_store(&order).await?
                }
                begun => begun?,
            },
        };
        let Ended { outcome, last_event, usage: (own_usage, _), .. } = Arc::clone(&lane).drive(request).await;
        let fatal = outcome.as_ref().is_err_and(RunError::is_fatal);
        let answer = outcome.map(|answer| RunResult {
            thread: self.key.clone(),
            text: answer.text,
            stop: answer.stop,
            message: answer.message,
            own_usage,
            usage: self.tree.usage(),
        });
        // What could not be committed is not kept: the next run reads the journal.
        if !fatal && let Some(lane) = Arc::into_inner(lane) {
            let state = lane.state.into_inner();
            if let Some(last_event) = last_event.filter(|_| state.is_committed()) {
                self.kept = Some(Box::new(Kept { state: state.thread, last_event, memory: lane.memory }));
            }
        }
        answer
    }

    /// Commits the beginning of the run on a thread in this state, up to the first request.
    async fn begin(
        &self,
        thread: ThreadState,
        after: Option<EventId>,
        create: bool,
        order: &Order,
    ) -> Result<(Arc<Lane>, MessageId), RunError> {
        let lane = Arc::new(self.lane(thread, create, order)?);
        let now = Timestamp::now();
        let mut state = lane.lock().await;
        state.after = after.map(Box::new);
        if create {
            let header = Arc::clone(&state.thread.header);
            state.record(&lane.source, now, EventBody::ThreadCreated(header));
        }
        lane.record_start(&mut state, now, Arc::clone(&order.input))?;
        let request = lane.record_request(&mut state, now);
        lane.flush(&mut state).await?;
        drop(state);
        Ok((lane, request))
    }

    async fn begin_from_store(&self, order: &Order) -> Result<(Arc<Lane>, MessageId), RunError> {
        let (thread, create) = self.open_thread(order).await?;
        self.begin(thread, None, create, order).await
    }

    fn new_thread(&self, order: &Order) -> Result<ThreadState, RunError> {
        let agent_id = match &order.place.agent {
            Some(agent) => agent.clone(),
            None => self.agent.root()?.agent_id.clone(),
        };
        let header = ThreadHeader::conversation(self.key.clone(), agent_id);
        Ok(ThreadState::new(Arc::new(header), History::new()))
    }

    /// What the session remembers; shared by all its threads.
    fn memory(&self) -> Arc<SessionMemory> {
        Arc::clone(self.tree.memory.get_or_init(Arc::default))
    }

    async fn open_thread(&self, order: &Order) -> Result<(ThreadState, bool), RunError> {
        let store = &*self.agent.inner().store;
        load_memory(store, self.key, &self.memory()).await?;
        match load(store, self.key).await {
            Ok(thread) => Ok((thread, false)),
            Err(SessionError::NotFound { .. }) => Ok((self.new_thread(order)?, true)),
            Err(error) => Err(error.into()),
        }
    }

    /// The agent that works on the thread: the one that was asked for, or the one that continues the thread. A child
    /// that is continued keeps its name, its depth and what it was denied.
    fn lane(&self, thread: ThreadState, create: bool, order: &Order) -> Result<Lane, RunError> {
        let inner = self.agent.inner();
        let agent_id = order.place.agent.as_ref().unwrap_or(&thread.header.default_agent_id);
        let unknown = || RunError::UnknownAgent { thread: self.key.clone(), agent_id: agent_id.clone() };
        let index = inner.find(agent_id).ok_or_else(unknown)?;
        let (root, blueprint) = (self.agent.root()?, inner.blueprint(index).ok_or_else(unknown)?);
        let client = root.client.clone().or_else(|| inner.client.clone());
        let client = client.ok_or(RunError::Internal { reason: "the agent has no chat client" })?;
        let config = order.config.clone();
        let inherited = (index > 0).then_some(&*root.options);
        let (client, options) = child_model(&client, inherited, blueprint, config.as_deref());
        let clients = inner.clients(root, blueprint, config.as_deref())?;
        let own = blueprint.config.max_sub_agent_depth();
        let (scope, denials, ceiling) = match &thread.last_agent {
            Some((scope, settings)) if scope.depth > 0 => {
                let ceiling = settings.budget.max_sub_agent_depth.min(own);
                (scope.continued_by(blueprint.config.shared_name(), agent_id), Arc::clone(&settings.denials), ceiling)
            }
            _ => {
                let name = Arc::clone(blueprint.config.shared_name());
                (Arc::new(AgentScope::root(name, agent_id.clone())), Arc::default(), own)
            }
        };
        let ledger = ledger(config.as_deref(), None);
        let ceiling = ledger.as_ref().and_then(|ledger| ledger.max_depth()).map_or(ceiling, |most| ceiling.min(most));
        Ok(Lane {
            agent: Arc::clone(inner),
            tree: Arc::clone(self.tree),
            blueprint: index,
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
