//! The wire form: `{"version":"1.0","type":"…", …}` with camelCase fields and without nulls.
//!
//! A stored event keeps the text that it was written or read as; nothing encodes it a second time. So a program can
//! carry events of a newer version, unknown types and fields included.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AgentScope, Event, EventBody, EventSource};
use crate::id::{EventId, ExecutionId, Timestamp, TraceId};

/// The version of the wire form.
pub const WIRE_VERSION: &str = "1.0";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a, P: ?Sized> {
    version: &'static str,
    r#type: &'a str,
    event_id: EventId,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_execution_id: Option<ExecutionId>,
    metadata: &'a AgentScope,
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<SpanId>,
    #[serde(flatten)]
    payload: &'a P,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    r#type: String,
    event_id: EventId,
    timestamp: Timestamp,
    #[serde(default)]
    thread_execution_id: Option<ExecutionId>,
    metadata: AgentScope,
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(default)]
    parent_span_id: Option<SpanId>,
}

const HEADER_FIELDS: [&str; 9] =
    ["version", "type", "eventId", "timestamp", "threadExecutionId", "metadata", "traceId", "spanId", "parentSpanId"];

pub(super) fn without_header(mut fields: Map<String, Value>) -> Map<String, Value> {
    for field in HEADER_FIELDS {
        fields.remove(field);
    }
    fields
}

/// A span of a trace: 16 hexadecimal digits on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) u64);

impl Serialize for SpanId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for SpanId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Takes a payload of any type: how the table of events hands its payloads out.
pub(super) trait PayloadSink {
    type Out;
    fn payload<P: Serialize>(self, payload: &P) -> Self::Out;
}

struct Writer<'a>(&'a Event);

impl PayloadSink for Writer<'_> {
    type Out = serde_json::Result<String>;

    fn payload<P: Serialize>(self, payload: &P) -> Self::Out {
        let event = self.0;
        serde_json::to_string(&Written {
            version: WIRE_VERSION,
            r#type: event.body.type_name(),
            event_id: event.id,
            timestamp: event.timestamp,
            thread_execution_id: event.source.execution,
            metadata: &event.source.agent,
            trace_id: event.source.trace,
            span_id: SpanId(event.source.span),
            parent_span_id: event.source.parent_span.map(SpanId),
            payload,
        })
    }
}

pub(super) fn write(event: &Event) -> serde_json::Result<Arc<str>> {
    event.body.serialize_payload(Writer(event)).map(Into::into)
}

pub(super) fn read(text: Arc<str>) -> serde_json::Result<Event> {
    let header: Header = serde_json::from_str(&text)?;
    let body = EventBody::parse(&header.r#type, &text)?;
    let source = EventSource {
        agent: Arc::new(header.metadata),
        execution: header.thread_execution_id,
        trace: header.trace_id,
        span: header.span_id.0,
        parent_span: header.parent_span_id.map(|span| span.0),
    };
    Ok(Event {
        id: header.event_id,
        timestamp: header.timestamp,
        source: Arc::new(source),
        body,
        text: std::sync::OnceLock::from(text),
    })
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
