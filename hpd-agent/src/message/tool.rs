//! Tool calls, and what they come to.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DelegationReceipt;
use crate::id::{CallId, InvocationId, ThreadKey, ToolName};

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
    /// What was asked for, what the child got, and what it took.
    #[serde(rename = "delegationReceipt", default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Arc<DelegationReceipt>>,
}

impl SubAgentResult {
    const KEYS: [&'static str; 7] = [
        "subAgentStatus",
        "subAgentSessionId",
        "subAgentThreadId",
        "subAgentName",
        "invocationId",
        "subAgentErrorType",
        "delegationReceipt",
    ];
}

/// The names of a child's session and thread on a tool result.
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
