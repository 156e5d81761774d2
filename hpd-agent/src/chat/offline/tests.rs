use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::*;
use crate::{
    chat::{ChatOptions, Schema, ToolSet},
    history::History,
    id::{CallId, MessageId, ToolName},
    message::{Part, ResultMetadata, ToolCall, ToolOutput, ToolResult},
    testing::RequestChecker,
};

const TEXT: &str = "The scheduler assigns tasks to workers. When a worker fails, the scheduler assigns its tasks to other \
    workers. Workers report finished tasks to the scheduler. Lunch is at noon. The owner of this page is TBD.";

fn input_tool(name: &str) -> ToolSpec {
    let schema = r#"{"type":"object","properties":{"input":{"type":"string"},"context":{"type":"string"}},"required":["input"]}"#;
    ToolSpec::new(ToolName::new(name).unwrap(), "A specialist.", Schema::from_static(schema))
}

fn other_tool() -> ToolSpec {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    ToolSpec::new(ToolName::new("weather").unwrap(), "The weather.", Schema::from_static(schema))
}

fn tools() -> ToolSet {
    ToolSet::from_iter([input_tool("summarizer"), other_tool(), input_tool("reviewer")])
}

fn request(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    ChatRequest::new(messages.into_iter().map(Arc::new).collect())
}

async fn deltas(request: ChatRequest) -> Vec<ChatDelta> {
    let client = OfflineChatClient::new();
    let stream = client.stream(request).await.unwrap().checked(client.info());
    stream.map(Result::unwrap).collect().await
}

