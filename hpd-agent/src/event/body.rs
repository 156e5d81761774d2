//! What an event says: one payload type per kind, and the table that ties them to their names on the wire.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ExecutionOutcome, ExecutionSettings, SubAgentInvocation, ThreadHeader, TurnTaken};
use crate::{
    id::{CallId, MessageId, RequestId, TurnId},
    message::{Message, ModelSelection, StopReason, Usage},
};

/// Ties each kind of event to its payload, its name on the wire and its durability: the one list of all events.
macro_rules! events {
    ($($(#[$doc:meta])* $durability:ident $name:ident($payload:ty) = $tag:literal;)*) => {
        /// What an event says.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum EventBody {
            $($(#[$doc])* $name($payload),)*
            /// Of a kind that this version does not know; kept as it is.
            Unknown(UnknownEvent),
        }

        impl EventBody {
            /// The name on the wire, for example `SUBAGENT_INVOCATION_STARTED`.
            #[must_use]
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$name(_) => $tag,)*
                    Self::Unknown(event) => &event.type_name,
                }
            }

            /// Whether the event is journaled. The others are shown live and then forgotten.
            #[must_use]
            pub fn is_durable(&self) -> bool {
                match self {
                    $(Self::$name(_payload) => events!(@ $durability _payload),)*
                    // Only a journal can have brought it.
                    Self::Unknown(_) => true,
                }
            }

            pub(super) fn serialize_payload<S: super::wire::PayloadSink>(&self, sink: S) -> S::Out {
                match self {
                    $(Self::$name(payload) => sink.payload(payload),)*
                    Self::Unknown(event) => sink.payload(&event.payload),
                }
            }

            pub(super) fn parse(type_name: &str, text: &str) -> serde_json::Result<Self> {
                Ok(match type_name {
                    $($tag => Self::$name(serde_json::from_str(text)?),)*
                    _ => Self::Unknown(UnknownEvent {
                        type_name: type_name.into(),
                        payload: super::wire::without_header(serde_json::from_str(text)?),
                    }),
                })
            }

            /// All names on the wire with their durability.
            #[cfg(test)]
            pub(super) const KINDS: &'static [(&'static str, &'static str)] =
                &[$(($tag, stringify!($durability)),)*];
        }
    };
    (@ durable $payload:ident) => { true };
    (@ live $payload:ident) => { false };
    (@ chosen $payload:ident) => { $payload.durable };
}

events! {
    /// A thread begins.
    durable ThreadCreated(Arc<ThreadHeader>) = "THREAD_CREATED";
    /// An agent begins to work on a thread.
    durable ExecutionStarted(ExecutionStarted) = "THREAD_EXECUTION_STARTED";
    /// It has ended.
    durable ExecutionFinished(ExecutionFinished) = "THREAD_EXECUTION_FINISHED";
    /// An input begins a turn.
    durable TurnStarted(TurnStarted) = "MESSAGE_TURN_STARTED";
    /// The turn has its answer, or ended without one.
    durable TurnFinished(TurnFinished) = "MESSAGE_TURN_FINISHED";
    /// A model is asked.
    durable ModelRequest(ModelRequest) = "MODEL_REQUEST";
    /// It has answered.
    durable ModelResponse(ModelResponse) = "MODEL_RESPONSE";
    /// It has not.
    durable ModelRequestFailed(ModelRequestFailed) = "MODEL_REQUEST_FAILED";
    /// A function begins to run: from here on it may have had effects.
    durable ToolExecutionStarted(ToolExecutionStarted) = "TOOL_EXECUTION_STARTED";
    /// A tool call has its result.
    durable ToolCallResult(ToolCallResult) = "TOOL_CALL_RESULT";
    /// Somebody is asked for permission.
    durable PermissionRequest(Arc<PermissionRequested>) = "PERMISSION_REQUEST";
    /// The question has been answered, or has ended without an answer.
    durable PermissionResponse(Arc<PermissionAnswered>) = "PERMISSION_RESPONSE";
    /// A choice that holds for the rest of the session.
    durable PermissionRemembered(PermissionRemembered) = "PERMISSION_REMEMBERED";
    /// What a permission policy keeps for the session has changed.
    durable PermissionStateChanged(PermissionStateChanged) = "PERMISSION_STATE_CHANGED";
    /// A child begins.
    durable SubAgentInvocationStarted(SubAgentInvocationStarted) = "SUBAGENT_INVOCATION_STARTED";
    /// A child has answered.
    durable SubAgentInvocationCompleted(SubAgentInvocationCompleted) = "SUBAGENT_INVOCATION_COMPLETED";
    /// A child has failed.
    durable SubAgentInvocationFailed(SubAgentInvocationFailed) = "SUBAGENT_INVOCATION_FAILED";
    /// A child was cancelled.
    durable SubAgentInvocationCancelled(SubAgentInvocationCancelled) = "SUBAGENT_INVOCATION_CANCELLED";
    /// Something that a tool or an application says; durable or not as it chose.
    chosen Custom(Box<CustomEvent>) = "CUSTOM";
    /// A piece of an answer's text.
    live TextDelta(TextDelta) = "TEXT_DELTA";
    /// A piece of a model's reasoning.
    live ReasoningDelta(TextDelta) = "REASONING_DELTA";
    /// A model begins to write a tool call.
    live ToolCallStart(ToolCallStart) = "TOOL_CALL_START";
    /// A piece of a tool call's arguments.
    live ToolCallArgs(ToolCallArgs) = "TOOL_CALL_ARGS";
    /// A tool call is written.
    live ToolCallEnd(ToolCallEnd) = "TOOL_CALL_END";
    /// A subscriber was too slow and missed live events; durable ones were read from the journal instead.
    live EventsMissed(EventsMissed) = "EVENTS_MISSED";
}

