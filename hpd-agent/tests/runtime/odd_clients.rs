//! Models that panic, or that stream what nobody expects.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo},
    message::StopReason,
    prelude::*,
    testing::RequestChecker,
};

use crate::faults::*;
use crate::support::Specialists;

/// A client that panics, or does odd things.
struct Odd<F>(ClientInfo, F);

impl<F: Fn(ChatRequest) -> BoxFuture<'static, Result<ChatStream, ChatError>> + Send + Sync + 'static> ChatClient
    for Odd<F>
{
    fn info(&self) -> &ClientInfo {
        &self.0
    }
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        (self.1)(request)
    }
}

fn odd<F: Fn(ChatRequest) -> BoxFuture<'static, Result<ChatStream, ChatError>> + Send + Sync + 'static>(
    f: F,
) -> Odd<F> {
    Odd(ClientInfo::new("odd", "odd"), f)
}

fn deltas(deltas: Vec<ChatDelta>) -> BoxFuture<'static, Result<ChatStream, ChatError>> {
    Box::pin(async move { Ok(ChatStream::from_deltas(deltas)) })
}

#[tokio::test(start_paused = true)]
async fn a_client_that_panics_fails_its_own_execution() {
    for place in 0..3 {
        let client = odd(move |request| {
            if request.system.contains("summarizer") {
                match place {
                    0 => panic!("in stream()"),
                    1 => return Box::pin(async { panic!("in the future") }),
                    _ => {
                        let stream = futures_util::stream::poll_fn(|_| panic!("in the stream"));
                        return Box::pin(async { Ok(ChatStream::new(stream)) });
                    }
                }
            }
            deltas(if request.history.len() == 1 {
                vec![
                    ChatDelta::ToolCallStart { index: 0, id: None, name: "summarizer".into() },
                    ChatDelta::ToolCallArguments { index: 0, text: r#"{"input":"x"}"#.into() },
                    ChatDelta::Finish(StopReason::ToolUse),
                ]
            } else {
                vec![ChatDelta::Text("done".into()), ChatDelta::Finish(StopReason::EndTurn)]
            })
        });
        let agent = Agent::builder()
            .with_chat_client(client)
            .with_tool_harness::<Specialists>()
            .with_permissions(Permissions::allow_all())
            .build()
            .await
            .unwrap();
        let result = ends("the run", agent.run("go").into_future()).await;
        all_ended(&agent, &format!("place {place}")).await;
        assert_eq!(result.unwrap().text(), "done");
    }
}

#[tokio::test]
async fn empty_pieces_are_nothing() {
    let turns = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(vec![]));
    let log = seen.clone();
    let client = odd(move |request| {
        log.lock().unwrap().push(request.history.clone());
        deltas(match turns.fetch_add(1, Ordering::SeqCst) {
            0 => vec![
                ChatDelta::Text("".into()),
                ChatDelta::Text("".into()),
                ChatDelta::Reasoning("".into()),
                ChatDelta::ToolCallStart { index: 7, id: None, name: "nobody".into() },
                ChatDelta::ToolCallArguments { index: 7, text: "".into() },
                ChatDelta::ToolCallArguments { index: 7, text: "".into() },
                ChatDelta::ToolCallStart { index: 2, id: None, name: "nobody".into() },
                ChatDelta::Finish(StopReason::ToolUse),
            ],
            _ => vec![ChatDelta::Text("done".into()), ChatDelta::Finish(StopReason::EndTurn)],
        })
    });
    let agent = Agent::builder().with_chat_client(client).build().await.unwrap();
    agent.run("go").await.unwrap();
    let seen = seen.lock().unwrap();
    let message = seen[1].iter().nth(1).unwrap();
    assert_eq!(message.calls().map(|call| &*call.arguments).collect::<Vec<_>>(), ["{}", "{}"]);
    assert_eq!(message.parts().len(), 2, "{:?}", message.parts());
}

#[tokio::test(start_paused = true)]
async fn strange_streams() {
    let call = |index| ChatDelta::ToolCallStart { index, id: Some("same".into()), name: "nobody".into() };
    let args = |index, text: &str| ChatDelta::ToolCallArguments { index, text: text.into() };
    let finish = || ChatDelta::Finish(StopReason::EndTurn);
    let cases: Vec<(&str, Vec<ChatDelta>)> = vec![
        ("arguments first", vec![args(0, "{}"), call(0), finish()]),
        ("finish twice", vec![ChatDelta::Text("a".into()), finish(), finish()]),
        ("text after finish", vec![ChatDelta::Text("a".into()), finish(), ChatDelta::Text("b".into())]),
        ("usage only", vec![ChatDelta::Usage(Default::default())]),
        ("usage and finish", vec![ChatDelta::Usage(Default::default()), finish()]),
        ("nothing", vec![]),
        ("finish", vec![finish()]),
        ("signature only", vec![ChatDelta::ReasoningSignature("s".into()), finish()]),
        ("same index twice", vec![call(0), call(0), finish()]),
        ("interleaved", vec![call(1), call(0), args(1, "{"), args(0, "{"), args(1, "}"), args(0, "}"), finish()]),
        ("text after call", vec![call(1), ChatDelta::Text("x".into()), call(0), finish()]),
        ("tool use without a call", vec![ChatDelta::Text("x".into()), ChatDelta::Finish(StopReason::ToolUse)]),
        ("many", (0..1_000).map(call).chain([finish()]).collect()),
        ("large", vec![ChatDelta::Text("x".repeat(10_000_000).into()), ChatDelta::Text("y".into()), finish()]),
    ];
    for (name, first) in cases {
        let turns = Arc::new(AtomicUsize::new(0));
        let client = odd(move |_| {
            deltas(match turns.fetch_add(1, Ordering::SeqCst) {
                0 => first.clone(),
                _ => vec![ChatDelta::Text("done".into()), ChatDelta::Finish(StopReason::EndTurn)],
            })
        });
        let client = RequestChecker::new(Arc::new(client));
        let agent = Agent::builder().with_chat_client(client).build().await.unwrap();
        let thread = agent.thread("s", "main");
        let outcome = ends(name, thread.run("go").into_future()).await;
        let fails = ["arguments first", "usage only", "nothing", "same index twice"].contains(&name);
        assert_eq!(outcome.is_err(), fails, "{name}: {outcome:?}");
        all_ended(&agent, name).await;
        assert_eq!(ends(name, thread.run("again").into_future()).await.unwrap().text(), "done", "{name}");
    }
}
