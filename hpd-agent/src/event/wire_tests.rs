use std::collections::BTreeSet;

use super::*;
use crate::{
    event::{
        CallType, CustomEvent, ErrorInfo, EventEnvelope, EventsMissed, ExecutionBudget, ExecutionFinished,
        ExecutionOutcome, ExecutionSettings, ExecutionStarted, InvocationMode, ModelRequest, ModelRequestFailed,
        ModelResponse, PermissionAnswered, PermissionChoice, PermissionOutcome, PermissionRemembered,
        PermissionRequested, PermissionStateChanged, ResolvedContext, Spent, SubAgentInvocation,
        SubAgentInvocationCancelled, SubAgentInvocationCompleted, SubAgentInvocationFailed, SubAgentInvocationStarted,
        TextDelta, ThreadHeader, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart, ToolExecutionStarted,
        TurnFinished, TurnStarted, TurnTaken,
    },
    filter::ToolFilter,
    id::{AgentId, CallId, InvocationId, MessageId, RequestId, ThreadKey, ToolName, TurnId},
    message::{
        AgentUsage, Message, ModelSelection, Part, ResultMetadata, Role, StopReason, ToolCall, ToolOutput, ToolResult,
        Usage,
    },
};

fn source() -> Arc<EventSource> {
    let root = AgentScope::root("Coordinator".into(), AgentId::new("coordinator").unwrap());
    Arc::new(EventSource {
        agent: Arc::new(root.child("reviewer".into(), AgentId::new("specialist.reviewer").unwrap())),
        execution: Some(ExecutionId::from_u128(2)),
        trace: TraceId::from_u128(3),
        span: 4,
        parent_span: Some(5),
    })
}

