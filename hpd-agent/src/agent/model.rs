//! Asking the model: from a journaled request to a journaled answer.

use std::{pin::Pin, sync::Arc};

use futures_util::StreamExt as _;
use smallvec::SmallVec;

use super::{
    RunError,
    lane::{Lane, LaneState},
};
use crate::{
    chat::{ChatDelta, ChatError, ChatErrorKind, ChatRequest, ChatStream},
    event::{
        CallType, ErrorInfo, EventBody, ModelRequest, ModelRequestFailed, ModelResponse, TextDelta, ToolCallArgs,
        ToolCallEnd, ToolCallStart,
    },
    id::{CallId, MessageId, Timestamp},
    message::{Message, Part, Reasoning, Role, StopReason, ToolCall, Usage},
};

/// Text that arrives in pieces: the first piece is kept as it is, because often there is only one.
#[derive(Debug, Default)]
enum Text {
    #[default]
    Empty,
    One(Arc<str>),
    Many(String),
}

impl Text {
    fn push(&mut self, piece: Arc<str>) {
        *self = match std::mem::take(self) {
            Self::Empty => Self::One(piece),
            Self::One(first) => {
                let mut all = String::with_capacity((first.len() + piece.len()) * 2);
                all.push_str(&first);
                all.push_str(&piece);
                Self::Many(all)
            }
            Self::Many(mut all) => {
                all.push_str(&piece);
                Self::Many(all)
            }
        };
    }

    fn finish(self) -> Option<Arc<str>> {
        match self {
            Self::Empty => None,
            Self::One(text) => Some(text).filter(|text| !text.is_empty()),
            Self::Many(text) => Some(text.into()),
        }
    }
}

/// An answer that is arriving.
#[derive(Debug, Default)]
struct Answer {
    reasoning: SmallVec<[Part; 1]>,
    thought: Text,
    text: Text,
    calls: SmallVec<[Call; 1]>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
struct Call {
    /// The position that the client gave it.
    index: u32,
    provider_id: Option<Arc<str>>,
    name: Arc<str>,
    arguments: Text,
}

impl Answer {
    fn end_of_thought(&mut self, signature: Option<Arc<str>>) {
        let text = std::mem::take(&mut self.thought).finish();
        if text.is_some() || signature.is_some() {
            let mut reasoning = Reasoning::new(text.unwrap_or_else(|| Arc::from("")));
            reasoning.signature = signature;
            self.reasoning.push(Part::Reasoning(reasoning));
        }
    }

    fn take(&mut self, lane: &Lane, id: MessageId, delta: ChatDelta) -> Result<(), &'static str> {
        match delta {
            ChatDelta::Text(text) => {
                lane.live(|| EventBody::TextDelta(TextDelta { message_id: id, delta: Arc::clone(&text) }));
                self.text.push(text);
            }
            ChatDelta::Reasoning(text) => {
                lane.live(|| EventBody::ReasoningDelta(TextDelta { message_id: id, delta: Arc::clone(&text) }));
                self.thought.push(text);
            }
            ChatDelta::ReasoningSignature(signature) => self.end_of_thought(Some(signature)),
            ChatDelta::ToolCallStart { index, id: provider_id, name } => {
                if self.calls.iter().any(|call| call.index == index) {
                    return Err("two tool calls of the answer have the same position");
                }
                let call_id = CallId::new(id, self.calls.len() as u32);
                lane.live(|| {
                    let tool = lane.blueprint().ok().and_then(|blueprint| blueprint.tools.get(&name));
                    let call_type = tool.map_or(CallType::Unknown, |tool| tool.call_type());
                    EventBody::ToolCallStart(ToolCallStart { call_id, name: Arc::clone(&name), call_type })
                });
                self.calls.push(Call { index, provider_id, name, arguments: Text::Empty });
            }
            ChatDelta::ToolCallArguments { index, text } => {
                let found = self.calls.iter_mut().zip(0..).find(|(call, _)| call.index == index);
                let Some((call, position)) = found else {
                    return Err("arguments arrived for a tool call that never began");
                };
                let call_id = CallId::new(id, position);
                lane.live(|| EventBody::ToolCallArgs(ToolCallArgs { call_id, delta: Arc::clone(&text) }));
                call.arguments.push(text);
            }
            ChatDelta::Usage(usage) => self.usage = usage,
            ChatDelta::Finish(reason) => self.stop = Some(reason),
        }
        Ok(())
    }

