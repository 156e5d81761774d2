//! What the benches share: a model that answers at once, the agents that are measured, conversations with a history,
//! and the skeleton that everything is compared with.

#![allow(dead_code, reason = "each bench uses its part")]
#![allow(clippy::expect_used, reason = "a bench that cannot go on has to stop")]

pub(crate) mod skeleton;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use hpd_agent::{
    agent::{Agent, Thread},
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo},
    event::{Event, EventBody, EventSource, ThreadHeader, TurnStarted},
    id::{AgentId, MessageId, SessionId, ThreadKey, TurnId},
    message::{Message, Role, StopReason, Usage},
    prelude::*,
    store::{Append, Batch, SessionStore},
};

use self::skeleton::Skeleton;

/// What the parent is asked.
pub(crate) const INPUT: &str = "Summarise";
/// How many delegations a conversation takes before it is made anew, so that it does not grow without limit.
pub(crate) const DELEGATIONS_PER_CONVERSATION: usize = 256;

/// The model: the parent delegates, the child answers, the parent answers. Nothing of it waits.
pub(crate) struct Instant {
    info: ClientInfo,
    name: Arc<str>,
    call: Arc<str>,
    arguments: Arc<str>,
    pieces: [Arc<str>; 2],
}

impl Default for Instant {
    fn default() -> Self {
        Self {
            info: ClientInfo::new("bench", "instant"),
            name: "summarizer".into(),
            call: "call_1".into(),
            arguments: r#"{"input":"please summarise this request for me, thanks"}"#.into(),
            pieces: ["the answer is".into(), " forty two".into()],
        }
    }
}

/// Four deltas, without a heap.
struct Deltas([Option<ChatDelta>; 4], usize);

impl Stream for Deltas {
    type Item = Result<ChatDelta, ChatError>;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let at = self.1;
        self.1 += 1;
        Poll::Ready(self.0.get_mut(at).and_then(Option::take).map(Ok))
    }
}

/// An answer of these deltas.
pub(crate) fn stream_of(deltas: [ChatDelta; 4]) -> ChatStream {
    ChatStream::new(Deltas(deltas.map(Some), 0))
}

impl ChatClient for Instant {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        let answered = request.history.last().is_some_and(|message| message.role() == Role::Tool);
        let usage = ChatDelta::Usage(Usage::new(10, 5));
        let deltas = if answered || request.tools.is_empty() {
            let [first, second] = self.pieces.clone();
            [ChatDelta::Text(first), ChatDelta::Text(second), usage, ChatDelta::Finish(StopReason::EndTurn)]
        } else {
            [
                ChatDelta::ToolCallStart { index: 0, id: Some(self.call.clone()), name: self.name.clone() },
                ChatDelta::ToolCallArguments { index: 0, text: self.arguments.clone() },
                usage,
                ChatDelta::Finish(StopReason::ToolUse),
            ]
        };
        Box::pin(std::future::ready(Ok(stream_of(deltas))))
    }
}

#[derive(Default)]
pub(crate) struct Tools;

#[tool_harness]
impl Tools {
    /// Summarizes a request before the parent answers.
    #[subagent(agent_id = "bench.summarizer")]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("Summarize in three bullets.")
    }
}

/// The agent that is measured.
pub(crate) async fn agent_with(client: impl ChatClient) -> Agent {
    Agent::builder()
        .with_name("Coordinator")
        .with_system_instructions("Delegate.")
        .with_max_parallel_tool_calls(u32::MAX)
        .with_chat_client(client)
        .with_tool_harness::<Tools>()
        .with_permissions(Permissions::allow_all())
        .build()
        .await
        .expect("the agent of the bench builds")
}

pub(crate) async fn agent() -> Agent {
    agent_with(Instant::default()).await
}

/// A session id that nobody has used.
pub(crate) fn new_session() -> SessionId {
    SessionId::new(MessageId::generate().to_string()).expect("hexadecimal digits are legal")
}

/// The events of a conversation of so many messages. Threads may share them.
pub(crate) fn history(messages: usize) -> Vec<Arc<Event>> {
    let agent = AgentId::new("coordinator").expect("a legal id");
    let source = Arc::new(EventSource::outside(agent, "Coordinator"));
    let text = "a message of the history, as long as such messages are";
    let event = |n: usize| {
        let message = if n.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) };
        let body = EventBody::TurnStarted(TurnStarted::new(TurnId::generate(), Arc::new(message)));
        Arc::new(Event::new(Arc::clone(&source), body))
    };
    (0..messages).map(event).collect()
}

