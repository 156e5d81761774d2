//! Who is asked, who answers, what is remembered, and what happens if nobody is there.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hpd_agent::{
    event::{EventBody, PermissionOutcome},
    id::{RequestId, ThreadKey},
    permission::{PermissionPolicy, PermissionRequest, RespondOutcome, Ruling, ToolCallView},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Specialists, builder, children, journal, results, types};

#[derive(Default)]
struct Guarded;

#[tool_harness]
impl Guarded {
    /// Deletes a file.
    #[ai_function(requires_permission)]
    fn delete(&self, path: String) -> String {
        format!("deleted {path}")
    }

    /// A child that may delete.
    #[subagent(agent_id = "janitor", tool_harnesses = [Guarded], context = Fresh)]
    fn janitor(&self) -> AgentConfig {
        AgentConfig::new("Janitor").with_system_instructions("You are the janitor.")
    }

    /// A child that may delete, in a session of its own.
    #[subagent(agent_id = "janitor.isolated", tool_harnesses = [Guarded], context = Isolated)]
    fn far_janitor(&self) -> AgentConfig {
        AgentConfig::new("FarJanitor").with_system_instructions("You are the janitor.")
    }
}

fn delete_twice() -> ScriptedChatClient {
    ScriptedChatClient::replies([
        Reply::tool_call("delete", json!({"path": "a"})),
        Reply::tool_call("delete", json!({"path": "b"})),
        Reply::text("done"),
    ])
}

async fn outcomes(agent: &Agent, thread: &ThreadKey) -> Vec<PermissionOutcome> {
    let answered = journal(agent, thread).await;
    let outcome = |event: &Arc<hpd_agent::event::Event>| match event.body() {
        EventBody::PermissionResponse(response) => Some(response.outcome),
        _ => None,
    };
    answered.iter().filter_map(outcome).collect()
}

#[tokio::test(start_paused = true)]
async fn with_nobody_to_ask_a_call_is_denied_at_once() {
    let script = delete_twice();
    let agent =
        builder(&script).with_tool_harness::<Guarded>().with_permissions(Permissions::ask()).build().await.unwrap();
    let started = tokio::time::Instant::now();
    let result = agent.run("go").await.unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
    for told in results(&agent, &result).await {
        let text = told.output.text();
        assert!(told.output.is_error());
        for part in ["nobody can be asked", "Permissions::ask_with", "Permissions::allow_all()"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    assert_eq!(outcomes(&agent, result.thread()).await, [PermissionOutcome::NobodyToAsk; 2]);
}

#[tokio::test]
async fn a_handler_answers_each_call_and_its_reason_reaches_the_model() {
    let script = delete_twice();
    let asked = Arc::new(Mutex::new(vec![]));
    let log = asked.clone();
    let permissions = Permissions::ask_with(move |request: PermissionRequest| {
        log.lock().unwrap().push(request.arguments().to_owned());
        async move {
            match request.arguments().contains('a') && request.arguments().contains("\"a\"") {
                true => PermissionDecision::allow(),
                false => PermissionDecision::deny("Not that one."),
            }
        }
    });
    let agent = builder(&script).with_tool_harness::<Guarded>().with_permissions(permissions).build().await.unwrap();
    let result = agent.run("go").await.unwrap();
    let texts: Vec<_> = results(&agent, &result).await.iter().map(|r| r.output.text().to_owned()).collect();
    assert_eq!(texts[0], "deleted a");
    assert!(texts[1].contains("Not that one."), "{}", texts[1]);
    assert_eq!(asked.lock().unwrap().len(), 2);
    assert_eq!(outcomes(&agent, result.thread()).await, [PermissionOutcome::Approved, PermissionOutcome::Denied]);
}

#[tokio::test]
async fn choices_for_good_hold_for_the_session_and_survive_another_agent() {
    for (decision, approved) in
        [(PermissionDecision::allow().always(), true), (PermissionDecision::deny("Never.").always(), false)]
    {
        let store = Arc::new(hpd_agent::store::memory::MemorySessionStore::new());
        let asked = Arc::new(AtomicUsize::new(0));
        let build = async || {
            let (asked, decision) = (asked.clone(), decision.clone());
            builder(&delete_twice())
                .with_tool_harness::<Guarded>()
                .with_session_store(store.clone())
                .with_permissions(Permissions::ask_with(move |_| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    std::future::ready(decision.clone())
                }))
                .build()
                .await
                .unwrap()
        };
        let first = build().await;
        let result = first.thread("s", "main").run("go").await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1, "the second call is not asked about");
        for told in results(&first, &result).await {
            assert_eq!(!told.output.is_error(), approved);
        }
        // Another agent over the same store, as after a restart; a new thread of the same session.
        let second = build().await;
        second.thread("s", "other").run("go").await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        second.thread("another-session", "main").run("go").await.unwrap_err();
    }
}

