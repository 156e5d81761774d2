use std::{
    collections::VecDeque,
    future::IntoFuture,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use tokio::{sync::Mutex, task::JoinHandle};

use super::{
    Agent, AgentUsage, RunError,
    driver::Ended,
    inner::Kept,
    lane::{Lane, LaneState},
    permit::load_memory,
    tree::Tree,
};
use crate::{
    chat::BoxFuture,
    declare::AgentRunConfig,
    event::{
        AgentScope, Delivery, Event, EventBody, EventEnvelope, EventSource, EventsMissed, Gap, Subscription,
        ThreadHeader,
    },
    history::History,
    id::{MessageId, RequestId, SessionId, ThreadId, ThreadKey, Timestamp},
    message::{Message, StopReason, Usage},
    permission::{PermissionDecision, PermissionRequests, RespondOutcome, SessionMemory},
    session::{SessionError, ThreadState, load},
    store::{CommitError, SessionStore, StoreError},
};

/// How many events may wait for a subscriber before it has to read the journal.
const SUBSCRIBER_CAPACITY: usize = 4_096;

/// One run of an agent: await it for the answer, or read its events first.
///
/// It starts when it is awaited, when its first event is asked for, or by [`Run::start`]. Dropping it asks the run and
/// all its children to stop; [`Run::detach`] lets it go on instead.
///
/// ```
/// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let agent = Agent::builder().with_chat_client(ScriptedChatClient::texts(["Hello."])).build().await?;
/// let mut run = agent.run("Hi!");
/// while let Some(envelope) = run.next().await {
///     println!("{} {}", envelope.agent().agent_name, envelope.event.type_name());
/// }
/// assert_eq!(run.await?.text(), "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a run does nothing until it is awaited, streamed or started"]
pub struct Run {
    agent: Agent,
    tree: Arc<Tree>,
    state: RunState,
    events: Option<EventStream>,
    /// Whether dropping the run cancels it.
    attached: bool,
}

enum RunState {
    Waiting(Result<Box<Order>, RunError>),
    Running(JoinHandle<Result<RunResult, RunError>>),
    /// The result was taken.
    Taken,
}

/// What a run is to do.
struct Order {
    key: ThreadKey,
    /// The thread is known to be new.
    new: bool,
    input: Arc<Message>,
    config: Option<Arc<AgentRunConfig>>,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunResult {
    thread: ThreadKey,
    text: Arc<str>,
    stop: StopReason,
    message: Option<Arc<Message>>,
    usage: Vec<AgentUsage>,
}

impl RunResult {
    /// The answer: the last text of the agent, possibly empty.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The message that has it.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.message.as_deref()
    }

    /// Why the model stopped. Anything but [`StopReason::EndTurn`] means that the answer may be cut.
    #[must_use]
    pub fn stop_reason(&self) -> &StopReason {
        &self.stop
    }

    /// The session of the conversation.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.thread.session_id
    }

    /// The thread of the conversation: with the session what continues it.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread.thread_id
    }

    /// The address of the conversation.
    #[must_use]
    pub fn thread(&self) -> &ThreadKey {
        &self.thread
    }

    /// The tokens of the whole tree.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage.iter().fold(Usage::default(), |sum, agent| sum + agent.usage)
    }

    /// The tokens by agent, in the order of their first model call.
    #[must_use]
    pub fn usage_by_agent(&self) -> &[AgentUsage] {
        &self.usage
    }
}

impl Run {
    pub(super) fn new(agent: Agent, key: Result<ThreadKey, RunError>, new: bool, input: Message) -> Self {
        let order = key.and_then(|key| match input.has_text() {
            true => Ok(Box::new(Order { key, new, input: Arc::new(input), config: None })),
            false => Err(RunError::EmptyInput),
        });
        Self { agent, tree: Arc::default(), state: RunState::Waiting(order), events: None, attached: true }
    }

