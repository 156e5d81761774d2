//! Questions that wait in the journal: over restarts, at any depth, until somebody answers.

use std::{sync::Arc, time::Duration};

use hpd_agent::{
    agent::RunResult,
    declare::{Budget, BudgetLimit},
    event::{Event, EventBody, ExecutionOutcome, PermissionOutcome, ThreadHeader},
    id::{RequestId, ThreadKey},
    message::Usage,
    permission::{PermissionRequest, RespondOutcome},
    prelude::*,
    store::{Append, Batch, ThreadQuery, memory::MemorySessionStore},
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, children, journal, results, types};

#[derive(Default)]
struct Site;

#[tool_harness]
impl Site {
    /// Publishes a page.
    #[ai_function(requires_permission)]
    fn publish(&self, page: String) -> String {
        format!("published {page}")
    }

    /// Says what time it is.
    #[ai_function]
    fn clock(&self) -> String {
        "noon".to_owned()
    }

    /// Sees the conversation.
    #[subagent(agent_id = "writer.fork", tool_harnesses = [Site], context = Fork)]
    fn fork_writer(&self) -> AgentConfig {
        AgentConfig::new("Writer").with_system_instructions("You are the writer.")
    }

    /// Shares the session.
    #[subagent(agent_id = "writer.fresh", tool_harnesses = [Site], context = Fresh)]
    fn fresh_writer(&self) -> AgentConfig {
        AgentConfig::new("Writer").with_system_instructions("You are the writer.")
    }

    /// Has a session of its own.
    #[subagent(agent_id = "writer.isolated", tool_harnesses = [Site], context = Isolated)]
    fn isolated_writer(&self) -> AgentConfig {
        AgentConfig::new("Writer").with_system_instructions("You are the writer.")
    }

    /// Leads writers.
    #[subagent(agent_id = "editor", tool_harnesses = [Desk], context = Isolated)]
    fn editor(&self) -> AgentConfig {
        AgentConfig::new("Editor").with_system_instructions("You are the editor.")
    }
}

#[derive(Default)]
struct Desk;

#[tool_harness]
impl Desk {
    /// Writes.
    #[subagent(agent_id = "desk.writer", tool_harnesses = [Site], context = Fork,
               availability = SubAgentAvailability::through_depth(2))]
    fn writer(&self) -> AgentConfig {
        AgentConfig::new("Writer").with_system_instructions("You are the writer.")
    }
}

fn publish(page: &str) -> Reply {
    Reply::tool_call("publish", json!({"page": page}))
}

/// Delegations need no permission; publishing does, and nobody is there.
async fn process(script: &ScriptedChatClient, store: &Arc<MemorySessionStore>) -> Agent {
    let permissions = ["fork_writer", "fresh_writer", "isolated_writer", "editor", "writer"]
        .into_iter()
        .fold(Permissions::ask().durable(), Permissions::disable);
    with(script, store, permissions).await
}

async fn with(script: &ScriptedChatClient, store: &Arc<MemorySessionStore>, permissions: Permissions) -> Agent {
    builder(script)
        .with_tool_harness::<Site>()
        .with_session_store(store.clone())
        .with_permissions(permissions)
        .build()
        .await
        .unwrap()
}

fn waiting(result: Result<RunResult, RunError>) -> (ThreadKey, PermissionRequest) {
    match result {
        Err(RunError::AwaitingPermission { thread, request }) => (thread, *request),
        other => panic!("unexpected: {other:?}"),
    }
}

fn main() -> ThreadKey {
    ThreadKey::new("s", "main").unwrap()
}

async fn pending(agent: &Agent, thread: &ThreadKey) -> Vec<RequestId> {
    let state = agent.runtime_state(thread).await.unwrap();
    state.pending_requests.iter().map(PermissionRequest::id).collect()
}

async fn respond(agent: &Agent, request: &PermissionRequest, decision: PermissionDecision) -> RespondOutcome {
    agent.respond(request.id(), Some(request.thread()), decision).await.unwrap()
}

fn count(events: &[Arc<Event>], name: &str) -> usize {
    types(events).iter().filter(|other| **other == name).count()
}

