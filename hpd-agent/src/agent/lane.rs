//! A lane: one execution of an agent on one thread, and the only writer of that thread while it lasts.
//!
//! What happens is recorded in the fold first and committed before it is acted on; only what is committed is shown.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use smallvec::SmallVec;
use tokio::sync::{Mutex, MutexGuard};

use super::{
    AgentLease, RunError,
    blueprint::{Blueprint, Client, Forest},
    inner::AgentInner,
    ledger::{Ledger, Reached},
    tree::Tree,
};
use crate::{
    chat::{ChatOptions, ToolSet},
    clients::ClientSet,
    declare::{AgentRunConfig, EmitError, FunctionHost, ToolFilter, sentence},
    event::{CustomEvent, Event, EventBody, EventEnvelope, EventSource},
    future::BoxFuture,
    id::{CallId, CommitId, EventId, ThreadKey, Timestamp},
    message::{ModelSelection, Usage},
    permission::SessionMemory,
    session::ThreadState,
    store::{Append, Batch, CommitError, Expected, StoreError},
};

/// How often a batch whose outcome is unknown is submitted again.
const RESUBMISSIONS: u32 = 3;

pub(crate) struct Lane {
    pub(crate) agent: Arc<AgentInner>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) forest: Arc<Forest>,
    /// Index of the blueprint.
    pub(crate) blueprint: usize,
    /// Kept for as long as the blueprint is used.
    #[expect(dead_code, reason = "only to be dropped")]
    pub(crate) lease: Option<Box<AgentLease>>,
    /// What the model is told of its task, in this run.
    pub(crate) system: Arc<str>,
    pub(crate) key: ThreadKey,
    pub(crate) generation: u64,
    pub(crate) source: Arc<EventSource>,
    pub(crate) parent: Option<Arc<Lane>>,
    pub(crate) client: Client,
    pub(crate) options: Arc<ChatOptions>,
    pub(crate) selection: Arc<ModelSelection>,
    /// The clients beside its model; `None`: it has none.
    pub(crate) clients: Option<Arc<ClientSet>>,
    pub(crate) memory: Arc<SessionMemory>,
    /// What an ancestor was denied, for its run or for good.
    pub(crate) denials: Arc<ToolFilter>,
    /// The depth of the deepest child in the whole tree.
    pub(crate) ceiling: u32,
    /// What the run may take; `None`: it has no limits.
    pub(crate) ledger: Option<Arc<Ledger>>,
    /// What was said for this run; `None`: nothing.
    pub(crate) run_config: Option<Arc<AgentRunConfig>>,
    /// The tools that the model is shown, once they were asked for, if a filter leaves some out.
    pub(crate) filtered: OnceLock<ToolSet>,
    pub(crate) state: Mutex<LaneState>,
}

pub(crate) struct LaneState {
    pub(crate) thread: ThreadState,
    /// Recorded, but not committed yet.
    pending: SmallVec<[Arc<Event>; 4]>,
    /// What the agent's own model calls took, in this turn.
    pub(crate) usage: Usage,
    /// What those of its descendants took.
    pub(crate) usage_below: Usage,
    /// Creates the thread with the first commit.
    create: bool,
    /// The event that the thread has to end with at the first commit.
    pub(crate) after: Option<Box<EventId>>,
}

impl LaneState {
    /// A thread that is in the store, or one that the first commit creates.
    pub(crate) fn new(thread: ThreadState, create: bool) -> Self {
        let (usage, usage_below) =
            thread.suspended.as_ref().map_or_else(Default::default, |taken| (taken.usage, taken.usage_below));
        Self { thread, pending: SmallVec::new(), usage, usage_below, create, after: None }
    }

    /// Records that something happened. It counts from now on and is committed with the next flush.
    pub(crate) fn record(&mut self, source: &Arc<EventSource>, now: Timestamp, body: EventBody) -> EventId {
        let event = Arc::new(Event::at(now, Arc::clone(source), body));
        let id = event.id();
        self.thread.apply(&event);
        self.pending.push(event);
        id
    }

    /// Takes back the beginning of a child, the last thing that was recorded, which could not be committed.
    pub(crate) fn retract_child(&mut self) {
        if self.pending.pop().is_some() {
            self.thread.retract_child();
        }
    }

