//! `GenaiChatClient` against a real language model, which `scripts/real-model.sh` fetches and starts: 130 MB, so these
//! tests run only where somebody asked for them.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod servers;

use futures_util::StreamExt;
use hpd_agent::{
    chat::{
        ChatClient, ChatErrorKind, ChatOptions, ChatRequest, ToolChoice,
        genai::{GenaiChatClient, GenaiProvider},
    },
    message::{Message, StopReason, ToolOutput},
};
use servers::{ask, request, result};

/// One client for each wire format.
fn clients() -> Vec<GenaiChatClient> {
    let url = std::env::var("HPD_REAL_MODEL_URL")
        .expect("HPD_REAL_MODEL_URL is not set: scripts/real-model.sh starts a model and runs these tests");
    let client = |provider, path: &str| {
        GenaiChatClient::new(provider, "smollm2").with_api_key("none").with_base_url(&format!("{url}{path}"))
    };
    vec![client(GenaiProvider::OpenAiCompatible, "/v1"), client(GenaiProvider::Anthropic, "")]
}

/// The most likely answer, of at most this many tokens.
fn short(request: ChatRequest, tokens: u32, choice: ToolChoice) -> ChatRequest {
    let mut options = ChatOptions::default();
    options.temperature = Some(0.0);
    options.max_tokens = Some(tokens);
    options.tool_choice = choice;
    request.with_options(options)
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh fetches one and runs this"]
async fn says_something() {
    for client in clients() {
        let asked = ChatRequest::new([Message::user("Say hello.")].into_iter().map(Into::into).collect());
        let answer = ask(&client, short(asked, 48, ToolChoice::Auto)).await;
        eprintln!("{}: {:?}", client.provider(), answer.text);
        assert_eq!(answer.error, None);
        assert!(!answer.text.is_empty() && answer.pieces > 1);
        assert!(matches!(answer.stop, Some(StopReason::EndTurn | StopReason::MaxTokens)), "{answer:?}");
        let usage = answer.usage.unwrap();
        assert!(usage.input_tokens > 0 && (1..=48).contains(&usage.output_tokens), "{usage:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh fetches one and runs this"]
async fn calls_a_tool_and_goes_on_with_its_result() {
    for client in clients() {
        let asked = Message::user("What is the weather in Paris?");
        let answer = ask(&client, short(request([asked.clone()]), 64, ToolChoice::Required)).await;
        eprintln!("{}: {:?} {:?}", client.provider(), answer.calls, answer.stop);
        assert_eq!(answer.error, None);
        assert!(answer.calls.iter().any(|(_, name, _)| &**name == "get_weather"), "{answer:?}");
        // Its arguments may be cut: the conversation goes on nevertheless.
        let (message, ids) = answer.message();
        let results = ids.into_iter().map(|id| result(id, ToolOutput::new("21 degrees, sunny")));
        let messages = [asked, message].into_iter().chain(results);
        let answer = ask(&client, short(request(messages), 48, ToolChoice::None)).await;
        eprintln!("{}: {:?}", client.provider(), answer.text);
        assert_eq!(answer.error, None);
        assert!(answer.stop.is_some());
    }
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh fetches one and runs this"]
async fn a_dropped_answer_does_no_harm_to_the_next() {
    for client in clients() {
        let asked = || {
            let asked = ChatRequest::new([Message::user("Tell a long story.")].into_iter().map(Into::into).collect());
            short(asked, 400, ToolChoice::Auto)
        };
        let mut stream = client.stream(asked()).await.unwrap();
        assert!(stream.next().await.is_some());
        drop(stream);
        let answer = ask(&client, short(asked(), 8, ToolChoice::Auto)).await;
        assert_eq!((answer.error, answer.stop), (None, Some(StopReason::MaxTokens)));
    }
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh fetches one and runs this"]
async fn a_text_that_is_too_long_is_recognized() {
    for client in clients() {
        let long = "word ".repeat(20_000);
        let asked = ChatRequest::new([Message::user(long)].into_iter().map(Into::into).collect());
        let error = ask(&client, short(asked, 8, ToolChoice::Auto)).await.error.unwrap();
        eprintln!("{}: {error}", client.provider());
        assert_eq!(error.kind(), ChatErrorKind::ContextTooLong, "{error}");
    }
}