#[tokio::test]
async fn a_question_of_a_grandchild_reaches_the_root_and_is_answered_there() {
    #[derive(Default)]
    struct Manager;
    #[tool_harness]
    impl Manager {
        /// Manages the janitor.
        #[subagent(agent_id = "manager", tool_harnesses = [Cleaning], context = Fresh)]
        fn manager(&self) -> AgentConfig {
            AgentConfig::new("Manager").with_system_instructions("You are the manager.")
        }
    }
    #[derive(Default)]
    struct Cleaning;
    #[tool_harness]
    impl Cleaning {
        /// Cleans.
        #[subagent(agent_id = "cleaner", tool_harnesses = [Guarded], context = Fresh,
                   availability = SubAgentAvailability::through_depth(2))]
        fn cleaner(&self) -> AgentConfig {
            AgentConfig::new("Cleaner").with_system_instructions("You are the cleaner.")
        }
    }
    let script = ScriptedChatClient::route()
        .when_system_contains("cleaner", [Reply::tool_call("delete", json!({"path": "x"})), Reply::text("gone")])
        .when_system_contains("manager", [Reply::tool_call("cleaner", json!({"input": "x"})), Reply::text("ok")])
        .otherwise([Reply::tool_call("manager", json!({"input": "x"})), Reply::text("done")]);
    let agent =
        builder(&script).with_tool_harness::<Manager>().with_permissions(Permissions::ask()).build().await.unwrap();
    let run = agent.run("go");
    let mut requests = run.permission_requests();
    let handle = tokio::spawn(run.into_future());
    let mut chains = vec![];
    while let Some(request) = requests.next().await {
        let chain: Vec<_> = request.agent().agent_chain.iter().map(|name| name.to_string()).collect();
        chains.push((request.tool().to_owned(), chain.join("/")));
        assert_eq!(requests.respond(request.id(), PermissionDecision::allow()), RespondOutcome::Accepted);
        assert_eq!(requests.respond(request.id(), PermissionDecision::allow()), RespondOutcome::AlreadyResolved);
    }
    assert_eq!(handle.await.unwrap().unwrap().text(), "done");
    assert_eq!(
        chains,
        [
            ("manager".to_owned(), "Coordinator".to_owned()),
            ("cleaner".to_owned(), "Coordinator/manager".to_owned()),
            ("delete".to_owned(), "Coordinator/manager/cleaner".to_owned()),
        ]
    );
}

#[tokio::test]
async fn the_runtime_state_lists_open_questions_and_the_agent_answers_them() {
    let script = ScriptedChatClient::route()
        .when_system_contains("janitor", [Reply::tool_call("delete", json!({"path": "x"})), Reply::text("gone")])
        .otherwise([Reply::tool_call("janitor", json!({"input": "x"})), Reply::text("done")]);
    let agent =
        builder(&script).with_tool_harness::<Guarded>().with_permissions(Permissions::ask()).build().await.unwrap();
    let thread = ThreadKey::new("s", "main").unwrap();
    let run = agent.thread("s", "main").run("go");
    let mut requests = run.permission_requests();
    let running = tokio::spawn(run.into_future());
    let first = requests.next().await.unwrap();
    assert_eq!(agent.respond(first.id(), None, PermissionDecision::allow()).await.unwrap(), RespondOutcome::Accepted);
    let second = requests.next().await.unwrap();
    let state = agent.runtime_state(&thread).await.unwrap();
    assert!(state.active_execution.is_some());
    assert_eq!(state.pending_requests.iter().map(PermissionRequest::id).collect::<Vec<_>>(), [second.id()]);
    // The child's own state has it too; the child's thread is part of the answer's address.
    assert_eq!(agent.runtime_state(second.thread()).await.unwrap().pending_requests.len(), 1);
    let wrong = agent.respond(second.id(), Some(&thread), PermissionDecision::allow()).await.unwrap();
    assert_eq!(wrong, RespondOutcome::TargetMismatch);
    let unknown = agent.respond(RequestId::generate(), None, PermissionDecision::allow()).await.unwrap();
    assert_eq!(unknown, RespondOutcome::NotFound);
    let right = agent.respond(second.id(), Some(second.thread()), PermissionDecision::deny("No.")).await.unwrap();
    assert_eq!(right, RespondOutcome::Accepted);
    let result = running.await.unwrap().unwrap();
    assert_eq!(result.text(), "done");
    assert!(agent.runtime_state(&thread).await.unwrap().active_execution.is_none());
    assert_eq!(requests.respond(second.id(), PermissionDecision::allow()), RespondOutcome::AlreadyResolved);
    assert_eq!(requests.respond(RequestId::generate(), PermissionDecision::allow()), RespondOutcome::ExecutionEnded);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_denied_after_five_minutes() {
    let script = ScriptedChatClient::replies([Reply::tool_call("delete", json!({"path": "a"})), Reply::text("done")]);
    let agent =
        builder(&script).with_tool_harness::<Guarded>().with_permissions(Permissions::ask()).build().await.unwrap();
    let run = agent.run("go");
    let mut requests = run.permission_requests();
    let started = tokio::time::Instant::now();
    let running = tokio::spawn(run.into_future());
    let request = requests.next().await.unwrap();
    let result = running.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(300));
    assert!(results(&agent, &result).await[0].output.text().contains("not given in time"));
    assert_eq!(requests.respond(request.id(), PermissionDecision::allow()), RespondOutcome::TimedOut);
    assert_eq!(outcomes(&agent, result.thread()).await, [PermissionOutcome::TimedOut]);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_goes_away_leaves_nobody_to_ask() {
    let script = ScriptedChatClient::replies([Reply::tool_call("delete", json!({"path": "a"})), Reply::text("done")]);
    let agent =
        builder(&script).with_tool_harness::<Guarded>().with_permissions(Permissions::ask()).build().await.unwrap();
    let run = agent.run("go");
    let mut requests = run.permission_requests();
    let started = tokio::time::Instant::now();
    let running = tokio::spawn(run.into_future());
    requests.next().await.unwrap();
    drop(requests);
    let result = running.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(outcomes(&agent, result.thread()).await, [PermissionOutcome::NobodyToAsk]);
}

#[tokio::test]
async fn questions_of_one_message_are_asked_one_after_the_other_and_an_answer_for_good_covers_the_rest() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("delete", json!({"path": "a"}))
            .and_tool_call("delete", json!({"path": "b"}))
            .and_tool_call("delete", json!({"path": "c"})),
        Reply::text("done"),
    ]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let permissions = Permissions::ask_with(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async {
            tokio::task::yield_now().await;
            PermissionDecision::allow().always()
        }
    });
    let agent = builder(&script).with_tool_harness::<Guarded>().with_permissions(permissions).build().await.unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(results(&agent, &result).await.iter().all(|told| !told.output.is_error()));
}

