//! The graph of a session, the headers that it shows, and forks of threads that are empty or interrupted.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hpd_agent::{
    agent::Thread,
    event::{
        Event, EventBody, EventSource, ForkPoint, InvocationMode, ResolvedContext, ThreadHeader, ThreadKind,
        TurnStarted, Visibility,
    },
    id::{AgentId, ThreadKey, TurnId},
    message::Message,
    prelude::*,
    session::{ChildStatus, RuntimeChild, ThreadGraph},
    store::{Append, Batch, SessionStore, memory::MemorySessionStore},
    testing::{Hold, Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Specialists, TestStore, agent, builder, children, journal};

/// The status of one child, and of the others.
fn statuses(graph: &ThreadGraph, of: &RuntimeChild) -> (ChildStatus, Vec<ChildStatus>) {
    let (one, others): (Vec<_>, Vec<_>) =
        graph.runtime_children.iter().partition(|child| child.thread_id == of.thread_id);
    (one[0].status, others.into_iter().map(|child| child.status).collect())
}

async fn only_child(agent: &Agent, session: &str) -> RuntimeChild {
    let [child] = agent.thread_graph(session).await.unwrap().runtime_children.try_into().unwrap();
    child
}

/// Runs `script` in a runtime that ends as soon as an answer is held, as a process does that is killed.
fn interrupted(store: &Arc<MemorySessionStore>, script: &ScriptedChatClient, hold: &Hold) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let agent = builder(script).with_session_store(store.clone());
        let agent = agent.with_tool_harness::<Specialists>().build().await.unwrap();
        let mut run = agent.thread("s", "main").run("go");
        run.start();
        hold.reached(1).await;
        std::mem::forget(run);
    });
}

async fn over(store: &Arc<MemorySessionStore>, script: &ScriptedChatClient) -> Agent {
    let builder = builder(script).with_session_store(store.clone());
    builder.with_tool_harness::<Specialists>().build().await.unwrap()
}

/// What the graph says of a thread's length is what reading it gives.
async fn check_lengths(agent: &Agent, graph: &ThreadGraph) {
    for thread in &graph.threads {
        let key = &thread.header.key;
        let messages = agent.thread(&key.session_id, &key.thread_id).messages().await.unwrap();
        assert_eq!(thread.message_count, messages.len(), "{key}");
    }
}