    /// Says something for this run alone; it must not have started yet.
    pub fn with_run_config(mut self, config: AgentRunConfig) -> Self {
        if let RunState::Waiting(order) = &mut self.state
            && let Ok(order) = order
        {
            order.config = (config != AgentRunConfig::default()).then(|| Arc::new(config));
        }
        self
    }

    /// A way to steer the run from elsewhere: answer its questions, cancel it.
    #[must_use]
    pub fn handle(&self) -> RunHandle {
        RunHandle { tree: Arc::clone(&self.tree) }
    }

    /// Takes the questions for permission of the run and all its descendants: from now on somebody can be asked, for
    /// as long as the stream is kept.
    pub fn permission_requests(&self) -> PermissionRequests {
        self.tree.broker.watch()
    }

    /// Listens to all events of the run and its descendants from now on. Before the run has started, that is all of
    /// them.
    pub fn subscribe(&self) -> EventStream {
        EventStream::new(self.tree.hub.subscribe(SUBSCRIBER_CAPACITY), Arc::clone(&self.agent.inner().store))
    }

    /// Answers a question for permission.
    pub fn respond(&self, id: RequestId, decision: PermissionDecision) -> RespondOutcome {
        self.tree.broker.respond(id, None, decision)
    }

    /// Asks the run and all its descendants to stop. Awaiting it then gives [`RunError::Cancelled`].
    pub fn cancel(&self) {
        self.tree.cancellation.cancel();
    }

    /// Starts the run now.
    pub fn start(&mut self) {
        let RunState::Waiting(order) = &mut self.state else { return };
        let order = std::mem::replace(order, Err(RunError::Cancelled));
        let order = match (order, tokio::runtime::Handle::try_current()) {
            (Ok(order), Ok(runtime)) => (order, runtime),
            (Err(error), _) => return self.fail(error),
            (_, Err(_)) => return self.fail(RunError::NoRuntime),
        };
        let (order, runtime) = order;
        let task = execute(self.agent.clone(), OpenTree(Arc::clone(&self.tree)), order);
        self.state = RunState::Running(runtime.spawn(task));
    }

    /// It can't start: awaiting it says why.
    fn fail(&mut self, error: RunError) {
        self.tree.close();
        self.state = RunState::Waiting(Err(error));
    }

    /// Starts the run and lets it go on by itself: dropping what this returns does not stop it.
    pub fn detach(mut self) -> RunHandle {
        self.start();
        self.attached = false;
        self.handle()
    }

    /// The next event of the run or one of its descendants; `None` when it is over. Starts the run.
    pub async fn next(&mut self) -> Option<EventEnvelope> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<RunResult, RunError>> {
        self.start();
        let result = match &mut self.state {
            RunState::Running(task) => match ready!(Pin::new(task).poll(cx)) {
                Ok(result) => result,
                Err(error) => Err(RunError::of_task(error)),
            },
            RunState::Waiting(order) => {
                let order = std::mem::replace(order, Err(RunError::Cancelled));
                Err(order.err().unwrap_or(RunError::Cancelled))
            }
            RunState::Taken => Err(RunError::Internal { reason: "the result of a run was asked for twice" }),
        };
        self.state = RunState::Taken;
        Poll::Ready(result)
    }
}

impl Stream for Run {
    type Item = EventEnvelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventEnvelope>> {
        if self.events.is_none() {
            self.events = Some(self.subscribe());
        }
        self.start();
        match &mut self.events {
            Some(events) => Pin::new(events).poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl IntoFuture for Run {
    type Output = Result<RunResult, RunError>;
    type IntoFuture = RunFuture;

    fn into_future(self) -> RunFuture {
        RunFuture(self)
    }
}

/// A run that is awaited.
#[must_use = "a future does nothing until it is awaited"]
#[derive(Debug)]
pub struct RunFuture(Run);

impl Future for RunFuture {
    type Output = Result<RunResult, RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_result(cx)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        match self.state {
            RunState::Running(_) if self.attached => self.tree.cancellation.cancel(),
            // It never starts: whoever listens to it is told so.
            RunState::Waiting(_) => self.tree.close(),
            RunState::Running(_) | RunState::Taken => {}
        }
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            RunState::Waiting(_) => "waiting",
            RunState::Running(_) => "running",
            RunState::Taken => "over",
        };
        f.debug_struct("Run").field("state", &state).finish_non_exhaustive()
    }
}

/// Steers a run from elsewhere.
#[derive(Debug, Clone)]
pub struct RunHandle {
    tree: Arc<Tree>,
}

impl RunHandle {
    /// Asks the run and all its descendants to stop.
    pub fn cancel(&self) {
        self.tree.cancellation.cancel();
    }

