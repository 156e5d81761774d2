//! Everything that can go wrong goes wrong once: stores, models, handlers, and callers that go away.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hpd_agent::{
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo},
    event::ThreadKind,
    id::{OwnerId, SessionId, ThreadKey},
    message::{Message, StopReason},
    permission::{PermissionPolicy, PermissionRequest, Ruling, ToolCallView},
    prelude::*,
    store::{
        Batch, CommitError, Committed, Fence, LeaseError, OutboxEntry, OutboxQuery, Position, Record, SessionStore,
        StoreError, ThreadQuery, ThreadRecord, memory::MemorySessionStore,
    },
    testing::{Hold, Reply, RequestChecker, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Specialists, TestStore, agent, builder, children, journal, results, types};

/// With a paused clock this fails as soon as nothing can go on.
async fn ends<F: Future>(what: &str, future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(3_600), future).await.unwrap_or_else(|_| panic!("{what} hangs"))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Refused,
    UnknownApplied,
    UnknownNotApplied,
    UnknownForGood,
    Conflict,
}

/// Fails one commit.
struct FaultyStore {
    inner: MemorySessionStore,
    fault: Fault,
    at: usize,
    commits: AtomicUsize,
}

impl FaultyStore {
    fn new(fault: Fault, at: usize) -> Self {
        Self { inner: MemorySessionStore::new(), fault, at, commits: AtomicUsize::new(0) }
    }
}

fn broken() -> StoreError {
    StoreError::Backend { source: "the disk is gone".into() }
}

impl SessionStore for FaultyStore {
    fn is_durable(&self) -> bool {
        false
    }
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        let for_good = self.fault == Fault::UnknownForGood && (self.at..self.at + 4).contains(&number);
        if number != self.at && !for_good {
            return self.inner.commit(batch);
        }
        Box::pin(async move {
            let thread = batch.appends[0].thread.clone();
            match self.fault {
                Fault::Refused => Err(broken().into()),
                Fault::UnknownApplied | Fault::UnknownForGood => {
                    let _ = self.inner.commit(batch).await;
                    Err(CommitError::Unknown(broken()))
                }
                Fault::UnknownNotApplied => Err(CommitError::Unknown(broken())),
                Fault::Conflict => Err(CommitError::Conflict { thread, expected: 1, actual: 2 }),
            }
        })
    }
    fn read(
        &self,
        thread: ThreadKey,
        generation: Option<u64>,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.inner.read(thread, generation, from, limit)
    }
    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRecord>, StoreError>> {
        self.inner.threads(query)
    }
    fn outbox(&self, query: OutboxQuery) -> BoxFuture<'_, Result<Vec<OutboxEntry>, StoreError>> {
        self.inner.outbox(query)
    }
    fn acquire(&self, thread: ThreadKey, owner: OwnerId, ttl: Duration) -> BoxFuture<'_, Result<Fence, LeaseError>> {
        self.inner.acquire(thread, owner, ttl)
    }
    fn renew(&self, fences: Vec<Fence>, ttl: Duration) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.inner.renew(fences, ttl)
    }
    fn release(&self, fence: Fence) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.inner.release(fence)
    }
    fn changed(&self, after: Position) -> BoxFuture<'_, Result<Position, StoreError>> {
        self.inner.changed(after)
    }
    fn delete_session(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.delete_session(session)
    }
}

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Deletes a file.
    #[ai_function(requires_permission)]
    fn delete(&self, path: String) -> String {
        format!("deleted {path}")
    }

    /// Says something on the way.
    #[ai_function]
    async fn talk(&self, ctx: &FunctionContext) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        ctx.emit("word", json!(1)).await?;
        Ok("talked".to_owned())
    }

    /// Panics.
    #[ai_function]
    async fn explode(&self) -> String {
        panic!("boom")
    }

    /// A child with the same tools.
    #[subagent(agent_id = "helper", tool_harnesses = [Tools])]
    fn helper(&self) -> AgentConfig {
        AgentConfig::new("Helper").with_system_instructions("You are the helper.")
    }

    /// A child of its own session.
    #[subagent(agent_id = "hermit", tool_harnesses = [Tools], context = Isolated)]
    fn hermit(&self) -> AgentConfig {
        AgentConfig::new("Hermit").with_system_instructions("You are the hermit.")
    }
}