    /// Whether the store has all that was recorded.
    pub(crate) fn is_committed(&self) -> bool {
        self.pending.is_empty()
    }

    /// What has been recorded, as an append; `None` if nothing has.
    fn append(&self) -> Option<Append> {
        if self.pending.is_empty() && !self.create {
            return None;
        }
        let events = self.pending.to_vec();
        let expected = self.thread.len - events.len() as u64;
        Some(Append {
            create: self.create.then(|| Arc::clone(&self.thread.header)),
            after: self.after.clone(),
            ..Append::new(self.thread.header.key.clone(), Expected::Exactly(expected), events)
        })
    }

    /// What was recorded is committed: shows it.
    fn committed(&mut self, tree: &Tree) {
        self.create = false;
        self.after = None;
        if tree.hub.is_active() {
            let first = self.thread.len + 1 - self.pending.len() as u64;
            for (sequence, event) in (first..).zip(&self.pending) {
                let key = self.thread.header.key.clone();
                tree.hub.publish(&EventEnvelope::journaled(key, self.thread.generation, sequence, Arc::clone(event)));
            }
        }
        self.pending.clear();
    }
}

impl Lane {
    /// The blueprint of the agent.
    pub(crate) fn blueprint(&self) -> Result<&Blueprint, RunError> {
        self.forest.get(self.blueprint).ok_or(RunError::Internal { reason: "the agent's blueprint is missing" })
    }

    pub(crate) fn depth(&self) -> u32 {
        self.source.agent.depth
    }