#[tokio::test]
async fn a_question_waits_over_restarts_and_the_turn_goes_on_with_its_answer() {
    for (decision, expected) in [
        (PermissionDecision::allow(), "published a"),
        (PermissionDecision::deny("Not today."), "Permission to use `publish` was denied: Not today."),
        (PermissionDecision::deny("Never.").always(), "Permission to use `publish` was denied: Never."),
    ] {
        let store = Arc::new(MemorySessionStore::new());
        let first = process(&ScriptedChatClient::replies([publish("a")]), &store).await;
        let (thread, request) = waiting(first.thread("s", "main").run("go").await);
        assert_eq!((&thread, request.thread()), (&main(), &main()));
        let events = journal(&first, &thread).await;
        assert_eq!(types(&events)[events.len() - 2..], ["PERMISSION_REQUEST", "THREAD_EXECUTION_FINISHED"]);
        let EventBody::ExecutionFinished(finished) = events[events.len() - 1].body() else { panic!() };
        assert_eq!(finished.outcome, ExecutionOutcome::Suspended);

        // Another process knows it and answers.
        let second = process(&ScriptedChatClient::texts(["unused"]), &store).await;
        let state = second.runtime_state(&thread).await.unwrap();
        assert!(state.active_execution.is_none());
        let [listed] = state.pending_requests.try_into().unwrap();
        assert_eq!((listed.id(), listed.tool(), listed.arguments()), (request.id(), "publish", r#"{"page":"a"}"#));
        assert_eq!((listed.created_at(), listed.agent()), (request.created_at(), request.agent()));
        assert_eq!(respond(&second, &listed, decision.clone()).await, RespondOutcome::Accepted);
        assert_eq!(respond(&second, &listed, decision.clone()).await, RespondOutcome::AlreadyResolved);
        assert_eq!(respond(&first, &listed, decision.clone()).await, RespondOutcome::AlreadyResolved);
        assert!(pending(&first, &thread).await.is_empty());

        // And a third one goes on.
        let script = ScriptedChatClient::replies([Reply::text("done"), publish("b"), Reply::text("well")]);
        let third = process(&script, &store).await;
        let result = third.thread("s", "main").resume().await.unwrap();
        assert_eq!(result.text(), "done");
        assert_eq!(results(&third, &result).await[0].output.text(), expected);
        let events = journal(&third, &thread).await;
        assert_eq!(count(&events, "PERMISSION_REQUEST"), 1);
        assert_eq!(count(&events, "PERMISSION_RESPONSE"), 1);
        assert_eq!(count(&events, "MESSAGE_TURN_STARTED"), 1);
        assert_eq!(count(&events, "TOOL_EXECUTION_STARTED"), usize::from(decision.is_approved()));
        assert_eq!(respond(&third, &listed, decision.clone()).await, RespondOutcome::AlreadyResolved);

        // A choice for good was journaled with the answer.
        let again = third.thread("s", "main").run("again").await;
        let asked_again = again.is_err_and(|error| matches!(error, RunError::AwaitingPermission { .. }));
        assert_eq!(asked_again, decision != PermissionDecision::deny("Never.").always());
    }
}

#[tokio::test]
async fn children_that_waited_go_on_inside_of_their_parents_calls() {
    for context in ["fork", "fresh", "isolated"] {
        let store = Arc::new(MemorySessionStore::new());
        let script = ScriptedChatClient::route()
            .when_system_contains("writer", [publish("a")])
            .otherwise([Reply::tool_call(format!("{context}_writer"), json!({"input": "Write."}))
                .and_tool_call("clock", json!({}))]);
        let first = process(&script, &store).await;
        let (thread, request) = waiting(first.thread("s", "main").run("go").await);
        let [child] = children(&first, &thread).await.try_into().unwrap();
        assert_eq!((&thread, request.thread()), (&main(), &child.key));
        let chain: Vec<_> = request.agent().agent_chain.iter().map(|name| name.to_string()).collect();
        assert_eq!(chain, ["Coordinator".to_owned(), format!("{context}_writer")]);
        // What needed no answer is done.
        assert_eq!(count(&journal(&first, &thread).await, "TOOL_CALL_RESULT"), 1);

        let script = ScriptedChatClient::route()
            .when_system_contains("writer", [Reply::text("written")])
            .otherwise([Reply::text("done")]);
        let second = process(&script, &store).await;
        assert_eq!(pending(&second, &thread).await, [request.id()]);
        assert_eq!(pending(&second, &child.key).await, [request.id()]);
        let wrong = second.respond(request.id(), Some(&thread), PermissionDecision::allow()).await.unwrap();
        assert_eq!(wrong, RespondOutcome::TargetMismatch);
        assert_eq!(respond(&second, &request, PermissionDecision::allow()).await, RespondOutcome::Accepted);
        assert!(pending(&second, &thread).await.is_empty());
        let result = second.thread("s", "main").resume().await.unwrap();
        let texts: Vec<_> = results(&second, &result).await.iter().map(|told| told.output.text().to_owned()).collect();
        assert_eq!(texts, ["written", "noon"], "{context}");
        let events = journal(&second, &thread).await;
        assert_eq!(count(&events, "SUBAGENT_INVOCATION_STARTED"), 1);
        assert_eq!(count(&events, "SUBAGENT_INVOCATION_COMPLETED"), 1);
        assert_eq!(children(&second, &thread).await.len(), 1);
        let in_child = journal(&second, &child.key).await;
        assert_eq!(count(&in_child, "PERMISSION_REQUEST"), 1);
        assert_eq!(count(&in_child, "MESSAGE_TURN_STARTED"), 1);
        let EventBody::ExecutionFinished(finished) = in_child[in_child.len() - 1].body() else { panic!() };
        assert_eq!(finished.outcome, ExecutionOutcome::Succeeded);
    }
}

#[tokio::test]
async fn a_whole_line_of_descendants_waits_and_goes_on() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("a").and_tool_call("publish", json!({"page": "b"}))])
        .when_system_contains("editor", [Reply::tool_call("writer", json!({"input": "Write."}))])
        .otherwise([Reply::tool_call("editor", json!({"input": "Edit."}))]);
    let first = process(&script, &store).await;
    let (thread, request) = waiting(first.thread("s", "main").run("go").await);
    assert_eq!(request.agent().depth, 2);

    let second = process(&script, &store).await;
    let both = second.runtime_state(&thread).await.unwrap().pending_requests;
    assert_eq!(both.iter().map(|request| request.arguments().contains("\"a\"")).collect::<Vec<_>>(), [true, false]);
    assert_eq!(respond(&second, &both[0], PermissionDecision::allow()).await, RespondOutcome::Accepted);
    // The other one waits on, under its id.
    let (again, request) = waiting(second.thread("s", "main").resume().await);
    assert_eq!((again, request.id()), (thread.clone(), both[1].id()));
    assert_eq!(pending(&second, &thread).await, [both[1].id()]);

    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [Reply::text("written")])
        .when_system_contains("editor", [Reply::text("edited")])
        .otherwise([Reply::text("done")]);
    let third = process(&script, &store).await;
    assert_eq!(respond(&third, &both[1], PermissionDecision::deny("No.")).await, RespondOutcome::Accepted);
    let result = third.thread("s", "main").resume().await.unwrap();
    assert_eq!(result.text(), "done");
    let in_writer = journal(&third, both[0].thread()).await;
    assert_eq!(count(&in_writer, "PERMISSION_REQUEST"), 2);
    assert_eq!(count(&in_writer, "TOOL_EXECUTION_STARTED"), 1);
    assert_eq!(results(&third, &result).await[0].output.text(), "edited");
}

