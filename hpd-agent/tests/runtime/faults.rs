//! Stores that fail at every commit, runs that end at every event: what is left can be read and continued.

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hpd_agent::{
    chat::ChatRequest,
    event::ThreadKind,
    id::ThreadKey,
    message::Message,
    prelude::*,
    store::{SessionStore, ThreadQuery, ThreadRecord},
    testing::{Reply, RequestChecker, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Fault, TestStore, builder, journal, types};

/// With a paused clock this fails as soon as nothing can go on.
pub(crate) async fn ends<F: Future>(what: &str, future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(3_600), future).await.unwrap_or_else(|_| panic!("{what} hangs"))
}

#[derive(Default)]
pub(crate) struct Tools;

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
pub(crate) fn busy_script() -> ScriptedChatClient {
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

pub(crate) fn always() -> Permissions {
    Permissions::ask_with(|_| async {
        tokio::task::yield_now().await;
        PermissionDecision::allow().always()
    })
}

/// All threads of a store except those of the runtime itself.
pub(crate) async fn threads(store: &dyn SessionStore) -> Vec<ThreadRecord> {
    let mut query = ThreadQuery::default();
    query.include_hidden = true;
    let all = store.threads(query).await.unwrap();
    all.into_iter().filter(|thread| thread.header.thread_kind != ThreadKind::Session).collect()
}

/// What a store gives back can be asked of a model: every call has one result, and so on.
pub(crate) async fn readable(agent: &Agent, key: &ThreadKey) {
    let messages = agent.thread(&key.session_id, &key.thread_id).messages().await.unwrap();
    let mut history: hpd_agent::history::History = messages.into_iter().collect();
    history.push(Arc::new(Message::user("?")));
    RequestChecker::check(&ChatRequest::new(history)).unwrap();
}

pub(crate) async fn all_ended(agent: &Agent, what: &str) {
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
            let store = Arc::new(TestStore::failing(fault, at));
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
            assert!(agent.runtime_state(thread.key().unwrap()).await.unwrap().active_execution.is_none());
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
