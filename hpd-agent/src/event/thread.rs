//! Threads and delegations, as events and stores name them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    id::{AgentId, CallId, InvocationId, MessageId, SessionId, ThreadId, ThreadKey, Timestamp, ToolName},
    message::{InvocationMode, ResolvedContext},
};

/// What a thread is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ThreadKind {
    /// A conversation of a root agent.
    #[default]
    Conversation,
    /// A child's conversation.
    #[serde(rename = "subagent")]
    SubAgent,
    /// What a session keeps besides its conversations, such as remembered permissions.
    Session,
}

/// Whether a thread is listed by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Visibility {
    /// It is.
    #[default]
    Visible,
    /// Only who asks for hidden threads sees it.
    Hidden,
}

/// A point of another thread, up to which a fork sees it: the record at `sequence` is included.
///
/// If that record is an assistant message with calls, the fork sees its text without any of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ForkPoint {
    /// The thread.
    #[serde(flatten)]
    pub thread: ThreadKey,
    /// Its generation.
    pub generation: u64,
    /// The last record that the fork sees.
    pub sequence: u64,
    /// The message of that record, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

impl ForkPoint {
    /// The point of `thread` at record `sequence` of `generation`.
    #[must_use]
    pub fn new(thread: ThreadKey, generation: u64, sequence: u64) -> Self {
        Self { thread, generation, sequence, message_id: None }
    }
}

/// What a thread is: written once, when it is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThreadHeader {
    /// Its address.
    #[serde(flatten)]
    pub key: ThreadKey,
    /// When it was created.
    pub created_at: Timestamp,
    /// The agent that continues it unless another one is named.
    pub default_agent_id: AgentId,
    /// What it is for.
    #[serde(default)]
    pub thread_kind: ThreadKind,
    /// Whether it is listed by default.
    #[serde(default)]
    pub visibility: Visibility,
    /// For a child's thread: the delegation that it was created by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SubAgentOrigin>,
    /// For a fork: where its history comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// The author's metadata.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub thread_metadata: Arc<Map<String, Value>>,
}

fn is_empty(map: &Arc<Map<String, Value>>) -> bool {
    map.is_empty()
}

impl ThreadHeader {
    /// A visible conversation that `agent` continues by default.
    #[must_use]
    pub fn conversation(key: ThreadKey, agent: AgentId) -> Self {
        Self {
            key,
            created_at: Timestamp::now(),
            default_agent_id: agent,
            thread_kind: ThreadKind::Conversation,
            visibility: Visibility::Visible,
            origin: None,
            forked_from: None,
            thread_metadata: Arc::default(),
        }
    }

    /// The same as a fork at `point`.
    #[must_use]
    pub fn forked_from(mut self, point: ForkPoint) -> Self {
        self.forked_from = Some(point);
        self
    }

    /// Whether it is the thread of a child that was shown its parent's conversation.
    pub(crate) fn is_forked_child(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.context_policy == ResolvedContext::Fork)
    }

    /// The metadata of a child's thread as one map: the author's keys, and over them the runtime's.
    ///
    /// ```
    /// # use hpd_agent::{event::ThreadHeader, id::*};
    /// let header = ThreadHeader::conversation(ThreadKey::new("s", "t")?, AgentId::new("a")?);
    /// assert_eq!(header.metadata()["defaultAgentId"], "a");
    /// # Ok::<(), hpd_agent::error::IdError>(())
    /// ```
    #[must_use]
    pub fn metadata(&self) -> Map<String, Value> {
        let mut map = (*self.thread_metadata).clone();
        map.insert("defaultAgentId".into(), self.default_agent_id.as_str().into());
        if let Some(origin) = &self.origin {
            for (key, value) in [
                ("kind", "subagent".to_owned()),
                ("subAgentName", origin.sub_agent_name.to_string()),
                ("subAgentSourceKind", origin.sub_agent_source_kind.to_string()),
                ("parentSessionId", origin.parent_session_id.to_string()),
                ("parentThreadId", origin.parent_thread_id.to_string()),
                ("parentToolCallId", origin.parent_tool_call_id.to_string()),
                ("invocationId", origin.invocation_id.to_string()),
                ("contextPolicy", origin.context_policy.as_str().to_owned()),
                ("visibility", "hidden".to_owned()),
                ("createdBy", "subagent".to_owned()),
            ] {
                map.insert(key.into(), value.into());
            }
        }
        map
    }
}

/// The metadata keys that the runtime owns; an author who sets one of them is told so: in an attribute by
/// the macro, which has the same list, and otherwise when the agent is built.
pub(crate) const RESERVED_METADATA: [&str; 11] = [
    "kind",
    "defaultAgentId",
    "subAgentName",
    "subAgentSourceKind",
    "parentSessionId",
    "parentThreadId",
    "parentToolCallId",
    "invocationId",
    "contextPolicy",
    "visibility",
    "createdBy",
];

/// The delegation that a child's thread was created by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubAgentOrigin {
    /// The parent's session.
    pub parent_session_id: SessionId,
    /// The parent's thread.
    pub parent_thread_id: ThreadId,
    /// The tool call that delegated.
    pub parent_tool_call_id: CallId,
    /// The delegation.
    pub invocation_id: InvocationId,
    /// The tool's name.
    pub sub_agent_name: ToolName,
    /// Where the child's definition came from.
    pub sub_agent_source_kind: std::borrow::Cow<'static, str>,
    /// The context that the child got.
    pub context_policy: ResolvedContext,
}

/// One delegation: what all four `SUBAGENT_INVOCATION_*` events say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubAgentInvocation {
    /// The delegation. It is no address: the child is continued by its session and thread.
    pub invocation_id: InvocationId,
    /// The tool call that delegated.
    pub parent_tool_call_id: CallId,
    /// The child agent.
    pub child_agent_id: AgentId,
    /// The child's session.
    pub child_session_id: SessionId,
    /// The child's thread.
    pub child_thread_id: ThreadId,
    /// The tool's name.
    pub role_name: ToolName,
    /// The context that the child got.
    pub context_policy: ResolvedContext,
    /// Whether the parent waited.
    pub mode: InvocationMode,
}

impl SubAgentInvocation {
    /// The child's thread.
    #[must_use]
    pub fn child(&self) -> ThreadKey {
        ThreadKey::of(self.child_session_id.clone(), self.child_thread_id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_written_in_lower_case_and_read_in_both() {
        assert_eq!(serde_json::to_string(&InvocationMode::Background).unwrap(), "\"background\"");
        for text in ["\"background\"", "\"Background\""] {
            assert_eq!(serde_json::from_str::<InvocationMode>(text).unwrap(), InvocationMode::Background);
        }
    }
}