#[tokio::test]
async fn whoever_resumes_can_answer_live_under_the_same_id() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("a"), Reply::text("written")])
        .otherwise([Reply::tool_call("fresh_writer", json!({"input": "Write."})), Reply::text("done")]);
    let agent = process(&script, &store).await;
    let (_, request) = waiting(agent.thread("s", "main").run("go").await);
    let run = agent.thread("s", "main").resume();
    let mut requests = run.permission_requests();
    let running = tokio::spawn(run.into_future());
    let asked = requests.next().await.unwrap();
    assert_eq!(asked.id(), request.id());
    assert_eq!(requests.respond(asked.id(), PermissionDecision::allow()), RespondOutcome::Accepted);
    assert_eq!(running.await.unwrap().unwrap().text(), "done");
    assert_eq!(count(&journal(&agent, asked.thread()).await, "PERMISSION_REQUEST"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_answered_in_time_waits_in_the_journal() {
    let store = Arc::new(MemorySessionStore::new());
    let agent = process(&ScriptedChatClient::replies([publish("a"), Reply::text("done")]), &store).await;
    let run = agent.thread("s", "main").run("go");
    let mut requests = run.permission_requests();
    let started = tokio::time::Instant::now();
    let running = tokio::spawn(run.into_future());
    let asked = requests.next().await.unwrap();
    let (_, request) = waiting(running.await.unwrap());
    assert_eq!((started.elapsed(), asked.id()), (Duration::from_secs(300), request.id()));
    assert_eq!(respond(&agent, &request, PermissionDecision::allow()).await, RespondOutcome::Accepted);
    assert_eq!(agent.thread("s", "main").resume().await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_new_input_gives_up_what_waits() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route().when_system_contains("writer", [publish("b")]).otherwise([
        publish("a").and_tool_call("fresh_writer", json!({"input": "Write."})),
        Reply::text("Something else, then."),
    ]);
    let agent = process(&script, &store).await;
    let (thread, _) = waiting(agent.thread("s", "main").run("go").await);
    let both = agent.runtime_state(&thread).await.unwrap().pending_requests;
    assert_eq!(both.len(), 2);
    let result = agent.thread("s", "main").run("Never mind.").await.unwrap();
    for told in results(&agent, &result).await {
        assert!(told.output.text().contains("went on before this call was permitted"), "{told:?}");
    }
    assert!(pending(&agent, &thread).await.is_empty());
    let events = journal(&agent, &thread).await;
    assert_eq!(count(&events, "SUBAGENT_INVOCATION_CANCELLED"), 1);
    let own = both.iter().find(|request| *request.thread() == thread).unwrap();
    assert_eq!(respond(&agent, own, PermissionDecision::allow()).await, RespondOutcome::Cancelled);
    let resumed = agent.thread("s", "main").resume().await;
    assert!(matches!(resumed, Err(RunError::NothingToResume { thread: of }) if of == thread));

    // The child is a conversation of its own: it can still go on there.
    let child = both.iter().find(|request| *request.thread() != thread).unwrap();
    assert_eq!(respond(&agent, child, PermissionDecision::allow()).await, RespondOutcome::Accepted);
    let again = process(&ScriptedChatClient::replies([Reply::text("written")]), &store).await;
    let key = child.thread();
    assert_eq!(again.thread(&key.session_id, &key.thread_id).resume().await.unwrap().text(), "written");
}

#[tokio::test]
async fn a_child_that_went_on_by_itself_answers_its_parent_when_that_goes_on() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("a"), Reply::text("written elsewhere")])
        .otherwise([Reply::tool_call("isolated_writer", json!({"input": "Write."})), Reply::text("done")]);
    let agent = process(&script, &store).await;
    let (_, request) = waiting(agent.thread("s", "main").run("go").await);
    respond(&agent, &request, PermissionDecision::allow()).await;
    let child = request.thread();
    agent.thread(&child.session_id, &child.thread_id).resume().await.unwrap();
    let result = agent.thread("s", "main").resume().await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "written elsewhere");

    // And one whose session is gone has failed.
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("a")])
        .otherwise([Reply::tool_call("isolated_writer", json!({"input": "Write."})), Reply::text("done")]);
    let agent = process(&script, &store).await;
    let (_, request) = waiting(agent.thread("t", "main").run("go").await);
    agent.delete_session(&request.thread().session_id).await.unwrap();
    let result = agent.thread("t", "main").resume().await.unwrap();
    assert!(results(&agent, &result).await[0].output.is_error());
    assert_eq!(respond(&agent, &request, PermissionDecision::allow()).await, RespondOutcome::NotFound);
}