/// A new thread with these events.
pub(crate) async fn thread_of(store: &dyn SessionStore, events: &[Arc<Event>]) -> ThreadKey {
    let key = ThreadKey::new(new_session(), "main").expect("legal ids");
    let header = ThreadHeader::conversation(key.clone(), AgentId::new("coordinator").expect("a legal id"));
    let append = Append::create(Arc::new(header), events.to_vec());
    store.commit(Batch::new(vec![append])).await.expect("the history is committed");
    key
}

/// What delegates: the library, or the skeleton.
#[derive(Clone)]
pub(crate) enum Subject {
    Library(Agent),
    Skeleton(Arc<Skeleton>),
}

/// A conversation of either.
pub(crate) enum Conversation {
    Library(Agent, Thread),
    Skeleton(Arc<Skeleton>, skeleton::Thread),
}

impl Subject {
    pub(crate) async fn library() -> Self {
        Self::Library(agent().await)
    }

    pub(crate) async fn skeleton() -> Self {
        Self::Skeleton(Arc::new(Skeleton::new().await))
    }

    /// One delegation in a session of its own, which is deleted then.
    pub(crate) async fn delegate_anew(&self) {
        match self {
            Self::Library(agent) => {
                let result = agent.run(INPUT).await.expect("the run answers");
                agent.delete_session(result.session_id()).await.expect("the session is deleted");
            }
            Self::Skeleton(skeleton) => {
                let mut thread = skeleton.new_thread(new_session());
                skeleton.delegate(&mut thread, INPUT.into()).await;
                skeleton.delete(thread).await;
            }
        }
    }

    /// One delegation in a session that is kept.
    pub(crate) async fn delegate_once(&self) -> (&dyn SessionStore, ThreadKey) {
        match self {
            Self::Library(agent) => {
                let result = agent.run(INPUT).await.expect("the run answers");
                (&**agent.session_store(), result.thread().clone())
            }
            Self::Skeleton(skeleton) => {
                let mut thread = skeleton.new_thread(new_session());
                skeleton.delegate(&mut thread, INPUT.into()).await;
                (skeleton.store(), thread.key().clone())
            }
        }
    }

    /// A conversation that begins with these events, ready to be continued.
    pub(crate) async fn conversation(&self, events: &[Arc<Event>]) -> Conversation {
        let mut conversation = match self {
            Self::Library(agent) => {
                let key = thread_of(&**agent.session_store(), events).await;
                Conversation::Library(agent.clone(), agent.thread(key.session_id, key.thread_id))
            }
            Self::Skeleton(skeleton) => Conversation::Skeleton(Arc::clone(skeleton), skeleton.thread_of(events).await),
        };
        // The first run of a thread reads it from the store.
        conversation.delegate().await;
        conversation
    }
}

impl Conversation {
    pub(crate) async fn delegate(&mut self) {
        match self {
            Self::Library(_, thread) => {
                thread.run(INPUT).await.expect("the run answers");
            }
            Self::Skeleton(skeleton, thread) => {
                skeleton.delegate(thread, INPUT.into()).await;
            }
        }
    }

    /// Deletes it.
    pub(crate) async fn end(self) {
        match self {
            Self::Library(agent, thread) => {
                let key = thread.key().expect("legal ids");
                agent.delete_session(&key.session_id).await.expect("the session is deleted");
            }
            Self::Skeleton(skeleton, thread) => skeleton.delete(thread).await,
        }
    }
}

/// Runs 64 tasks at once, each with so many delegations.
pub(crate) async fn at_once(subject: &Subject, each: usize) {
    let task = |subject: Subject| async move {
        for _ in 0..each {
            subject.delegate_anew().await;
        }
    };
    let tasks: Vec<_> = (0..64).map(|_| tokio::spawn(task(subject.clone()))).collect();
    for task in tasks {
        task.await.expect("the task ends");
    }
}

/// The same in 64 conversations.
pub(crate) async fn at_once_in(conversations: Vec<Conversation>, each: usize) -> Vec<Conversation> {
    let task = |mut conversation: Conversation| async move {
        for _ in 0..each {
            conversation.delegate().await;
        }
        conversation
    };
    let tasks: Vec<_> = conversations.into_iter().map(|conversation| tokio::spawn(task(conversation))).collect();
    let mut back = Vec::with_capacity(tasks.len());
    for task in tasks {
        back.push(task.await.expect("the task ends"));
    }
    back
}

pub(crate) fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

pub(crate) fn two_threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime")
}
