//! The same calls, events and commits as a delegation, without a runtime: no driver, no state machine, no permission,
//! no cancellation, no tasks, no futures besides those of the client and the store.
//!
//! What no delegation can do without is here: three model calls whose streamed answers are put together, arguments
//! that are parsed, histories that are forked and appended to, ids, and the 19 events in 5 commits with all that they
//! hold. How much slower the library is, is what its runtime costs.

use std::{borrow::Cow, sync::Arc};

use futures_util::StreamExt as _;
use hpd_agent::{
    chat::{ChatClient, ChatDelta, ChatRequest},
    event::{
        AgentScope, Event, EventBody, EventSource, ExecutionFinished, ExecutionStarted, ForkPoint, ModelRequest,
        ModelResponse, SubAgentInvocationCompleted, SubAgentInvocationStarted, ThreadHeader, ToolCallResult,
        TurnFinished, TurnStarted,
    },
    history::History,
    id::{CallId, ExecutionId, InvocationId, MessageId, SessionId, ThreadId, ThreadKey, Timestamp, TurnId},
    message::{Message, Part, Provenance, Role, StopReason, ToolCall, ToolOutput, ToolResult, Usage},
    store::{Append, Batch, Expected, SessionStore, memory::MemorySessionStore},
};
use smallvec::SmallVec;

/// The payloads of one real delegation: what is not filled in anew is shared, as it is in the library.
struct Templates {
    root: Agent,
    child: Agent,
    execution_finished: ExecutionFinished,
    turn_finished: TurnFinished,
    response: ModelResponse,
    started: SubAgentInvocationStarted,
    completed: SubAgentInvocationCompleted,
    result: ToolResult,
    tool_result: ToolCallResult,
    child_header: ThreadHeader,
}

struct Agent {
    source: EventSource,
    execution_started: ExecutionStarted,
    model_request: ModelRequest,
    chat_request: ChatRequest,
}

pub(crate) struct Skeleton {
    store: Arc<dyn SessionStore>,
    client: Arc<dyn ChatClient>,
    templates: Templates,
}

/// A conversation of the skeleton.
pub(crate) struct Thread {
    key: ThreadKey,
    history: History,
    len: u64,
    /// Creates the thread with the first commit.
    create: Option<Arc<ThreadHeader>>,
}

impl Thread {
    pub(crate) fn key(&self) -> &ThreadKey {
        &self.key
    }
}

/// An execution on a thread.
struct Lane<'a> {
    thread: &'a mut Thread,
    source: Arc<EventSource>,
    agent: &'a Agent,
    pending: Vec<Arc<Event>>,
}

impl Lane<'_> {
    fn record(&mut self, now: Timestamp, body: EventBody) {
        self.pending.push(Arc::new(Event::at(now, Arc::clone(&self.source), body)));
    }

    fn append(&mut self) -> Append {
        let events = std::mem::take(&mut self.pending);
        let mut append = Append::new(self.thread.key.clone(), Expected::Exactly(self.thread.len), events);
        append.create = self.thread.create.take();
        self.thread.len += append.events.len() as u64;
        append
    }
}

#[derive(serde::Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    input: Cow<'a, str>,
}

impl Skeleton {
    /// Runs one real delegation to have its payloads.
    pub(crate) async fn new() -> Self {
        Self::of(&super::agent().await, super::Instant::default()).await
    }

    /// The same with the payloads of this agent.
    pub(crate) async fn of(agent: &hpd_agent::agent::Agent, client: impl ChatClient) -> Self {
        let result = agent.run(super::INPUT).await.expect("the run answers");
        let journal = Journal::read(&**agent.session_store(), result.thread()).await;
        let started = journal.find(|body| match body {
            EventBody::SubAgentInvocationStarted(started) => Some(started.clone()),
            _ => None,
        });
        let child = Journal::read(&**agent.session_store(), &started.invocation.child()).await;
        let tool_result = journal.find(|body| match body {
            EventBody::ToolCallResult(result) => Some(result.clone()),
            _ => None,
        });
        let result = tool_result.message.results().next().expect("a result").clone();
        let templates = Templates {
            execution_finished: child.find(|body| match body {
                EventBody::ExecutionFinished(finished) => Some(finished.clone()),
                _ => None,
            }),
            turn_finished: child.find(|body| match body {
                EventBody::TurnFinished(finished) => Some(finished.clone()),
                _ => None,
            }),
            response: child.find(|body| match body {
                EventBody::ModelResponse(response) => Some(response.clone()),
                _ => None,
            }),
            completed: journal.find(|body| match body {
                EventBody::SubAgentInvocationCompleted(completed) => Some(completed.clone()),
                _ => None,
            }),
            child_header: child.find(|body| match body {
                EventBody::ThreadCreated(header) => Some((**header).clone()),
                _ => None,
            }),
            root: journal.agent("Delegate.", true),
            child: child.agent("Summarize in three bullets.", false),
            result,
            tool_result,
            started,
        };
        Self { store: Arc::new(MemorySessionStore::new()), client: Arc::new(client), templates }
    }

