//! Messages, their parts, tool calls and results, token usage, stop reasons.

mod answer;
mod delegation;
mod tool;

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

pub use self::{
    answer::{AgentUsage, ModelSelection, StopReason, Usage},
    delegation::{
        DelegationReceipt, DelegationRights, EffectiveDelegation, InvocationMode, RequestedDelegation, ResolvedContext,
    },
    tool::{ResultMetadata, SubAgentResult, SubAgentStatus, ToolCall, ToolOutput, ToolResult},
};
use crate::id::MessageId;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Role {
    /// The application or the human, or a notice in the user's role.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Provenance {
    /// What its role says.
    #[default]
    Direct,
    /// The input that a parent agent gave to its child.
    Delegation,
    /// A notice that the runtime put into the conversation.
    Notice,
}

/// One message. Immutable once it is in a journal; shared by `Arc` from there on.
///
/// ```
/// # use hpd_agent::message::{Message, Role};
/// let message = Message::user("Summarize this.");
/// assert_eq!(message.role(), Role::User);
/// assert_eq!(message.text(), "Summarize this.");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    id: MessageId,
    role: Role,
    #[serde(default, skip_serializing_if = "is_direct")]
    provenance: Provenance,
    parts: SmallParts,
}

/// Nearly every message has one part: it is kept inline.
type SmallParts = SmallVec<[Part; 1]>;

fn is_direct(provenance: &Provenance) -> bool {
    *provenance == Provenance::Direct
}

impl Message {
    /// A user's message of text, with a new id.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::of(MessageId::generate(), Role::User, [Part::Text(text.into())])
    }

    /// An assistant's message of text, with a new id.
    #[must_use]
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::of(MessageId::generate(), Role::Assistant, [Part::Text(text.into())])
    }

    /// A message of any parts.
    #[must_use]
    pub fn of(id: MessageId, role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { id, role, provenance: Provenance::Direct, parts: parts.into_iter().collect() }
    }

    /// The same message with another provenance.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Its identity.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Who speaks.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Where it came from.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Its parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its text: borrowed if there is one text part, the parts one after the other otherwise. Reasoning is no text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            _ => None,
        });
        let first = texts.next().unwrap_or_default();
        match texts.next() {
            None => Cow::Borrowed(first),
            Some(second) => {
                let mut all = String::from(first);
                all.push_str(second);
                all.extend(texts);
                Cow::Owned(all)
            }
        }
    }

    /// Its text as shared text, without copying where it is one part.
    pub(crate) fn shared_text(&self) -> Arc<str> {
        match self.text() {
            Cow::Owned(text) => text.into(),
            Cow::Borrowed(text) => self
                .parts
                .iter()
                .find_map(|part| match part {
                    Part::Text(shared) => Some(Arc::clone(shared)),
                    _ => None,
                })
                .unwrap_or_else(|| text.into()),
        }
    }

    /// Whether it has any text besides white space.
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()))
    }

    /// Its tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Its tool results, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// The same message with nothing but its text: what a child that is forked at it sees of the message that
    /// delegates to it. `None` if nothing is left.
    pub(crate) fn text_only(&self) -> Option<Self> {
        let parts: SmallParts = self.parts.iter().filter(|part| matches!(part, Part::Text(_))).cloned().collect();
        self.has_text().then(|| Self { id: self.id, role: self.role, provenance: self.provenance, parts })
    }

    /// The tool message that carries `result`.
    pub(crate) fn tool(id: MessageId, result: ToolResult) -> Self {
        Self::of(id, Role::Tool, [Part::ToolResult(result)])
    }
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "value")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Arc<str>),
    /// What a model thought before it answered.
    Reasoning(Reasoning),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// What a tool call came to.
    ToolResult(ToolResult),
}

/// What a model thought before it answered, with what its provider needs to get it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reasoning {
    /// The text, possibly empty.
    pub text: Arc<str>,
    /// The provider's proof that the text is its own, to be sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Arc<str>>,
}

impl Reasoning {
    /// Reasoning of `text`, without a signature.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), signature: None }
    }

    /// The same with the provider's signature.
    #[must_use]
    pub fn with_signature(mut self, signature: impl Into<Arc<str>>) -> Self {
        self.signature = Some(signature.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CallId, InvocationId, ThreadKey, ToolName};

    fn call(index: u32) -> CallId {
        CallId::new(MessageId::from_u128(1), index)
    }

    #[test]
    fn text_joins_text_parts_and_skips_the_rest() {
        let parts = [
            Part::Reasoning(Reasoning::new("hm")),
            Part::Text("a".into()),
            Part::ToolCall(ToolCall::new(call(0), "t", "{}")),
            Part::Text("b".into()),
        ];
        let message = Message::of(MessageId::generate(), Role::Assistant, parts);
        assert_eq!(message.text(), "ab");
        assert_eq!(&*message.shared_text(), "ab");
        let trimmed = message.text_only().unwrap();
        assert_eq!(trimmed.parts().len(), 2);
        assert_eq!(trimmed.calls().count(), 0);
        assert_eq!(trimmed.id(), message.id());
    }

    #[test]
    fn a_message_of_calls_alone_leaves_nothing_for_a_fork() {
        let parts = [Part::Text("  ".into()), Part::ToolCall(ToolCall::new(call(0), "t", "{}"))];
        assert!(Message::of(MessageId::generate(), Role::Assistant, parts).text_only().is_none());
    }

    #[test]
    fn messages_round_trip_through_json() {
        let result = ToolResult {
            call_id: call(0),
            name: "reviewer".into(),
            output: ToolOutput::rendered(&serde_json::json!({"a": 1}), "one"),
            metadata: ResultMetadata {
                sub_agent: Some(Box::new(SubAgentResult {
                    status: SubAgentStatus::Completed,
                    thread: ThreadKey::new("s", "t").unwrap(),
                    name: ToolName::new("reviewer").unwrap(),
                    invocation_id: InvocationId::generate(),
                    error_type: None,
                    receipt: None,
                })),
                extra: serde_json::Map::new(),
            },
        };
        let map = result.metadata.to_map();
        for key in ["subAgentStatus", "subAgentSessionId", "subAgentThreadId", "subAgentName", "invocationId"] {
            assert!(map.contains_key(key), "{key} missing in {map:?}");
        }
        assert_eq!(map["subAgentStatus"], "completed");
        let message = Message::tool(MessageId::generate(), result);
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);

        let plain = Message::user("x");
        let json = serde_json::to_string(&plain).unwrap();
        assert!(!json.contains("provenance"), "{json}");
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), plain);
    }

    #[test]
    fn metadata_of_other_tools_keeps_its_keys() {
        let json = r#"{"b":2,"a":1}"#;
        let metadata: ResultMetadata = serde_json::from_str(json).unwrap();
        assert!(metadata.sub_agent.is_none());
        assert_eq!(metadata.extra.len(), 2);
    }
}
