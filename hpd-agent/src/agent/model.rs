//! Asking the model: from a journaled request to a journaled answer.

use std::{
    any::Any,
    future::ready,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::{FutureExt as _, StreamExt as _};
use smallvec::SmallVec;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    task::coop::cooperative,
};

use super::{
    RunError,
    lane::{Lane, LaneState},
    ledger::Reached,
    tools::panic_message,
};
use crate::{
    chat::{ChatDelta, ChatError, ChatErrorKind, ChatRequest, ChatStream},
    declare::Price,
    event::{
        CallType, ErrorInfo, EventBody, ModelRequest, ModelRequestFailed, ModelResponse, TextDelta, ToolCallArgs,
        ToolCallEnd, ToolCallStart,
    },
    future::BoxFuture,
    history::History,
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
            Self::One(text) => Some(text),
            Self::Many(text) => Some(text.into()),
        }
    }
}

/// An answer that is arriving. Its parts keep the order in which they began: some providers want reasoning back exactly
/// where it stood.
#[derive(Debug, Default)]
struct Answer {
    /// Nearly every answer is one text or one call.
    parts: SmallVec<[Arriving; 1]>,
    calls: u32,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Arriving {
    Text(Text),
    Thought(Text, Option<Arc<str>>),
    Call(Call),
}

#[derive(Debug)]
struct Call {
    /// The position that the client gave it.
    index: u32,
    id: CallId,
    provider_id: Option<Arc<str>>,
    name: Arc<str>,
    arguments: Text,
}

impl Answer {
    fn text(&mut self, piece: Arc<str>) {
        match self.parts.last_mut() {
            Some(Arriving::Text(text)) => text.push(piece),
            _ => self.parts.push(Arriving::Text(Text::One(piece))),
        }
    }

    fn thought(&mut self, piece: Arc<str>) {
        match self.parts.last_mut() {
            Some(Arriving::Thought(text, None)) => text.push(piece),
            _ => self.parts.push(Arriving::Thought(Text::One(piece), None)),
        }
    }

    fn signature(&mut self, proof: Arc<str>) {
        match self.parts.last_mut() {
            Some(Arriving::Thought(_, signature @ None)) => *signature = Some(proof),
            _ => self.parts.push(Arriving::Thought(Text::Empty, Some(proof))),
        }
    }

    fn call(&mut self, index: u32) -> Option<&mut Call> {
        self.parts.iter_mut().find_map(|part| match part {
            Arriving::Call(call) if call.index == index => Some(call),
            _ => None,
        })
    }

    fn take(&mut self, lane: &Lane, id: MessageId, delta: ChatDelta) -> Result<(), &'static str> {
        match delta {
            // An empty piece says nothing, and a part of nothing but those is refused by providers.
            ChatDelta::Text(text) | ChatDelta::Reasoning(text) if text.is_empty() => {}
            ChatDelta::Text(text) => {
                lane.live(|| EventBody::TextDelta(TextDelta { message_id: id, delta: Arc::clone(&text) }));
                self.text(text);
            }
            ChatDelta::Reasoning(text) => {
                lane.live(|| EventBody::ReasoningDelta(TextDelta { message_id: id, delta: Arc::clone(&text) }));
                self.thought(text);
            }
            ChatDelta::ReasoningSignature(signature) => self.signature(signature),
            ChatDelta::ToolCallStart { index, id: provider_id, name } => {
                if self.call(index).is_some() {
                    return Err("two tool calls of the answer have the same position");
                }
                let call_id = CallId::new(id, self.calls);
                self.calls += 1;
                lane.live(|| {
                    let tool = lane.blueprint().ok().and_then(|blueprint| blueprint.tools.get(&name));
                    let call_type = tool.map_or(CallType::Unknown, |tool| tool.call_type());
                    EventBody::ToolCallStart(ToolCallStart { call_id, name: Arc::clone(&name), call_type })
                });
                let call = Call { index, id: call_id, provider_id, name, arguments: Text::Empty };
                self.parts.push(Arriving::Call(call));
            }
            ChatDelta::ToolCallArguments { index, text } => {
                let call = self.call(index).ok_or("arguments arrived for a tool call that never began")?;
                if text.is_empty() {
                    return Ok(());
                }
                let call_id = call.id;
                lane.live(|| EventBody::ToolCallArgs(ToolCallArgs { call_id, delta: Arc::clone(&text) }));
                call.arguments.push(text);
            }
            ChatDelta::Usage(usage) => self.usage = usage,
            ChatDelta::Finish(reason) => self.stop = Some(reason),
        }
        Ok(())
    }

    fn message(self, id: MessageId) -> (Message, StopReason) {
        let parts = self.parts.into_iter().filter_map(|part| match part {
            Arriving::Text(text) => text.finish().map(Part::Text),
            Arriving::Thought(text, signature) => {
                let mut reasoning = Reasoning::new(text.finish().unwrap_or_else(|| Arc::from("")));
                reasoning.signature = signature;
                Some(Part::Reasoning(reasoning))
            }
            Arriving::Call(call) => {
                let arguments = call.arguments.finish().unwrap_or_else(|| Arc::from("{}"));
                let mut made = ToolCall::new(call.id, call.name, arguments);
                made.provider_id = call.provider_id;
                Some(Part::ToolCall(made))
            }
        });
        (Message::of(id, Role::Assistant, parts), self.stop.unwrap_or(StopReason::EndTurn))
    }

    /// The text so far, of an answer that did not become whole.
    fn partial_text(self) -> Option<Arc<str>> {
        let texts = self.parts.into_iter().filter_map(|part| match part {
            Arriving::Text(text) => text.finish(),
            _ => None,
        });
        let all: Vec<Arc<str>> = texts.collect();
        (!all.is_empty()).then(|| all.concat().into())
    }
}