    pub(crate) fn store(&self) -> &dyn SessionStore {
        &*self.store
    }

    /// A thread that the first commit creates.
    pub(crate) fn new_thread(&self, session: SessionId) -> Thread {
        let key = ThreadKey::new(session, "main").expect("legal ids");
        let agent = self.templates.root.source.agent.agent_id.clone();
        let create = Some(Arc::new(ThreadHeader::conversation(key.clone(), agent)));
        Thread { key, history: History::new(), len: 0, create }
    }

    /// A thread that is in the store with these events, which are messages.
    pub(crate) async fn thread_of(&self, events: &[Arc<Event>]) -> Thread {
        let key = super::thread_of(&*self.store, events).await;
        let messages = events.iter().filter_map(|event| match event.body() {
            EventBody::TurnStarted(started) => Some(Arc::clone(&started.message)),
            _ => None,
        });
        Thread { key, history: messages.collect(), len: events.len() as u64, create: None }
    }

    pub(crate) async fn delete(&self, thread: Thread) {
        self.store.delete_session(thread.key.session_id).await.expect("the session is deleted");
    }

    /// One delegation.
    pub(crate) async fn delegate(&self, thread: &mut Thread, input: Arc<str>) -> Arc<str> {
        let mut root = self.execution(thread, &self.templates.root, self.root_source());
        let input = Message::user(input);
        let (turn, mut request) = self.begin(&mut root, input);
        self.commit([root.append()]).await;
        loop {
            let before = root.thread.history.clone();
            let message = self.ask_model(&mut root, request).await;
            match message.calls().next() {
                None => {
                    self.finish(&mut root, turn);
                    self.commit([root.append()]).await;
                    return text_of(&message);
                }
                Some(call) => request = self.delegate_to_child(&mut root, call, before).await,
            }
        }
    }

    /// A delegation up to the moment at which its child waits for its model: what the journal holds then.
    pub(crate) async fn begin_delegation(&self, thread: &mut Thread, input: Arc<str>) {
        let mut root = self.execution(thread, &self.templates.root, self.root_source());
        let (_, request) = self.begin(&mut root, Message::user(input));
        self.commit([root.append()]).await;
        let before = root.thread.history.clone();
        let message = self.ask_model(&mut root, request).await;
        for call in message.calls() {
            let (_, mut child_thread, source) = self.child_thread(&mut root, call, &before);
            let mut child = self.execution(&mut child_thread, &self.templates.child, source);
            self.begin_child(&mut child, call);
            self.commit([root.append(), child.append()]).await;
        }
    }

    fn execution<'a>(&self, thread: &'a mut Thread, agent: &'a Agent, source: Arc<EventSource>) -> Lane<'a> {
        Lane { thread, source, agent, pending: Vec::with_capacity(4) }
    }

    fn root_source(&self) -> Arc<EventSource> {
        let scope: AgentScope = (*self.templates.root.source.agent).clone();
        Arc::new(EventSource::root(Arc::new(scope)))
    }

    /// Records the beginning of a turn, up to the request.
    fn begin(&self, lane: &mut Lane<'_>, input: Message) -> (TurnId, MessageId) {
        let now = Timestamp::now();
        if let Some(header) = &lane.thread.create {
            let created = EventBody::ThreadCreated(Arc::clone(header));
            lane.record(now, created);
        }
        lane.record(now, EventBody::ExecutionStarted(lane.agent.execution_started.clone()));
        let (turn, input) = (TurnId::generate(), Arc::new(input));
        lane.record(now, EventBody::TurnStarted(TurnStarted::new(turn, Arc::clone(&input))));
        lane.thread.history.push(input);
        (turn, self.request(lane, now))
    }

