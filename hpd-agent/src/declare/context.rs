//! What a function finds in its context, and the host by which it reaches the runtime.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::{
    clients::{
        ClientSet, Embeddings, HostedFiles, ImageGeneration, Leased, Realtime, SpeechToText, TextToSpeech, families,
    },
    event::AgentScope,
    future::BoxFuture,
    id::{CallId, SessionId, ThreadId, ThreadKey},
};

/// Says whether the run was cancelled. The same for a root run and all its descendants.
///
/// ```
/// # use hpd_agent::declare::Cancellation;
/// let cancellation = Cancellation::new();
/// assert!(!cancellation.is_cancelled());
/// cancellation.cancel();
/// assert!(cancellation.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// One that nobody has cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everyone who holds it to stop.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether somebody has asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when somebody asks to stop.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.wait()
    }

    /// The same, with a type that has a name.
    pub(crate) fn wait(&self) -> WaitForCancellationFuture<'_> {
        self.0.cancelled()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// The runtime, as a function sees it.
pub(crate) trait FunctionHost: Send + Sync {
    /// Journals a custom event of `call` and shows it to live subscribers once it is committed.
    fn emit(&self, call: CallId, name: &str, value: Value) -> BoxFuture<'_, Result<(), EmitError>>;
    /// Shows a custom event of `call` to live subscribers; it is not kept.
    fn emit_live(&self, call: CallId, name: &str, value: Value);
    /// The values that were given for the run.
    fn properties(&self) -> &Map<String, Value>;
    /// The clients that the agent has beside its model; `None`: none.
    fn clients(&self) -> Option<&ClientSet> {
        None
    }
}

/// An event that could not be journaled.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the event `{name}` was not journaled: {reason}")]
#[non_exhaustive]
pub struct EmitError {
    /// The event's name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl EmitError {
    /// The stable code of this error: `emit_failed`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "emit_failed"
    }
}

/// What an [`#[ai_function]`](crate::ai_function) may ask of the runtime: take `&FunctionContext` as a parameter.
///
/// ```
/// # use hpd_agent::prelude::*;
/// #[derive(Default)]
/// struct Tools;
///
/// #[tool_harness]
/// impl Tools {
///     /// Counts the words of a text.
///     #[ai_function]
///     async fn count_words(&self, text: String, ctx: &FunctionContext) -> Result<usize, ToolError> {
///         ctx.emit_live("counting", serde_json::json!({"agent": ctx.agent_name()}));
///         Ok(text.split_whitespace().count())
///     }
/// }
/// ```
pub struct FunctionContext {
    call: CallId,
    tool: Arc<str>,
    agent: Arc<AgentScope>,
    thread: ThreadKey,
    cancellation: Cancellation,
    host: Arc<dyn FunctionHost>,
}

impl FunctionContext {
    pub(crate) fn new(
        call: CallId,
        tool: Arc<str>,
        agent: Arc<AgentScope>,
        thread: ThreadKey,
        cancellation: Cancellation,
        host: Arc<dyn FunctionHost>,
    ) -> Self {
        Self { call, tool, agent, thread, cancellation, host }
    }

    /// The call that is being answered. The same after a restart.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.call
    }

    /// The tool's name.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.tool
    }

    /// The name of the agent that calls.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        &self.agent.agent_name
    }

    /// The names of the agents from the root to the one that calls.
    #[must_use]
    pub fn agent_chain(&self) -> &[Arc<str>] {
        &self.agent.agent_chain
    }

    /// How deep the agent that calls is; 0 is the root.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.agent.depth
    }

    /// The session of the conversation.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.thread.session_id
    }

    /// The thread of the conversation.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread.thread_id
    }

    /// Says whether the run was cancelled. A function that ignores it is dropped at its next `await`.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// A value that was given for the run.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.host.properties().get(name)
    }

    /// Journals a custom event; live subscribers see it when it is committed.
    ///
    /// # Errors
    ///
    /// [`EmitError`] if the store refuses it. When this returns `Ok`, the event is as durable as the store.
    pub async fn emit(&self, name: &str, value: Value) -> Result<(), EmitError> {
        self.host.emit(self.call, name, value).await
    }

    /// Shows a custom event to live subscribers. It is not kept, and a subscriber that lags may miss it.
    pub fn emit_live(&self, name: &str, value: Value) {
        self.host.emit_live(self.call, name, value);
    }
}

macro_rules! leases {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal, $($method:ident),*;)*) => {
        /// [Clients](crate::clients) beside the model.
        impl FunctionContext {
            $(#[doc = concat!("The agent's client for ", $words, ", with what was chosen for this run; `None`: it has none.")]
            #[must_use]
            pub fn $field(&self) -> Option<Leased<$family>> {
                self.host.clients()?.$field.clone()
            }
            )*
        }
    };
}
families!(leases);

impl fmt::Debug for FunctionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionContext")
            .field("call", &self.call)
            .field("tool", &self.tool)
            .field("agent", &self.agent.agent_name)
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}
