use serde_json::json;

use super::*;
use crate::{
    chat::{ChatOptions, Schema, ToolSet},
    id::{MessageId, ToolName},
    message::{Reasoning, ResultMetadata, ToolCall, ToolOutput, ToolResult},
    testing::ScriptedChatClient,
};

fn id(message: u128, index: u32) -> CallId {
    CallId::new(MessageId::from_u128(message), index)
}

fn user() -> Message {
    Message::user("question")
}

fn calls(ids: &[CallId]) -> Message {
    let parts = ids.iter().map(|id| Part::ToolCall(ToolCall::new(*id, "no legal name!", "{broken")));
    Message::of(MessageId::generate(), Role::Assistant, parts)
}

fn result_part(call_id: CallId) -> Part {
    let output = ToolOutput::new("done");
    Part::ToolResult(ToolResult { call_id, name: "t".into(), output, metadata: ResultMetadata::default() })
}

fn result(call_id: CallId) -> Message {
    Message::of(MessageId::generate(), Role::Tool, [result_part(call_id)])
}

fn request(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    ChatRequest::new(messages.into_iter().map(Arc::new).collect())
}

fn broken(request: &ChatRequest) -> Vec<(Rule, Option<usize>)> {
    let violations = RequestChecker::check(request).err().unwrap_or_default();
    violations.iter().map(|violation| (violation.rule(), violation.message_index())).collect()
}

fn in_messages(messages: impl IntoIterator<Item = Message>) -> Vec<(Rule, Option<usize>)> {
    broken(&request(messages))
}

#[test]
fn a_sound_conversation_passes() {
    let (a, b) = (id(1, 0), id(1, 1));
    let both = Message::of(MessageId::generate(), Role::Tool, [result_part(id(2, 0)), result_part(id(2, 1))]);
    let messages = [
        user(),
        user(),
        calls(&[a, b]),
        result(a),
        result(b),
        calls(&[id(2, 0), id(2, 1)]),
        both,
        Message::assistant("answer"),
        user(),
        calls(&[id(3, 0)]),
        result(id(3, 0)),
    ];
    assert_eq!(in_messages(messages), []);
}

#[test]
fn begins_with_the_user() {
    assert_eq!(in_messages([]), [(Rule::BeginsWithUser, Some(0))]);
    assert_eq!(in_messages([Message::assistant("a"), user()]), [(Rule::BeginsWithUser, Some(0))]);
}

#[test]
fn does_not_end_with_the_assistant() {
    assert_eq!(in_messages([user(), Message::assistant("a")]), [(Rule::EndsWithAssistant, Some(1))]);
}

#[test]
fn the_assistant_does_not_speak_twice() {
    let messages = [user(), Message::assistant("a"), Message::assistant("b"), user()];
    assert_eq!(in_messages(messages), [(Rule::ConsecutiveAssistant, Some(2))]);
}

#[test]
fn messages_are_not_empty() {
    let nothing = Message::of(MessageId::generate(), Role::User, []);
    let thought = Part::Reasoning(Reasoning::new("hm"));
    let only_thought = Message::of(MessageId::generate(), Role::Assistant, [thought]);
    let messages = [nothing, only_thought, Message::user(" \n")];
    let expected = [0, 1, 2].map(|index| (Rule::EmptyMessage, Some(index)));
    assert_eq!(in_messages(messages), expected);
}

#[test]
fn parts_fit_their_role() {
    let call = Part::ToolCall(ToolCall::new(id(1, 0), "t", "{}"));
    let calling_user = Message::of(MessageId::generate(), Role::User, [call]);
    let found = in_messages([calling_user, result(id(1, 0))]);
    assert_eq!(found, [(Rule::PartInWrongRole, Some(0))]);
    let answering_user = Message::of(MessageId::generate(), Role::User, [result_part(id(1, 0))]);
    assert_eq!(in_messages([answering_user]), [(Rule::PartInWrongRole, Some(0))]);
    let talking_tool = Message::of(MessageId::generate(), Role::Tool, [Part::Text("x".into())]);
    assert_eq!(in_messages([user(), talking_tool]), [(Rule::PartInWrongRole, Some(1))]);
}

#[test]
fn every_call_has_its_result_directly_after_it() {
    let (a, b) = (id(1, 0), id(1, 1));
    assert_eq!(in_messages([user(), calls(&[a, b]), result(a)]), [(Rule::MissingResult, Some(1))]);
    let late = [user(), calls(&[a]), user(), result(a)];
    assert_eq!(in_messages(late), [(Rule::MissingResult, Some(1)), (Rule::ResultWithoutCall, Some(3))]);
}