/// One event of every kind, with every field that it can have.
fn one_of_each() -> Vec<EventBody> {
    let message_id = MessageId::from_u128(6);
    let call_id = CallId::new(message_id, 0);
    let call = ToolCall::new(call_id, "reviewer", r#"{"input":"x"}"#).with_provider_id("call_1");
    let assistant =
        Arc::new(Message::of(message_id, Role::Assistant, [Part::Text("text".into()), Part::ToolCall(call)]));
    let user = Arc::new(Message::of(MessageId::from_u128(7), Role::User, [Part::Text("input".into())]));
    let result = ToolResult {
        call_id,
        name: "reviewer".into(),
        output: ToolOutput::error("no"),
        metadata: ResultMetadata::default(),
    };
    let invocation = Arc::new(SubAgentInvocation {
        invocation_id: InvocationId::from_u128(8),
        parent_tool_call_id: call_id,
        child_agent_id: AgentId::new("specialist.reviewer").unwrap(),
        child_session_id: "session".try_into().unwrap(),
        child_thread_id: "subagent/reviewer/000000000000".try_into().unwrap(),
        role_name: ToolName::new("reviewer").unwrap(),
        context_policy: ResolvedContext::Fork,
        mode: InvocationMode::Synchronous,
    });
    let mut header =
        ThreadHeader::conversation(ThreadKey::new("session", "main").unwrap(), AgentId::new("coordinator").unwrap());
    header.created_at = Timestamp::from_millis(0);
    let selection = Arc::new(ModelSelection {
        provider: "p".into(),
        model: "m".into(),
        effort: Some("high".into()),
        max_tokens: Some(9),
    });
    let settings = Arc::new(ExecutionSettings {
        agent_id: AgentId::new("coordinator").unwrap(),
        provider: "p".into(),
        run_config: None,
        denials: Arc::new(ToolFilter::deny(["delete"])),
        budget: ExecutionBudget { max_iterations: 10, max_sub_agent_depth: 4 },
    });
    let error = Arc::new(ErrorInfo { code: "no_answer".into(), message: "nothing".into() });
    let permission_id = RequestId::from_u128(10);
    vec![
        EventBody::ThreadCreated(Arc::new(header)),
        EventBody::ExecutionStarted(ExecutionStarted { settings }),
        EventBody::ExecutionFinished(ExecutionFinished {
            outcome: ExecutionOutcome::Failed,
            error: Some(error.clone()),
            taken: None,
        }),
        EventBody::ExecutionFinished(ExecutionFinished {
            outcome: ExecutionOutcome::Suspended,
            error: None,
            taken: Some(Arc::new(TurnTaken {
                usage: Usage::new(1, 2),
                usage_below: Usage::new(3, 4),
                spent: Some(Spent { children: 1, tokens: 10, cost: 0.5, wall_time_ms: 7 }),
                by_agent: vec![AgentUsage {
                    agent_name: "Coordinator".into(),
                    agent_id: AgentId::new("coordinator").unwrap(),
                    model_calls: 1,
                    usage: Usage::new(1, 2),
                }],
            })),
        }),
        EventBody::TurnStarted(TurnStarted { turn_id: TurnId::from_u128(11), message: user }),
        EventBody::TurnFinished(TurnFinished { turn_id: TurnId::from_u128(11), outcome: ExecutionOutcome::Succeeded }),
        EventBody::ModelRequest(ModelRequest { message_id, iteration: 1, selection }),
        EventBody::ModelResponse(ModelResponse {
            message: assistant,
            stop_reason: StopReason::ToolUse,
            usage: Usage::new(1, 2),
        }),
        EventBody::ModelRequestFailed(ModelRequestFailed { message_id, error, partial_text: Some("par".into()) }),
        EventBody::ToolExecutionStarted(ToolExecutionStarted { call_id, name: "add".into() }),
        EventBody::ToolCallResult(ToolCallResult {
            message: Arc::new(Message::tool(MessageId::from_u128(12), result)),
        }),
        EventBody::PermissionRequest(Arc::new(PermissionRequested {
            permission_id,
            call_id,
            function_name: "reviewer".into(),
            description: "Reviews.".into(),
            arguments: "{}".into(),
            call_type: CallType::SubAgent,
            key: Some("reviewer:drafts".into()),
        })),
        EventBody::PermissionResponse(Arc::new(PermissionAnswered {
            permission_id,
            function_name: "reviewer".into(),
            approved: false,
            choice: PermissionChoice::DenyAlways,
            outcome: PermissionOutcome::Denied,
            reason: Some("no".into()),
        })),
        EventBody::PermissionRemembered(PermissionRemembered {
            function_name: "reviewer".into(),
            key: None,
            choice: PermissionChoice::AllowAlways,
        }),
        EventBody::PermissionRemembered(PermissionRemembered {
            function_name: "run".into(),
            key: Some("run:git status".into()),
            choice: PermissionChoice::DenyAlways,
        }),
        EventBody::PermissionStateChanged(PermissionStateChanged {
            entries: Arc::new(serde_json::Map::from_iter([("commands".to_owned(), serde_json::json!(["git"]))])),
        }),
        EventBody::SubAgentInvocationStarted(SubAgentInvocationStarted { invocation: invocation.clone() }),
        EventBody::SubAgentInvocationCompleted(SubAgentInvocationCompleted {
            invocation: invocation.clone(),
            summary: Some("fine".into()),
        }),
        EventBody::SubAgentInvocationFailed(SubAgentInvocationFailed {
            invocation: invocation.clone(),
            error_type: "no_answer".into(),
            message: "nothing".into(),
        }),
        EventBody::SubAgentInvocationCancelled(SubAgentInvocationCancelled { invocation, reason: Some("stop".into()) }),
        EventBody::Custom(Box::new(CustomEvent {
            name: "progress".into(),
            value: Arc::new(serde_json::json!({"done": 0.5})),
            call_id: Some(call_id),
            durable: true,
        })),
        EventBody::TextDelta(TextDelta { message_id, delta: "te".into() }),
        EventBody::ReasoningDelta(TextDelta { message_id, delta: "hm".into() }),
        EventBody::ToolCallStart(ToolCallStart { call_id, name: "reviewer".into(), call_type: CallType::SubAgent }),
        EventBody::ToolCallArgs(ToolCallArgs { call_id, delta: "{".into() }),
        EventBody::ToolCallEnd(ToolCallEnd { call_id }),
        EventBody::EventsMissed(EventsMissed { count: 3 }),
    ]
}

fn event(body: EventBody) -> Event {
    Event {
        id: EventId::from_u128(1),
        timestamp: Timestamp::from_millis(1_500),
        source: source(),
        body,
        text: std::sync::OnceLock::new(),
    }
}

/// The wire form of every event, as it is: a change here is a change that old journals and clients see.
#[test]
fn the_wire_form_is_what_it_was() {
    let lines: Vec<String> = one_of_each().into_iter().map(|body| event(body).to_json().unwrap().to_string()).collect();
    let golden = include_str!("wire.golden.jsonl");
    for (line, expected) in lines.iter().zip(golden.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.len(), golden.lines().count(), "\n{}", lines.join("\n"));
}

#[test]
fn every_kind_is_in_the_golden_file() {
    let there: BTreeSet<_> = one_of_each().iter().map(|body| body.type_name().to_owned()).collect();
    let all: BTreeSet<_> = EventBody::KINDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, all);
}

