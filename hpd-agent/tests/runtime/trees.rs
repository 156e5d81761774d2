//! Trees of agents and those who listen to them, when runtimes, handlers and definitions end or panic.

use std::{sync::Arc, time::Duration};

use hpd_agent::{
    chat::BoxFuture,
    id::ThreadKey,
    permission::{PermissionPolicy, PermissionRequest, Ruling, ToolCallView},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::faults::*;
use crate::support::{TestStore, agent, builder, results};

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
                   availability = SubAgentAvailability::ANY_ALLOWED_DEPTH, recursion = Allowed)]
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
                   availability = SubAgentAvailability::ANY_ALLOWED_DEPTH, recursion = Allowed)]
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