    /// Answers a question for permission.
    pub fn respond(&self, id: RequestId, decision: PermissionDecision) -> RespondOutcome {
        self.tree.broker.respond(id, None, decision)
    }

    /// Takes the questions for permission, for as long as the stream is kept.
    pub fn permission_requests(&self) -> PermissionRequests {
        self.tree.broker.watch()
    }

    /// The tokens by agent so far.
    #[must_use]
    pub fn usage_by_agent(&self) -> Vec<AgentUsage> {
        self.tree.usage()
    }
}

/// The events of a run and all its descendants.
///
/// A subscriber that is too slow reads the durable events that it missed from the journal, and is told by an
/// `EVENTS_MISSED` event how many live ones are gone.
pub struct EventStream {
    subscription: Subscription,
    store: Arc<dyn SessionStore>,
    /// Events that were read from the journal.
    caught_up: VecDeque<EventEnvelope>,
    reading: Option<BoxFuture<'static, VecDeque<EventEnvelope>>>,
    last: Option<(ThreadKey, Arc<EventSource>)>,
}

impl EventStream {
    fn new(subscription: Subscription, store: Arc<dyn SessionStore>) -> Self {
        Self { subscription, store, caught_up: VecDeque::new(), reading: None, last: None }
    }

    /// The next event; `None` when the run is over.
    pub async fn next(&mut self) -> Option<EventEnvelope> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl Stream for EventStream {
    type Item = EventEnvelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventEnvelope>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let events = ready!(reading.as_mut().poll(cx));
                self.reading = None;
                self.caught_up = events;
            }
            if let Some(envelope) = self.caught_up.pop_front() {
                return Poll::Ready(Some(envelope));
            }
            match ready!(self.subscription.poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Delivery::Event(envelope)) => {
                    self.last = Some((envelope.thread.clone(), Arc::clone(envelope.event.source())));
                    return Poll::Ready(Some(envelope));
                }
                Some(Delivery::Missed(gap)) => {
                    self.reading = Some(Box::pin(catch_up(Arc::clone(&self.store), gap, self.last.clone())));
                }
            }
        }
    }
}

/// Reads what a subscriber missed, in the order in which it was committed.
async fn catch_up(
    store: Arc<dyn SessionStore>,
    gap: Gap,
    last: Option<(ThreadKey, Arc<EventSource>)>,
) -> VecDeque<EventEnvelope> {
    let mut found = Vec::new();
    for ((thread, generation), (first, last)) in gap.durable {
        let limit = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        match store.read(thread.clone(), Some(generation), first, limit).await {
            Ok(records) => found.extend(records.into_iter().map(|record| {
                let envelope = EventEnvelope::journaled(thread.clone(), generation, record.sequence, record.event);
                (record.position, envelope)
            })),
            Err(error) => tracing::warn!(%error, %thread, "events that a subscriber missed could not be read"),
        }
    }
    found.sort_by_key(|(position, _)| *position);
    let mut events: VecDeque<_> = found.into_iter().map(|(_, envelope)| envelope).collect();
    if gap.live > 0
        && let Some((thread, source)) = last
    {
        let body = EventBody::EventsMissed(EventsMissed { count: gap.live });
        events.push_back(EventEnvelope::live(thread, 1, Arc::new(Event::new(source, body))));
    }
    events
}

