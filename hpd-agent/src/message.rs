//! Messages, their parts, tool calls and results, token usage, stop reasons.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::id::{CallId, InvocationId, MessageId, ThreadKey, ToolName};

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

/// A model's call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCall {
    /// Our identity of the call.
    pub id: CallId,
    /// The provider's id of the call, for the wire. `None` if the provider gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Arc<str>>,
    /// The tool's name as the model wrote it; not necessarily a legal or a known one.
    pub name: Arc<str>,
    /// The arguments as the model wrote them: a JSON object if the model did well.
    pub arguments: Arc<str>,
}

impl ToolCall {
    /// A call of `name` with `arguments` (JSON text).
    #[must_use]
    pub fn new(id: CallId, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self { id, provider_id: None, name: name.into(), arguments: arguments.into() }
    }

    /// The same with the provider's id of it.
    #[must_use]
    pub fn with_provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.provider_id = Some(id.into());
        self
    }
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: CallId,
    /// The tool's name as the call had it.
    pub name: Arc<str>,
    /// What came out.
    pub output: ToolOutput,
    /// What is known about it besides its content.
    #[serde(default, skip_serializing_if = "ResultMetadata::is_empty")]
    pub metadata: ResultMetadata,
}

impl ToolResult {
    /// What the call `call_id` of tool `name` came to.
    #[must_use]
    pub fn new(call_id: CallId, name: impl Into<Arc<str>>, output: ToolOutput) -> Self {
        Self { call_id, name: name.into(), output, metadata: ResultMetadata::default() }
    }

    /// The same with what is known besides.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ResultMetadata) -> Self {
        self.metadata = metadata;
        self
    }
}

/// The content of a tool result: canonical JSON and the text that the model is shown.
///
/// ```
/// # use hpd_agent::message::ToolOutput;
/// let output = ToolOutput::json(serde_json::json!({"celsius": 21}));
/// assert_eq!(output.text(), r#"{"celsius":21}"#);
/// let output = ToolOutput::new("warm");
/// assert_eq!(output.canonical_json(), "\"warm\"");
/// assert!(ToolOutput::error("no such city").is_error());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    text: Arc<str>,
    /// `None`: the JSON is the text as a JSON string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    is_error: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl ToolOutput {
    /// A result of plain text; its canonical JSON is the text as a JSON string.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), json: None, is_error: false }
    }

    /// A structured result. A JSON string is rendered as its content, everything else as compact JSON.
    #[must_use]
    pub fn json(value: Value) -> Self {
        match value {
            Value::String(text) => Self::new(text),
            value => {
                let json: Arc<str> = value.to_string().into();
                Self { text: Arc::clone(&json), json: Some(json), is_error: false }
            }
        }
    }

    /// Any value that serializes: a string is rendered as its content, everything else as compact JSON.
    pub(crate) fn serialize_value<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_string(value)?;
        if json.starts_with('"') {
            return serde_json::from_str::<String>(&json).map(Self::new);
        }
        let json: Arc<str> = json.into();
        Ok(Self { text: Arc::clone(&json), json: Some(json), is_error: false })
    }

    /// A structured result with a text of its own for the model.
    #[must_use]
    pub fn rendered(value: &Value, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), json: Some(value.to_string().into()), is_error: false }
    }

    /// An error that the model is shown: a plain sentence that says what to do next.
    #[must_use]
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), json: None, is_error: true }
    }

    /// The same content as that of a failed call.
    #[must_use]
    pub fn into_error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// The text that the model is shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result as JSON text.
    #[must_use]
    pub fn canonical_json(&self) -> Cow<'_, str> {
        match &self.json {
            Some(json) => Cow::Borrowed(json),
            None => Cow::Owned(Value::from(&*self.text).to_string()),
        }
    }
}

