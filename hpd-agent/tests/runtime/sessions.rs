//! Sessions and their threads when several hold them: denials for good, busy children, deletion, chains of forks.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    chat::BoxFuture,
    id::{SessionId, ThreadKey},
    permission::{PermissionPolicy, PermissionRequest, Ruling, ToolCallView},
    prelude::*,
    store::memory::MemorySessionStore,
    testing::{Hold, Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::faults::*;
use crate::support::{TestStore, agent, builder, children};

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