/// A root and two children that use everything; what is asked of it does not depend on the order.
fn busy_script() -> ScriptedChatClient {
    ScriptedChatClient::from_fn(|request| {
        let last = request.history.last().unwrap();
        let result = last.results().next().is_some();
        let child = request.system.contains("helper") || request.system.contains("hermit");
        match (child, result) {
            (true, false) => Reply::text("On it.")
                .and_tool_call("talk", json!({}))
                .and_tool_call("delete", json!({"path": "x"}))
                .in_chunks(3),
            (true, true) => Reply::text("child done").in_chunks(2),
            (false, false) if last.text() == "again" => Reply::text("again"),
            (false, false) => Reply::text("Let me see.")
                .and_tool_call("helper", json!({"input": "x"}))
                .and_tool_call("talk", json!({}))
                .and_tool_call("explode", json!({}))
                .and_tool_call("nobody", json!({}))
                .and_tool_call("hermit", json!({"input": "y"})),
            (false, true) => Reply::text("done"),
        }
    })
}

fn always() -> Permissions {
    Permissions::ask_with(|_| async {
        tokio::task::yield_now().await;
        PermissionDecision::allow().always()
    })
}

/// All threads of a store except those of the runtime itself.
async fn threads(store: &dyn SessionStore) -> Vec<ThreadRecord> {
    let mut query = ThreadQuery::default();
    query.include_hidden = true;
    let all = store.threads(query).await.unwrap();
    all.into_iter().filter(|thread| thread.header.thread_kind != ThreadKind::Session).collect()
}

/// What a store gives back can be asked of a model: every call has one result, and so on.
async fn readable(agent: &Agent, key: &ThreadKey) {
    let messages = agent.thread(&key.session_id, &key.thread_id).messages().await.unwrap();
    let mut history: hpd_agent::history::History = messages.into_iter().collect();
    history.push(Arc::new(Message::user("?")));
    RequestChecker::check(&ChatRequest::new(history)).unwrap();
}