async fn answer(request: ChatRequest) -> String {
    let texts = deltas(request).await.into_iter().filter_map(|delta| match delta {
        ChatDelta::Text(text) => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

fn calls(deltas: &[ChatDelta]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            ChatDelta::ToolCallStart { name, .. } => calls.push((name.to_string(), String::new())),
            ChatDelta::ToolCallArguments { index, text } => calls[*index as usize].1.push_str(text),
            _ => {}
        }
    }
    calls
}

#[tokio::test]
async fn delegates_a_document_to_all_tools_that_take_it() {
    let deltas = deltas(request([Message::user(TEXT)]).with_tools(tools())).await;
    let arguments = json!({"input": TEXT}).to_string();
    assert_eq!(calls(&deltas), [("summarizer".to_owned(), arguments.clone()), ("reviewer".to_owned(), arguments)]);
    assert_eq!(deltas.last(), Some(&ChatDelta::Finish(StopReason::ToolUse)));
    assert!(deltas.len() > 6, "it is streamed in pieces");
}

#[tokio::test]
async fn obeys_the_choice_of_tools() {
    let with = async |text: &str, choice| {
        let options = ChatOptions { tool_choice: choice, ..ChatOptions::default() };
        let asked = request([Message::user(text)]).with_tools(tools()).with_options(options);
        calls(&deltas(asked).await).len()
    };
    assert_eq!(with(TEXT, ToolChoice::None).await, 0);
    assert_eq!(with(TEXT, ToolChoice::Tool(ToolName::new("reviewer").unwrap())).await, 1);
    assert_eq!(with("Hi there.", ToolChoice::Auto).await, 0);
    assert_eq!(with("Hi there.", ToolChoice::Required).await, 2);
}

#[tokio::test]
async fn delegates_a_short_text_where_the_system_prompt_names_the_tool() {
    let with = async |text: &str, system: &str| {
        let asked = request([Message::user(text)]).with_tools(tools()).with_system(system);
        calls(&deltas(asked).await).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let both = "Call the tools `summarizer` and `reviewer` once each.";
    assert_eq!(with("Hello there. This is a text.", both).await, ["summarizer", "reviewer"]);
    assert_eq!(with("Hello.", "Use `reviewer` for texts, `weather` for the weather.").await, ["reviewer"]);
    assert_eq!(with("Hello.", "You know the summarizer.").await, Vec::<String>::new());
    assert_eq!(with(" ", both).await, Vec::<String>::new());
}

#[tokio::test]
async fn puts_results_together() {
    let id = MessageId::generate();
    let call = |index, name: &str| ToolCall::new(CallId::new(id, index), name, "{}");
    let tool = |index, name: &str, output| {
        let (call_id, name) = (CallId::new(id, index), name.into());
        Message::tool(MessageId::generate(), ToolResult { call_id, name, output, metadata: ResultMetadata::default() })
    };
    let names = ["summarizer", "reviewer", "quiet"];
    let parts = (0..).zip(names).map(|(index, name)| Part::ToolCall(call(index, name)));
    let asked = request([
        Message::user(TEXT),
        Message::of(id, Role::Assistant, parts),
        tool(0, names[0], ToolOutput::new("- short")),
        tool(1, names[1], ToolOutput::error("no permission")),
        tool(2, names[2], ToolOutput::new("")),
    ]);
    let asked = asked.with_tools(tools());
    RequestChecker::check(&asked).unwrap();
    let answer = answer(asked).await;
    assert!(answer.starts_with("## summarizer\n\n- short\n\n## reviewer\n\n"), "{answer}");
    assert!(answer.contains("failed: no permission") && answer.contains("## quiet"), "{answer}");
}

#[tokio::test]
async fn summarizes_or_reviews_as_the_system_prompt_says() {
    let asked = |system: &str| request([Message::user(TEXT)]).with_system(system);
    for system in ["Summarize the request in three concise bullets.", "", "You are helpful."] {
        let summary = answer(asked(system)).await;
        assert_eq!(summary.lines().filter(|line| line.starts_with("- ")).count(), 3, "{summary}");
        assert!(!summary.contains("Lunch"), "{summary}");
    }
    let review = answer(asked("You review drafts and report actionable issues.")).await;
    assert!(review.contains("Placeholder") && review.contains("TBD"), "{review}");
}

#[tokio::test]
async fn finds_the_text_in_an_earlier_message() {
    let messages = [Message::user(TEXT), Message::assistant("Noted."), Message::user("Review the text above.")];
    let review = answer(request(messages).with_system("Reviewer")).await;
    assert!(review.contains("TBD"), "{review}");
}

#[tokio::test]
async fn says_what_it_is_and_what_is_missing() {
    assert_eq!(answer(request([Message::user("Hello!")])).await, ABOUT);
    assert_eq!(answer(request([Message::user("Hello!")]).with_tools(tools())).await, ABOUT);
    assert_eq!(answer(request([Message::user(" \n ")])).await, NOTHING);
    assert_eq!(answer(ChatRequest::new(History::new())).await, NOTHING);
    let notice = Message::user("Task 7 is done.").with_provenance(Provenance::Notice);
    assert!(answer(request([notice])).await.ends_with("Task 7 is done."));
    assert_eq!(answer(request([Message::user("One thing.")]).with_system("Summarize.")).await, "- One thing.");
}

#[tokio::test]
async fn other_scripts_and_odd_texts() {
    let japanese = "分散システムは複数の計算機で動く。計算機が故障してもシステムは動き続ける。昼食は正午です。\
        システムの状態は計算機の間で複製される。複製は計算機の故障に備える。";
    let summary = answer(request([Message::user(japanese)])).await;
    assert_eq!(summary.lines().count(), 3, "{summary}");
    for text in ["🙂🙂🙂", "\u{202e}abc\u{0}", "....", "a\r\nb\r\nc", "# only\n## headings", "&&& *** ___"] {
        assert!(!answer(request([Message::user(text)]).with_system("review")).await.is_empty(), "{text:?}");
    }
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer() {
    let messages = || [Message::user(TEXT.repeat(5))];
    assert_eq!(deltas(request(messages())).await, deltas(request(messages())).await);
}

#[tokio::test]
async fn counts_tokens_and_keeps_to_the_limit() {
    let options = ChatOptions { max_tokens: Some(5), ..ChatOptions::default() };
    let deltas = deltas(request([Message::user("Hello!")]).with_system("Be kind.").with_options(options)).await;
    assert_eq!(deltas.last(), Some(&ChatDelta::Finish(StopReason::MaxTokens)));
    let usage = deltas.iter().find_map(|delta| match delta {
        ChatDelta::Usage(usage) => Some(*usage),
        _ => None,
    });
    assert_eq!(usage, Some(Usage::new(4, 5)));
}

#[tokio::test]
async fn huge_texts_take_no_time() {
    let mut text = String::new();
    for n in 0..2_000 {
        text.push_str(&format!("Sentence {n} says that part {} of the machine needs {} screws. ", n % 97, n % 31));
    }
    assert!(text.len() > 100_000);
    let start = Instant::now();
    for system in ["summarize", "review"] {
        assert!(!answer(request([Message::user(text.as_str())]).with_system(system)).await.is_empty());
    }
    // Some ten milliseconds in an optimized build; this one is not.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