/// Whatever happens to a run's task, nobody waits for its tree afterwards; even if it is never polled.
struct OpenTree(Arc<Tree>);

impl Drop for OpenTree {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The task of a root run.
async fn execute(agent: Agent, tree: OpenTree, order: Box<Order>) -> Result<RunResult, RunError> {
    let key = order.key.clone();
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

impl Claim<'_> {
    async fn run(&mut self, order: Box<Order>) -> Result<RunResult, RunError> {
        let inner = self.agent.inner();
        let kept = inner.claim(self.key, self.tree, order.new)?;
        self.claimed = true;
        let (lane, request) = match kept {
            Some(kept) => match self.begin(kept.state, false, &order).await {
                // Another process has continued or deleted the thread: what was kept is old.
                Err(RunError::Commit(
                    CommitError::Conflict { .. } | CommitError::Store(StoreError::NotFound { .. }),
                )) => {
                    self.memory().clear();
                    self.begin_from_store(&order).await?
                }
                begun => begun?,
            },
            None if order.new => self.begin(self.new_thread()?, true, &order).await?,
            None => self.begin_from_store(&order).await?,
        };
        let Ended { outcome, .. } = Arc::clone(&lane).drive(request).await;
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
            if state.is_committed() {
                self.kept = Some(Box::new(Kept { state: state.thread, memory: lane.memory }));
            }
        }
        answer
    }

    /// Commits the beginning of the run on a thread in this state, up to the first request.
    async fn begin(
        &self,
        thread: ThreadState,
        create: bool,
        order: &Order,
    ) -> Result<(Arc<Lane>, MessageId), RunError> {
        let lane = Arc::new(self.lane(thread, create, order.config.clone())?);
        let now = Timestamp::now();
        let mut state = lane.lock().await;
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
        let (thread, create) = self.open_thread().await?;
        self.begin(thread, create, order).await
    }

    fn new_thread(&self) -> Result<ThreadState, RunError> {
        let agent_id = self.agent.root()?.agent_id.clone();
        let header = ThreadHeader::conversation(self.key.clone(), agent_id);
        Ok(ThreadState::new(Arc::new(header), History::new()))
    }

    /// What the session remembers; shared by all its threads.
    fn memory(&self) -> Arc<SessionMemory> {
        Arc::clone(self.tree.memory.get_or_init(Arc::default))
    }

    async fn open_thread(&self) -> Result<(ThreadState, bool), RunError> {
        let store = &*self.agent.inner().store;
        load_memory(store, self.key, &self.memory()).await?;
        match load(store, self.key).await {
            Ok(thread) => Ok((thread, false)),
            Err(SessionError::NotFound { .. }) => Ok((self.new_thread()?, true)),
            Err(error) => Err(error.into()),
        }
    }

    fn lane(&self, thread: ThreadState, create: bool, config: Option<Arc<AgentRunConfig>>) -> Result<Lane, RunError> {
        let inner = self.agent.inner();
        let blueprint = self.agent.root()?;
        let client = blueprint.client.clone().or_else(|| inner.client.clone());
        let client = client.ok_or(RunError::Internal { reason: "the agent has no chat client" })?;
        let options = match &config {
            Some(config) => Arc::new(blueprint.options.overlaid_with(config.chat())),
            None => Arc::clone(&blueprint.options),
        };
        let scope = AgentScope::root(Arc::clone(blueprint.config.shared_name()), blueprint.agent_id.clone());
        Ok(Lane {
            agent: Arc::clone(inner),
            tree: Arc::clone(self.tree),
            blueprint: 0,
            key: self.key.clone(),
            generation: thread.generation,
            source: Arc::new(EventSource::root(Arc::new(scope))),
            parent: None,
            selection: client.0.info().selection(&options),
            client,
            options,
            memory: self.memory(),
            denials: Arc::default(),
            ceiling: blueprint.config.max_sub_agent_depth(),
            run_config: config,
            state: Mutex::new(LaneState::new(thread, create)),
        })
    }
}