/// Declares payload structs: serializable, `#[non_exhaustive]`, compared by value.
macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_attr:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_attr])* pub $field: $type,)*
        }
    )*};
}

payloads! {
    /// An agent begins to work on a thread, with everything that a restart has to know.
    ExecutionStarted {
        /// Agent, limits and settings: the same for all executions with them.
        #[serde(flatten)]
        settings: Arc<ExecutionSettings>,
    }

    /// An execution has ended.
    ExecutionFinished {
        /// How.
        outcome: ExecutionOutcome,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<ErrorInfo>>,
        /// Of one whose turn waits: what the turn has taken until now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken: Option<Arc<TurnTaken>>,
    }

    /// An input begins a turn.
    TurnStarted {
        /// The turn.
        turn_id: TurnId,
        /// The input.
        message: Arc<Message>,
    }

    /// A turn has ended.
    TurnFinished {
        /// The turn.
        turn_id: TurnId,
        /// How.
        outcome: ExecutionOutcome,
    }

    /// A model is asked.
    ModelRequest {
        /// The id that the answer will have.
        message_id: MessageId,
        /// Which call of the turn this is, from 1.
        iteration: u32,
        /// Provider, model, effort, largest number of tokens.
        #[serde(flatten)]
        selection: Arc<ModelSelection>,
    }

    /// A model has answered.
    ModelResponse {
        /// The answer.
        message: Arc<Message>,
        /// Why it stopped.
        stop_reason: StopReason,
        /// What it took.
        usage: Usage,
    }

    /// A model has not answered, or not completely.
    ModelRequestFailed {
        /// The id that the answer would have had.
        message_id: MessageId,
        /// What went wrong.
        error: Arc<ErrorInfo>,
        /// What had arrived before; it is no part of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial_text: Option<Arc<str>>,
    }

    /// A function begins to run.
    ToolExecutionStarted {
        /// The call.
        call_id: CallId,
        /// The tool.
        name: Arc<str>,
    }

    /// A tool call has its result.
    ToolCallResult {
        /// The tool message.
        message: Arc<Message>,
    }

    /// A choice that holds for the rest of the session.
    PermissionRemembered {
        /// The tool of the call that was asked about.
        function_name: Arc<str>,
        /// For which calls the choice holds: those with this key. `None`: all calls of the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Arc<str>>,
        /// The choice.
        choice: PermissionChoice,
    }

    /// What a permission policy keeps for the session has changed.
    PermissionStateChanged {
        /// The entries that are new or different; `null` for those that are gone.
        entries: Arc<Map<String, Value>>,
    }

    /// A child begins.
    SubAgentInvocationStarted {
        /// The delegation.
        #[serde(flatten)]
        invocation: Arc<SubAgentInvocation>,
    }

    /// A child has answered.
    SubAgentInvocationCompleted {
        /// The delegation.
        #[serde(flatten)]
        invocation: Arc<SubAgentInvocation>,
        /// Its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Arc<str>>,
    }

    /// A child has failed.
    SubAgentInvocationFailed {
        /// The delegation.
        #[serde(flatten)]
        invocation: Arc<SubAgentInvocation>,
        /// The stable code of the error.
        error_type: Arc<str>,
        /// The error's text.
        message: Arc<str>,
    }

    /// A child was cancelled.
    SubAgentInvocationCancelled {
        /// The delegation.
        #[serde(flatten)]
        invocation: Arc<SubAgentInvocation>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    }

    /// Something that a tool or an application says.
    CustomEvent {
        /// Its name.
        name: Arc<str>,
        /// What it says.
        value: Arc<Value>,
        /// The call that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<CallId>,
        /// Whether it is journaled.
        durable: bool,
    }

    /// A piece of text.
    TextDelta {
        /// The answer that it belongs to.
        message_id: MessageId,
        /// The piece.
        delta: Arc<str>,
    }

    /// A model begins to write a tool call.
    ToolCallStart {
        /// The call.
        call_id: CallId,
        /// The tool's name.
        name: Arc<str>,
        /// `Function`, `SubAgent` or `Unknown`.
        call_type: CallType,
    }

    /// A piece of a tool call's arguments.
    ToolCallArgs {
        /// The call.
        call_id: CallId,
        /// The piece.
        delta: Arc<str>,
    }

    /// A tool call is written.
    ToolCallEnd {
        /// The call.
        call_id: CallId,
    }

    /// A subscriber missed live events.
    EventsMissed {
        /// How many.
        count: u64,
    }

    /// A question for permission.
    PermissionRequested {
        /// The question. An answer names it.
        permission_id: RequestId,
        /// The call that needs permission.
        call_id: CallId,
        /// The tool.
        function_name: Arc<str>,
        /// What the tool does.
        description: Arc<str>,
        /// The arguments as the model wrote them.
        arguments: Arc<str>,
        /// What kind of tool it is.
        call_type: CallType,
        /// For which calls an answer for good would hold: those with this key. `None`: all calls of the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Arc<str>>,
    }

    /// How a question for permission ended.
    PermissionAnswered {
        /// The question.
        permission_id: RequestId,
        /// The tool.
        function_name: Arc<str>,
        /// Whether the call may run.
        approved: bool,
        /// Whether the choice holds for the session.
        choice: PermissionChoice,
        /// Who or what decided.
        outcome: PermissionOutcome,
        /// What the human said, or why nobody was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    }

    /// What went wrong, as a journal keeps it.
    ErrorInfo {
        /// The stable code.
        #[serde(rename = "type")]
        code: Arc<str>,
        /// The text.
        message: Arc<str>,
    }
}

impl TurnStarted {
    /// The beginning of a turn with this input; for those who import conversations.
    #[must_use]
    pub const fn new(turn_id: TurnId, message: Arc<Message>) -> Self {
        Self { turn_id, message }
    }
}

/// What kind of tool a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CallType {
    /// A function.
    Function,
    /// A child agent.
    SubAgent,
    /// There is no such tool.
    Unknown,
}

/// Whether an answer holds for one call or for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionChoice {
    /// For this call; the next one asks again.
    #[default]
    Ask,
    /// Calls with the same key, by default all of this tool, are allowed for the rest of the session.
    AllowAlways,
    /// Calls with the same key, by default all of this tool, are denied for the rest of the session.
    DenyAlways,
}

/// How a question for permission ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionOutcome {
    /// The call may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody answered in time.
    TimedOut,
    /// The run was cancelled before anybody answered.
    Cancelled,
    /// There was nobody who could have answered.
    NobodyToAsk,
}

/// An event of a kind that this version does not know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// Its name on the wire.
    pub type_name: Box<str>,
    /// What it says.
    pub payload: Map<String, Value>,
}