#[tokio::test]
async fn what_was_denied_for_good_holds_for_an_isolated_child_and_a_choice_to_allow_does_not() {
    for (decision, child_asks) in
        [(PermissionDecision::deny("Never.").always(), 0), (PermissionDecision::allow().always(), 1)]
    {
        let script = ScriptedChatClient::route()
            .when_system_contains("janitor", [Reply::tool_call("delete", json!({"path": "x"})), Reply::text("ok")])
            .otherwise([
                Reply::tool_call("delete", json!({"path": "a"})),
                Reply::tool_call("far_janitor", json!({"input": "x"})),
                Reply::text("done"),
            ]);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let permissions = Permissions::ask_with(move |request: PermissionRequest| {
            if request.tool() == "delete" && request.agent().depth == 1 {
                count.fetch_add(1, Ordering::SeqCst);
            }
            let delete = request.tool() == "delete";
            std::future::ready(if delete { decision.clone() } else { PermissionDecision::allow() })
        });
        let agent =
            builder(&script).with_tool_harness::<Guarded>().with_permissions(permissions).build().await.unwrap();
        let result = agent.run("go").await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), child_asks);
        let [header] = children(&agent, result.thread()).await.try_into().unwrap();
        let events = journal(&agent, &header.key).await;
        let EventBody::ExecutionStarted(started) = events[1].body() else { panic!("not started") };
        assert_eq!(started.settings.denials.is_open(), child_asks == 1);
    }
}

#[tokio::test]
async fn a_refused_delegation_starts_no_child() {
    let script =
        ScriptedChatClient::replies([Reply::tool_call("summarizer", json!({"input": "x"})), Reply::text("done")]);
    let agent = builder(&script)
        .with_tool_harness::<Specialists>()
        .with_permissions(Permissions::deny_all())
        .build()
        .await
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert!(children(&agent, result.thread()).await.is_empty());
    let events = journal(&agent, result.thread()).await;
    assert!(!types(&events).iter().any(|name| name.starts_with("SUBAGENT")));
    assert!(results(&agent, &result).await[0].output.text().contains("`summarizer` is not allowed here"));
}

#[tokio::test]
async fn a_policy_sees_the_call_and_its_denial_wins_over_what_is_remembered() {
    struct NoSecrets(AtomicUsize);
    impl PermissionPolicy for NoSecrets {
        fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
            assert!(call.requires_permission);
            assert_eq!(call.agent.agent_name.as_ref(), "Coordinator");
            assert_eq!(call.sub_agent.is_some(), call.call_type == hpd_agent::event::CallType::SubAgent);
            match call.arguments.contains("secret") {
                true => Ruling::Deny { reason: "No secrets.".to_owned() },
                false => Ruling::Ask,
            }
        }
        fn answer(&self, _: PermissionRequest) -> hpd_agent::chat::BoxFuture<'_, Option<PermissionDecision>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Some(PermissionDecision::allow().always())))
        }
    }
    let script = ScriptedChatClient::replies([
        Reply::tool_call("delete", json!({"path": "a"})),
        Reply::tool_call("delete", json!({"path": "secret"})),
        Reply::text("done"),
    ]);
    let agent = builder(&script)
        .with_tool_harness::<Guarded>()
        .with_permissions(Permissions::from_policy(NoSecrets(AtomicUsize::new(0))))
        .build()
        .await
        .unwrap();
    let result = agent.run("go").await.unwrap();
    let texts: Vec<_> = results(&agent, &result).await.iter().map(|r| r.output.text().to_owned()).collect();
    assert_eq!(texts, ["deleted a", "No secrets."]);
}
