//! A root run's task: from the claim of its thread to its result.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::{
    Agent, RunError, RunResult,
    delegate::child_model,
    driver::Ended,
    inner::{Claimed, Kept},
    lane::{Lane, LaneState},
    permit::load_memory,
    queue::Turn,
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
    /// It waits until the thread is free.
    pub(super) queued: bool,
}

/// Where a run happens.
pub(super) struct Place {
    pub(super) key: ThreadKey,
    /// The thread is known to be new.
    pub(super) new: bool,
    /// The thread must be there already.
    pub(super) existing: bool,
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
pub(super) async fn execute(mut claim: Claim, _tree: OpenTree, order: Box<Order>) -> Result<RunResult, RunError> {
    let result = claim.run(order).await;
    // Whatever happens, the thread is free afterwards.
    drop(claim);
    result
}

/// A run's right to its thread, or its place in the queue for it. Given back when it is dropped.
pub(super) struct Claim {
    agent: Agent,
    tree: Arc<Tree>,
    key: ThreadKey,
    hold: Hold,
}

enum Hold {
    Waiting(Turn),
    Held(Option<Box<Kept>>),
}

impl Drop for Claim {
    fn drop(&mut self) {
        let inner = self.agent.inner();
        match &mut self.hold {
            Hold::Held(kept) => inner.release(&self.key, kept.take()),
            Hold::Waiting(turn) => {
                inner.leave(&self.key, &self.tree);
                // Its turn may have come this very moment.
                if let Ok(kept) = turn.try_recv() {
                    inner.release(&self.key, kept);
                }
            }
        }
    }
}

impl Claim {
    pub(super) fn new(agent: &Agent, tree: &Arc<Tree>, order: &Order) -> Result<Self, RunError> {
        let Place { key, new, .. } = &order.place;
        let hold = match agent.inner().claim(key, tree, *new, order.queued)? {
            Claimed::Now(kept) => Hold::Held(kept),
            Claimed::Later(turn) => Hold::Waiting(turn),
        };
        Ok(Self { agent: agent.clone(), tree: Arc::clone(tree), key: key.clone(), hold })
    }

    /// Waits until the thread is this run's. Gives what is kept of it.
    async fn acquire(&mut self) -> Result<Option<Box<Kept>>, RunError> {
        if let Hold::Waiting(turn) = &mut self.hold {
            let kept = tokio::select! {
                biased;
                () = self.tree.cancellation.wait() => return Err(RunError::Cancelled),
                kept = turn => kept,
            };
            let kept = kept.map_err(|_| RunError::Internal { reason: "the queue of a thread is gone" })?;
            self.hold = Hold::Held(kept);
        }
        match &mut self.hold {
            Hold::Held(kept) => Ok(kept.take()),
            Hold::Waiting(_) => Ok(None),
        }
    }

    async fn run(&mut self, order: Box<Order>) -> Result<RunResult, RunError> {
        let kept = self.acquire().await?;
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
        let Ended { outcome, last_event, .. } = Arc::clone(&lane).drive(request).await;
        let fatal = outcome.as_ref().is_err_and(RunError::is_fatal);
        let answer = outcome.map(|answer| RunResult {
            thread: self.key.clone(),
            text: answer.text,
            stop: answer.stop,
            message: answer.message,
            usage: self.tree.usage(),
        });
        // What could not be committed is not kept: the next run reads the journal.
        if !fatal && let Some(lane) = Arc::into_inner(lane) {
            let state = lane.state.into_inner();
            if let Some(last_event) = last_event.filter(|_| state.is_committed()) {
                self.hold = Hold::Held(Some(Box::new(Kept { state: state.thread, last_event, memory: lane.memory })));
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
        lane.began();
        if let Err(error) = lane.flush(&mut state).await {
            lane.ended();
            return Err(error);
        }
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
        load_memory(store, &self.key, &self.memory()).await?;
        match load(store, &self.key).await {
            Ok(thread) => Ok((thread, false)),
            Err(SessionError::NotFound { .. }) if !order.place.existing => Ok((self.new_thread(order)?, true)),
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
        Ok(Lane {
            agent: Arc::clone(inner),
            tree: Arc::clone(&self.tree),
            blueprint: index,
            forked: thread.header.is_forked_child(),
            key: self.key.clone(),
            generation: thread.generation,
            source: Arc::new(EventSource::root(scope)),
            parent: None,
            selection: client.0.info().selection(&options),
            client,
            options,
            memory: self.memory(),
            denials,
            ceiling,
            run_config: config,
            filtered: OnceLock::new(),
            state: Mutex::new(LaneState::new(thread, create)),
        })
    }
}
