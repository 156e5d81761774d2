//! What a scripted model answers.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::sync::watch;

use crate::{
    chat::{ChatDelta, ChatErrorKind},
    message::{StopReason, Usage},
};

/// One answer of a [`ScriptedChatClient`](super::ScriptedChatClient): what is said, how it is streamed, how it ends.
///
/// ```
/// # use std::time::Duration;
/// # use hpd_agent::{chat::ChatErrorKind, message::Usage, testing::Reply};
/// # use serde_json::json;
/// Reply::text("Let me look.").and_tool_call("search", json!({"query": "rust"})).with_usage(Usage::new(100, 20));
/// Reply::text("streamed in three pieces").in_chunks(3).delayed(Duration::from_secs(2));
/// Reply::text("the connection breaks here").cut();
/// Reply::error(ChatErrorKind::RateLimited, "slow down").with_retry_after(Duration::from_secs(5));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Reply {
    steps: Vec<Step>,
    usage: Option<Usage>,
    chunks: usize,
    pub(super) before: Vec<Wait>,
    end: End,
    retry_after: Option<Duration>,
    status: Option<u16>,
}

#[derive(Debug, Clone)]
enum Step {
    Text(Arc<str>),
    Reasoning(Arc<str>),
    Signature(Arc<str>),
    Call { id: Option<Arc<str>>, name: Arc<str>, arguments: Arc<str> },
    Pause(Duration),
}

/// Something that an answer waits for before it begins.
#[derive(Debug, Clone)]
pub(super) enum Wait {
    Time(Duration),
    Hold(Hold),
    Forever,
}

#[derive(Debug, Clone)]
enum End {
    /// `None`: what fits the content.
    Finish(Option<StopReason>),
    Cut,
    /// `at_once`: the request fails, there is no stream.
    Error {
        kind: ChatErrorKind,
        message: Arc<str>,
        at_once: bool,
    },
}

/// What a reply amounts to when it is played.
pub(super) enum Played {
    Fails(Failure),
    Streams(Vec<Piece>),
}

/// An error without the client's name.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) kind: ChatErrorKind,
    pub(super) message: Arc<str>,
    pub(super) retry_after: Option<Duration>,
    pub(super) status: Option<u16>,
}

/// One step of a stream.
pub(super) enum Piece {
    Delta(ChatDelta),
    Pause(Duration),
    Error(Failure),
}

impl Reply {
    /// An answer without content that ends as it should.
    pub fn empty() -> Self {
        Self {
            steps: Vec::new(),
            usage: None,
            chunks: 1,
            before: Vec::new(),
            end: End::Finish(None),
            retry_after: None,
            status: None,
        }
    }

