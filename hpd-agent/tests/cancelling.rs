//! What a run does that is asked to stop before it asks a model, and while a child waits for one.

use hpd_agent::{
    agent::RunError,
    prelude::*,
    testing::{Hold, Reply, ScriptedChatClient},
};
use serde_json::json;

#[derive(Default)]
struct Specialists;

#[tool_harness]
impl Specialists {
    /// Summarizes a request before the parent answers.
    #[subagent(agent_id = "specialist.summarizer")]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer")
    }
}

async fn agent(script: &ScriptedChatClient) -> Agent {
    Agent::builder()
        .with_chat_client(script.clone())
        .with_tool_harness::<Specialists>()
        .with_permissions(Permissions::allow_all())
        .build()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_run_that_is_cancelled_at_once_asks_no_model() {
    let script = ScriptedChatClient::texts(["never said"]);
    let mut run = agent(&script).await.run("Hello.");
    run.start();
    run.cancel();
    assert!(matches!(run.await, Err(RunError::Cancelled)));
    assert!(script.requests().is_empty());
}

#[tokio::test]
async fn a_child_that_waits_for_its_model_ends_with_its_parent() {
    let hold = Hold::new();
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "Summarize it."})),
        Reply::text("never said").held_by(&hold),
    ]);
    let mut run = agent(&script).await.run("Please summarize.");
    run.start();
    hold.reached(1).await;
    run.cancel();
    assert!(matches!(run.await, Err(RunError::Cancelled)));
    assert_eq!(script.requests().len(), 2);
}
