//! `GenaiChatClient` against a server of others that fails on demand and judges its clients.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod servers;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hpd_agent::{
    chat::{
        ChatErrorKind, RetryPolicy,
        genai::{GenaiChatClient, GenaiProvider},
    },
    message::{Message, StopReason, ToolOutput},
    testing::RequestChecker,
};
use serde_json::{Value, json};
use servers::{Server, ask, request, result};

fn start() -> Server {
    let arguments = |port: u16| ["serve", "-h", "127.0.0.1", "-p", &port.to_string()].map(str::to_owned).to_vec();
    Server::start("HPD_LLMOCK", arguments, "/_llmock/verdict")
}

fn scenario(server: &Server, behaviors: Value) {
    server.call("POST", "/_llmock/scenario", &json!({"behaviors": behaviors}));
}

/// One client for each wire format, which makes every request once, so that failures can be seen.
fn clients(server: &Server) -> Vec<GenaiChatClient> {
    let client = |provider, path: &str| {
        GenaiChatClient::new(provider, "mock-model")
            .with_api_key("test")
            .with_base_url(&server.url(path))
            .with_retry_policy(RetryPolicy::never())
    };
    vec![
        client(GenaiProvider::OpenAiCompatible, "/v1"),
        client(GenaiProvider::Anthropic, "/anthropic"),
        client(GenaiProvider::Gemini, "/gemini"),
    ]
}

