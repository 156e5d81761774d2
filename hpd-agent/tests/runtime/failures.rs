//! Wrong input: each gives a clear error in the right place, no panic, and a readable journal.

use hpd_agent::{
    agent::RunError,
    chat::ChatErrorKind,
    event::{EventBody, ExecutionOutcome},
    message::SubAgentStatus,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{agent, builder, children, journal, results, types};

/// One wrong call; the model is told, and goes on.
async fn told(reply: Reply) -> String {
    let script = ScriptedChatClient::replies([reply, Reply::text("done")]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.text(), "done");
    assert!(children(&agent, result.thread()).await.is_empty(), "a refused call has no child");
    let [told] = results(&agent, &result).await.try_into().unwrap();
    assert!(told.output.is_error());
    let events = journal(&agent, result.thread()).await;
    assert!(!types(&events).iter().any(|name| name.starts_with("SUBAGENT")));
    told.output.text().to_owned()
}

#[tokio::test]
async fn wrong_calls_get_a_sentence() {
    for (reply, expected) in [
        (Reply::tool_call("nobody", json!({})), "There is no tool `nobody`. The tools are: `summarizer`, `reviewer`"),
        (Reply::tool_call("summarizer", json!({})), "`input` is missing"),
        (Reply::raw_tool_call("summarizer", "{\"input\": \"cut"), "not a valid JSON object"),
        (Reply::raw_tool_call("summarizer", "null"), "JSON object"),
        (Reply::tool_call("summarizer", json!({"input": 1})), "has to be a string"),
        (Reply::tool_call("summarizer", json!({"input": "x", "query": "y"})), "no argument `query`"),
        (Reply::tool_call("summarizer", json!({"input": "x", "context": "fresh"})), "always runs with context `fork`"),
        (Reply::tool_call("reviewer", json!({"input": "x", "context": "all"})), "`fork` or `fresh`"),
        (
            Reply::tool_call("summarizer", json!({"input": "x", "invocationMode": "background"})),
            "invalid_invocation_mode",
        ),
        (Reply::tool_call("tool with spaces", json!({})), "There is no tool `tool with spaces`"),
    ] {
        let told = told(reply).await;
        assert!(told.contains(expected), "expected {expected:?} in {told:?}");
    }
}

#[tokio::test]
async fn a_child_that_says_nothing_has_failed() {
    for silence in [Reply::empty(), Reply::text(" \n ")] {
        let script = ScriptedChatClient::replies([
            Reply::tool_call("summarizer", json!({"input": "x"})),
            silence,
            Reply::text("done"),
        ]);
        let agent = agent(&script).await;
        let result = agent.run("go").await.unwrap();
        let [told] = results(&agent, &result).await.try_into().unwrap();
        assert!(told.output.is_error());
        assert!(told.output.text().contains("completed without an assistant response"), "{}", told.output.text());
        let child = told.metadata.sub_agent.unwrap();
        assert_eq!((child.status, child.error_type.as_deref()), (SubAgentStatus::Failed, Some("no_answer")));
        let events = journal(&agent, &child.thread).await;
        let EventBody::ExecutionFinished(finished) = events.last().unwrap().body() else { panic!("not finished") };
        assert_eq!(finished.outcome, ExecutionOutcome::Failed);
        assert_eq!(&*finished.error.as_ref().unwrap().code, "no_answer");
    }
}

#[tokio::test]
async fn a_root_may_say_nothing() {
    let script = ScriptedChatClient::replies([Reply::empty(), Reply::text("again")]);
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    assert_eq!(thread.run("go").await.unwrap().text(), "");
    assert_eq!(thread.run("and now?").await.unwrap().text(), "again");
}

#[tokio::test]
async fn a_failing_provider_of_a_child_is_told_to_the_parent_which_goes_on() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("I was about to").cut(),
        Reply::text("done without it"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.text(), "done without it");
    let [told] = results(&agent, &result).await.try_into().unwrap();
    for part in ["The subagent `summarizer` failed", "scripted", "incomplete"] {
        assert!(told.output.text().contains(part), "{part:?} in {}", told.output.text());
    }
    let events = journal(&agent, result.thread()).await;
    assert!(types(&events).contains(&"SUBAGENT_INVOCATION_FAILED"));
    // What had arrived of the broken answer is in the child's journal, but not in its conversation.
    let child = told.metadata.sub_agent.unwrap().thread;
    let events = journal(&agent, &child).await;
    let partial = events.iter().find_map(|event| match event.body() {
        EventBody::ModelRequestFailed(failed) => failed.partial_text.clone(),
        _ => None,
    });
    assert_eq!(partial.as_deref(), Some("I was about to"));
    let messages = agent.thread(&child.session_id, &child.thread_id).messages().await.unwrap();
    assert_eq!(messages.last().unwrap().text(), "x");
}

