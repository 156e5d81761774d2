//! What the benches share: a model that answers at once, the agents that are measured, and a thread with a history.

#![allow(dead_code, reason = "each bench uses its part")]

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use hpd_agent::{
    agent::Agent,
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo},
    event::{Event, EventBody, EventSource, ThreadHeader},
    id::{AgentId, ThreadKey},
    message::{Role, StopReason, Usage},
    prelude::*,
    store::{Append, Batch},
};

/// The model: the parent delegates, the child answers, the parent answers. Nothing of it waits.
pub struct Instant {
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

/// Four deltas at most, without a heap.
struct Deltas([Option<ChatDelta>; 4], usize);

impl Stream for Deltas {
    type Item = Result<ChatDelta, ChatError>;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let at = self.1;
        self.1 += 1;
        Poll::Ready(self.0.get_mut(at).and_then(Option::take).map(Ok))
    }
}

impl ChatClient for Instant {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        let answered = request.history.last().is_some_and(|message| message.role() == Role::Tool);
        let usage = Some(ChatDelta::Usage(Usage::new(10, 5)));
        let deltas = if answered || request.tools.is_empty() {
            let [first, second] = self.pieces.clone();
            let end = Some(ChatDelta::Finish(StopReason::EndTurn));
            [Some(ChatDelta::Text(first)), Some(ChatDelta::Text(second)), usage, end]
        } else {
            [
                Some(ChatDelta::ToolCallStart { index: 0, id: Some(self.call.clone()), name: self.name.clone() }),
                Some(ChatDelta::ToolCallArguments { index: 0, text: self.arguments.clone() }),
                usage,
                Some(ChatDelta::Finish(StopReason::ToolUse)),
            ]
        };
        Box::pin(std::future::ready(Ok(ChatStream::new(Deltas(deltas, 0)))))
    }
}

#[derive(Default)]
pub struct Tools;

#[tool_harness]
impl Tools {
    /// Summarizes a request before the parent answers.
    #[subagent(agent_id = "bench.summarizer")]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("Summarize in three bullets.")
    }
}

pub async fn agent() -> Agent {
    Agent::builder()
        .with_name("Coordinator")
        .with_system_instructions("Delegate.")
        .with_chat_client(Instant::default())
        .with_tool_harness::<Tools>()
        .with_permissions(Permissions::allow_all())
        .build()
        .await
        .expect("the bench agent builds")
}

/// Puts a thread with so many messages into the agent's store.
pub async fn thread_with_history(agent: &Agent, session: &str, messages: usize) {
    use hpd_agent::{event::TurnStarted, id::TurnId, message::Message};
    let key = ThreadKey::new(session, "main").expect("legal ids");
    let id = AgentId::new("coordinator").expect("a legal id");
    let header = Arc::new(ThreadHeader::conversation(key, id));
    let source = Arc::new(EventSource::outside(header.default_agent_id.clone(), "Coordinator"));
    let text: Arc<str> = "a message of the history, as long as such messages are".into();
    let events = (0..messages).map(|n| {
        let message = if n % 2 == 0 { Message::user(text.clone()) } else { Message::assistant(text.clone()) };
        let body = EventBody::TurnStarted(TurnStarted::new(TurnId::generate(), Arc::new(message)));
        Arc::new(Event::new(source.clone(), body))
    });
    let events = events.collect();
    agent.session_store().commit(Batch::new(vec![Append::create(header, events)])).await.expect("committed");
}