    fn message(mut self, id: MessageId) -> (Message, Usage, StopReason) {
        self.end_of_thought(None);
        let text = self.text.finish().map(Part::Text);
        let calls = (0..).zip(self.calls).map(|(position, call)| {
            let arguments = call.arguments.finish().unwrap_or_else(|| Arc::from("{}"));
            let mut made = ToolCall::new(CallId::new(id, position), call.name, arguments);
            made.provider_id = call.provider_id;
            Part::ToolCall(made)
        });
        let parts = self.reasoning.into_iter().chain(text).chain(calls);
        let stop = self.stop.unwrap_or(StopReason::EndTurn);
        (Message::of(id, Role::Assistant, parts), self.usage, stop)
    }
}

impl Lane {
    /// Records that the model is about to be asked. Returns the id that its answer will have.
    pub(crate) fn record_request(&self, state: &mut LaneState, now: Timestamp) -> MessageId {
        let message_id = MessageId::generate();
        let request =
            ModelRequest { message_id, iteration: state.thread.iteration + 1, selection: Arc::clone(&self.selection) };
        state.record(&self.source, now, EventBody::ModelRequest(request));
        message_id
    }

    /// Asks the model and records its answer. The request `id` is recorded already.
    pub(crate) async fn ask_model(&self, id: MessageId) -> Result<(), RunError> {
        let request = {
            let mut state = self.lock().await;
            self.flush(&mut state).await?;
            let blueprint = self.blueprint()?;
            ChatRequest {
                system: self.system(blueprint),
                history: state.thread.history.clone(),
                tools: blueprint.tools.visible(self.depth(), self.ceiling),
                options: Arc::clone(&self.options),
            }
        };
        let mut answer = Answer::default();
        let outcome = tokio::select! {
            biased;
            () = self.tree.cancellation.wait() => Err(RunError::Cancelled),
            outcome = self.receive(request, id, &mut answer) => outcome.map_err(|source| self.chat_error(source)),
        };
        let now = Timestamp::now();
        match outcome {
            Ok(()) => {
                for position in 0..answer.calls.len() {
                    self.live(|| EventBody::ToolCallEnd(ToolCallEnd { call_id: CallId::new(id, position as u32) }));
                }
                let (message, usage, stop_reason) = answer.message(id);
                self.tree.add_usage(&self.source.agent, usage);
                let response = ModelResponse { message: Arc::new(message), stop_reason, usage };
                self.lock().await.record(&self.source, now, EventBody::ModelResponse(response));
                Ok(())
            }
            Err(error) => {
                let failed = ModelRequestFailed {
                    message_id: id,
                    error: Arc::new(ErrorInfo { code: error.code().into(), message: error.to_string().into() }),
                    partial_text: answer.text.finish(),
                };
                self.lock().await.record(&self.source, now, EventBody::ModelRequestFailed(failed));
                Err(error)
            }
        }
    }

    fn chat_error(&self, source: ChatError) -> RunError {
        RunError::Chat { agent: self.source.agent.agent_name.to_string(), source }
    }

    async fn receive(&self, request: ChatRequest, id: MessageId, answer: &mut Answer) -> Result<(), ChatError> {
        let client = &self.client.0;
        let stream: ChatStream = client.stream(request).await?;
        let mut stream = stream;
        let mut stream = Pin::new(&mut stream);
        while let Some(delta) = stream.next().await {
            answer.take(self, id, delta?).map_err(|what| {
                ChatError::new(client.info(), ChatErrorKind::Protocol, what).with_model(&*self.selection.model)
            })?;
        }
        if answer.stop.is_none() {
            let what = "the stream ended before the answer was complete";
            let error = ChatError::new(client.info(), ChatErrorKind::Interrupted, what);
            return Err(error.with_model(&*self.selection.model));
        }
        Ok(())
    }
}