#[tokio::test]
async fn denials_hold_for_what_was_permitted_while_it_waited() {
    let store = Arc::new(MemorySessionStore::new());
    let agent = process(&ScriptedChatClient::replies([publish("a")]), &store).await;
    let (_, request) = waiting(agent.thread("s", "main").run("go").await);
    respond(&agent, &request, PermissionDecision::allow()).await;
    let stricter = with(&ScriptedChatClient::texts(["done"]), &store, Permissions::deny_all()).await;
    let result = stricter.thread("s", "main").resume().await.unwrap();
    assert!(results(&stricter, &result).await[0].output.text().contains("is not allowed here"));

    // An application that needs no question any more closes the one that waits.
    let agent = process(&ScriptedChatClient::replies([publish("a")]), &store).await;
    let (thread, request) = waiting(agent.thread("t", "main").run("go").await);
    let laxer = with(&ScriptedChatClient::texts(["done"]), &store, Permissions::allow_all()).await;
    let result = laxer.thread("t", "main").resume().await.unwrap();
    assert_eq!(results(&laxer, &result).await[0].output.text(), "published a");
    let answers = journal(&laxer, &thread).await;
    let answer = answers.iter().find_map(|event| match event.body() {
        EventBody::PermissionResponse(answer) => Some((answer.permission_id, answer.outcome)),
        _ => None,
    });
    assert_eq!(answer, Some((request.id(), PermissionOutcome::Approved)));
}

