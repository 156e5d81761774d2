use std::{sync::Arc, time::Duration};

use super::{ResolveError, tools::panic_message};
use crate::{
    chat::ChatError,
    clients::ProviderError,
    declare::BudgetLimit,
    error::IdError,
    id::{AgentId, ThreadKey},
    message::Message,
    permission::PermissionRequest,
    session::SessionError,
    store::{CommitError, StoreError},
};

/// A run that ended without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model could not be asked, or its answer did not arrive whole.
    #[error("agent `{agent}`: {source}")]
    Chat {
        /// The agent.
        agent: String,
        /// What went wrong.
        source: ChatError,
    },
    /// The run names a provider for which there is no client.
    #[error("agent `{agent}`: {source}")]
    ClientProvider {
        /// The agent.
        agent: String,
        /// Why.
        source: ProviderError,
    },
    /// The model called tools until the limit.
    #[error(
        "agent `{agent}` made {limit} model calls in one turn and still wants tools: raise `max_iterations`, or give it a smaller task"
    )]
    IterationLimit {
        /// The agent.
        agent: String,
        /// The limit.
        limit: u32,
    },
    /// A limit of a budget was reached.
    #[error("the budget that agent `{agent}` works on is used up: {}", limit.of(*allowed))]
    BudgetReached {
        /// The agent that could not go on.
        agent: String,
        /// What was limited.
        limit: BudgetLimit,
        /// The limit; times in milliseconds.
        allowed: f64,
        /// What the agent of the run had said before.
        partial: Option<Arc<str>>,
    },
    /// A model without a price in a run whose cost is limited.
    #[error(
        "agent `{agent}` would ask model `{model}`, which has no price, and the run has a budget for costs: give the \
         builder its price with `.with_prices(…)`"
    )]
    NoPrice {
        /// The agent.
        agent: String,
        /// The model.
        model: String,
    },
    /// A child ended its turn without a text.
    #[error("agent `{agent}` completed without an assistant response")]
    NoAnswer {
        /// The agent.
        agent: String,
    },
    /// The run waits for permission, which nobody could give now, and [durable](crate::permission::Permissions::durable)
    /// permissions let the question wait. Nothing is lost: answer it with [`Agent::respond`](super::Agent::respond), today
    /// or after a restart, and go on with [`Thread::resume`](super::Thread::resume).
    #[error(
        "agent `{}` waits for permission to use `{}`: answer request {} with `agent.respond(…)`, then go on with `.resume()` on thread `{thread}`",
        request.agent().agent_name, request.tool(), request.id()
    )]
    AwaitingPermission {
        /// The thread of the run, which is the one to be resumed.
        thread: ThreadKey,
        /// One of the questions; [`Agent::runtime_state`](super::Agent::runtime_state) lists all of them, the oldest first.
        request: Box<PermissionRequest>,
    },
    /// The thread does not wait for permission, so there is nothing to go on with.
    #[error("thread `{thread}` waits for nothing: go on with `.run(…)` and an input")]
    NothingToResume {
        /// The thread.
        thread: ThreadKey,
    },
    /// Somebody asked the run to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// Another run works on the thread.
    #[error("another run works on thread `{thread}`: wait for it, or use another thread")]
    ThreadBusy {
        /// The thread.
        thread: ThreadKey,
    },
    /// The thread is continued by an agent that is not of this tree.
    #[error(
        "thread `{thread}` is continued by agent `{agent_id}`, which is none of this agent's tree and not in its agent store: choose one with `.with_agent(\"…\")`"
    )]
    UnknownAgent {
        /// The thread.
        thread: ThreadKey,
        /// The agent.
        agent_id: AgentId,
    },
    /// The agent that continues the thread could not be had.
    #[error(transparent)]
    Agent {
        /// Why.
        source: ResolveError,
    },
    /// A session or thread id that is not legal.
    #[error(transparent)]
    InvalidId(#[from] IdError),
    /// The thread could not be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What happened could not be committed.
    #[error("the journal could not be written: {0}")]
    Commit(#[from] CommitError),
    /// The input has no text.
    #[error("the input is empty: give the agent something to do")]
    EmptyInput,
    /// There is no tokio runtime.
    #[error("a run needs a tokio runtime: call it inside of one, for example in a `#[tokio::main]` function")]
    NoRuntime,
    /// The run's task ended by itself: a defect.
    #[error("the run's task panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// A defect of this crate.
    #[error("internal error: {reason}")]
    Internal {
        /// What is wrong.
        reason: &'static str,
    },
}

impl RunError {
    /// The stable code of this error; what the journal and the metadata of tool results keep.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Chat { source, .. } => source.kind().code(),
            Self::ClientProvider { source, .. } => source.code(),
            Self::IterationLimit { .. } => "iteration_limit",
            Self::BudgetReached { .. } => "budget_reached",
            Self::NoPrice { .. } => "no_price",
            Self::NoAnswer { .. } => "no_answer",
            Self::AwaitingPermission { .. } => "awaiting_permission",
            Self::NothingToResume { .. } => "nothing_to_resume",
            Self::Cancelled => "cancelled",
            Self::ThreadBusy { .. } => "thread_busy",
            Self::UnknownAgent { .. } => "unknown_agent",
            Self::Agent { source } => source.code(),
            Self::InvalidId(error) => error.code(),
            Self::Session(error) => error.code(),
            Self::Commit(error) => error.code(),
            Self::EmptyInput => "empty_input",
            Self::NoRuntime => "no_runtime",
            Self::Panicked { .. } => "panicked",
            Self::Internal { .. } => "internal_error",
        }
    }

    /// How long the provider asks to wait before the next try, if it does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Chat { source, .. } => source.retry_after(),
            _ => None,
        }
    }

    /// What the agent of the run had said before it could not go on, as far as this error keeps it.
    #[must_use]
    pub fn partial_answer(&self) -> Option<&str> {
        match self {
            Self::BudgetReached { partial, .. } => partial.as_deref(),
            _ => None,
        }
    }

    /// The same with what the agent had said before.
    pub(crate) fn with_partial(mut self, last: Option<&Message>) -> Self {
        if let Self::BudgetReached { partial, .. } = &mut self {
            *partial = last.map(Message::shared_text);
        }
        self
    }

    /// A task that ended without a result.
    pub(crate) fn of_task(error: tokio::task::JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => Self::Panicked { message: panic_message(&*panic).to_owned() },
            Err(_) => Self::Cancelled,
        }
    }

    /// Whether nothing more can be written to the journal. A store that failed without changing anything may do better
    /// the next time.
    pub(crate) const fn is_fatal(&self) -> bool {
        match self {
            Self::Commit(error) => !matches!(error, CommitError::Store(StoreError::Backend { .. })),
            Self::Internal { .. } | Self::Panicked { .. } => true,
            _ => false,
        }
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Session(error.into())
    }
}