    fn request(&self, lane: &mut Lane<'_>, now: Timestamp) -> MessageId {
        let mut request = lane.agent.model_request.clone();
        request.message_id = MessageId::generate();
        let id = request.message_id;
        lane.record(now, EventBody::ModelRequest(request));
        id
    }

    fn finish(&self, lane: &mut Lane<'_>, turn: TurnId) {
        let now = Timestamp::now();
        let mut finished = self.templates.turn_finished.clone();
        finished.turn_id = turn;
        lane.record(now, EventBody::TurnFinished(finished));
        lane.record(now, EventBody::ExecutionFinished(self.templates.execution_finished.clone()));
    }

    /// Asks the model and records its answer.
    async fn ask_model(&self, lane: &mut Lane<'_>, id: MessageId) -> Arc<Message> {
        let mut request = lane.agent.chat_request.clone();
        request.history = lane.thread.history.clone();
        let mut stream = self.client.stream(request).await.expect("an answer");
        let mut message = SmallVec::<[Part; 1]>::new();
        let (mut text, mut usage, mut stop) = (String::new(), Usage::default(), StopReason::EndTurn);
        while let Some(delta) = stream.next().await {
            match delta.expect("a delta") {
                ChatDelta::Text(piece) => text.push_str(&piece),
                ChatDelta::ToolCallStart { index, id: provider_id, name } => {
                    let mut call = ToolCall::new(CallId::new(id, index), Arc::clone(&name), name);
                    call.provider_id = provider_id;
                    message.push(Part::ToolCall(call));
                }
                // The models of the benches send arguments in one piece, right behind the beginning of the call.
                ChatDelta::ToolCallArguments { text, .. } => {
                    if let Some(Part::ToolCall(call)) = message.last_mut() {
                        call.arguments = text;
                    }
                }
                ChatDelta::Usage(reported) => usage = reported,
                ChatDelta::Finish(reason) => stop = reason,
                _ => {}
            }
        }
        if message.is_empty() {
            message.push(Part::Text(text.into()));
        }
        let message = Arc::new(Message::of(id, Role::Assistant, message));
        lane.thread.history.push(Arc::clone(&message));
        let mut response = self.templates.response.clone();
        response.message = Arc::clone(&message);
        response.stop_reason = stop;
        response.usage = usage;
        lane.record(Timestamp::now(), EventBody::ModelResponse(response));
        message
    }

    /// The child's thread, with the news of it in the parent's.
    fn child_thread(
        &self,
        root: &mut Lane<'_>,
        call: &ToolCall,
        before: &History,
    ) -> (SubAgentInvocationCompleted, Thread, Arc<EventSource>) {
        let mut invocation = (*self.templates.started.invocation).clone();
        invocation.invocation_id = InvocationId::generate();
        invocation.parent_tool_call_id = call.id;
        invocation.child_session_id = root.thread.key.session_id.clone();
        let id = format!("subagent/summarizer/{:012x}", invocation.invocation_id.as_u128() >> 80);
        invocation.child_thread_id = ThreadId::new(id).expect("a legal id");
        let invocation = Arc::new(invocation);

        let mut header = self.templates.child_header.clone();
        header.key = invocation.child();
        let sequence = root.thread.len + root.pending.len() as u64;
        let mut point = ForkPoint::new(root.thread.key.clone(), 1, sequence);
        point.message_id = Some(call.id.message());
        header.forked_from = Some(point);
        if let Some(origin) = &mut header.origin {
            origin.parent_session_id = root.thread.key.session_id.clone();
            origin.parent_thread_id = root.thread.key.thread_id.clone();
            origin.parent_tool_call_id = call.id;
            origin.invocation_id = invocation.invocation_id;
        }

        let mut source = self.templates.child.source.clone();
        source.agent = Arc::new((*source.agent).clone());
        source.execution = Some(ExecutionId::generate());
        source.trace = root.source.trace;
        source.span = MessageId::generate().as_u128() as u64;
        source.parent_span = Some(root.source.span);

        let mut started = self.templates.started.clone();
        started.invocation = Arc::clone(&invocation);
        root.record(Timestamp::now(), EventBody::SubAgentInvocationStarted(started));
        let mut completed = self.templates.completed.clone();
        completed.invocation = invocation;
        let thread =
            Thread { key: header.key.clone(), history: before.clone(), len: 0, create: Some(Arc::new(header)) };
        (completed, thread, Arc::new(source))
    }

