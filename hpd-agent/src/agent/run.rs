use std::{
    future::IntoFuture,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use tokio::task::JoinHandle;

use super::{
    Agent, AgentUsage, EventStream, RunError,
    execute::{Claim, OpenTree, Order, Place, execute},
    tree::Tree,
};
use crate::{
    declare::AgentRunConfig,
    event::EventEnvelope,
    id::{RequestId, SessionId, ThreadId, ThreadKey},
    message::{Message, StopReason, Usage},
    permission::{PermissionDecision, PermissionRequests, RespondOutcome},
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

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub(super) thread: ThreadKey,
    pub(super) text: Arc<str>,
    pub(super) stop: StopReason,
    pub(super) message: Option<Arc<Message>>,
    pub(super) own_usage: Usage,
    pub(super) usage: Vec<AgentUsage>,
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

    /// The tokens of the run's own agent in this turn, without its children's. A turn that waited for permission has those
    /// from before too.
    #[must_use]
    pub fn own_usage(&self) -> Usage {
        self.own_usage
    }

    /// The tokens by agent, in the order of their first model call.
    #[must_use]
    pub fn usage_by_agent(&self) -> &[AgentUsage] {
        &self.usage
    }
}

impl Run {
    pub(super) fn new(agent: Agent, place: Result<Place, RunError>, input: Message) -> Self {
        let order = place.and_then(|place| match input.has_text() {
            true => Ok(Box::new(Order { place, input: Some(Arc::new(input)), config: None, queued: false })),
            false => Err(RunError::EmptyInput),
        });
        Self::of(agent, order)
    }

    /// Goes on with a turn that waits for permission.
    pub(super) fn resuming(agent: Agent, place: Result<Place, RunError>) -> Self {
        Self::of(agent, place.map(|place| Box::new(Order { place, input: None, config: None, queued: false })))
    }

    fn of(agent: Agent, order: Result<Box<Order>, RunError>) -> Self {
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

    /// Lets the run wait until its thread is free, instead of failing with [`RunError::ThreadBusy`]; it must not have
    /// started yet. Runs that wait get the thread in the order in which they were started. One that is cancelled or
    /// dropped meanwhile leaves the queue and nothing else behind: its input is not in the conversation.
    ///
    /// The queue is one of this agent and its clones: a thread that another process works on is not waited for. A function
    /// that awaits a run queued on the thread that it was called from waits for itself.
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, testing::{Hold, Reply, ScriptedChatClient}};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let hold = Hold::new();
    /// # let client = ScriptedChatClient::replies([Reply::text("One.").held_by(&hold), Reply::text("Two.")]);
    /// # let agent = Agent::builder().with_chat_client(client).build().await?;
    /// let thread = agent.thread("user-42", "main");
    /// let (mut first, mut second) = (thread.run("First."), thread.run("Second.").queued());
    /// first.start();
    /// second.start();
    /// # hold.release();
    /// assert_eq!(second.await?.text(), "Two.");
    /// assert_eq!(first.await?.text(), "One.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queued(mut self) -> Self {
        if let RunState::Waiting(Ok(order)) = &mut self.state {
            order.queued = true;
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
        // Now and not in the task: who starts first has the thread.
        let claim = match Claim::new(&self.agent, &self.tree, &order) {
            Ok(claim) => claim,
            Err(error) => return self.fail(error),
        };
        let task = execute(claim, OpenTree(Arc::clone(&self.tree)), order);
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