#[tokio::test]
async fn a_failing_provider_of_the_root_is_the_runs_error_and_the_thread_can_go_on() {
    let script = ScriptedChatClient::replies([
        Reply::error(ChatErrorKind::Authentication, "401 Unauthorized"),
        Reply::text("better"),
    ]);
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    let error = thread.run("go").await.unwrap_err();
    assert_eq!(error.code(), "authentication_failed");
    for part in ["Coordinator", "401 Unauthorized", "API key"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let events = journal(&agent, thread.key().unwrap()).await;
    assert_eq!(types(&events)[4..], ["MODEL_REQUEST_FAILED", "MESSAGE_TURN_FINISHED", "THREAD_EXECUTION_FINISHED"]);
    assert_eq!(thread.run("again").await.unwrap().text(), "better");
}

#[tokio::test]
async fn a_model_that_only_calls_tools_is_stopped() {
    let script = ScriptedChatClient::from_fn(|_| Reply::text("One more.").and_tool_call("nobody", json!({})));
    let agent = builder(&script).with_max_iterations(3).build().await.unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error, RunError::IterationLimit { limit: 3, .. }), "{error}");
    assert_eq!(script.requests().len(), 3);
}

#[tokio::test]
async fn a_child_at_its_limit_fails_with_what_it_had_said() {
    let script = ScriptedChatClient::route()
        .when_system_contains(
            "summarizer",
            (0..10).map(|_| Reply::text("Thinking.").and_tool_call("nobody", json!({}))),
        )
        .otherwise([Reply::tool_call("summarizer", json!({"input": "x"})), Reply::text("done")]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let [told] = results(&agent, &result).await.try_into().unwrap();
    let text = told.output.text();
    assert!(text.contains("10 model calls") && text.contains("Thinking."), "{text}");
    assert_eq!(told.metadata.sub_agent.unwrap().error_type.as_deref(), Some("iteration_limit"));
}

#[tokio::test]
async fn an_empty_input_is_refused_before_anything_happens() {
    let script = ScriptedChatClient::replies(Vec::<Reply>::new());
    let agent = agent(&script).await;
    assert_eq!(agent.run(" \n").await.unwrap_err().code(), "empty_input");
    assert_eq!(agent.thread("has space", "main").run("x").await.unwrap_err().code(), "invalid_id");
    // The runtime's own threads are not for conversations.
    assert_eq!(agent.thread("s", "$session").run("x").await.unwrap_err().code(), "invalid_id");
    assert!(script.requests().is_empty());
}

#[test]
fn without_a_runtime_a_run_says_so() {
    let script = ScriptedChatClient::texts(["x"]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let agent = runtime.block_on(agent(&script));
    drop(runtime);
    let mut run = agent.run("go");
    run.start();
    let mut future = std::pin::pin!(run.into_future());
    let waker = std::task::Waker::noop();
    let std::task::Poll::Ready(result) = future.as_mut().poll(&mut std::task::Context::from_waker(waker)) else {
        panic!("it waits for nothing");
    };
    assert_eq!(result.unwrap_err().code(), "no_runtime");
}
