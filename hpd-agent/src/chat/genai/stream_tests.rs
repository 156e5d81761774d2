use genai::chat::{CompletionTokensDetails, CustomPart, MessageContent, PromptTokensDetails, StreamChunk, ToolChunk};
use serde_json::json;

use super::*;

fn text(content: &str) -> ChatStreamEvent {
    ChatStreamEvent::Chunk(StreamChunk { content: content.to_owned() })
}

fn reasoning(content: &str) -> ChatStreamEvent {
    ChatStreamEvent::ReasoningChunk(StreamChunk { content: content.to_owned() })
}

fn signature(content: &str) -> ChatStreamEvent {
    ChatStreamEvent::ThoughtSignatureChunk(StreamChunk { content: content.to_owned() })
}

fn call(id: &str, name: &str, arguments: Value, signatures: &[&str]) -> ChatStreamEvent {
    let thought_signatures = (!signatures.is_empty()).then(|| signatures.iter().map(|s| (*s).to_owned()).collect());
    let tool_call =
        ToolCall { call_id: id.to_owned(), fn_name: name.to_owned(), fn_arguments: arguments, thought_signatures };
    ChatStreamEvent::ToolCallChunk(ToolChunk { tool_call })
}

fn end(reason: &str) -> ChatStreamEvent {
    ChatStreamEvent::End(StreamEnd {
        captured_stop_reason: Some(GenaiStop::from(reason.to_owned())),
        ..StreamEnd::default()
    })
}

fn run(provider: GenaiProvider, events: impl IntoIterator<Item = ChatStreamEvent>) -> Vec<ChatDelta> {
    let mut converter = Converter::new(provider);
    events.into_iter().flat_map(|event| converter.event(event)).map(Result::unwrap).collect()
}

/// A short form of deltas: `T:` text, `R:` reasoning, `S:` signature, `C0:` call, `A0:` arguments, `F:` finish.
fn short(deltas: &[ChatDelta]) -> Vec<String> {
    let one = |delta: &ChatDelta| match delta {
        ChatDelta::Text(text) => format!("T:{text}"),
        ChatDelta::Reasoning(text) => format!("R:{text}"),
        ChatDelta::ReasoningSignature(text) => format!("S:{text}"),
        ChatDelta::ToolCallStart { index, id, name } => {
            format!("C{index}:{}/{name}", id.as_deref().unwrap_or("none"))
        }
        ChatDelta::ToolCallArguments { index, text } => format!("A{index}:{text}"),
        ChatDelta::Usage(usage) => format!("U:{}", usage.total()),
        ChatDelta::Finish(reason) => format!("F:{reason:?}"),
    };
    deltas.iter().map(one).collect()
}

#[test]
fn snapshots_become_pieces() {
    let events = [
        text("Let me "),
        text("see"),
        call("x", "t", json!(""), &[]),
        call("x", "t", json!("{\"a\""), &[]),
        call("x", "t", json!("{\"a\":1}"), &[]),
        call("y", "u", json!(""), &[]),
        call("y", "u", json!("{"), &[]),
        call("x", "t", json!("{\"a\":1} "), &[]),
        call("y", "u", json!("{}"), &[]),
        end("tool_calls"),
    ];
    let expected =
        ["T:Let me ", "T:see", "C0:x/t", "A0:{\"a\"", "A0::1}", "C1:y/u", "A1:{", "A0: ", "A1:}", "F:ToolUse"];
    assert_eq!(short(&run(GenaiProvider::OpenAi, events)), expected);
}

#[test]
fn calls_with_the_same_id_stay_two() {
    let events = [
        call("x", "t", json!(""), &[]),
        call("x", "t", json!("{\"a\":1}"), &[]),
        call("x", "t", json!(""), &[]),
        call("x", "t", json!("{\"a\":2}"), &[]),
        end("stop"),
    ];
    let expected = ["C0:x/t", "A0:{\"a\":1}", "C1:x/t", "A1:{\"a\":2}", "F:ToolUse"];
    assert_eq!(short(&run(GenaiProvider::OpenAiCompatible, events)), expected);
}

#[test]
fn a_made_up_id_continues_the_call_before_it() {
    let events = [call("real", "t", json!("{"), &[]), call("call_0", "t", json!("{}"), &[]), end("tool_calls")];
    assert_eq!(short(&run(GenaiProvider::OpenAi, events)), ["C0:real/t", "A0:{", "A0:}", "F:ToolUse"]);
}