/// What is known about a tool result besides its content; never shown to the model.
///
/// On the wire the keys of [`SubAgentResult`] and those of `extra` stand side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ResultMetadata {
    /// For the result of a subagent tool: what became of the child.
    #[serde(flatten)]
    pub sub_agent: Option<Box<SubAgentResult>>,
    /// Anything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ResultMetadata {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sub_agent.is_none() && self.extra.is_empty()
    }

    /// The metadata as one map, under the names of the wire.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

/// By hand: a flattened map would take the keys of the child as well.
impl<'de> Deserialize<'de> for ResultMetadata {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut extra = Map::deserialize(deserializer)?;
        if !extra.contains_key("subAgentStatus") {
            return Ok(Self { sub_agent: None, extra });
        }
        let child: SubAgentResult =
            serde_json::from_value(Value::Object(extra.clone())).map_err(serde::de::Error::custom)?;
        for key in SubAgentResult::KEYS {
            extra.remove(key);
        }
        Ok(Self { sub_agent: Some(Box::new(child)), extra })
    }
}

/// What became of a child, on the result of the tool call that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubAgentResult {
    /// Whether the child completed.
    #[serde(rename = "subAgentStatus")]
    pub status: SubAgentStatus,
    /// The child's thread.
    #[serde(flatten, with = "sub_agent_thread")]
    pub thread: ThreadKey,
    /// The tool's name.
    #[serde(rename = "subAgentName")]
    pub name: ToolName,
    /// The delegation.
    pub invocation_id: InvocationId,
    /// For a failed child: the stable code of its error.
    #[serde(rename = "subAgentErrorType", default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<Arc<str>>,
}

impl SubAgentResult {
    const KEYS: [&'static str; 6] = [
        "subAgentStatus",
        "subAgentSessionId",
        "subAgentThreadId",
        "subAgentName",
        "invocationId",
        "subAgentErrorType",
    ];
}

/// The names of the first seed for a child's session and thread on a tool result.
mod sub_agent_thread {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::id::{SessionId, ThreadId, ThreadKey};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Names {
        sub_agent_session_id: SessionId,
        sub_agent_thread_id: ThreadId,
    }

    pub(super) fn serialize<S: Serializer>(key: &ThreadKey, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Names { sub_agent_session_id: key.session_id.clone(), sub_agent_thread_id: key.thread_id.clone() };
        names.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ThreadKey, D::Error> {
        let names = Names::deserialize(deserializer)?;
        Ok(ThreadKey::of(names.sub_agent_session_id, names.sub_agent_thread_id))
    }
}

/// Whether a child completed. `Started` while it runs; a cancelled child reports `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SubAgentStatus {
    /// It runs.
    Started,
    /// It answered.
    Completed,
    /// It failed or was cancelled.
    Failed,
}

/// Token counts as the provider reported them; what it did not report is 0.
///
/// ```
/// # use hpd_agent::message::Usage;
/// let sum = Usage::new(10, 5) + Usage::new(1, 2);
/// assert_eq!((sum.input_tokens, sum.output_tokens, sum.total()), (11, 7, 18));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the requests, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answers, reasoning included.
    pub output_tokens: u64,
    /// Of the input, how many came from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Of the input, how many were written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, how many were reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Usage {
    /// Counts of input and output.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cached_input_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 }
    }

    /// Input and output together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Which model a request goes to: what the journal keeps of every request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelSelection {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model's name.
    pub model: Arc<str>,
    /// How much the model shall think, in the provider's words. `None`: the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Arc<str>>,
    /// The largest number of tokens of the answer. `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said all it wanted to say.
    EndTurn,
    /// It wants tools to be called.
    ToolUse,
    /// It reached the limit of tokens: what it said is cut.
    MaxTokens,
    /// It declined, or a filter of the provider did.
    Refusal,
    /// Something else, in the provider's words.
    Other(Arc<str>),
}

#[cfg(test)]
mod tests {
    use super::*;

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
                })),
                extra: Map::new(),
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