#[tokio::test]
async fn what_was_said_for_the_run_holds_when_it_goes_on() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::replies([publish("a"), Reply::tool_call("clock", json!({})), Reply::text("done")]);
    let agent = process(&script, &store).await;
    let config = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["clock"]));
    let (_, request) = waiting(agent.thread("s", "main").run("go").with_run_config(config).await);
    respond(&agent, &request, PermissionDecision::allow()).await;
    let result = agent.thread("s", "main").resume().await.unwrap();
    let told = results(&agent, &result).await;
    assert_eq!(told[0].output.text(), "published a");
    assert!(told[1].output.text().contains("may not be used in this run"));
}

#[tokio::test]
async fn while_the_rest_of_the_message_runs_the_answer_has_to_wait_for_it() {
    let running = Arc::new(tokio::sync::Notify::new());
    let go_on = Arc::new(tokio::sync::Notify::new());
    let (started, wait) = (running.clone(), go_on.clone());
    let slow = DynamicFunction::new("slow", "Takes its time.");
    let slow = DynamicHarness::new("slow").with_function(slow, move |_, _| {
        let (started, wait) = (started.clone(), wait.clone());
        Box::pin(async move {
            started.notify_one();
            wait.notified().await;
            Ok("slept")
        })
    });
    let script = ScriptedChatClient::replies([publish("a").and_tool_call("slow", json!({})), Reply::text("done")]);
    let agent = builder(&script)
        .with_tool_harness::<Site>()
        .with_dynamic_harness(slow)
        .with_permissions(Permissions::ask().durable())
        .build()
        .await
        .unwrap();
    let mut run = agent.thread("s", "main").run("go");
    run.start();
    let handle = tokio::spawn(run.into_future());
    running.notified().await;
    let events = journal(&agent, &main()).await;
    let id = events.iter().find_map(|event| match event.body() {
        EventBody::PermissionRequest(request) => Some(request.permission_id),
        _ => None,
    });
    let busy = agent.respond(id.unwrap(), Some(&main()), PermissionDecision::allow()).await;
    assert!(matches!(busy, Err(RunError::ThreadBusy { thread }) if thread == main()));
    go_on.notify_one();
    let (_, request) = waiting(handle.await.unwrap());
    assert_eq!(respond(&agent, &request, PermissionDecision::allow()).await, RespondOutcome::Accepted);
    let result = agent.thread("s", "main").resume().await.unwrap();
    let texts: Vec<_> = results(&agent, &result).await.iter().map(|told| told.output.text().to_owned()).collect();
    assert_eq!(texts, ["published a", "slept"]);
}

#[tokio::test]
async fn every_outcome_of_an_answer_that_finds_nothing_to_answer() {
    let store = Arc::new(MemorySessionStore::new());
    let agent = process(&ScriptedChatClient::replies([publish("a")]), &store).await;
    let (thread, request) = waiting(agent.thread("s", "main").run("go").await);
    let allow = PermissionDecision::allow;
    let unknown = RequestId::generate();
    // Nothing runs in this process, and no thread is named.
    assert_eq!(agent.respond(request.id(), None, allow()).await.unwrap(), RespondOutcome::RuntimeUnavailable);
    assert_eq!(agent.respond(unknown, Some(&thread), allow()).await.unwrap(), RespondOutcome::NotFound);
    let nowhere = ThreadKey::new("s", "nowhere").unwrap();
    assert_eq!(agent.respond(request.id(), Some(&nowhere), allow()).await.unwrap(), RespondOutcome::NotFound);

    // A process that was killed while it asked: nobody waits for that answer.
    let mut events = journal(&agent, &thread).await;
    events.pop();
    let crashed = ThreadKey::new("s", "crashed").unwrap();
    let header = Arc::new(ThreadHeader::conversation(crashed.clone(), agent.id().unwrap().clone()));
    store_commit(&agent, Append::create(header, events)).await;
    assert_eq!(agent.respond(request.id(), Some(&crashed), allow()).await.unwrap(), RespondOutcome::ExecutionEnded);
    assert!(pending(&agent, &crashed).await.is_empty());
    let resumed = agent.thread("s", "crashed").resume().await;
    assert!(matches!(resumed, Err(RunError::NothingToResume { .. })));
    assert!(pending(&agent, &nowhere).await.is_empty());
}

