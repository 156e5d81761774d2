//! Cancellation reaches every descendant, and leaves journals that can be read and continued.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    agent::RunError,
    event::{EventBody, ExecutionOutcome},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{agent, builder, children, journal, types};

/// A root whose child waits for its model.
fn waiting_child() -> ScriptedChatClient {
    ScriptedChatClient::route()
        .when_system_contains("summarizer", [Reply::pending()])
        .otherwise([Reply::tool_call("summarizer", json!({"input": "x"})), Reply::text("again")])
}

#[tokio::test]
async fn a_run_that_is_cancelled_at_once_asks_no_model() {
    let script = ScriptedChatClient::texts(["never said"]);
    let agent = Agent::builder().with_chat_client(script.clone()).build().await.unwrap();
    let mut run = agent.run("Hello.");
    run.start();
    run.cancel();
    assert!(matches!(run.await, Err(RunError::Cancelled)));
    assert!(script.requests().is_empty());
}

#[tokio::test]
async fn cancelling_the_root_ends_every_descendant() {
    let script = waiting_child();
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    let mut run = thread.run("go");
    loop {
        let envelope = run.next().await.unwrap();
        if envelope.agent().depth == 1 && envelope.event.type_name() == "MODEL_REQUEST" {
            break;
        }
    }
    run.cancel();
    let mut ends = vec![];
    while let Some(envelope) = run.next().await {
        if let EventBody::ExecutionFinished(finished) = envelope.body() {
            ends.push((envelope.agent().depth, finished.outcome));
        }
    }
    assert_eq!(ends, [(1, ExecutionOutcome::Cancelled), (0, ExecutionOutcome::Cancelled)]);
    assert_eq!(run.await.unwrap_err().code(), "cancelled");
    let events = journal(&agent, thread.key().unwrap()).await;
    let names = types(&events);
    assert!(names.contains(&"SUBAGENT_INVOCATION_CANCELLED"), "{names:?}");
    // The call has its result, so that the conversation can go on.
    assert_eq!(thread.run("again").await.unwrap().text(), "again");
}

#[tokio::test]
async fn dropping_a_run_cancels_it_and_detaching_it_does_not() {
    let waiting = agent(&ScriptedChatClient::replies([Reply::pending()])).await;
    let mut run = waiting.run("go");
    let mut events = run.subscribe();
    run.start();
    drop(run);
    let mut last = None;
    while let Some(envelope) = events.next().await {
        last = Some(envelope);
    }
    let EventBody::ExecutionFinished(finished) = last.unwrap().body().clone() else { panic!("not finished") };
    assert_eq!(finished.outcome, ExecutionOutcome::Cancelled);

    let hold = hpd_agent::testing::Hold::new();
    let held = agent(&ScriptedChatClient::replies([Reply::text("detached").held_by(&hold)])).await;
    let run = held.run("go");
    let mut events = run.subscribe();
    let _ = run.detach();
    hold.release();
    let mut last = None;
    while let Some(envelope) = events.next().await {
        last = Some(envelope);
    }
    let EventBody::ExecutionFinished(finished) = last.unwrap().body().clone() else { panic!("not finished") };
    assert_eq!(finished.outcome, ExecutionOutcome::Succeeded);
}

/// A model that talks without end and without a pause.
struct Endless(hpd_agent::chat::ClientInfo);

impl hpd_agent::chat::ChatClient for Endless {
    fn info(&self) -> &hpd_agent::chat::ClientInfo {
        &self.0
    }

    fn stream(
        &self,
        _: hpd_agent::chat::ChatRequest,
    ) -> hpd_agent::chat::BoxFuture<'_, Result<hpd_agent::chat::ChatStream, hpd_agent::chat::ChatError>> {
        let deltas = std::iter::repeat_with(|| hpd_agent::chat::ChatDelta::Text("x".into()));
        Box::pin(std::future::ready(Ok(hpd_agent::chat::ChatStream::from_deltas(deltas))))
    }
}

#[tokio::test]
async fn a_model_that_never_pauses_can_be_cancelled() {
    let client = Endless(hpd_agent::chat::ClientInfo::new("test", "endless"));
    let agent = Agent::builder().with_chat_client(client).build().await.unwrap();
    let mut run = agent.run("go");
    run.start();
    tokio::task::yield_now().await;
    run.cancel();
    assert_eq!(run.await.unwrap_err().code(), "cancelled");
}

