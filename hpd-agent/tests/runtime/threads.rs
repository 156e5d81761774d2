//! Conversations: continuing, forking, continuing a child, conflicts.

use std::sync::Arc;

use hpd_agent::{
    id::ThreadKey,
    message::{Message, ToolCall},
    prelude::*,
    store::memory::MemorySessionStore,
    testing::{Hold, Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{agent, builder, children, instructions, journal};

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_was_in_this_process_and_in_another() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::texts(["one", "two", "three", "four"]);
    let build = async || builder(&script).with_session_store(store.clone()).build().await.unwrap();
    let first = build().await;
    first.thread("s", "main").run("a").await.unwrap();
    first.thread("s", "main").run("b").await.unwrap();
    let second = build().await;
    let result = second.thread("s", "main").run("c").await.unwrap();
    assert_eq!(result.text(), "three");
    let last = script.requests().pop().unwrap();
    assert_eq!(texts(&last.history.iter().cloned().collect::<Vec<_>>()), ["a", "one", "b", "two", "c"]);
    // The first agent has an older fold of the thread: it reads what the other one did, and goes on after it.
    let result = first.thread("s", "main").run("d").await.unwrap();
    assert_eq!(result.text(), "four");
    let messages = second.thread("s", "main").messages().await.unwrap();
    assert_eq!(texts(&messages), ["a", "one", "b", "two", "c", "three", "d", "four"]);
    journal(&second, result.thread()).await;
}

#[tokio::test]
async fn one_run_works_on_a_thread_at_a_time() {
    let hold = Hold::new();
    let script = ScriptedChatClient::replies([Reply::text("one").held_by(&hold), Reply::text("two")]);
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    let mut first = thread.run("a");
    first.start();
    tokio::task::yield_now().await;
    let error = thread.run("b").await.unwrap_err();
    assert_eq!(error.code(), "thread_busy");
    assert_eq!(agent.delete_session(first_session(&thread)).await.unwrap_err().code(), "thread_busy");
    hold.release();
    assert_eq!(first.await.unwrap().text(), "one");
    assert_eq!(thread.run("c").await.unwrap().text(), "two");
}

fn first_session(thread: &hpd_agent::agent::Thread) -> &hpd_agent::id::SessionId {
    &thread.key().unwrap().session_id
}

#[tokio::test]
async fn a_fork_sees_what_was_said_before_and_nothing_after() {
    let script = ScriptedChatClient::texts(["one", "two", "three"]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    main.run("a").await.unwrap();
    let fork = main.fork("fork").await.unwrap();
    main.run("b").await.unwrap();
    fork.run("c").await.unwrap();
    assert_eq!(texts(&fork.messages().await.unwrap()), ["a", "one", "c", "three"]);
    assert_eq!(texts(&main.messages().await.unwrap()), ["a", "one", "b", "two"]);
    // A fork of a fork, read from the store alone.
    let again = fork.fork("again").await.unwrap();
    assert_eq!(texts(&again.messages().await.unwrap()), ["a", "one", "c", "three"]);
    assert_eq!(main.fork("fork").await.unwrap_err().code(), "thread_exists");
    assert_eq!(agent.thread("s", "nowhere").fork("x").await.unwrap_err().code(), "thread_not_found");
}

/// What a child saw when it ran is what the store gives back of it later.
#[tokio::test]
async fn a_childs_conversation_is_the_same_when_it_is_read_again_and_can_be_continued() {
    let script = ScriptedChatClient::replies([
        Reply::text("Let me ask.").and_tool_call("summarizer", json!({"input": "x"})),
        Reply::text("the summary"),
        Reply::text("done"),
        Reply::text("more of it"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let child = agent.thread(&header.key.session_id, &header.key.thread_id);
    assert_eq!(texts(&child.messages().await.unwrap()), ["go", "Let me ask.", "x", "the summary"]);
    assert_eq!(child.run("more").await.unwrap().text(), "more of it");
    let last = script.requests().pop().unwrap();
    assert_eq!(instructions(&last), "You are the summarizer.", "the child goes on, not its parent");
    assert!(last.tools.is_empty());
    assert_eq!(
        texts(&last.history.iter().cloned().collect::<Vec<_>>()),
        ["go", "Let me ask.", "x", "the summary", "more"]
    );
}

#[tokio::test]
async fn a_deleted_session_is_gone() {
    let script = ScriptedChatClient::texts(["one", "two"]);
    let agent = agent(&script).await;
    let result = agent.run("a").await.unwrap();
    agent.delete_session(result.session_id()).await.unwrap();
    let thread = agent.thread(result.session_id(), result.thread_id());
    assert_eq!(thread.messages().await.unwrap_err().code(), "thread_not_found");
    thread.run("b").await.unwrap();
    assert_eq!(texts(&thread.messages().await.unwrap()), ["b", "two"]);
}

/// A provider that reuses the ids of its calls does no harm: ours are made of the message and the position.
#[tokio::test]
async fn call_ids_are_ours() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("nobody", json!({})).with_call_id("call_0"),
        Reply::tool_call("nobody", json!({})).with_call_id("call_0"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let messages = agent.thread(result.session_id(), result.thread_id()).messages().await.unwrap();
    let calls: Vec<ToolCall> = messages.iter().flat_map(|m| m.calls().cloned().collect::<Vec<_>>()).collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].id, calls[1].id);
    assert!(calls.iter().all(|call| call.provider_id.as_deref() == Some("call_0")));
    assert_eq!(calls[0].id.message(), messages[1].id());
    let key = ThreadKey::new(result.session_id(), result.thread_id()).unwrap();
    journal(&agent, &key).await;
}

#[tokio::test]
async fn an_agent_is_shared_between_tasks() {
    let script = ScriptedChatClient::from_fn(|request| match request.tools.is_empty() {
        true => Reply::text("child"),
        false if request.history.len() == 1 => Reply::tool_call("summarizer", json!({"input": "x"})),
        false => Reply::text("done"),
    });
    let agent = agent(&script).await;
    let runs: Vec<_> = (0..64)
        .map(|_| {
            let agent: Agent = agent.clone();
            tokio::spawn(async move { agent.run("go").await.unwrap().text().to_owned() })
        })
        .collect();
    for run in runs {
        assert_eq!(run.await.unwrap(), "done");
    }
}

/// A child that is continued is still a child: its name, its depth, and what it was denied.
#[tokio::test]
async fn a_continued_child_keeps_its_place_in_the_tree() {
    #[derive(Default)]
    struct Nested;
    #[tool_harness]
    impl Nested {
        /// For the root only.
        #[subagent(agent_id = "nested.child", tool_harnesses = [Nested], context = Isolated)]
        fn child(&self) -> AgentConfig {
            AgentConfig::new("Child").with_system_instructions("You are the child.")
        }

        /// Deletes.
        #[ai_function(requires_permission)]
        fn delete(&self) -> &'static str {
            "deleted"
        }
    }
    let script = ScriptedChatClient::replies([
        Reply::tool_call("delete", json!({})),
        Reply::tool_call("child", json!({"input": "x"})),
        Reply::text("first"),
        Reply::text("done"),
        Reply::tool_call("delete", json!({})),
        Reply::text("second"),
        Reply::text("third"),
    ]);
    let permissions = Permissions::ask_with(|request| {
        let delete = request.tool() == "delete";
        std::future::ready(if delete {
            PermissionDecision::deny("Never.").always()
        } else {
            PermissionDecision::allow()
        })
    });
    let agent = builder(&script).with_tool_harness::<Nested>().with_permissions(permissions).build().await.unwrap();
    let result = agent.run("go").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let child = agent.thread(&header.key.session_id, &header.key.thread_id);
    let mut run = child.run("more");
    let mut scopes = vec![];
    while let Some(envelope) = run.next().await {
        scopes.push((envelope.agent().depth, envelope.agent().agent_name.to_string()));
    }
    scopes.dedup();
    assert_eq!(scopes, [(1, "child".to_owned())]);
    run.await.unwrap();
    // What is for the root only is not shown, and what was denied above is neither shown nor run.
    let requests = script.requests();
    assert!(requests[4].tools.is_empty(), "{:?}", requests[4].tools);
    let told = requests[5].history.last().unwrap().results().next().unwrap().output.text().to_owned();
    assert!(told.contains("denied to an agent above"), "{told}");

    // Somebody else in its stead, but in its place.
    let mut run = child.clone().with_agent("coordinator").run("and you?");
    let chain: Vec<_> = run.next().await.unwrap().agent().agent_chain.iter().map(|name| name.to_string()).collect();
    assert_eq!(chain, ["Coordinator", "Coordinator"]);
    run.await.unwrap();
    let last = script.requests().pop().unwrap();
    assert_eq!(&*last.system, "You are the coordinator.");
    assert!(last.tools.is_empty());

    let error = child.clone().with_agent("nobody").run("x").await.unwrap_err();
    assert_eq!(error.code(), "unknown_agent");
    assert!(error.to_string().contains("`nobody`"), "{error}");
    assert_eq!(child.with_agent("no body").run("x").await.unwrap_err().code(), "invalid_id");
}

#[tokio::test]
async fn a_thread_of_an_agent_that_is_not_there_is_not_continued_by_another_one_unasked() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::texts(["one", "two"]);
    let build = async |id: &str| {
        builder(&script).with_session_store(store.clone()).with_agent_id(id.to_owned()).build().await.unwrap()
    };
    build("first").await.thread("s", "main").run("a").await.unwrap();
    let second = build("second").await;
    let error = second.thread("s", "main").run("b").await.unwrap_err();
    assert_eq!(error.code(), "unknown_agent");
    assert!(error.to_string().contains("`first`") && error.to_string().contains("with_agent"), "{error}");
    assert_eq!(second.thread("s", "main").with_agent("second").run("b").await.unwrap().text(), "two");
}

/// A thread that was deleted and made anew with as many records is another one.
#[tokio::test]
async fn a_thread_that_was_replaced_behind_an_agents_back_is_read_again() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::texts(["one", "two", "three"]);
    let build = async || builder(&script).with_session_store(store.clone()).build().await.unwrap();
    let (first, second) = (build().await, build().await);
    first.thread("s", "main").run("a").await.unwrap();
    second.delete_session(&hpd_agent::id::SessionId::new("s").unwrap()).await.unwrap();
    second.thread("s", "main").run("b").await.unwrap();
    first.thread("s", "main").run("c").await.unwrap();
    let asked = script.requests().pop().unwrap().history;
    assert_eq!(texts(&asked.iter().cloned().collect::<Vec<_>>()), ["b", "two", "c"]);
}
