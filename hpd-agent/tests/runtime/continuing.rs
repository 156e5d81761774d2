//! Continuing children by agent, session and thread, and what a child is told of its task.

use std::sync::Arc;

use hpd_agent::{
    chat::ChatRequest,
    message::Provenance,
    prelude::*,
    session::RuntimeChild,
    store::memory::MemorySessionStore,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{agent, builder, instructions};

#[derive(Default)]
struct Outer;

#[tool_harness]
impl Outer {
    /// Has children of its own.
    #[subagent(agent_id = "middle", tool_harnesses = [Inner])]
    fn middle(&self) -> AgentConfig {
        AgentConfig::new("Middle").with_system_instructions("You are the middle one.")
    }

    /// Has a session of its own.
    #[subagent(agent_id = "hermit", context = Isolated)]
    fn hermit(&self) -> AgentConfig {
        AgentConfig::new("Hermit").with_system_instructions("You are the hermit.")
    }

    /// Deletes.
    #[ai_function(requires_permission)]
    fn delete(&self) -> &'static str {
        "deleted"
    }
}

#[derive(Default)]
struct Inner;

#[tool_harness]
impl Inner {
    /// The child of a child.
    #[subagent(agent_id = "innermost", context = Fresh, availability = through_depth(3), tool_harnesses = [Tools])]
    fn innermost(&self) -> AgentConfig {
        AgentConfig::new("Innermost").with_system_instructions("You are the innermost one.")
    }
}

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Deletes.
    #[ai_function(requires_permission)]
    fn delete(&self) -> &'static str {
        "deleted"
    }
}

/// Everybody delegates to whom they can, once; whoever continues says what it is and what it saw.
fn script() -> ScriptedChatClient {
    ScriptedChatClient::from_fn(|request: &ChatRequest| {
        let last = request.history.last().unwrap();
        let who = instructions(request).trim_start_matches("You are the ").trim_end_matches('.').to_owned();
        match (last.text().as_ref(), last.results().next()) {
            ("delete", _) => Reply::tool_call("delete", json!({})),
            ("go", _) => Reply::tool_call("middle", json!({"input": "middle"}))
                .and_tool_call("hermit", json!({"input": "hermit"})),
            ("middle", _) => Reply::tool_call("innermost", json!({"input": "innermost"})),
            (_, Some(result)) => Reply::text(format!("{who}: {}", result.output.text())),
            (text, None) => Reply::text(format!("{who}: {text}")),
        }
    })
}

async fn over(store: &Arc<MemorySessionStore>, script: &ScriptedChatClient) -> Agent {
    let permissions = Permissions::ask_with(|request| {
        let deletes = request.tool() == "delete";
        std::future::ready(if deletes { PermissionDecision::deny("No.") } else { PermissionDecision::allow() })
    });
    let builder = builder(script).with_session_store(store.clone()).with_permissions(permissions);
    builder.with_tool_harness::<Outer>().build().await.unwrap()
}