async fn store_commit(agent: &Agent, append: Append) {
    agent.session_store().commit(Batch::new(vec![append])).await.unwrap();
}

#[tokio::test]
async fn an_answer_for_good_is_journaled_for_the_session_of_the_thread_that_asked() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("a"), publish("b"), Reply::text("written")])
        .otherwise([Reply::tool_call("isolated_writer", json!({"input": "Write."})), publish("c")]);
    let agent = process(&script, &store).await;
    let (_, request) = waiting(agent.thread("s", "main").run("go").await);
    respond(&agent, &request, PermissionDecision::allow().always()).await;
    let child_session = ThreadQuery::session(request.thread().session_id.clone());
    assert_eq!(agent.session_store().threads(child_session).await.unwrap().len(), 2);
    // The child is not asked again; its parent, in another session, is.
    let (_, next) = waiting(agent.thread("s", "main").resume().await);
    assert_eq!((next.thread(), next.arguments()), (&main(), r#"{"page":"c"}"#));
}

#[tokio::test]
async fn what_waits_is_closed_if_its_call_is_not_gone_on_with() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [publish("b")])
        .otherwise([publish("a").and_tool_call("fresh_writer", json!({"input": "Write."})), Reply::text("done")]);
    let agent = process(&script, &store).await;
    let (thread, _) = waiting(agent.thread("s", "main").run("go").await);
    let both = agent.runtime_state(&thread).await.unwrap().pending_requests;
    let own = both.iter().find(|request| *request.thread() == thread).unwrap();
    let forbidden = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["publish", "fresh_writer"]));
    let result = agent.thread("s", "main").resume().with_run_config(forbidden).await.unwrap();
    assert!(results(&agent, &result).await.iter().all(|told| told.output.text().contains("may not be used")));
    let events = journal(&agent, &thread).await;
    assert_eq!(count(&events, "PERMISSION_RESPONSE"), 1);
    assert_eq!(count(&events, "SUBAGENT_INVOCATION_CANCELLED"), 1);
    assert_eq!(respond(&agent, own, PermissionDecision::allow()).await, RespondOutcome::Cancelled);
}

#[tokio::test]
async fn of_two_processes_that_resume_one_goes_on() {
    let store = Arc::new(MemorySessionStore::new());
    let script = || ScriptedChatClient::replies([publish("a"), Reply::text("done")]);
    let first = process(&script(), &store).await;
    let (_, request) = waiting(first.thread("s", "main").run("go").await);
    respond(&first, &request, PermissionDecision::allow()).await;
    let second = process(&ScriptedChatClient::texts(["done"]), &store).await;
    let (first, second) = (first.thread("s", "main"), second.thread("s", "main"));
    let (one, other) = tokio::join!(first.resume().into_future(), second.resume().into_future());
    let (done, refused): (Vec<_>, Vec<_>) = [one, other].into_iter().partition(Result::is_ok);
    assert_eq!((done.len(), refused.len()), (1, 1));
    assert!(matches!(refused[0], Err(RunError::NothingToResume { .. })), "{refused:?}");
    let results: Vec<_> = first
        .messages()
        .await
        .unwrap()
        .iter()
        .flat_map(|message| message.results().cloned().collect::<Vec<_>>())
        .collect();
    assert_eq!(results.len(), 1);
}

#[tokio::test]
async fn a_run_that_is_cancelled_does_not_wait() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("writer", [Reply::pending()])
        .otherwise([publish("a").and_tool_call("fresh_writer", json!({"input": "Write."}))]);
    let agent = process(&script, &store).await;
    let mut run = agent.thread("s", "main").run("go");
    let handle = run.handle();
    while let Some(envelope) = run.next().await {
        if matches!(envelope.body(), EventBody::SubAgentInvocationStarted(_)) {
            handle.cancel();
        }
    }
    assert!(matches!(run.await, Err(RunError::Cancelled)));
    assert!(pending(&agent, &main()).await.is_empty());
    let events = journal(&agent, &main()).await;
    assert_eq!(count(&events, "PERMISSION_RESPONSE"), 1);
    assert_eq!(count(&events, "TOOL_CALL_RESULT"), 2);
}

