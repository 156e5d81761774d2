use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    event::{ExecutionOutcome, ForkPoint, ResolvedContext, ThreadHeader, ThreadKind, Visibility},
    id::{AgentId, CallId, InvocationId, SessionId, ThreadId, ThreadKey, Timestamp, ToolName},
};

/// What a session consists of: its threads, which of them are forks of the same point, and the children that
/// delegations began in it. Made by [`Agent::thread_graph`](crate::agent::Agent::thread_graph) of the journals; a host
/// can send it on as JSON in camel case.
///
/// A child in a session of its own is in the graph of that session, where its `parent_session_id` leads back.
///
/// ```
/// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let agent = Agent::builder().with_chat_client(ScriptedChatClient::texts(["A plan."])).build().await?;
/// let main = agent.thread("user-42", "main");
/// main.run("Make a plan.").await?;
/// main.fork("bold").await?;
///
/// let graph = agent.thread_graph("user-42").await?;
/// assert_eq!(graph.threads.len(), 2);
/// assert_eq!(graph.fork_groups[0].threads[0].as_str(), "bold");
/// assert!(serde_json::to_string(&graph)?.contains(r#""messageCount":2"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThreadGraph {
    /// The session.
    pub session_id: SessionId,
    /// All its conversations, the hidden ones of children too, by their creation. What the session keeps besides
    /// conversations is not among them.
    pub threads: Vec<ThreadSummary>,
    /// The threads that were forked, those of the same point together; by that point.
    pub fork_groups: Vec<ForkGroup>,
    /// The children, by their parent's thread, their creation and their id.
    pub runtime_children: Vec<RuntimeChild>,
}

/// One thread of a [`ThreadGraph`]. In JSON the header's fields and these stand side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThreadSummary {
    /// What it is, with its creation.
    #[serde(flatten)]
    pub header: Arc<ThreadHeader>,
    /// How many messages [`Thread::messages`](crate::agent::Thread::messages) has: those before a fork count too. Of a
    /// fork whose source is gone, only its own.
    pub message_count: usize,
    /// When something last happened in it.
    pub last_activity: Timestamp,
}

/// Threads that were forked from the same thread at the same point: the ways in which a conversation went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ForkGroup {
    /// The point, which names the thread.
    pub forked_from: ForkPoint,
    /// The forks, by their creation.
    pub threads: Vec<ThreadId>,
}

/// What became of a child, by its last execution, be it the delegation or a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ChildStatus {
    /// It works.
    Active,
    /// It has answered.
    Succeeded,
    /// It has failed.
    Failed,
    /// It was asked to stop.
    Cancelled,
    /// It waits for permission, in its journal.
    Suspended,
    /// Its journal has no end of the execution, and the agent that was asked, with all its clones, does not run it: the
    /// process that did is gone, or is another one.
    Interrupted,
}

impl From<ExecutionOutcome> for ChildStatus {
    fn from(outcome: ExecutionOutcome) -> Self {
        match outcome {
            ExecutionOutcome::Succeeded => Self::Succeeded,
            ExecutionOutcome::Failed => Self::Failed,
            ExecutionOutcome::Cancelled => Self::Cancelled,
            ExecutionOutcome::Suspended => Self::Suspended,
        }
    }
}

/// A child in a [`ThreadGraph`]: who it is, which delegation it came from, what became of it. It is continued by
/// `session_id` and `thread_id`, as `default_agent_id` unless another agent is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuntimeChild {
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its session.
    pub session_id: SessionId,
    /// The agent that continues it unless another one is named.
    pub default_agent_id: AgentId,
    /// The session of its parent.
    pub parent_session_id: SessionId,
    /// The thread of its parent.
    pub parent_thread_id: ThreadId,
    /// The name of its agent, as the agent's definition has it; the tool's name if the agent is not of the tree.
    pub name: Arc<str>,
    /// What the thread is for.
    pub kind: ThreadKind,
    /// Whether the thread is listed by default.
    pub visibility: Visibility,
    /// The name of the tool.
    pub sub_agent_name: ToolName,
    /// The delegation. It is no address.
    pub invocation_id: InvocationId,
    /// Where the definition of its agent came from.
    pub sub_agent_source_kind: std::borrow::Cow<'static, str>,
    /// The call that delegated.
    pub parent_tool_call_id: CallId,
    /// The context that it got.
    pub context_policy: ResolvedContext,
    /// What became of it.
    pub status: ChildStatus,
    /// How many messages its thread has, those that it was forked from included.
    pub message_count: usize,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub last_activity: Timestamp,
}

impl RuntimeChild {
    /// The address of its conversation.
    #[must_use]
    pub fn thread(&self) -> ThreadKey {
        ThreadKey::of(self.session_id.clone(), self.thread_id.clone())
    }

    /// `name`: that of an agent, if it is known. `None` if the thread is no child's.
    pub(super) fn of(thread: &ThreadSummary, status: ChildStatus, name: Option<Arc<str>>) -> Option<Self> {
        let header = &thread.header;
        let origin = header.origin.as_ref()?;
        Some(Self {
            thread_id: header.key.thread_id.clone(),
            session_id: header.key.session_id.clone(),
            default_agent_id: header.default_agent_id.clone(),
            parent_session_id: origin.parent_session_id.clone(),
            parent_thread_id: origin.parent_thread_id.clone(),
            name: name.unwrap_or_else(|| origin.sub_agent_name.shared()),
            kind: header.thread_kind,
            visibility: header.visibility,
            sub_agent_name: origin.sub_agent_name.clone(),
            invocation_id: origin.invocation_id,
            sub_agent_source_kind: origin.sub_agent_source_kind.clone(),
            parent_tool_call_id: origin.parent_tool_call_id,
            context_policy: origin.context_policy,
            status,
            message_count: thread.message_count,
            created_at: header.created_at,
            last_activity: thread.last_activity,
        })
    }
}
