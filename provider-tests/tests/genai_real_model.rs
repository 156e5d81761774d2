//! `GenaiChatClient` against a real language model, which `scripts/real-model.sh` fetches and starts: 130 MB or
//! more, so these tests run only where somebody asked for them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod servers;

use std::sync::Arc;

use futures_util::StreamExt;
use hpd_agent::{
    chat::{
        BoxFuture, ChatClient, ChatError, ChatErrorKind, ChatOptions, ChatRequest, ChatStream, ClientInfo, ToolChoice,
        genai::{GenaiChatClient, GenaiProvider},
    },
    event::Event,
    id::ThreadKey,
    message::{Message, Role, StopReason, SubAgentStatus, ToolOutput},
    prelude::*,
    testing::RequestChecker,
};
use serde_json::Value;
use servers::{ask, request, result};

/// One client for each wire format.
fn clients() -> Vec<GenaiChatClient> {
    let url = std::env::var("HPD_REAL_MODEL_URL")
        .expect("HPD_REAL_MODEL_URL is not set: scripts/real-model.sh starts a model and runs these tests");
    let model = std::env::var("HPD_REAL_MODEL").expect("HPD_REAL_MODEL is not set");
    let client = |provider, path: &str| {
        GenaiChatClient::new(provider, model.as_str()).with_api_key("none").with_base_url(&format!("{url}{path}"))
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

/// What makes a small model delegate: it has to call a tool when it is asked something, and must not call one when it has
/// the result. Left to itself it writes calls as text.
struct Steered(RequestChecker);

impl ChatClient for Steered {
    fn info(&self) -> &ClientInfo {
        self.0.info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        let asked = request.history.last().is_some_and(|message| message.role() == Role::User);
        let choice = if asked && !request.tools.is_empty() { ToolChoice::Required } else { ToolChoice::None };
        self.0.stream(short(request, 120, choice))
    }
}

#[derive(Default)]
struct Specialists;

#[tool_harness]
impl Specialists {
    /// Answers a question about the weather.
    #[subagent(agent_id = "specialist.weather", context = Fresh)]
    fn weather(&self) -> AgentConfig {
        AgentConfig::new("Weather").with_system_instructions("Answer in one short sentence.")
    }
}

async fn journal(agent: &Agent, thread: &ThreadKey) -> Vec<Arc<Event>> {
    let records = agent.session_store().read(thread.clone(), None, 1, usize::MAX).await.unwrap();
    records.into_iter().map(|record| record.event).collect()
}

fn count(events: &[Arc<Event>], name: &str) -> usize {
    events.iter().filter(|event| event.type_name() == name).count()
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh fetches one and runs this"]
async fn delegates_and_answers() {
    for client in clients() {
        let provider = client.provider();
        let agent = Agent::builder()
            .with_name("Coordinator")
            .with_system_instructions("Call the tool `weather` with a short question, then answer.")
            .with_chat_client(Steered(RequestChecker::new(Arc::new(client))))
            .with_tool_harness::<Specialists>()
            .with_permissions(Permissions::allow_all())
            .build()
            .await
            .unwrap();
        // Whatever the model says, and a request that a provider would refuse ends the run with an error.
        let result = agent.run("Is it warm in Paris in July?").await.unwrap();
        eprintln!("{provider}: {:?} {:?}", result.text(), result.usage_by_agent());
        let parent = journal(&agent, result.thread()).await;
        assert_eq!(count(&parent, "MODEL_RESPONSE"), 2, "{provider}");
        assert_eq!(count(&parent, "MESSAGE_TURN_FINISHED"), 1, "{provider}");
        let (coordinator, children) = result.usage_by_agent().split_first().unwrap();
        assert_eq!((&*coordinator.agent_name, coordinator.model_calls), ("Coordinator", 2), "{provider}");
        assert!(coordinator.usage.input_tokens > 0 && coordinator.usage.output_tokens > 0, "{provider}");

        let messages = agent.thread(result.session_id(), result.thread_id()).messages().await.unwrap();
        let calls: Vec<_> = messages.iter().flat_map(|message| message.calls().cloned().collect::<Vec<_>>()).collect();
        let results: Vec<_> =
            messages.iter().flat_map(|message| message.results().cloned().collect::<Vec<_>>()).collect();
        eprintln!("{provider}: {calls:?} {results:?}");
        assert!(!calls.is_empty() && calls.len() == results.len(), "{provider}");
        let mut delegated = 0;
        for (call, result) in calls.iter().zip(&results) {
            assert_eq!((&*call.name, result.call_id), ("weather", call.id), "{provider}");
            let sub_agent = result.metadata.sub_agent.as_ref();
            let arguments: Option<Value> = serde_json::from_str(&call.arguments).ok();
            let Some(input) = arguments
                .as_ref()
                .and_then(|arguments| arguments["input"].as_str())
                .filter(|input| !input.trim().is_empty())
            else {
                // Arguments that were cut, or that the model made up: it is told so, and no child begins.
                assert!(sub_agent.is_none() && result.output.is_error(), "{provider}: {call:?} {result:?}");
                continue;
            };
            delegated += 1;
            let sub_agent = sub_agent.unwrap();
            assert_eq!(sub_agent.status, SubAgentStatus::Completed, "{provider}: {result:?}");
            let child = journal(&agent, &sub_agent.thread).await;
            let types: Vec<_> = child.iter().map(|event| event.type_name()).collect();
            let expected = [
                "THREAD_CREATED",
                "THREAD_EXECUTION_STARTED",
                "MESSAGE_TURN_STARTED",
                "MODEL_REQUEST",
                "MODEL_RESPONSE",
                "MESSAGE_TURN_FINISHED",
                "THREAD_EXECUTION_FINISHED",
            ];
            assert_eq!(types, expected, "{provider}");
            let thread = agent.thread(&sub_agent.thread.session_id, &sub_agent.thread.thread_id);
            let said: Vec<_> =
                thread.messages().await.unwrap().iter().map(|message| message.text().into_owned()).collect();
            assert_eq!(said, [input, result.output.text()], "{provider}");
        }
        for name in ["SUBAGENT_INVOCATION_STARTED", "SUBAGENT_INVOCATION_COMPLETED"] {
            assert_eq!(count(&parent, name), delegated, "{provider}: {name}");
        }
        // However many there were, they are one agent.
        assert_eq!(children.len(), delegated.min(1), "{provider}");
        for child in children {
            assert_eq!((&*child.agent_name, child.model_calls as usize), ("weather", delegated), "{provider}");
            assert!(child.usage.input_tokens > 0 && child.usage.output_tokens > 0, "{provider}");
        }
    }
}