#[test]
fn whole_calls_stay_apart() {
    let events = [
        call("call#t#0", "t", json!({"a": 1}), &[]),
        call("call#t#1", "t", json!({"a": 1}), &[]),
        call("given", "t", Value::Null, &[]),
        end("STOP"),
    ];
    let expected = ["C0:none/t", "A0:{\"a\":1}", "C1:none/t", "A1:{\"a\":1}", "C2:given/t", "A2:{}", "F:ToolUse"];
    assert_eq!(short(&run(GenaiProvider::Gemini, events)), expected);
}

#[test]
fn anthropics_signature_in_pieces_becomes_one() {
    let events = [reasoning("hm"), signature("ab"), signature("cd"), text("x"), end("end_turn")];
    let expected = ["R:hm", "S:anthropic:abcd", "T:x", "F:EndTurn"];
    assert_eq!(short(&run(GenaiProvider::Anthropic, events)), expected);
}

#[test]
fn geminis_signatures_stand_before_their_part() {
    // The signature of a call leads the frame, before the text of the same frame.
    let events = [signature("s1"), reasoning("hm"), text("x"), call("c", "t", json!({}), &["s1"]), end("STOP")];
    let expected = ["R:hm", "T:x", "S:gemini:s1", "C0:c/t", "A0:{}", "F:ToolUse"];
    assert_eq!(short(&run(GenaiProvider::Gemini, events)), expected);
    // The signature of a text, then more text.
    let events = [text("a"), signature("s2"), text("b"), text("c"), end("STOP")];
    assert_eq!(short(&run(GenaiProvider::Gemini, events)), ["T:a", "S:gemini:s2", "T:b", "T:c", "F:EndTurn"]);
    // Two calls with a signature each.
    let events = [
        signature("s1"),
        signature("s2"),
        call("c", "t", json!({}), &["s1"]),
        call("d", "t", json!({}), &["s2"]),
        end("STOP"),
    ];
    let expected = ["S:gemini:s1", "C0:c/t", "A0:{}", "S:gemini:s2", "C1:d/t", "A1:{}", "F:ToolUse"];
    assert_eq!(short(&run(GenaiProvider::Gemini, events)), expected);
}

#[test]
fn an_end_without_a_reason_is_no_end() {
    let cut = ChatStreamEvent::End(StreamEnd::default());
    assert_eq!(short(&run(GenaiProvider::Gemini, [text("half"), cut])), ["T:half"]);
}

#[test]
fn blocks_that_nobody_sees_are_kept() {
    let block = CustomPart { model_iden: None, data: json!({"type": "redacted_thinking", "data": "x"}) };
    let end = ChatStreamEvent::End(StreamEnd {
        captured_stop_reason: Some(GenaiStop::Completed("end_turn".to_owned())),
        captured_content: Some(MessageContent::from_parts(vec![genai::chat::ContentPart::Custom(block)])),
        ..StreamEnd::default()
    });
    let deltas = short(&run(GenaiProvider::Anthropic, [text("x"), end]));
    assert!(deltas[1].starts_with("S:anthropic-redacted:{"), "{deltas:?}");
}

#[test]
fn stop_reasons() {
    for (raw, expected) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("MALFORMED_FUNCTION_CALL", StopReason::Other("MALFORMED_FUNCTION_CALL".into())),
        ("tool_calls", StopReason::EndTurn),
    ] {
        assert_eq!(run(GenaiProvider::OpenAi, [end(raw)]), [ChatDelta::Finish(expected)], "{raw}");
    }
}

#[test]
fn token_counts() {
    let counts = GenaiUsage {
        prompt_tokens: Some(100),
        completion_tokens: Some(50),
        prompt_tokens_details: Some(PromptTokensDetails {
            cached_tokens: Some(40),
            cache_creation_tokens: Some(10),
            ..PromptTokensDetails::default()
        }),
        completion_tokens_details: Some(CompletionTokensDetails {
            reasoning_tokens: Some(30),
            ..CompletionTokensDetails::default()
        }),
        total_tokens: None,
    };
    let counts = usage(&counts).unwrap();
    assert_eq!((counts.input_tokens, counts.output_tokens), (100, 50));
    assert_eq!((counts.cached_input_tokens, counts.cache_write_tokens, counts.reasoning_tokens), (40, 10, 30));
    assert_eq!(usage(&GenaiUsage::default()), None);
}