    fn begin_child(&self, child: &mut Lane<'_>, call: &ToolCall) -> (TurnId, MessageId) {
        let arguments: Arguments<'_> = serde_json::from_str(&call.arguments).expect("the model of the bench does well");
        let input = Message::of(MessageId::generate(), Role::User, [Part::Text(arguments.input.into())]);
        self.begin(child, input.with_provenance(Provenance::Delegation))
    }

    /// A child from its beginning to its end, and the result of the call. Returns the parent's next request.
    async fn delegate_to_child(&self, root: &mut Lane<'_>, call: &ToolCall, before: History) -> MessageId {
        let (mut completed, mut child_thread, source) = self.child_thread(root, call, &before);
        let mut child = self.execution(&mut child_thread, &self.templates.child, source);
        let (turn, request) = self.begin_child(&mut child, call);
        self.commit([root.append(), child.append()]).await;

        let answer = self.ask_model(&mut child, request).await;
        let text = text_of(&answer);
        self.finish(&mut child, turn);
        self.commit([child.append()]).await;

        let mut result = self.templates.result.clone();
        result.call_id = call.id;
        result.name = Arc::clone(&call.name);
        result.output = ToolOutput::new(Arc::clone(&text));
        if let Some(sub_agent) = &mut result.metadata.sub_agent {
            sub_agent.thread = child.thread.key.clone();
            sub_agent.invocation_id = completed.invocation.invocation_id;
        }
        let now = Timestamp::now();
        completed.summary = Some(text);
        root.record(now, EventBody::SubAgentInvocationCompleted(completed));
        let mut tool_result = self.templates.tool_result.clone();
        tool_result.message = Arc::new(Message::of(MessageId::generate(), Role::Tool, [Part::ToolResult(result)]));
        root.thread.history.push(Arc::clone(&tool_result.message));
        root.record(now, EventBody::ToolCallResult(tool_result));
        let request = self.request(root, now);
        self.commit([root.append()]).await;
        request
    }

    async fn commit<const N: usize>(&self, appends: [Append; N]) {
        self.store.commit(Batch::new(Vec::from(appends))).await.expect("committed");
    }
}

fn text_of(message: &Message) -> Arc<str> {
    match message.parts() {
        [Part::Text(text)] => Arc::clone(text),
        _ => "".into(),
    }
}

/// The events of a thread.
struct Journal(Vec<Arc<Event>>);

impl Journal {
    async fn read(store: &dyn SessionStore, thread: &ThreadKey) -> Self {
        let records = store.read(thread.clone(), None, 1, usize::MAX).await.expect("the journal is read");
        Self(records.into_iter().map(|record| record.event).collect())
    }

    fn find<T>(&self, pick: impl Fn(&EventBody) -> Option<T>) -> T {
        self.0.iter().find_map(|event| pick(event.body())).expect("the event occurs")
    }

    fn agent(&self, system: &str, has_tools: bool) -> Agent {
        let tool = || {
            let name = hpd_agent::id::ToolName::new("summarizer").expect("a legal name");
            let schema = hpd_agent::chat::Schema::from_static(r#"{"type":"object"}"#);
            hpd_agent::chat::ToolSpec::new(name, "Summarizes a request before the parent answers.", schema)
        };
        let tools = has_tools.then(tool).into_iter().collect();
        Agent {
            source: self.0.first().map(|event| (**event.source()).clone()).expect("an event"),
            execution_started: self.find(|body| match body {
                EventBody::ExecutionStarted(started) => Some(started.clone()),
                _ => None,
            }),
            model_request: self.find(|body| match body {
                EventBody::ModelRequest(request) => Some(request.clone()),
                _ => None,
            }),
            chat_request: ChatRequest::new(History::new()).with_system(system).with_tools(tools),
        }
    }
}