#[tokio::test]
async fn a_graph_shows_each_child_with_all_that_is_known_of_it() {
    let script = ScriptedChatClient::replies([
        Reply::text("Let me ask.").and_tool_call("reviewer", json!({"input": "x", "context": "fork"})),
        Reply::text("reviewed"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    agent.thread("s", "main").run("go").await.unwrap();
    let graph = agent.thread_graph("s").await.unwrap();
    check_lengths(&agent, &graph).await;
    let [header] = children(&agent, &ThreadKey::new("s", "main").unwrap()).await.try_into().unwrap();
    let events = journal(&agent, &ThreadKey::new("s", "main").unwrap()).await;
    let invocation = events.iter().find_map(|event| match event.body() {
        EventBody::SubAgentInvocationStarted(started) => Some(Arc::clone(&started.invocation)),
        _ => None,
    });
    let invocation = invocation.unwrap();
    assert_eq!(invocation.mode, InvocationMode::Synchronous);
    let [child] = &*graph.runtime_children else { panic!("{graph:?}") };
    assert_eq!(child.thread(), header.key);
    assert_eq!(child.thread(), invocation.child());
    assert_eq!(child.default_agent_id.as_str(), "specialist.reviewer");
    assert_eq!((child.parent_session_id.as_str(), child.parent_thread_id.as_str()), ("s", "main"));
    assert_eq!((&*child.name, child.sub_agent_name.as_str()), ("Reviewer", "reviewer"));
    assert_eq!((child.kind, child.visibility), (ThreadKind::SubAgent, Visibility::Hidden));
    assert_eq!(child.invocation_id, invocation.invocation_id);
    assert_eq!(child.parent_tool_call_id, invocation.parent_tool_call_id);
    assert_eq!(child.sub_agent_source_kind, "SuppliedAgentConfiguration");
    assert_eq!(child.context_policy, ResolvedContext::Fork);
    assert_eq!(child.status, ChildStatus::Succeeded);
    assert_eq!(child.message_count, 4, "two of the parent's, the task, the answer");
    assert_eq!(child.created_at, header.created_at);
    let last = journal(&agent, &child.thread()).await.last().unwrap().timestamp();
    assert_eq!(child.last_activity, last);

    // A host sends it on.
    let json = serde_json::to_value(&graph).unwrap();
    let sent = &json["runtimeChildren"][0];
    for (key, value) in [
        ("threadId", json!(child.thread_id)),
        ("sessionId", json!("s")),
        ("defaultAgentId", json!("specialist.reviewer")),
        ("parentSessionId", json!("s")),
        ("parentThreadId", json!("main")),
        ("name", json!("Reviewer")),
        ("kind", json!("subagent")),
        ("visibility", json!("hidden")),
        ("subAgentName", json!("reviewer")),
        ("invocationId", json!(invocation.invocation_id)),
        ("subAgentSourceKind", json!("SuppliedAgentConfiguration")),
        ("parentToolCallId", json!(invocation.parent_tool_call_id)),
        ("contextPolicy", json!("Fork")),
        ("status", json!("Succeeded")),
        ("messageCount", json!(4)),
        ("createdAt", json!(child.created_at)),
        ("lastActivity", json!(child.last_activity)),
    ] {
        assert_eq!(sent[key], value, "{key}");
    }
    assert_eq!(sent.as_object().unwrap().len(), 17);
    let first = json["threads"].as_array().unwrap().iter().find(|thread| thread["threadId"] == "main").unwrap();
    assert_eq!((&first["messageCount"], &first["visibility"]), (&json!(4), &json!("visible")));
    assert_eq!(json["forkGroups"][0]["forkedFrom"]["threadId"], "main");
    assert_eq!(serde_json::from_value::<ThreadGraph>(json).unwrap(), graph);
}

/// Typed fields for what the runtime knows; the author's keys, and only those, in the free map.
#[tokio::test]
async fn a_childs_thread_is_hidden_and_its_header_has_every_field() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("reviewer", json!({"input": "x"})).and_tool_call("isolated", json!({"input": "y"})),
        Reply::text("one"),
        Reply::text("two"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    main.run("go").await.unwrap();
    let all = children(&agent, main.key().unwrap()).await;
    assert_eq!(all.len(), 2);
    for header in all {
        let reviewer = header.default_agent_id.as_str() == "specialist.reviewer";
        let origin = header.origin.clone().unwrap();
        assert_eq!((header.thread_kind, header.visibility), (ThreadKind::SubAgent, Visibility::Hidden));
        let author = if reviewer { json!({"team": "writing"}) } else { json!({}) };
        assert_eq!(json!(*header.thread_metadata), author);
        let policy = if reviewer { "Fresh" } else { "Isolated" };
        let name = if reviewer { "reviewer" } else { "isolated" };
        let mut expected = author;
        for (key, value) in [
            ("kind", "subagent".to_owned()),
            ("defaultAgentId", header.default_agent_id.to_string()),
            ("subAgentName", name.to_owned()),
            ("subAgentSourceKind", "SuppliedAgentConfiguration".to_owned()),
            ("parentSessionId", "s".to_owned()),
            ("parentThreadId", "main".to_owned()),
            ("parentToolCallId", origin.parent_tool_call_id.to_string()),
            ("invocationId", origin.invocation_id.to_string()),
            ("contextPolicy", policy.to_owned()),
            ("visibility", "hidden".to_owned()),
            ("createdBy", "subagent".to_owned()),
        ] {
            expected[key] = json!(value);
        }
        assert_eq!(json!(header.metadata()), expected);
        // The same after it was stored and read.
        let created = Arc::clone(&journal(&agent, &header.key).await[0]);
        let EventBody::ThreadCreated(read) = Event::from_json(created.to_json().unwrap()).unwrap().body().clone()
        else {
            panic!("{created:?}")
        };
        assert_eq!(read, header);
    }
    // Nobody sees them who does not ask for hidden ones.
    let mut visible = hpd_agent::store::ThreadQuery::session(main.key().unwrap().session_id.clone());
    visible.include_hidden = false;
    assert_eq!(agent.session_store().threads(visible).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_isolated_child_is_in_the_graph_of_its_own_session() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("isolated", json!({"input": "x"})),
        Reply::text("alone"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    main.run("go").await.unwrap();
    let graph = agent.thread_graph("s").await.unwrap();
    assert_eq!((graph.threads.len(), graph.runtime_children.len()), (1, 0));
    let [header] = children(&agent, main.key().unwrap()).await.try_into().unwrap();
    let graph = agent.thread_graph(&header.key.session_id).await.unwrap();
    assert_eq!((graph.threads.len(), graph.runtime_children.len(), graph.fork_groups.len()), (1, 1, 0));
    assert_eq!(graph.runtime_children[0].parent_session_id.as_str(), "s");
    assert_eq!(graph.runtime_children[0].message_count, 2);
}

#[tokio::test]
async fn a_status_follows_the_executions_of_the_child() {
    let hold = Hold::new();
    let script = ScriptedChatClient::route()
        .when_system_contains("fresh", [Reply::text("one").held_by(&hold), Reply::empty(), Reply::pending()])
        .otherwise([
            Reply::tool_call("fresh", json!({"input": "x"})),
            Reply::text("done"),
            Reply::tool_call("fresh", json!({"input": "x"})),
            Reply::text("done"),
        ]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    let mut run = main.run("go");
    run.start();
    hold.reached(1).await;
    assert_eq!(only_child(&agent, "s").await.status, ChildStatus::Active);
    hold.release();
    run.await.unwrap();
    let first = only_child(&agent, "s").await;
    assert_eq!((first.status, first.message_count), (ChildStatus::Succeeded, 2));
    main.run("again").await.unwrap();
    let graph = agent.thread_graph("s").await.unwrap();
    assert_eq!(statuses(&graph, &first), (ChildStatus::Succeeded, vec![ChildStatus::Failed]));

    // A continuation counts as well.
    let child = agent.thread(&first.session_id, &first.thread_id);
    let mut run = child.run("more");
    while run.next().await.unwrap().event.type_name() != "MODEL_REQUEST" {}
    let graph = agent.thread_graph("s").await.unwrap();
    assert_eq!(statuses(&graph, &first), (ChildStatus::Active, vec![ChildStatus::Failed]));
    run.cancel();
    run.await.unwrap_err();
    let graph = agent.thread_graph("s").await.unwrap();
    assert_eq!(statuses(&graph, &first), (ChildStatus::Cancelled, vec![ChildStatus::Failed]));
}

/// Nobody finds an execution in a journal before its agent says that it works.
#[tokio::test]
async fn a_child_that_works_is_never_shown_as_interrupted() {
    let script = ScriptedChatClient::from_fn(|request| match request.system.contains("fresh") {
        true => Reply::text("one").delayed(Duration::from_millis(1)),
        false if request.history.len() == 1 => Reply::tool_call("fresh", json!({"input": "x"})),
        false => Reply::text("done"),
    });
    let store = Arc::new(TestStore { delay: Duration::from_millis(1), ..Default::default() });
    let agent = builder(&script).with_session_store(store);
    let agent = agent.with_tool_harness::<Specialists>().build().await.unwrap();
    tokio::time::pause();
    let run = tokio::spawn(agent.thread("s", "main").run("go").into_future());
    let mut seen = BTreeMap::new();
    while !run.is_finished() {
        for child in agent.thread_graph("s").await.unwrap().runtime_children {
            *seen.entry(format!("{:?}", child.status)).or_insert(0) += 1;
        }
        tokio::time::advance(Duration::from_micros(100)).await;
    }
    assert!(seen.contains_key("Active") && !seen.contains_key("Interrupted"), "{seen:?}");
}

#[test]
fn a_child_whose_process_is_gone_is_interrupted_until_it_is_continued() {
    let (store, hold) = (Arc::new(MemorySessionStore::new()), Hold::new());
    let script = ScriptedChatClient::replies([
        Reply::text("Let me ask.").and_tool_call("summarizer", json!({"input": "x"})),
        Reply::text("never").held_by(&hold),
        Reply::text("after all"),
        Reply::text("well"),
    ]);
    interrupted(&store, &script, &hold);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let agent = over(&store, &script).await;
        let child = only_child(&agent, "s").await;
        assert_eq!((child.status, child.message_count), (ChildStatus::Interrupted, 3));

        // A fork leaves the call out that has no result; what was said stays.
        let main = agent.thread("s", "main");
        let texts = async |thread: &Thread| -> Vec<String> {
            thread.messages().await.unwrap().iter().map(|message| message.text().into_owned()).collect()
        };
        let fork = main.fork("fork").await.unwrap();
        assert_eq!(texts(&fork).await, ["go", "Let me ask."]);
        assert!(fork.messages().await.unwrap().iter().all(|message| message.calls().count() == 0));
        let graph = agent.thread_graph("s").await.unwrap();
        assert_eq!(graph.fork_groups.len(), 1, "the child and the fork begin at the same point");
        assert_eq!(graph.fork_groups[0].threads.len(), 2);
        check_lengths(&agent, &graph).await;

        let thread = agent.thread(&child.session_id, &child.thread_id).existing();
        assert_eq!(thread.run("Go on.").await.unwrap().text(), "after all");
        let child = only_child(&agent, "s").await;
        assert_eq!((child.status, child.message_count), (ChildStatus::Succeeded, 5));
        assert_eq!(fork.run("and?").await.unwrap().text(), "well");
    });
}

#[tokio::test]
async fn forks_of_the_same_point_are_a_group() {
    let script = ScriptedChatClient::from_fn(|_| Reply::text("yes"));
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    main.run("a").await.unwrap();
    main.fork("one").await.unwrap();
    let two = main.fork("two").await.unwrap();
    main.run("b").await.unwrap();
    main.fork("three").await.unwrap();
    // A fork of a fork in which nothing was said.
    two.fork("four").await.unwrap();
    two.run("c").await.unwrap();
    let graph = agent.thread_graph("s").await.unwrap();
    check_lengths(&agent, &graph).await;
    let groups: Vec<(String, Vec<&str>)> = graph
        .fork_groups
        .iter()
        .map(|group| {
            let mut threads: Vec<&str> = group.threads.iter().map(|thread| thread.as_str()).collect();
            threads.sort_unstable();
            (group.forked_from.thread.thread_id.to_string(), threads)
        })
        .collect();
    assert_eq!(
        groups,
        [("main".to_owned(), vec!["one", "two"]), ("main".to_owned(), vec!["three"]), ("two".to_owned(), vec!["four"])]
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_thread_without_anything_is_no_source_of_a_fork() {
    let script = ScriptedChatClient::texts(["yes"]);
    let agent = agent(&script).await;
    let key = ThreadKey::new("s", "empty").unwrap();
    let header = Arc::new(ThreadHeader::conversation(key, AgentId::new("coordinator").unwrap()));
    agent.session_store().commit(Batch::new(vec![Append::create(header, vec![])])).await.unwrap();
    let empty = agent.thread("s", "empty");
    assert_eq!(empty.fork("x").await.unwrap_err().code(), "thread_not_found");
    let graph = agent.thread_graph("s").await.unwrap();
    assert_eq!((graph.threads.len(), graph.threads[0].message_count), (1, 0));
    // It can be begun all the same, and then forked.
    empty.run("a").await.unwrap();
    assert_eq!(empty.fork("x").await.unwrap().messages().await.unwrap().len(), 2);
}

/// A run in the parent's very first turn, without a word of the parent's: the child sees the user's message and its task.
#[tokio::test]
async fn a_forked_child_of_a_first_turn_sees_what_the_user_said() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "the task"})),
        Reply::text("summary"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    agent.thread("s", "main").run("go").await.unwrap();
    let requests = script.requests();
    let shown: Vec<_> = requests[1].history.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(shown, ["go", "the task"]);
    check_lengths(&agent, &agent.thread_graph("s").await.unwrap()).await;
}

#[tokio::test]
async fn what_is_not_there_has_an_empty_graph_and_an_illegal_id_is_an_error() {
    let agent = agent(&ScriptedChatClient::texts(["x"])).await;
    let graph = agent.thread_graph("nowhere").await.unwrap();
    assert!(graph.threads.is_empty() && graph.runtime_children.is_empty());
    assert_eq!(agent.thread_graph("no where").await.unwrap_err().code(), "invalid_id");
}

/// What only other programs make: sources in other sessions, sources that are gone, chains without an end, and a thread
/// that began anew after it was forked.
#[tokio::test]
async fn odd_forks_have_a_length_too() {
    let agent = agent(&ScriptedChatClient::from_fn(|_| Reply::text("yes"))).await;
    agent.thread("elsewhere", "main").run("a").await.unwrap();
    let store: &dyn SessionStore = &**agent.session_store();
    let source = Arc::new(EventSource::outside(AgentId::new("coordinator").unwrap(), "Coordinator"));
    let said = |text: &str| {
        let turn = TurnStarted::new(TurnId::generate(), Arc::new(Message::user(text)));
        Arc::new(Event::new(Arc::clone(&source), EventBody::TurnStarted(turn)))
    };
    let create = async |id: &str, from: Option<(&str, &str, u64)>, events| {
        let mut header =
            ThreadHeader::conversation(ThreadKey::new("s", id).unwrap(), AgentId::new("coordinator").unwrap());
        if let Some((session, thread, sequence)) = from {
            header = header.forked_from(ForkPoint::new(ThreadKey::new(session, thread).unwrap(), 1, sequence));
        }
        store.commit(Batch::new(vec![Append::create(Arc::new(header), events)])).await.unwrap();
    };
    let far = journal(&agent, &ThreadKey::new("elsewhere", "main").unwrap()).await.len() as u64;
    create("far", Some(("elsewhere", "main", far)), vec![said("b")]).await;
    create("after-far", Some(("s", "far", 1)), vec![said("c")]).await;
    create("lost", Some(("s", "gone", 3)), vec![said("b")]).await;
    create("ring", Some(("s", "gnir", 1)), vec![said("b")]).await;
    create("gnir", Some(("s", "ring", 1)), vec![said("b")]).await;
    create("anew", None, vec![said("a"), said("b")]).await;
    create("before", Some(("s", "anew", 2)), vec![said("c")]).await;
    let again =
        Append::new(ThreadKey::new("s", "anew").unwrap(), hpd_agent::store::Expected::Exactly(2), vec![said("short")]);
    store.commit(Batch::new(vec![again.beginning_a_generation()])).await.unwrap();
    create("after", Some(("s", "before", 1)), vec![]).await;

    let graph = agent.thread_graph("s").await.unwrap();
    let lengths: BTreeMap<_, _> =
        graph.threads.iter().map(|thread| (thread.header.key.thread_id.as_str(), thread.message_count)).collect();
    for (id, length) in [("far", 3), ("after-far", 4), ("lost", 1), ("anew", 1), ("before", 3), ("after", 3)] {
        assert_eq!(lengths[id], length, "{id}: {lengths:?}");
    }
    assert!(lengths["ring"] > 0 && lengths["gnir"] > 0);
}

/// Each journal is read once, whatever the number of threads and however long the chain of forks.
#[tokio::test]
async fn a_thousand_children_are_counted_at_once() {
    let script = ScriptedChatClient::from_fn(|request| match request.system.contains("summarizer") {
        true => Reply::text("child"),
        false if request.history.len() == 1 => {
            (0..1_000).fold(Reply::text("All."), |reply, _| reply.and_tool_call("summarizer", json!({"input": "x"})))
        }
        false => Reply::text("done"),
    });
    let store = Arc::new(TestStore::default());
    let agent = builder(&script).with_session_store(store.clone());
    let agent = agent.with_tool_harness::<Specialists>().build().await.unwrap();
    let mut thread = agent.thread("s", "main");
    thread.run("go").await.unwrap();
    for number in 0..300 {
        thread = thread.fork(format!("fork-{number}")).await.unwrap();
    }
    let pages = journal(&agent, &ThreadKey::new("s", "main").unwrap()).await.len().div_ceil(1_000);
    let before = store.reads.load(Ordering::SeqCst);
    let graph = agent.thread_graph("s").await.unwrap();
    // The forks have nothing of their own to be read.
    assert_eq!(store.reads.load(Ordering::SeqCst) - before, 1_000 + pages);
    assert_eq!((graph.threads.len(), graph.runtime_children.len()), (1_301, 1_000));
    assert!(graph.runtime_children.iter().all(|child| child.message_count == 4));
    let order: Vec<_> = graph.runtime_children.iter().map(|child| (child.created_at, &child.thread_id)).collect();
    assert!(order.is_sorted());
    assert_eq!(graph.threads.iter().filter(|thread| thread.message_count == 1_003).count(), 301);
}