#[test]
fn results_come_in_the_order_of_the_calls() {
    let (a, b) = (id(1, 0), id(1, 1));
    let messages = [user(), calls(&[a, b]), result(b), result(a)];
    assert_eq!(in_messages(messages), [(Rule::ResultOrder, Some(3))]);
}

#[test]
fn a_call_has_one_result_and_a_result_a_call() {
    let a = id(1, 0);
    assert_eq!(in_messages([user(), calls(&[a]), result(a), result(a)]), [(Rule::DuplicateResult, Some(3))]);
    assert_eq!(in_messages([user(), result(a)]), [(Rule::ResultWithoutCall, Some(1))]);
    let foreign = [user(), calls(&[a]), result(a), result(id(9, 0))];
    assert_eq!(in_messages(foreign), [(Rule::ResultWithoutCall, Some(3))]);
}

#[test]
fn call_ids_are_unique() {
    let a = id(1, 0);
    let messages = [user(), calls(&[a]), result(a), calls(&[a]), result(a)];
    assert_eq!(in_messages(messages), [(Rule::DuplicateCallId, Some(3))]);
}

fn tool(name: &str, description: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(ToolName::trusted(name), description, Schema::from_value(schema))
}

fn plain() -> Value {
    json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]})
}

fn in_tools(tools: impl IntoIterator<Item = ToolSpec>) -> Vec<Rule> {
    let request = request([user()]).with_tools(ToolSet::from_iter(tools));
    broken(&request).into_iter().map(|(rule, _)| rule).collect()
}

#[test]
fn tools_have_legal_unique_names_and_descriptions() {
    assert_eq!(in_tools([tool("a", "x", plain()), tool("b", "x", plain())]), []);
    assert_eq!(in_tools([tool("a.b", "x", plain())]), [Rule::ToolName]);
    assert_eq!(in_tools([tool(&"a".repeat(65), "x", plain())]), [Rule::ToolName]);
    assert_eq!(in_tools([tool("a", "x", plain()), tool("a", "x", plain())]), [Rule::DuplicateTool]);
    assert_eq!(in_tools([tool("a", " ", plain())]), [Rule::ToolDescription]);
}

#[test]
fn schemas_describe_objects() {
    assert_eq!(in_tools([tool("a", "x", json!({"type": "object", "properties": {"any": true}}))]), []);
    for schema in [
        json!(null),
        json!({"properties": {}}),
        json!({"type": "string"}),
        json!({"type": "dict", "properties": {}}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": []}),
        json!({"type": "object", "properties": {}, "required": ["a"]}),
        json!({"type": "object", "properties": {}, "required": "a"}),
        json!({"type": "object", "properties": {}, "required": [1]}),
        json!({"type": "object", "properties": {}, "anyOf": []}),
        json!({"type": "object", "properties": {"a": {"type": "text"}}}),
        json!({"type": "object", "properties": {"a": {"type": []}}}),
        json!({"type": "object", "properties": {"a": 1}}),
    ] {
        assert_eq!(in_tools([tool("a", "x", schema.clone())]), [Rule::ToolSchema], "{schema}");
    }
}

#[test]
fn a_tool_that_has_to_be_called_exists() {
    let with = |choice| {
        let options = ChatOptions { tool_choice: choice, ..ChatOptions::default() };
        broken(&request([user()]).with_options(options))
    };
    assert_eq!(with(ToolChoice::Required), [(Rule::ToolChoice, None)]);
    assert_eq!(with(ToolChoice::Tool(ToolName::trusted("t"))), [(Rule::ToolChoice, None)]);
    assert_eq!(with(ToolChoice::None), []);
}

#[tokio::test]
async fn the_client_refuses_and_passes_on() {
    let script = ScriptedChatClient::texts(["ok"]);
    let client = RequestChecker::new(script.clone());
    let error = client.stream(request([user(), calls(&[id(1, 0)])])).await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::InvalidRequest);
    let text = error.to_string();
    assert!(text.contains("message 1") && text.contains("no legal name!") && text.contains("MissingResult"), "{text}");
    assert_eq!(script.requests().len(), 0);
    assert!(client.stream(request([user()])).await.is_ok());
    assert_eq!(script.requests().len(), 1);
}