#[derive(Clone, Default)]
struct Slow(Arc<AtomicUsize>);

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tool_harness]
impl Slow {
    /// Never ends by itself.
    #[ai_function]
    async fn forever(&self) -> String {
        let _guard = Guard(self.0.clone());
        std::future::pending().await
    }
}

#[tokio::test]
async fn functions_that_ignore_cancellation_are_dropped_and_answered() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let script = ScriptedChatClient::replies([
        Reply::tool_call("forever", json!({})).and_tool_call("forever", json!({})),
        Reply::text("later"),
    ]);
    let agent = builder(&script).with_tool_harness_value(Slow(dropped.clone())).build().await.unwrap();
    let thread = agent.thread("s", "main");
    let mut run = thread.run("go");
    let mut started = 0;
    while started < 2 {
        started += usize::from(run.next().await.unwrap().event.type_name() == "TOOL_EXECUTION_STARTED");
    }
    run.cancel();
    assert_eq!(run.await.unwrap_err().code(), "cancelled");
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    let events = journal(&agent, thread.key().unwrap()).await;
    assert_eq!(types(&events).iter().filter(|name| **name == "TOOL_CALL_RESULT").count(), 2);
    assert_eq!(thread.run("again").await.unwrap().text(), "later");
}

#[tokio::test]
async fn a_question_for_permission_ends_with_the_run() {
    let script = ScriptedChatClient::replies([Reply::tool_call("summarizer", json!({"input": "x"}))]);
    let agent = builder(&script)
        .with_tool_harness::<crate::support::Specialists>()
        .with_permissions(Permissions::ask())
        .build()
        .await
        .unwrap();
    let thread = agent.thread("s", "main");
    let run = thread.run("go");
    let mut requests = run.permission_requests();
    let handle = run.handle();
    let running = tokio::spawn(run.into_future());
    let request = requests.next().await.unwrap();
    handle.cancel();
    assert_eq!(running.await.unwrap().unwrap_err().code(), "cancelled");
    assert_eq!(
        requests.respond(request.id(), PermissionDecision::allow()),
        hpd_agent::permission::RespondOutcome::Cancelled
    );
    assert!(requests.next().await.is_none());
    assert!(children(&agent, thread.key().unwrap()).await.is_empty());
}

#[tokio::test]
async fn many_runs_that_are_dropped_leave_nothing_behind() {
    let script = ScriptedChatClient::from_fn(|request| match request.tools.is_empty() {
        true => Reply::pending(),
        false => Reply::tool_call("summarizer", json!({"input": "x"})),
    });
    let agent = agent(&script).await;
    let mut streams = vec![];
    for n in 0..200 {
        let mut run = agent.thread(format!("s{n}"), "main").run("go");
        streams.push(run.subscribe());
        run.start();
        if n % 3 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for stream in &mut streams {
        while stream.next().await.is_some() {}
    }
    for n in 0..200 {
        let key = hpd_agent::id::ThreadKey::new(format!("s{n}"), "main").unwrap();
        assert!(agent.runtime_state(&key).await.unwrap().active_execution.is_none());
        let events = journal(&agent, &key).await;
        assert_eq!(*types(&events).last().unwrap(), "THREAD_EXECUTION_FINISHED");
    }
}

mod slow_commits {
    use std::time::Duration;

    use super::*;
    use crate::support::TestStore;

    #[derive(Default)]
    struct Chatty;

    #[tool_harness]
    impl Chatty {
        /// Says things without end.
        #[ai_function]
        async fn talk(&self, ctx: &FunctionContext) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            loop {
                ctx.emit("word", json!(1)).await?;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_that_is_dropped_takes_no_commit_with_it() {
        let script = ScriptedChatClient::replies([
            Reply::tool_call("talk", json!({})).and_tool_call("talk", json!({})),
            Reply::text("later"),
        ]);
        let agent = builder(&script)
            .with_session_store(Arc::new(TestStore { delay: Duration::from_millis(10), ..TestStore::default() }))
            .with_tool_harness::<Chatty>()
            .build()
            .await
            .unwrap();
        let thread = agent.thread("s", "main");
        let mut run = thread.run("go");
        while run.next().await.unwrap().event.type_name() != "CUSTOM" {}
        // In the middle of the commit of the next word.
        tokio::time::sleep(Duration::from_millis(5)).await;
        run.cancel();
        assert_eq!(run.await.unwrap_err().code(), "cancelled");
        let events = journal(&agent, thread.key().unwrap()).await;
        assert_eq!(*types(&events).last().unwrap(), "THREAD_EXECUTION_FINISHED");
        assert_eq!(thread.run("again").await.unwrap().text(), "later");
    }
}