    /// An answer of text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::empty().and_text(text)
    }

    /// An answer that begins with reasoning.
    pub fn reasoning(text: impl Into<Arc<str>>) -> Self {
        Self::empty().and_reasoning(text)
    }

    /// An answer that calls a tool.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `json!(…)` in place")]
    pub fn tool_call(name: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self::raw_tool_call(name, arguments.to_string())
    }

    /// An answer that calls a tool with arguments of any text, for models that write broken JSON.
    pub fn raw_tool_call(name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self::empty().and_raw_tool_call(name, arguments)
    }

    /// A request that fails before an answer begins.
    pub fn error(kind: ChatErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { end: End::Error { kind, message: message.into(), at_once: true }, ..Self::empty() }
    }

    /// A request that is never answered; whoever made it has to give up.
    pub fn pending() -> Self {
        Self { before: vec![Wait::Forever], ..Self::empty() }
    }

    /// The same, then more text.
    pub fn and_text(mut self, text: impl Into<Arc<str>>) -> Self {
        self.steps.push(Step::Text(text.into()));
        self
    }

    /// The same, then reasoning.
    pub fn and_reasoning(mut self, text: impl Into<Arc<str>>) -> Self {
        self.steps.push(Step::Reasoning(text.into()));
        self
    }

    /// The same, then the provider's signature of the reasoning before it.
    pub fn and_signature(mut self, signature: impl Into<Arc<str>>) -> Self {
        self.steps.push(Step::Signature(signature.into()));
        self
    }

    /// The same, then a call of a tool. Several calls in one answer are parallel calls.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `json!(…)` in place")]
    pub fn and_tool_call(self, name: impl Into<Arc<str>>, arguments: Value) -> Self {
        self.and_raw_tool_call(name, arguments.to_string())
    }

    /// The same, then a call of a tool with arguments of any text.
    pub fn and_raw_tool_call(mut self, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        self.steps.push(Step::Call { id: None, name: name.into(), arguments: arguments.into() });
        self
    }

    /// The same, with this provider's id for the last tool call. Without it an id is made up that is unique within the
    /// client.
    pub fn with_call_id(mut self, call_id: impl Into<Arc<str>>) -> Self {
        if let Some(Step::Call { id, .. }) = self.steps.iter_mut().rev().find(|step| matches!(step, Step::Call { .. }))
        {
            *id = Some(call_id.into());
        }
        self
    }

    /// The same, then a pause within the stream, of tokio's time.
    pub fn and_pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    /// The same, but what follows the content is an error within the stream.
    pub fn and_error(mut self, kind: ChatErrorKind, message: impl Into<Arc<str>>) -> Self {
        self.end = End::Error { kind, message: message.into(), at_once: false };
        self
    }

    /// The same, but the stream ends without saying that the answer is complete.
    pub fn cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    /// The same with these token counts. Without them none are reported.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The same with this stop reason. Without it: [`StopReason::ToolUse`] if there are calls, else
    /// [`StopReason::EndTurn`].
    pub fn with_stop_reason(mut self, reason: StopReason) -> Self {
        self.end = End::Finish(Some(reason));
        self
    }

    /// The same, with every text, every reasoning and every tool's arguments streamed in `n` pieces (fewer where there
    /// are fewer characters).
    pub fn in_chunks(mut self, n: usize) -> Self {
        self.chunks = n.max(1);
        self
    }

    /// The same, begun only after this much of tokio's time.
    pub fn delayed(mut self, time: Duration) -> Self {
        self.before.push(Wait::Time(time));
        self
    }

    /// The same, begun only after `hold` was released.
    pub fn held_by(mut self, hold: &Hold) -> Self {
        self.before.push(Wait::Hold(hold.clone()));
        self
    }

    /// The same error with a provider's wish to wait.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same error with an HTTP status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// `call_ids`: the prefix of the ids of calls that have none.
    pub(super) fn play(&self, call_ids: &str) -> Played {
        let failure = |kind: ChatErrorKind, message: &Arc<str>| Failure {
            kind,
            message: Arc::clone(message),
            retry_after: self.retry_after,
            status: self.status,
        };
        if let End::Error { kind, message, at_once: true } = &self.end {
            return Played::Fails(failure(*kind, message));
        }
        let mut pieces = Vec::new();
        let mut index = 0;
        for step in &self.steps {
            match step {
                Step::Text(text) => {
                    pieces.extend(split(text, self.chunks).map(|text| Piece::Delta(ChatDelta::Text(text))));
                }
                Step::Reasoning(text) => {
                    pieces.extend(split(text, self.chunks).map(|text| Piece::Delta(ChatDelta::Reasoning(text))));
                }
                Step::Signature(text) => pieces.push(Piece::Delta(ChatDelta::ReasoningSignature(Arc::clone(text)))),
                Step::Call { id, name, arguments } => {
                    let id = id.clone().unwrap_or_else(|| format!("{call_ids}-{index}").into());
                    let name = Arc::clone(name);
                    pieces.push(Piece::Delta(ChatDelta::ToolCallStart { index, id: Some(id), name }));
                    let texts = split(arguments, self.chunks);
                    pieces.extend(texts.map(|text| Piece::Delta(ChatDelta::ToolCallArguments { index, text })));
                    index += 1;
                }
                Step::Pause(time) => pieces.push(Piece::Pause(*time)),
            }
        }
        pieces.extend(self.usage.map(|usage| Piece::Delta(ChatDelta::Usage(usage))));
        match &self.end {
            End::Finish(reason) => {
                let fitting = if index > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
                pieces.push(Piece::Delta(ChatDelta::Finish(reason.clone().unwrap_or(fitting))));
            }
            End::Cut => {}
            End::Error { kind, message, .. } => pieces.push(Piece::Error(failure(*kind, message))),
        }
        Played::Streams(pieces)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// `text` in at most `n` pieces of nearly equal length, none of them empty.
fn split(text: &str, n: usize) -> std::vec::IntoIter<Arc<str>> {
    let length = text.chars().count();
    let size = length.div_ceil(n.max(1)).max(1);
    let mut pieces = Vec::with_capacity(n.min(length));
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        pieces.push(chars.by_ref().take(size).collect::<String>().into());
    }
    pieces.into_iter()
}

/// Keeps answers back until a test lets them go, so that a test can look at what happens in the meantime.
///
/// ```
/// # use hpd_agent::testing::{Hold, Reply, ScriptedChatClient};
/// let hold = Hold::new();
/// let client = ScriptedChatClient::replies([Reply::text("at last").held_by(&hold)]);
/// // … start the agent, `hold.reached(1).await`, look around, then:
/// hold.release();
/// assert_eq!(client.remaining(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Hold(Arc<HoldState>);

#[derive(Debug)]
struct HoldState {
    released: watch::Sender<bool>,
    reached: watch::Sender<usize>,
}

impl Hold {
    /// One that holds.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(HoldState { released: watch::Sender::new(false), reached: watch::Sender::new(0) }))
    }

    /// Lets go of all answers that are held and of those that come later.
    pub fn release(&self) {
        self.0.released.send_replace(true);
    }

    /// Resolves when `requests` requests in all have come to this hold, released since or not.
    pub async fn reached(&self, requests: usize) {
        // The sender lives as long as `self`: there is no error to come.
        let _ = self.0.reached.subscribe().wait_for(|count| *count >= requests).await;
    }

    pub(super) async fn pass(&self) {
        self.0.reached.send_modify(|count| *count += 1);
        let _ = self.0.released.subscribe().wait_for(|released| *released).await;
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_into_whole_characters() {
        let pieces = |text, n| split(text, n).map(|piece| piece.to_string()).collect::<Vec<_>>();
        assert_eq!(pieces("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(pieces("äöü", 2), ["äö", "ü"]);
        assert_eq!(pieces("ab", 9), ["a", "b"]);
        assert_eq!(pieces("ab", 0), ["ab"]);
        assert!(pieces("", 3).is_empty());
    }
}
