//! Events: what happens while agents run, and how it is written.
//!
//! An [`Event`] is immutable and shared. Durable ones make up the journals; all of them are shown live to those who
//! subscribed to the root of the tree, wrapped in an [`EventEnvelope`] that says where they come from.

mod body;
mod execution;
mod hub;
mod scope;
mod thread;
mod wire;

use std::{
    num::NonZeroU64,
    sync::{Arc, OnceLock},
};

pub(crate) use self::hub::{Delivery, EventHub, Gap, Subscription};
pub(crate) use self::thread::RESERVED_METADATA;
pub use self::{
    body::*,
    execution::{ExecutionBudget, ExecutionOutcome, ExecutionSettings, RunConfigText, Spent, TurnTaken},
    scope::AgentScope,
    thread::{ForkPoint, SubAgentInvocation, SubAgentOrigin, ThreadHeader, ThreadKind, Visibility},
    wire::WIRE_VERSION,
};
use crate::id::{EventId, ExecutionId, ThreadKey, Timestamp, TraceId};
pub use crate::message::{InvocationMode, ResolvedContext};

/// Where events come from: an execution of an agent within a trace. Shared by all its events.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSource {
    /// The agent and its place in the tree.
    pub agent: Arc<AgentScope>,
    /// The execution; `None` for events outside of any.
    pub execution: Option<ExecutionId>,
    /// The trace of the root run.
    pub trace: TraceId,
    /// The span of this execution in the trace.
    pub span: u64,
    /// The span of the execution that delegated to this one.
    pub parent_span: Option<u64>,
}

impl EventSource {
    /// The first execution of a new trace.
    #[must_use]
    pub fn root(agent: Arc<AgentScope>) -> Self {
        Self {
            agent,
            execution: Some(ExecutionId::generate()),
            trace: TraceId::generate(),
            span: crate::id::random_u64(),
            parent_span: None,
        }
    }

    /// Events that belong to an agent but to no execution, such as an import of an old conversation.
    #[must_use]
    pub fn outside(agent_id: crate::id::AgentId, agent_name: impl Into<Arc<str>>) -> Self {
        Self { execution: None, ..Self::root(Arc::new(AgentScope::root(agent_name.into(), agent_id))) }
    }

    /// An execution that this one delegates to.
    pub(crate) fn child(&self, agent: Arc<AgentScope>) -> Self {
        Self {
            agent,
            execution: Some(ExecutionId::generate()),
            trace: self.trace,
            span: crate::id::random_u64(),
            parent_span: Some(self.span),
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct Event {
    id: EventId,
    timestamp: Timestamp,
    source: Arc<EventSource>,
    body: EventBody,
    /// The wire form, once somebody needed it.
    text: OnceLock<Arc<str>>,
}

impl Event {
    /// An event that happens now.
    #[must_use]
    pub fn new(source: Arc<EventSource>, body: EventBody) -> Self {
        Self::at(Timestamp::now(), source, body)
    }

    /// An event that happened at some time; for those who import conversations.
    #[must_use]
    pub fn at(timestamp: Timestamp, source: Arc<EventSource>, body: EventBody) -> Self {
        Self { id: EventId::generate(), timestamp, source, body, text: OnceLock::new() }
    }

    /// Reads an event from its wire form, which it keeps: [`Event::to_json`] gives back the same text.
    ///
    /// # Errors
    ///
    /// The error of `serde_json` if the text is no event. An unknown type is none: it becomes
    /// [`EventBody::Unknown`].
    pub fn from_json(text: impl Into<Arc<str>>) -> serde_json::Result<Self> {
        wire::read(text.into())
    }

    /// The wire form.
    ///
    /// # Errors
    ///
    /// The error of `serde_json` if a value inside cannot be written as JSON; an event that was read has its text
    /// already.
    pub fn to_json(&self) -> serde_json::Result<Arc<str>> {
        if let Some(text) = self.text.get() {
            return Ok(Arc::clone(text));
        }
        let text = wire::write(self)?;
        Ok(Arc::clone(self.text.get_or_init(|| text)))
    }

    /// Its identity; kept by stores.
    #[must_use]
    pub fn id(&self) -> EventId {
        self.id
    }

    /// When it happened.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> &Arc<EventSource> {
        &self.source
    }

    /// What it says.
    #[must_use]
    pub fn body(&self) -> &EventBody {
        &self.body
    }

    /// The name on the wire, for example `SUBAGENT_INVOCATION_STARTED`.
    #[must_use]
    pub fn type_name(&self) -> &str {
        self.body.type_name()
    }
}

/// Equal if they are the same event.
impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.body == other.body
    }
}

/// An event with its place: what a live subscriber gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventEnvelope {
    /// The thread that it belongs to.
    pub thread: ThreadKey,
    /// The generation of that thread.
    pub generation: u64,
    /// Its number in that generation; `None` if it is not journaled.
    pub sequence: Option<NonZeroU64>,
    /// The event.
    pub event: Arc<Event>,
}

impl EventEnvelope {
    pub(crate) fn journaled(thread: ThreadKey, generation: u64, sequence: u64, event: Arc<Event>) -> Self {
        Self { thread, generation, sequence: NonZeroU64::new(sequence), event }
    }

    pub(crate) fn live(thread: ThreadKey, generation: u64, event: Arc<Event>) -> Self {
        Self { thread, generation, sequence: None, event }
    }

    /// What the event says.
    #[must_use]
    pub fn body(&self) -> &EventBody {
        self.event.body()
    }

    /// The agent that it comes from, with its chain from the root and its depth.
    #[must_use]
    pub fn agent(&self) -> &AgentScope {
        &self.event.source().agent
    }

    /// The wire form with session, thread, generation and number: the event's own text with these fields behind it.
    ///
    /// # Errors
    ///
    /// Those of [`Event::to_json`].
    pub fn to_json(&self) -> serde_json::Result<String> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Place<'a> {
            #[serde(flatten)]
            thread: Option<&'a ThreadKey>,
            generation: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            thread_sequence_number: Option<NonZeroU64>,
        }
        // The creation of a thread names the thread itself.
        let names_it = matches!(self.event.body(), EventBody::ThreadCreated(_));
        let place = serde_json::to_string(&Place {
            thread: (!names_it).then_some(&self.thread),
            generation: self.generation,
            thread_sequence_number: self.sequence,
        })?;
        let event = self.event.to_json()?;
        let (event, place) = (event.trim_end().strip_suffix('}'), place.strip_prefix('{'));
        Ok([event.unwrap_or_default(), ",", place.unwrap_or_default()].concat())
    }
}
