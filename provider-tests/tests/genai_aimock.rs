//! `GenaiChatClient` against a server of others with scripted conversations, in four wire formats.

mod servers;

use std::{sync::Arc, time::Duration};

use hpd_agent::{
    chat::{
        ChatClient, ChatErrorKind, ChatOptions, ChatRequest, RetryPolicy, ToolChoice,
        genai::{GenaiChatClient, GenaiProvider},
    },
    id::ToolName,
    message::{Message, Part, Role, StopReason, ToolOutput},
    testing::RequestChecker,
};
use serde_json::{Value, json};
use servers::{Server, ask, request, result};

fn start() -> Server {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/aimock.json");
    let arguments = |port: u16| {
        let port = port.to_string();
        let all = ["-h", "127.0.0.1", "-p", &port, "-f", fixtures, "--chunk-size", "7", "--strict"];
        all.map(str::to_owned).to_vec()
    };
    Server::start("HPD_AIMOCK", arguments, "/__aimock/journal")
}

fn clients(server: &Server) -> Vec<GenaiChatClient> {
    let client = |provider, model: &str, path: &str| {
        GenaiChatClient::new(provider, model)
            .with_api_key("test")
            .with_base_url(&server.url(path))
            .with_retry_policy(RetryPolicy::never())
    };
    vec![
        client(GenaiProvider::OpenAi, "gpt-5", "/v1"),
        client(GenaiProvider::Anthropic, "claude-sonnet-4-5", ""),
        client(GenaiProvider::Gemini, "gemini-2.5-flash", ""),
        client(GenaiProvider::DeepSeek, "deepseek-reasoner", "/v1"),
        client(GenaiProvider::Ollama, "qwen3", ""),
    ]
}

/// A request that asks for thoughts.
fn thoughtful(request: ChatRequest) -> ChatRequest {
    let mut options = ChatOptions::default();
    options.effort = Some("low".into());
    request.with_options(options)
}

#[tokio::test]
async fn a_conversation_with_tools() {
    let server = start();
    for client in clients(&server) {
        let provider = client.provider();
        let checked = RequestChecker::new(Arc::new(client));
        let asked = Message::user("What is the weather in Bern and Genève?");
        let answer = ask(&checked, thoughtful(request([asked.clone()]))).await;
        assert_eq!(answer.error, None, "{provider}");
        assert_eq!(answer.stop, Some(StopReason::ToolUse), "{provider}");
        let arguments: Vec<Value> =
            answer.calls.iter().map(|(_, _, text)| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(arguments, [json!({"city": "Bern"}), json!({"city": "Genève"})], "{provider}");

        let (message, ids) = answer.message();
        let results = [result(ids[0], ToolOutput::new("21 degrees")), result(ids[1], ToolOutput::new("rain"))];
        let answer = ask(&checked, thoughtful(request([asked, message].into_iter().chain(results)))).await;
        assert_eq!(answer.error, None, "{provider}");
        assert_eq!(answer.text, "Bern is warm, and it rains in Genève.", "{provider}");
        assert_eq!(answer.stop, Some(StopReason::EndTurn), "{provider}");
    }
}

/// The server refuses a conversation with Anthropic that goes on after tools without the thoughts before them, as the
/// provider itself does: that the conversation above passes shows that they went back as they had come.
#[tokio::test]
async fn thoughts_are_missed_where_they_do_not_go_back() {
    let server = start();
    let client = GenaiChatClient::new(GenaiProvider::Anthropic, "claude-sonnet-4-5")
        .with_api_key("test")
        .with_base_url(&server.url(""));
    let asked = Message::user("What is the weather in Bern and Genève?");
    let answer = ask(&client, thoughtful(request([asked.clone()]))).await;
    let (message, ids) = answer.message();
    let thoughts = message.parts().iter().filter(|part| matches!(part, Part::Reasoning(_))).count();
    assert_eq!(thoughts, 2, "a signed block and a hidden one: {message:?}");
    let without = message.parts().iter().filter(|part| !matches!(part, Part::Reasoning(_))).cloned();
    let without = Message::of(message.id(), Role::Assistant, without);
    let results = [result(ids[0], ToolOutput::new("21 degrees")), result(ids[1], ToolOutput::new("rain"))];
    let answer = ask(&client, thoughtful(request([asked, without].into_iter().chain(results)))).await;
    let error = answer.error.unwrap();
    assert_eq!(error.kind(), ChatErrorKind::InvalidRequest, "{error}");
    assert!(error.message().contains("thinking"), "{error}");
}

#[tokio::test]
async fn thoughts_are_kept_apart_from_the_answer() {
    let server = start();
    for client in clients(&server) {
        let answer = ask(&client, thoughtful(request([Message::user("Please think.")]))).await;
        let provider = client.provider();
        assert_eq!(answer.error, None, "{provider}");
        assert_eq!(answer.text, "The answer is 42.", "{provider}");
        assert_eq!(answer.reasoning, "Let me think about that for a while.", "{provider}");
    }
}

#[tokio::test]
async fn a_cut_stream_is_never_taken_for_complete() {
    let server = start();
    for client in clients(&server) {
        let answer = ask(&client, request([Message::user("This is broken off.")])).await;
        assert_eq!(answer.stop, None, "{}: {answer:?}", client.provider());
        assert_eq!(answer.error.map(|error| error.kind()), Some(ChatErrorKind::Interrupted), "{}", client.provider());
    }
}

#[tokio::test]
async fn says_how_long_to_wait() {
    let server = start();
    for client in clients(&server) {
        let error = ask(&client, request([Message::user("These are too many.")])).await.error.unwrap();
        assert_eq!((error.kind(), error.status()), (ChatErrorKind::RateLimited, Some(429)), "{error}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)), "{}", client.provider());
    }
}

/// The server's journal has requests in OpenAI's form, whatever they came in.
#[tokio::test]
async fn options_reach_the_provider() {
    let server = start();
    let clients = [
        GenaiChatClient::new(GenaiProvider::OpenAiCompatible, "mistral-medium").with_base_url(&server.url("/v1")),
        GenaiChatClient::new(GenaiProvider::Anthropic, "claude-sonnet-4-5").with_base_url(&server.url("")),
    ];
    for client in clients {
        let mut options = ChatOptions::default();
        options.temperature = Some(0.25);
        options.max_tokens = Some(77);
        options.tool_choice = ToolChoice::Tool(ToolName::new("get_weather").unwrap());
        let asked = request([Message::user("Please think.")]).with_options(options);
        let client = client.with_api_key("test");
        assert_eq!(ask(&client, asked).await.error, None);
        let journal = server.call("GET", "/__aimock/journal", &Value::Null);
        let body = &journal.as_array().unwrap().last().unwrap()["body"];
        assert_eq!(body["model"], client.info().model(), "the name is not cut: {body:#}");
        assert_eq!(body["temperature"], 0.25);
        assert_eq!(body["max_tokens"], 77);
        assert_eq!(body["messages"][0]["content"], "Be brief.");
        assert_eq!(body["tools"][0]["function"]["name"], "get_weather");
        if client.provider() == GenaiProvider::OpenAiCompatible {
            assert_eq!(body["tool_choice"]["function"]["name"], "get_weather");
            assert_eq!(body["reasoning_effort"], Value::Null);
        }
    }
}