/// Resolves when a time is over that may be none.
pub(crate) async fn elapsed(time: Option<BoxFuture<'static, Reached>>) -> Reached {
    match time {
        Some(time) => time.await,
        None => std::future::pending().await,
    }
}

/// What is recorded of an answer, and whether there is one.
type Heard = (EventBody, Result<(), RunError>);

type Panic = Box<dyn Any + Send>;

/// A request that has been made, and whose answer has not begun.
type Starting<'a> = BoxFuture<'a, Result<ChatStream, ChatError>>;

fn failure(id: MessageId, error: RunError, partial_text: Option<Arc<str>>) -> Heard {
    let info = Arc::new(ErrorInfo { code: error.code().into(), message: error.to_string().into() });
    let failed = ModelRequestFailed { message_id: id, error: info, partial_text };
    (EventBody::ModelRequestFailed(failed), Err(error))
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
        let history = {
            let mut state = self.lock().await;
            self.flush(&mut state).await?;
            state.thread.history.clone()
        };
        // A slot is for one model call, never for an agent's life: who waits for a child holds none.
        let slot = match &self.agent.model_slots {
            Some(slots) => Box::pin(self.slot(slots)).await.map(Some),
            None => Ok(None),
        };
        let starting = slot.and_then(|slot| self.start(history).map(|starting| (starting, slot)));
        let ((body, result), usage) = match starting {
            Ok((starting, _slot)) => self.hear(starting, id).await,
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => (failure(id, error, None), Usage::default()),
        };
        let now = Timestamp::now();
        let mut state = self.lock().await;
        state.usage += usage;
        state.record(&self.source, now, body);
        result
    }

    /// Waits until one more model call may run.
    async fn slot<'s>(&self, slots: &'s Semaphore) -> Result<SemaphorePermit<'s>, RunError> {
        let time_is_over = self.time_is_over();
        tokio::select! {
            biased;
            () = self.tree.cancellation.wait() => Err(RunError::Cancelled),
            slot = slots.acquire() => slot.map_err(|_| RunError::Internal { reason: "the slots for model calls are gone" }),
            reached = elapsed(time_is_over) => Err(self.budget_error(reached)),
        }
    }

    /// Sends the request; a run that is cancelled, or has nothing left, asks nobody.
    fn start(&self, history: History) -> Result<Starting<'_>, RunError> {
        if self.tree.cancellation.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.check_budget()?;
        if self.price().is_none() && self.ledger.as_ref().is_some_and(|ledger| ledger.limits_cost()) {
            let (agent, model) = (self.source.agent.agent_name.to_string(), self.selection.model.to_string());
            return Err(RunError::NoPrice { agent, model });
        }
        let blueprint = self.blueprint()?;
        let request = ChatRequest {
            system: Arc::clone(&self.system),
            history,
            tools: self.visible_tools(blueprint),
            options: Arc::clone(&self.options),
        };
        let starting = catch_unwind(AssertUnwindSafe(|| self.client.0.stream(request)));
        Ok(starting.unwrap_or_else(|panic| Box::pin(ready(Err(self.client_panicked(&panic))))))
    }

    fn price(&self) -> Option<Price> {
        self.agent.prices.of(&self.selection.model)
    }

    /// Counts what a model call took, whether or not it came to an answer.
    fn spend(&self, usage: Usage) {
        self.tree.add_usage(&self.source.agent, usage);
        if let Some(ledger) = &self.ledger {
            ledger.spend(usage, self.price().map_or(0.0, |price| price.of(usage)));
        }
    }

    fn client_panicked(&self, panic: &Panic) -> ChatError {
        let what = format!("the client panicked: {}", panic_message(&**panic));
        ChatError::new(self.client.0.info(), ChatErrorKind::Other, what).with_model(&*self.selection.model)
    }

    /// Hears an answer to its end.
    async fn hear(&self, starting: Starting<'_>, id: MessageId) -> (Heard, Usage) {
        let mut answer = Answer::default();
        let time_is_over = self.time_is_over();
        let outcome = tokio::select! {
            biased;
            // First: an answer that is complete already costs no registration with the cancellation.
            outcome = self.receive(starting, id, &mut answer) => outcome.map_err(|source| self.chat_error(source)),
            () = self.tree.cancellation.wait() => Err(RunError::Cancelled),
            reached = elapsed(time_is_over) => Err(self.budget_error(reached)),
        };
        let usage = answer.usage;
        self.spend(usage);
        let heard = match outcome {
            Ok(()) => {
                for position in 0..answer.calls {
                    self.live(|| EventBody::ToolCallEnd(ToolCallEnd { call_id: CallId::new(id, position) }));
                }
                let (message, stop_reason) = answer.message(id);
                let response = ModelResponse { message: Arc::new(message), stop_reason, usage };
                (EventBody::ModelResponse(response), Ok(()))
            }
            Err(error) => failure(id, error, answer.partial_text()),
        };
        (heard, usage)
    }

    fn chat_error(&self, source: ChatError) -> RunError {
        RunError::Chat { agent: self.source.agent.agent_name.to_string(), source }
    }

    async fn receive(&self, starting: Starting<'_>, id: MessageId, answer: &mut Answer) -> Result<(), ChatError> {
        let client = &self.client.0;
        let panicked = |panic: Panic| self.client_panicked(&panic);
        let mut stream = AssertUnwindSafe(starting).catch_unwind().await.map_err(panicked)??;
        // A stream that is never at a loss for the next piece must not keep others, or a cancellation, waiting.
        while let Some(delta) = AssertUnwindSafe(cooperative(stream.next())).catch_unwind().await.map_err(panicked)? {
            self.touch();
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