    pub(crate) async fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().await
    }

    /// Commits what has been recorded.
    pub(crate) async fn flush(&self, state: &mut LaneState) -> Result<(), RunError> {
        self.submit(|| both(state.append(), None)).await?;
        state.committed(&self.tree);
        Ok(())
    }

    /// Commits what has been recorded here, and in the same batch another thread's events.
    pub(crate) async fn flush_with(&self, state: &mut LaneState, other: Append) -> Result<(), RunError> {
        self.submit(|| both(state.append(), Some(other.clone()))).await?;
        state.committed(&self.tree);
        Ok(())
    }

    /// Commits what has been recorded here and in a child that is about to begin, together.
    pub(crate) async fn flush_both(
        &self,
        state: &mut LaneState,
        child: &Lane,
        child_state: &mut LaneState,
    ) -> Result<(), RunError> {
        self.submit(|| both(state.append(), child_state.append())).await?;
        state.committed(&self.tree);
        child_state.committed(&child.tree);
        Ok(())
    }

    /// Commits what `appends` makes; makes it again if the outcome is unknown.
    async fn submit(&self, appends: impl Fn() -> Vec<Append>) -> Result<(), CommitError> {
        let (id, committing) = {
            let batch = Batch::new(appends());
            if batch.appends.is_empty() {
                return Ok(());
            }
            (batch.id, self.agent.store.commit(batch))
        };
        match committing.await {
            // Rare: it shall not make every waiting child larger.
            Err(CommitError::Unknown(error)) => Box::pin(self.submit_again(id, error, appends)).await,
            other => other.map(|_| ()),
        }
    }

    async fn submit_again(
        &self,
        id: CommitId,
        mut error: StoreError,
        appends: impl Fn() -> Vec<Append>,
    ) -> Result<(), CommitError> {
        for _ in 0..RESUBMISSIONS {
            tracing::warn!(%error, "submitting a commit again");
            error = match self.agent.store.commit(Batch { id, ..Batch::new(appends()) }).await {
                Err(CommitError::Unknown(error)) => error,
                other => return other.map(|_| ()),
            };
        }
        Err(CommitError::Unknown(error))
    }

    /// Shows something that is not journaled. `make` runs only if somebody listens.
    pub(crate) fn live(&self, make: impl FnOnce() -> EventBody) {
        if self.tree.hub.is_active() {
            let event = Arc::new(Event::new(Arc::clone(&self.source), make()));
            self.tree.hub.publish(&EventEnvelope::live(self.key.clone(), self.generation, event));
        }
    }

    /// That a limit was reached, as an error of the run.
    pub(crate) fn budget_error(&self, reached: Reached) -> RunError {
        let Reached { limit, allowed } = reached;
        RunError::BudgetReached { agent: self.source.agent.agent_name.to_string(), limit, allowed, partial: None }
    }

    /// The account of its own budget, if it has one.
    pub(crate) fn own_ledger(&self) -> Option<&Ledger> {
        self.run_config.as_ref().and_then(|run| run.budget()).and(self.ledger.as_deref())
    }

    /// Whether the work may go on.
    pub(crate) fn check_budget(&self) -> Result<(), RunError> {
        let checked = self.ledger.as_ref().map_or(Ok(()), |ledger| ledger.check());
        checked.map_err(|reached| self.budget_error(reached))
    }

    /// Resolves when the time of the run is over; `None`: it has all the time.
    pub(crate) fn time_is_over(&self) -> Option<BoxFuture<'static, Reached>> {
        let ledger = self.ledger.as_ref().filter(|ledger| ledger.limits_time())?;
        Some(Box::pin(Arc::clone(ledger).time_is_over()))
    }

    /// Something has happened.
    pub(crate) fn touch(&self) {
        if let Some(ledger) = &self.ledger {
            ledger.touch();
        }
    }

    /// Why what was said for this run, or for a run above it, does not let the agent have a tool.
    pub(crate) fn filtered_out(&self, tool: &str) -> Option<String> {
        if !self.denials.permits(tool) {
            return Some(format!("The tool `{tool}` was denied to an agent above this one. Do without it."));
        }
        let is_permitted = self.run_config.as_ref().is_none_or(|run| run.tool_filter().permits(tool));
        (!is_permitted).then(|| format!("The tool `{tool}` may not be used in this run. Do without it."))
    }

    /// The tools that the model is shown.
    pub(crate) fn visible_tools(&self, blueprint: &Blueprint) -> ToolSet {
        let visible = || blueprint.tools.visible(self.depth(), self.ceiling);
        if self.denials.is_open() && self.run_config.as_ref().is_none_or(|run| run.tool_filter().is_open()) {
            return visible();
        }
        let permitted =
            || visible().iter().filter(|spec| self.filtered_out(spec.name().as_str()).is_none()).cloned().collect();
        self.filtered.get_or_init(permitted).clone()
    }

    /// The threads from the root to this one.
    pub(crate) fn path(&self) -> Vec<ThreadKey> {
        let mut path = vec![self.key.clone()];
        let mut lane = self.parent.as_deref();
        while let Some(parent) = lane {
            path.push(parent.key.clone());
            lane = parent.parent.as_deref();
        }
        path.reverse();
        path
    }
}

/// A list that is no longer than it has to be.
fn both(first: Option<Append>, second: Option<Append>) -> Vec<Append> {
    let mut appends = Vec::with_capacity(usize::from(first.is_some()) + usize::from(second.is_some()));
    appends.extend(first);
    appends.extend(second);
    appends
}

impl FunctionHost for Lane {
    fn emit(&self, call: CallId, name: &str, value: Value) -> BoxFuture<'_, Result<(), EmitError>> {
        let custom = CustomEvent { name: name.into(), value: Arc::new(value), call_id: Some(call), durable: true };
        self.touch();
        Box::pin(async move {
            let name = Arc::clone(&custom.name);
            let mut state = self.lock().await;
            state.record(&self.source, Timestamp::now(), EventBody::Custom(Box::new(custom)));
            self.flush(&mut state).await.map_err(|error| EmitError { name: name.to_string(), reason: sentence(&error) })
        })
    }

    fn emit_live(&self, call: CallId, name: &str, value: Value) {
        self.touch();
        self.live(|| {
            EventBody::Custom(Box::new(CustomEvent {
                name: name.into(),
                value: Arc::new(value),
                call_id: Some(call),
                durable: false,
            }))
        });
    }

    fn properties(&self) -> &Map<String, Value> {
        static NONE: OnceLock<Map<String, Value>> = OnceLock::new();
        self.run_config.as_ref().map_or_else(|| NONE.get_or_init(Map::new), |config| config.properties())
    }

    fn clients(&self) -> Option<&ClientSet> {
        self.clients.as_deref()
    }
}