/// Answers what waits with yes and goes on, until the turn has an end. How often it waited.
async fn to_the_end(agent: &Agent, mut result: Result<RunResult, RunError>) -> (usize, Result<RunResult, RunError>) {
    let mut waits = 0;
    while let Err(RunError::AwaitingPermission { request, .. }) = &result {
        assert_eq!(respond(agent, request, PermissionDecision::allow()).await, RespondOutcome::Accepted);
        result = agent.thread("s", "main").resume().await;
        waits += 1;
    }
    (waits, result)
}

fn tokens(reply: Reply) -> Reply {
    reply.with_usage(Usage::new(40, 0))
}

#[tokio::test]
async fn what_a_turn_took_before_it_waited_counts_afterwards() {
    for resumed_by_another in [false, true] {
        let store = Arc::new(MemorySessionStore::new());
        let script = ScriptedChatClient::replies([
            tokens(Reply::tool_call("fork_writer", json!({"input": "write"}))),
            tokens(publish("a")),
            tokens(publish("b")),
            tokens(Reply::text("written")),
            tokens(Reply::text("done")),
        ]);
        let agent = process(&script, &store).await;
        let first = agent.thread("s", "main").run("go").await;
        let agent = if resumed_by_another { process(&script, &store).await } else { agent };
        let (waits, result) = to_the_end(&agent, first).await;
        let result = result.unwrap();
        assert_eq!(waits, 2);
        assert_eq!((result.own_usage(), result.usage()), (Usage::new(80, 0), Usage::new(200, 0)));
        let by_agent: Vec<_> =
            result.usage_by_agent().iter().map(|agent| (&*agent.agent_name, agent.model_calls)).collect();
        assert_eq!(by_agent, [("Coordinator", 2), ("fork_writer", 3)]);

        let child = results(&agent, &result).await.remove(0).metadata.sub_agent.unwrap();
        let receipt = child.receipt.unwrap();
        assert_eq!((receipt.usage, receipt.subtree_usage), (Usage::new(120, 0), Usage::new(120, 0)));
        assert!(receipt.seed_hash.is_some(), "it began with the conversation of its parent");
        // The next turn begins anew.
        let script = ScriptedChatClient::replies([tokens(Reply::text("more"))]);
        let more = process(&script, &store).await.thread("s", "main").run("more").await.unwrap();
        assert_eq!((more.own_usage(), more.usage()), (Usage::new(40, 0), Usage::new(40, 0)));
    }
}

#[tokio::test]
async fn a_budget_is_that_of_the_whole_turn_however_often_it_waits() {
    let budget = |budget: Budget| AgentRunConfig::new().with_budget(budget);
    // Tokens: the third answer uses them up, and what it asks for is not done.
    let script = ScriptedChatClient::replies(["a", "b", "c", "d"].map(|page| tokens(publish(page))));
    let agent = process(&script, &Arc::default()).await;
    let first = agent.thread("s", "main").run("go").with_run_config(budget(Budget::new().with_max_tokens(100))).await;
    let (waits, result) = to_the_end(&agent, first).await;
    assert!(matches!(&result, Err(RunError::BudgetReached { limit: BudgetLimit::Tokens, .. })), "{result:?}");
    assert_eq!((waits, script.remaining()), (2, 1));

    // Children: the first one waits, and is not started a second time.
    let script = ScriptedChatClient::route()
        .when_system_contains("You are the writer.", [publish("a"), Reply::text("written")])
        .otherwise([
            Reply::tool_call("fresh_writer", json!({"input": "write"})),
            Reply::tool_call("fresh_writer", json!({"input": "again"})),
            Reply::text("done"),
        ]);
    let agent = process(&script, &Arc::default()).await;
    let first = agent.thread("s", "main").run("go").with_run_config(budget(Budget::new().with_max_children(1))).await;
    let (waits, result) = to_the_end(&agent, first).await;
    let told = results(&agent, &result.unwrap()).await;
    assert_eq!(waits, 1);
    assert_eq!(told[0].output.text(), "written");
    assert!(told[1].output.text().contains("allows 1 child."), "{}", told[1].output.text());
}