async fn all_ended(agent: &Agent, what: &str) {
    for thread in threads(&**agent.session_store()).await {
        let events = journal(agent, &thread.header.key).await;
        assert_eq!(types(&events).last(), Some(&"THREAD_EXECUTION_FINISHED"), "{what}: {}", thread.header.key);
        readable(agent, &thread.header.key).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_once_leaves_a_thread_that_can_be_continued() {
    for fault in
        [Fault::Refused, Fault::UnknownApplied, Fault::UnknownNotApplied, Fault::UnknownForGood, Fault::Conflict]
    {
        for at in 0..60 {
            let what = format!("{fault:?} at {at}");
            let store = Arc::new(FaultyStore::new(fault, at));
            let agent = builder(&busy_script())
                .with_tool_harness::<Tools>()
                .with_session_store(store.clone())
                .with_permissions(always())
                .build()
                .await
                .unwrap();
            let thread = agent.thread("s", "main");
            let outcome = ends(&what, thread.run("go").into_future()).await;
            let reached = store.commits.load(Ordering::SeqCst) > at;
            match fault {
                Fault::UnknownApplied | Fault::UnknownNotApplied => {
                    assert_eq!(outcome.as_ref().unwrap().text(), "done", "{what}");
                    all_ended(&agent, &what).await;
                }
                _ => {
                    if !reached {
                        assert_eq!(outcome.as_ref().unwrap().text(), "done", "{what}");
                    }
                }
            }
            assert!(agent.runtime_state(thread.key().unwrap()).active_execution.is_none());
            if !reached {
                break;
            }
            let again = ends(&what, thread.run("again").into_future()).await;
            assert_eq!(again.unwrap_or_else(|error| panic!("{what}: {error}")).text(), "again", "{what}");
            readable(&agent, thread.key().unwrap()).await;
            for child in threads(&*store).await {
                let key = &child.header.key;
                let origin = child.header.origin.is_some();
                let events = journal(&agent, key).await;
                if fault == Fault::Refused {
                    assert_eq!(types(&events).last(), Some(&"THREAD_EXECUTION_FINISHED"), "{what}: {key}");
                }
                let child = agent.thread(&key.session_id, &key.thread_id);
                let again = ends(&what, child.run("again").into_future()).await;
                let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
                // A child's thread is continued by the child.
                let expected = if origin { "child done" } else { "again" };
                assert_eq!(again.text(), expected, "{what}");
                readable(&agent, key).await;
            }
            assert!(at < 59, "raise the limit");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_cancelled_or_dropped_at_every_event() {
    for dropped in [false, true] {
        for k in 0.. {
            let what = format!("dropped: {dropped}, event {k}");
            let agent =
                builder(&busy_script()).with_tool_harness::<Tools>().with_permissions(always()).build().await.unwrap();
            let thread = agent.thread("s", "main");
            let mut run = thread.run("go");
            let mut all = run.subscribe();
            let mut over = false;
            for _ in 0..k {
                over |= ends(&what, run.next()).await.is_none();
            }
            if dropped {
                drop(run);
            } else {
                run.cancel();
                let outcome = ends(&what, run.into_future()).await;
                assert!(over || outcome.is_err_and(|error| error.code() == "cancelled") || k > 20, "{what}");
            }
            while ends(&what, all.next()).await.is_some() {}
            if !(dropped && k == 0) {
                all_ended(&agent, &what).await;
            }
            assert_eq!(ends(&what, thread.run("again").into_future()).await.unwrap().text(), "again", "{what}");
            readable(&agent, thread.key().unwrap()).await;
            if over {
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_listens_to_a_run_that_never_starts_ends_with_it() {
    let agent = agent(&ScriptedChatClient::texts(["x"])).await;
    let run = agent.run("go");
    let (mut events, mut requests) = (run.subscribe(), run.permission_requests());
    drop(run);
    assert!(ends("the events", events.next()).await.is_none());
    assert!(ends("the requests", requests.next()).await.is_none());
}

#[test]
fn what_listens_to_a_run_ends_with_its_runtime() {
    let first = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (run, mut events, mut requests) = first.block_on(async {
        let agent = agent(&ScriptedChatClient::texts(["x"])).await;
        let mut run = agent.run("go");
        let (events, requests) = (run.subscribe(), run.permission_requests());
        run.start();
        (run, events, requests)
    });
    drop(first);
    let second = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    second.block_on(async {
        assert_eq!(ends("the run", run.into_future()).await.unwrap_err().code(), "cancelled");
        assert!(ends("the events", events.next()).await.is_none());
        assert!(ends("the requests", requests.next()).await.is_none());
    });
}

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

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_denies() {
    struct Explosive(bool);
    impl PermissionPolicy for Explosive {
        fn rule(&self, _: &ToolCallView<'_>) -> Ruling {
            assert!(!self.0, "in the rule");
            Ruling::Ask
        }
        fn answer(&self, _: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
            panic!("in the answer")
        }
    }
    for permissions in [
        Permissions::from_policy(Explosive(true)),
        Permissions::from_policy(Explosive(false)),
        Permissions::ask_with(|_| async { panic!("in the handler") }),
    ] {
        let script =
            ScriptedChatClient::replies([Reply::tool_call("delete", json!({"path": "x"})), Reply::text("done")]);
        let agent = builder(&script).with_tool_harness::<Tools>().with_permissions(permissions).build().await.unwrap();
        let result = ends("the run", agent.run("go").into_future()).await;
        all_ended(&agent, &format!("{result:?}")).await;
        let result = result.unwrap();
        let [told] = results(&agent, &result).await.try_into().unwrap();
        assert!(told.output.is_error(), "{}", told.output.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_shown_once_to_somebody_who_comes_while_it_is_being_committed() {
    let script = ScriptedChatClient::replies([Reply::tool_call("delete", json!({"path": "x"})), Reply::text("done")]);
    let agent = builder(&script)
        .with_tool_harness::<Tools>()
        .with_session_store(Arc::new(TestStore { delay: Duration::from_millis(10), ..TestStore::default() }))
        .with_permissions(Permissions::ask())
        .build()
        .await
        .unwrap();
    let run = agent.run("go");
    let handle = run.handle();
    let running = tokio::spawn(run.into_future());
    // The beginning is one commit, the question the next one.
    tokio::time::sleep(Duration::from_millis(15)).await;
    let mut requests = handle.permission_requests();
    let mut seen = 0;
    while let Some(request) = ends("the requests", requests.next()).await {
        seen += 1;
        requests.respond(request.id(), PermissionDecision::allow());
    }
    running.await.unwrap().unwrap();
    assert_eq!(seen, 1);
}

#[tokio::test]
async fn a_denial_for_good_holds_in_every_thread_of_the_session() {
    let script = ScriptedChatClient::from_fn(|request| match request.history.last().unwrap().results().next() {
        Some(_) => Reply::text("done"),
        None if request.history.last().unwrap().text() == "hello" => Reply::text("hello"),
        None => Reply::tool_call("delete", json!({"path": "x"})),
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let permissions = Permissions::ask_with(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { PermissionDecision::deny("Never.").always() }
    });
    let agent = builder(&script).with_tool_harness::<Tools>().with_permissions(permissions).build().await.unwrap();
    // Both threads are known before the answer is given.
    agent.thread("s", "one").run("hello").await.unwrap();
    agent.thread("s", "two").run("hello").await.unwrap();
    agent.thread("s", "one").run("go").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    agent.thread("s", "two").run("go").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_was_denied_for_good_no_child_can_do_whatever_the_rule_says() {
    struct ChildrenMay;
    impl PermissionPolicy for ChildrenMay {
        fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
            if call.agent.depth == 0 && call.tool == "delete" { Ruling::Ask } else { Ruling::Allow }
        }
        fn answer(&self, _: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
            Box::pin(std::future::ready(Some(PermissionDecision::deny("Never.").always())))
        }
    }
    let script = ScriptedChatClient::route()
        .when_system_contains("helper", [Reply::tool_call("delete", json!({"path": "x"})), Reply::text("ok")])
        .otherwise([
            Reply::tool_call("delete", json!({"path": "a"})),
            Reply::tool_call("helper", json!({"input": "x"})),
            Reply::text("done"),
        ]);
    let agent = builder(&script)
        .with_tool_harness::<Tools>()
        .with_permissions(Permissions::from_policy(ChildrenMay))
        .build()
        .await
        .unwrap();
    let result = agent.run("go").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let messages = agent.thread(&header.key.session_id, &header.key.thread_id).messages().await.unwrap();
    let told: Vec<_> = messages.iter().flat_map(|m| m.results().cloned().collect::<Vec<_>>()).collect();
    assert!(told.last().unwrap().output.is_error(), "{told:?}");
}

#[tokio::test]
async fn a_child_that_runs_is_busy_and_its_session_cannot_be_deleted() {
    let hold = Hold::new();
    let script = ScriptedChatClient::route()
        .when_system_contains("hermit", [Reply::text("child").held_by(&hold), Reply::text("more")])
        .otherwise([Reply::tool_call("hermit", json!({"input": "x"})), Reply::text("done")]);
    let agent = builder(&script).with_tool_harness::<Tools>().build().await.unwrap();
    let mut run = agent.thread("s", "main").run("go");
    run.start();
    hold.reached(1).await;
    let [header] = children(&agent, &ThreadKey::new("s", "main").unwrap()).await.try_into().unwrap();
    let child = agent.thread(&header.key.session_id, &header.key.thread_id);
    assert_eq!(child.run("more").await.unwrap_err().code(), "thread_busy");
    assert_eq!(agent.delete_session(&header.key.session_id).await.unwrap_err().code(), "thread_busy");
    hold.release();
    assert_eq!(run.await.unwrap().text(), "done");
    all_ended(&agent, "").await;
}

#[tokio::test]
async fn the_sessions_own_thread_is_no_fork() {
    let agent = agent(&ScriptedChatClient::texts(["one"])).await;
    let thread = agent.thread("s", "main");
    thread.run("a").await.unwrap();
    assert_eq!(thread.fork("$session").await.unwrap_err().code(), "invalid_id");
}

#[tokio::test]
async fn an_answer_of_one_agent_can_be_the_input_of_another() {
    let script = ScriptedChatClient::replies([
        Reply::reasoning("Hm.").and_text("Look.").and_tool_call("nobody", json!({})),
        Reply::empty(),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let first = agent.run("go").await.unwrap();
    let message = first.message().unwrap().clone();
    assert_eq!(agent.run(message).await.unwrap().text(), "done");
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

#[tokio::test]
async fn a_thread_that_somebody_else_deleted_begins_anew() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::texts(["one", "two", "three"]);
    let build = async || builder(&script).with_session_store(store.clone()).build().await.unwrap();
    let (first, second) = (build().await, build().await);
    first.thread("s", "main").run("a").await.unwrap();
    second.delete_session(&SessionId::new("s").unwrap()).await.unwrap();
    assert_eq!(first.thread("s", "main").run("b").await.unwrap().text(), "two");
    assert_eq!(first.thread("s", "main").messages().await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_was_allowed_for_good_is_forgotten_with_its_session() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::from_fn(|request| match request.history.last().unwrap().results().next() {
        Some(_) => Reply::text("done"),
        None => Reply::tool_call("delete", json!({"path": "x"})),
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let build = async || {
        let asked = asked.clone();
        let permissions = Permissions::ask_with(move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            async { PermissionDecision::allow().always() }
        });
        let builder = builder(&script).with_tool_harness::<Tools>().with_permissions(permissions);
        builder.with_session_store(store.clone()).build().await.unwrap()
    };
    let (first, second) = (build().await, build().await);
    first.thread("s", "main").run("go").await.unwrap();
    second.delete_session(&SessionId::new("s").unwrap()).await.unwrap();
    first.thread("s", "main").run("go").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    first.thread("s", "main").run("go").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn two_agents_may_begin_a_thread_at_once() {
    let store = Arc::new(TestStore::default());
    let hold = Hold::new();
    let script = ScriptedChatClient::replies([Reply::text("one").held_by(&hold), Reply::text("two").held_by(&hold)]);
    let build = async || builder(&script).with_session_store(store.clone()).build().await.unwrap();
    let (first, second) = (build().await, build().await);
    let mut one = first.thread("s", "main").run("a");
    let mut two = second.thread("s", "main").run("b");
    one.start();
    two.start();
    hold.release();
    let (one, two) = (one.await, two.await);
    assert!(one.is_ok() || two.is_ok());
    readable(&first, &ThreadKey::new("s", "main").unwrap()).await;
}

#[test]
fn a_question_in_a_runtime_without_time_is_denied() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let script =
            ScriptedChatClient::replies([Reply::tool_call("delete", json!({"path": "x"})), Reply::text("done")]);
        let permissions = Permissions::ask_with(|_| async { PermissionDecision::allow() });
        let agent = builder(&script).with_tool_harness::<Tools>().with_permissions(permissions).build().await.unwrap();
        let result = agent.run("go").await.unwrap();
        let [told] = results(&agent, &result).await.try_into().unwrap();
        assert!(told.output.is_error(), "{}", told.output.text());
        all_ended(&agent, "").await;
    });
}

#[tokio::test]
async fn a_long_chain_of_forks_can_be_read() {
    let agent = agent(&ScriptedChatClient::texts(["one"])).await;
    let mut thread = agent.thread("s", "main");
    thread.run("a").await.unwrap();
    for number in 0..600 {
        thread = thread.fork(format!("fork-{number}")).await.unwrap();
    }
    assert_eq!(thread.messages().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_definition_that_panics_is_an_error_of_build() {
    #[derive(Default)]
    struct Bad;
    #[tool_harness]
    impl Bad {
        /// Panics.
        #[subagent(agent_id = "bad")]
        fn bad(&self) -> AgentConfig {
            panic!("no definition")
        }
        /// Panics later.
        #[subagent(agent_id = "worse")]
        async fn worse(&self) -> AgentConfig {
            std::future::ready(()).await;
            panic!("no definition")
        }
    }
    let error = builder(&ScriptedChatClient::texts(["x"])).with_tool_harness::<Bad>().build().await.unwrap_err();
    let text = error.to_string();
    assert!(text.matches("no definition").count() == 2 && text.contains("Bad.worse"), "{text}");
}

/// What every thread says when it is read again is what its model was shown.
#[tokio::test]
async fn what_is_read_again_is_what_was_seen() {
    let script = ScriptedChatClient::from_fn(|request| {
        let last = request.history.last().unwrap();
        let answered = last.results().next().is_some();
        match request.system.as_ref() {
            system if system.contains("inner") => Reply::text("inner"),
            system if system.contains("middle") && answered => Reply::text("middle"),
            _ if answered => Reply::text("outer"),
            _ => Reply::reasoning("Hm.")
                .and_text("Both.")
                .and_tool_call("next", json!({"input": "a"}))
                .and_tool_call("nobody", json!({}))
                .and_tool_call("next", json!({"input": "b"})),
        }
    });
    #[derive(Default)]
    struct Inner;
    #[tool_harness]
    impl Inner {
        /// The next one.
        #[subagent(agent_id = "inner", name = "next", availability = SubAgentAvailability::ANY_ALLOWED_DEPTH)]
        fn inner(&self) -> AgentConfig {
            AgentConfig::new("Inner").with_system_instructions("You are inner.")
        }
    }
    #[derive(Default)]
    struct Outer;
    #[tool_harness]
    impl Outer {
        /// The next one.
        #[subagent(agent_id = "middle", name = "next", tool_harnesses = [Inner])]
        fn middle(&self) -> AgentConfig {
            AgentConfig::new("Middle").with_system_instructions("You are middle.")
        }
    }
    let agent = builder(&script).with_tool_harness::<Outer>().build().await.unwrap();
    let main = agent.thread("s", "main");
    for _ in 0..2 {
        main.run("go").await.unwrap();
    }
    let requests = script.requests();
    let all = threads(&**agent.session_store()).await;
    // Per turn the root, two children, four grandchildren.
    assert_eq!(all.len(), 1 + 2 * (2 + 4));
    for thread in all {
        let key = &thread.header.key;
        let messages = agent.thread(&key.session_id, &key.thread_id).messages().await.unwrap();
        let (last, shown) = messages.split_last().unwrap();
        assert_eq!(last.role(), hpd_agent::message::Role::Assistant);
        let history: hpd_agent::history::History = shown.iter().cloned().collect();
        let live = requests.iter().find(|request| request.history.hash() == history.hash()).unwrap();
        assert!(live.history.iter().map(|message| &**message).eq(shown.iter().map(|message| &**message)), "{key}");
    }
}

#[tokio::test]
async fn deep_trees_end_on_small_stacks() {
    let script = ScriptedChatClient::from_fn(|request| {
        let asked = request.history.last().unwrap().results().next().is_none();
        if asked && !request.tools.is_empty() {
            return Reply::tool_call("deeper", json!({"input": "x"}));
        }
        Reply::text("done")
    });
    #[derive(Default)]
    struct Deep;
    #[tool_harness]
    impl Deep {
        /// Deeper.
        #[subagent(agent_id = "deeper", tool_harnesses = [Deep], context = Fresh,
                   availability = SubAgentAvailability::ANY_ALLOWED_DEPTH)]
        fn deeper(&self) -> AgentConfig {
            AgentConfig::new("Deeper").with_max_sub_agent_depth(u32::MAX)
        }
    }
    let depth = 300;
    let agent = builder(&script).with_max_sub_agent_depth(depth).with_tool_harness::<Deep>().build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "done");
    assert_eq!(threads(&**agent.session_store()).await.len(), 301);
    all_ended(&agent, "deep").await;
}

#[test]
fn a_deep_tree_survives_the_end_of_its_runtime() {
    let script = ScriptedChatClient::from_fn(|request| match request.tools.is_empty() {
        true => Reply::pending(),
        false => Reply::tool_call("deeper", json!({"input": "x"})),
    });
    #[derive(Default)]
    struct Deep;
    #[tool_harness]
    impl Deep {
        /// Deeper.
        #[subagent(agent_id = "deeper2", name = "deeper", tool_harnesses = [Deep], context = Fresh,
                   availability = SubAgentAvailability::ANY_ALLOWED_DEPTH)]
        fn deeper(&self) -> AgentConfig {
            AgentConfig::new("Deeper").with_max_sub_agent_depth(u32::MAX)
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let agent = builder(&script).with_max_sub_agent_depth(400).with_tool_harness::<Deep>().build().await.unwrap();
        let mut run = agent.run("go");
        while run.next().await.unwrap().agent().depth < 400 {}
        drop(agent);
        std::mem::forget(run);
    });
    drop(runtime);
}

#[tokio::test]
async fn a_denial_for_good_reaches_an_isolated_child_that_runs_already() {
    let hold = Hold::new();
    let script = ScriptedChatClient::route()
        .when_system_contains(
            "hermit",
            [Reply::tool_call("delete", json!({"path": "x"})).held_by(&hold), Reply::text("ok")],
        )
        .otherwise([
            Reply::tool_call("hermit", json!({"input": "x"})).and_tool_call("delete", json!({"path": "a"})),
            Reply::text("done"),
        ]);
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, release) = (asked.clone(), hold.clone());
    let permissions = Permissions::ask_with(move |request: PermissionRequest| {
        let denied = request.tool() == "delete";
        count.fetch_add(usize::from(denied), Ordering::SeqCst);
        std::future::ready(match denied {
            true => PermissionDecision::deny("Never.").always(),
            false => PermissionDecision::allow(),
        })
    });
    let agent = builder(&script).with_tool_harness::<Tools>().with_permissions(permissions).build().await.unwrap();
    let mut run = agent.run("go");
    while run.next().await.unwrap().event.type_name() != "TOOL_CALL_RESULT" {}
    release.release();
    assert_eq!(run.await.unwrap().text(), "done");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Somebody who never reads in time gets every durable event once, and in the order of its thread.
#[tokio::test]
async fn a_listener_that_sleeps_through_a_run_gets_all_that_is_durable() {
    #[derive(Default)]
    struct Chatty;
    #[tool_harness]
    impl Chatty {
        /// Says a lot.
        #[ai_function]
        async fn chat(&self, ctx: &FunctionContext) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            for number in 0..3_000 {
                ctx.emit("kept", json!(number)).await?;
                ctx.emit_live("shown", json!(number));
            }
            Ok(())
        }
        /// Says a lot, too.
        #[subagent(agent_id = "chatty", tool_harnesses = [Chatty])]
        fn child(&self) -> AgentConfig {
            AgentConfig::new("Child").with_system_instructions("You are the child.")
        }
    }
    let script = ScriptedChatClient::route()
        .when_system_contains("child", [Reply::tool_call("chat", json!({})), Reply::text("child")])
        .otherwise([
            Reply::tool_call("child", json!({"input": "x"})).and_tool_call("chat", json!({})),
            Reply::text("done"),
        ]);
    let agent = builder(&script).with_tool_harness::<Chatty>().build().await.unwrap();
    let run = agent.run("go");
    let mut events = run.subscribe();
    run.await.unwrap();
    let mut seen = std::collections::HashMap::<ThreadKey, u64>::new();
    let mut missed = 0;
    let mut live = 0;
    while let Some(envelope) = events.next().await {
        match (envelope.sequence, envelope.body()) {
            (Some(sequence), _) => {
                let last = seen.entry(envelope.thread.clone()).or_default();
                assert_eq!(sequence.get(), *last + 1, "{}", envelope.thread);
                *last = sequence.get();
            }
            (None, hpd_agent::event::EventBody::EventsMissed(gap)) => missed += gap.count,
            (None, hpd_agent::event::EventBody::Custom(_)) => live += 1,
            (None, _) => {}
        }
    }
    assert!(missed + live >= 6_000 && missed > 0, "{missed} {live}");
    for thread in threads(&**agent.session_store()).await {
        assert_eq!(seen[&thread.header.key], thread.len, "{}", thread.header.key);
    }
}

/// Nothing that a run leaves keeps its agent alive.
#[tokio::test(start_paused = true)]
async fn an_agent_goes_away_with_its_last_run() {
    let client = Arc::new(busy_script());
    let weak = Arc::downgrade(&client);
    let agent = Agent::builder()
        .with_chat_client(client)
        .with_tool_harness::<Tools>()
        .with_permissions(Permissions::ask())
        .build()
        .await
        .unwrap();
    for way in 0..60 {
        let mut run = agent.thread(format!("s{way}"), "main").run("go");
        let mut events = run.subscribe();
        let mut requests = run.permission_requests();
        match way % 6 {
            0 => drop(run),
            1 => {
                run.start();
                drop(run);
            }
            2 => {
                run.start();
                let request = requests.next().await.unwrap();
                requests.respond(request.id(), PermissionDecision::allow());
                drop(run);
            }
            3 => {
                let _ = run.detach();
                drop(requests);
                while events.next().await.is_some() {}
            }
            4 => {
                run.next().await.unwrap();
                run.cancel();
                let _ = run.await;
            }
            _ => {
                let _ = run.next().await;
                drop(events);
                drop(requests);
                let _ = ends("a run whose questions nobody takes", run.into_future()).await;
            }
        }
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    drop(agent);
    assert!(weak.upgrade().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_that_are_cancelled_anywhere_all_end() {
    let agent = builder(&busy_script()).with_tool_harness::<Tools>().with_permissions(always()).build().await.unwrap();
    let runs: Vec<_> = (0..400)
        .map(|number| {
            let agent = agent.clone();
            tokio::spawn(async move {
                let thread = agent.thread(format!("s{}", number % 40), format!("t{number}"));
                let mut run = thread.run("go");
                let mut events = run.subscribe();
                run.start();
                for _ in 0..number % 53 {
                    run.next().await;
                }
                if number % 2 == 0 {
                    run.cancel()
                } else {
                    drop(run)
                }
                while events.next().await.is_some() {}
            })
        })
        .collect();
    for run in runs {
        run.await.unwrap();
    }
    all_ended(&agent, "").await;
}