/// The children of `s`, and the one in the session of its own.
async fn all_children(agent: &Agent) -> Vec<RuntimeChild> {
    let mut all = agent.thread_graph("s").await.unwrap().runtime_children;
    let parent = agent.thread("s", "main").key().unwrap().clone();
    for header in crate::support::children(agent, &parent).await {
        if header.key.session_id.as_str() != "s" {
            all.extend(agent.thread_graph(&header.key.session_id).await.unwrap().runtime_children);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[tokio::test]
async fn every_child_is_continued_by_its_ids_in_this_process_and_in_another() {
    let (store, script) = (Arc::new(MemorySessionStore::new()), script());
    let first = over(&store, &script).await;
    let run = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["delete"]));
    first.thread("s", "main").run("go").with_run_config(run).await.unwrap();
    let second = over(&store, &script).await;
    for agent in [&first, &second, &second] {
        let children = all_children(agent).await;
        let names: Vec<_> = children.iter().map(|child| &*child.name).collect();
        assert_eq!(names, ["Hermit", "Innermost", "Middle"]);
        for (child, depth, who) in
            children.iter().zip([1, 2, 1]).zip(["hermit", "innermost one", "middle one"]).map(|((c, d), w)| (c, d, w))
        {
            let thread = agent.thread(&child.session_id, &child.thread_id).existing();
            let mut run = thread.run("hello");
            let scope = run.next().await.unwrap().agent().clone();
            assert_eq!((scope.depth, scope.agent_id.as_str()), (depth, child.default_agent_id.as_str()));
            assert_eq!(scope.agent_name.as_ref(), child.sub_agent_name.as_str());
            assert_eq!(run.await.unwrap().text(), format!("{who}: hello"));
            // By its id it is the same; another one can speak in its place.
            let named = thread.clone().with_agent(child.default_agent_id.clone());
            assert_eq!(named.run("hello").await.unwrap().text(), format!("{who}: hello"));
            let other = thread.clone().with_agent("coordinator");
            assert_eq!(other.run("hello").await.unwrap().text(), "coordinator: hello");
            assert_eq!(thread.clone().with_agent("nobody").run("hello").await.unwrap_err().code(), "unknown_agent");
            // And is in its place all the same: nobody can do there what was denied above.
            let told = thread.with_agent("coordinator").run("delete").await.unwrap();
            assert!(told.text().contains("denied to an agent above"), "{}", told.text());
        }
        let innermost = &children[1];
        assert_eq!(innermost.parent_thread_id, children[2].thread_id);
    }
}

/// A fork of a child's conversation is the child's too, with its depth and what it was denied.
#[tokio::test]
async fn a_fork_of_a_childs_conversation_keeps_the_childs_place() {
    let (store, script) = (Arc::new(MemorySessionStore::new()), script());
    let agent = over(&store, &script).await;
    let run = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["delete"]));
    agent.thread("s", "main").run("go").with_run_config(run).await.unwrap();
    let agent = over(&store, &script).await;
    let [_, innermost, _] = all_children(&agent).await.try_into().unwrap();
    let thread = agent.thread(&innermost.session_id, &innermost.thread_id);
    let fork = thread.fork("fork").await.unwrap().fork("fork-of-fork").await.unwrap();
    let mut run = fork.run("delete");
    let scope = run.next().await.unwrap().agent().clone();
    assert_eq!((scope.depth, scope.agent_id.as_str()), (2, "innermost"));
    let told = run.await.unwrap();
    assert!(told.text().contains("denied to an agent above"), "{}", told.text());
    // It is a conversation of its own, and no child.
    assert_eq!(all_children(&agent).await.len(), 3);
    assert_eq!(thread.messages().await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_does_not_exist_is_not_begun_by_who_wants_to_continue() {
    let agent = agent(&ScriptedChatClient::texts(["one", "two"])).await;
    for (session, thread) in [("s", "nothing"), ("nowhere", "main")] {
        let error = agent.thread(session, thread).existing().run("x").await.unwrap_err();
        assert_eq!(error.code(), "thread_not_found");
        assert!(error.to_string().contains(&format!("{session}/{thread}")), "{error}");
        let error = agent.thread(session, thread).existing().run("x").queued().await.unwrap_err();
        assert_eq!(error.code(), "thread_not_found");
        assert_eq!(agent.thread_graph(session).await.unwrap().threads.len(), 0);
    }
    // A conversation of the root's begins with its first input, and is there from then on.
    let thread = agent.thread("s", "main");
    assert_eq!(thread.run("x").await.unwrap().text(), "one");
    assert_eq!(thread.clone().existing().run("x").await.unwrap().text(), "two");
    agent.delete_session(&thread.key().unwrap().session_id).await.unwrap();
    assert_eq!(thread.existing().run("x").await.unwrap_err().code(), "thread_not_found");
}

/// A thread that another process deleted is not there, though this one had it.
#[tokio::test]
async fn a_thread_that_is_gone_behind_an_agents_back_is_not_begun_again_either() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::texts(["one"]);
    let build = async || builder(&script).with_session_store(store.clone()).build().await.unwrap();
    let (first, second) = (build().await, build().await);
    let thread = first.thread("s", "main");
    thread.run("x").await.unwrap();
    second.delete_session(&thread.key().unwrap().session_id).await.unwrap();
    assert_eq!(thread.existing().run("x").await.unwrap_err().code(), "thread_not_found");
}

#[tokio::test]
async fn a_forked_child_is_told_where_its_task_is_and_a_fresh_one_need_not_be() {
    let script = ScriptedChatClient::replies([
        Reply::text("Let me ask.").and_tool_call("summarizer", json!({"input": "the task"})),
        Reply::text("summary"),
        Reply::tool_call("fresh", json!({"input": "the task"})),
        Reply::text("fresh"),
        Reply::text("done"),
        Reply::text("more"),
        Reply::text("other"),
        Reply::text("brief"),
    ]);
    let agent = agent(&script).await;
    agent.thread("s", "main").run("go").await.unwrap();
    let requests = script.requests();
    let forked = &requests[1];
    assert!(forked.system.starts_with("You are the summarizer.\n\n# Your task\n\n"), "{}", forked.system);
    assert!(forked.system.contains("the last message of the user"));
    // What it was asked is said exactly as it was given, and marked for programs.
    let task = forked.history.last().unwrap();
    assert_eq!((task.text().as_ref(), task.provenance()), ("the task", Provenance::Delegation));
    assert_eq!(&*requests[3].system, "You are fresh.");
    assert_eq!(&*requests[0].system, "You are the coordinator.");

    // It holds for whoever goes on in this thread.
    let children = agent.thread_graph("s").await.unwrap().runtime_children;
    let child = children.iter().find(|child| child.sub_agent_name.as_str() == "summarizer").unwrap();
    let thread = agent.thread(&child.session_id, &child.thread_id);
    thread.run("more").await.unwrap();
    thread.clone().with_agent("coordinator").run("and you?").await.unwrap();
    let config = AgentRunConfig::new().with_additional_instructions("Be brief.");
    thread.run("more").with_run_config(config).await.unwrap();
    let systems: Vec<String> = script.requests()[5..].iter().map(|request| request.system.to_string()).collect();
    let told = forked.system.strip_prefix("You are the summarizer.").unwrap();
    assert_eq!(
        systems,
        [
            format!("You are the summarizer.{told}"),
            format!("You are the coordinator.{told}"),
            format!("You are the summarizer.\n\nBe brief.{told}"),
        ]
    );
}