#[test]
fn every_event_is_read_as_it_was_written() {
    for body in one_of_each() {
        let written = event(body);
        let json = written.to_json().unwrap();
        let read = Event::from_json(json.clone()).unwrap();
        assert_eq!(read.body(), written.body());
        assert_eq!(read.source(), written.source());
        assert_eq!(read.to_json().unwrap(), json);
        assert!(!json.contains("null"), "{json}");
    }
}

#[test]
fn what_this_version_does_not_know_is_kept_byte_for_byte() {
    let known = event(EventBody::EventsMissed(EventsMissed { count: 3 })).to_json().unwrap();
    for text in [
        known
            .replace("EVENTS_MISSED", "SOMETHING_NEW")
            .replace("\"count\":3", "\"count\":2.50,\"big\":18446744073709551616"),
        known.replace("\"count\":3", "\"count\":3,  \"later\":[1e2]"),
    ] {
        let read = Event::from_json(text.as_str()).unwrap();
        assert_eq!(&*read.to_json().unwrap(), text);
    }
    let new = Event::from_json(known.replace("EVENTS_MISSED", "SOMETHING_NEW")).unwrap();
    assert_eq!(new.type_name(), "SOMETHING_NEW");
    let EventBody::Unknown(unknown) = new.body() else { panic!("unexpected: {new:?}") };
    assert_eq!(unknown.payload.keys().collect::<Vec<_>>(), ["count"]);
    assert!(new.body().is_durable());
}

#[test]
fn what_is_no_event_is_an_error() {
    for text in ["", "[]", "{}", "null", r#"{"type":"EVENTS_MISSED"}"#] {
        assert!(Event::from_json(text).is_err(), "{text}");
    }
    let known = event(EventBody::EventsMissed(EventsMissed { count: 3 })).to_json().unwrap();
    assert!(Event::from_json(known.replace("\"count\":3", "\"count\":\"x\"")).is_err());
}

#[test]
fn an_envelope_adds_the_place_to_the_events_own_text() {
    let event = Arc::new(event(EventBody::EventsMissed(EventsMissed { count: 3 })));
    let envelope = EventEnvelope::journaled(ThreadKey::new("s", "t").unwrap(), 2, 7, event.clone());
    let json: Value = serde_json::from_str(&envelope.to_json().unwrap()).unwrap();
    assert_eq!(json["threadSequenceNumber"], 7);
    assert_eq!((&json["sessionId"], &json["generation"]), (&Value::from("s"), &Value::from(2)));
    assert!(envelope.to_json().unwrap().starts_with(event.to_json().unwrap().trim_end_matches('}')));
}