/// What the server thinks of its client: no failure at all, and no warning but those named.
fn judge(server: &Server, accepted_warnings: &[&str]) {
    let verdict = server.call("GET", "/_llmock/verdict", &Value::Null);
    assert_eq!(verdict["passed"], true, "{verdict:#}");
    let findings = verdict["findings"].as_array().unwrap();
    let unexpected: Vec<_> = findings
        .iter()
        .filter(|finding| !accepted_warnings.contains(&finding["code"].as_str().unwrap_or_default()))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// A message that no other test sends, so that the server can tell calls from repetitions.
fn question(text: &str, client: &GenaiChatClient) -> Message {
    Message::user(format!("{text} ({})", client.provider()))
}

#[tokio::test]
async fn answers_with_text_and_counts_tokens() {
    let server = start();
    for client in clients(&server) {
        scenario(&server, json!([{"type": "reply", "text": "It is sunny in Bern today, and warm."}]));
        let answer = ask(&client, request([question("How is it?", &client)])).await;
        assert_eq!(answer.error, None);
        assert_eq!(answer.text, "It is sunny in Bern today, and warm.");
        assert!(answer.pieces > 1, "it was streamed: {answer:?}");
        assert_eq!(answer.stop, Some(StopReason::EndTurn));
        let usage = answer.usage.unwrap();
        assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
    }
    judge(&server, &[]);
}

#[tokio::test]
async fn calls_tools_in_parallel_and_takes_their_results() {
    let server = start();
    for client in clients(&server) {
        let calls = json!([
            {"name": "get_weather", "arguments": {"city": "Bern"}},
            {"name": "get_weather", "arguments": {"city": "Züri \"ch\""}},
        ]);
        scenario(&server, json!([{"type": "reply", "tool_calls": calls}, {"type": "reply", "text": "Both warm."}]));
        // Everything we send is also checked for what real providers refuse.
        let checked = RequestChecker::new(Arc::new(client.clone()));
        let asked = question("And there?", &client);
        let answer = ask(&checked, request([asked.clone()])).await;
        assert_eq!(answer.error, None);
        assert_eq!(answer.stop, Some(StopReason::ToolUse), "{answer:?}");
        let arguments: Vec<Value> =
            answer.calls.iter().map(|(_, _, text)| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(arguments, [json!({"city": "Bern"}), json!({"city": "Züri \"ch\""})]);

        let (message, ids) = answer.message();
        let results =
            [result(ids[0], ToolOutput::new("21 degrees")), result(ids[1], ToolOutput::error("no such city"))];
        let answer = ask(&checked, request([asked, message].into_iter().chain(results))).await;
        assert_eq!(answer.error, None);
        assert_eq!(answer.text, "Both warm.");
    }
    judge(&server, &[]);
}

#[tokio::test]
async fn waits_as_long_as_the_provider_asks() {
    let server = start();
    for client in clients(&server) {
        scenario(
            &server,
            json!([{"type": "fail", "status": 429, "retry_after": 1}, {"type": "reply", "text": "Now."}]),
        );
        let asked = question("May I?", &client);
        let once = ask(&client, request([asked.clone()])).await.error.unwrap();
        assert_eq!((once.kind(), once.status()), (ChatErrorKind::RateLimited, Some(429)));
        assert_eq!(once.retry_after(), Some(Duration::from_secs(1)));

        server.call("POST", "/_llmock/reset", &Value::Null);
        scenario(
            &server,
            json!([
                {"type": "fail", "status": 429, "retry_after": 1},
                {"type": "fail", "status": 503},
                {"type": "reply", "text": "Now."},
            ]),
        );
        let start = Instant::now();
        let patient = client.with_retry_policy(RetryPolicy::default());
        let answer = ask(&patient, request([asked])).await;
        assert_eq!((answer.text.as_str(), answer.error), ("Now.", None));
        assert!(start.elapsed() >= Duration::from_secs(1));
        judge(&server, &[]);
    }
}

#[tokio::test]
async fn a_cut_stream_is_never_taken_for_complete() {
    let server = start();
    for client in clients(&server) {
        for kind in ["truncate", "disconnect"] {
            let asked = question(&format!("Tell me all ({kind})."), &client);
            let text = "one two three four five six seven eight nine ten";
            scenario(
                &server,
                json!([{"type": "stream_fault", "kind": kind, "after_chunks": 4}, {"type": "reply", "text": text, "times": 2}]),
            );
            // Not even with retries: a part of the answer has been seen.
            let client = client.clone().with_retry_policy(RetryPolicy::default());
            let answer = ask(&client, request([asked.clone()])).await;
            assert_eq!(answer.stop, None, "{kind}: {answer:?}");
            assert_eq!(answer.error.map(|error| error.kind()), Some(ChatErrorKind::Interrupted), "{kind}");
            assert!(!answer.text.is_empty() && answer.text != text, "{kind}: {}", answer.text);
            // What the error's text advises.
            let answer = ask(&client, request([asked])).await;
            assert_eq!((answer.text.as_str(), answer.error), (text, None), "{kind}");
        }
    }
    judge(&server, &[]);
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_piece_is_tried_again() {
    let server = start();
    for client in clients(&server) {
        scenario(
            &server,
            json!([{"type": "stream_fault", "kind": "disconnect", "after_chunks": 0}, {"type": "reply", "text": "Here.", "times": 2}]),
        );
        let asked = question("Are you there?", &client);
        let patient = client.with_retry_policy(RetryPolicy::default());
        let answer = ask(&patient, request([asked])).await;
        assert_eq!((answer.text.as_str(), answer.error), ("Here.", None));
    }
    judge(&server, &[]);
}

#[tokio::test]
async fn a_stalled_stream_ends_with_the_idle_timeout() {
    let server = start();
    for client in clients(&server) {
        let stall = json!({"type": "stream_fault", "kind": "stall", "after_chunks": 3, "stall_seconds": 60});
        scenario(&server, json!([stall, {"type": "reply", "text": "one two three four five six"}]));
        let client = client.with_idle_timeout(Duration::from_millis(500));
        let start = Instant::now();
        let answer = ask(&client, request([question("Say it slowly.", &client)])).await;
        assert_eq!(answer.error.map(|error| error.kind()), Some(ChatErrorKind::Interrupted));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    judge(&server, &["gave_up"]);
}

#[tokio::test]
async fn a_broken_piece_is_a_protocol_error() {
    let server = start();
    for client in clients(&server) {
        let malformed = json!({"type": "stream_fault", "kind": "malformed", "after_chunks": 3});
        scenario(&server, json!([malformed, {"type": "reply", "text": "one two three four five six"}]));
        let answer = ask(&client, request([question("Say it well.", &client)])).await;
        assert_eq!(answer.error.map(|error| error.kind()), Some(ChatErrorKind::Protocol));
        assert_eq!(answer.stop, None);
    }
    judge(&server, &["malformed_chunk_ignored"]);
}

#[tokio::test]
async fn broken_arguments_are_shown_and_sent_back_as_something_legal() {
    let server = start();
    for client in clients(&server) {
        let asked = question("What is the weather?", &client);
        scenario(&server, json!([{"type": "tool_fault", "kind": "malformed_arguments"}]));
        let answer = ask(&client, request([asked.clone()])).await;
        assert_eq!(answer.error, None);
        let arguments = &answer.calls[0].2;
        // Gemini's protocol has objects for arguments: it can't carry broken text.
        if client.provider() != GenaiProvider::Gemini {
            assert!(serde_json::from_str::<Value>(arguments).is_err(), "{arguments}");
        }
        let (message, ids) = answer.message();
        let failed = result(ids[0], ToolOutput::error("the arguments are no JSON object"));
        scenario(&server, json!([{"type": "reply", "text": "Sorry."}]));
        let answer = ask(&client, request([asked, message, failed])).await;
        assert_eq!((answer.text.as_str(), answer.error), ("Sorry.", None));
    }
    judge(&server, &[]);
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let server = start();
    for client in clients(&server) {
        for (status, expected, extra) in [
            (401, ChatErrorKind::Authentication, json!({})),
            (500, ChatErrorKind::Server, json!({})),
            (503, ChatErrorKind::Server, json!({})),
            (400, ChatErrorKind::InvalidRequest, json!({"message": "the tool schema is not valid"})),
            (404, ChatErrorKind::UnknownModel, json!({"message": "the model `mock-model` does not exist"})),
            (400, ChatErrorKind::ContextTooLong, json!({"message": "prompt is too long: 9 tokens > 8 maximum"})),
        ] {
            let mut behavior = json!({"type": "fail", "status": status});
            behavior.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            scenario(&server, json!([behavior]));
            let answer = ask(&client, request([question(&format!("{expected:?}"), &client)])).await;
            let error = answer.error.unwrap();
            assert_eq!((error.kind(), error.status()), (expected, Some(status)), "{error}");
            assert_eq!((error.provider(), error.model()), (client.provider().name(), "mock-model"));
        }
    }
    judge(&server, &["gave_up"]);
}
