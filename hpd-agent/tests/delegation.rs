//! Delegation from end to end, through the public interface.
use std::sync::Arc;

use hpd_agent::{
    agent::RunError,
    chat::ChatErrorKind,
    event::EventBody,
    prelude::*,
    testing::{Reply, RequestChecker, ScriptedChatClient},
};
use serde_json::json;

#[derive(Default)]
struct Specialists;

#[tool_harness]
impl Specialists {
    /// Summarizes a request before the parent answers.
    #[subagent(agent_id = "specialist.summarizer")]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("You are the summarizer.")
    }

    /// Reviews a draft.
    #[subagent(agent_id = "specialist.reviewer", context = ModelChoice, metadata(team = "writing"))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer").with_system_instructions("You are the reviewer.")
    }

    /// Adds two numbers.
    #[ai_function]
    fn add(
        &self,
        /// The first.
        a: i64,
        b: Option<i64>,
    ) -> Result<i64, String> {
        b.map(|b| a + b).ok_or_else(|| "give me two numbers".to_owned())
    }
}

async fn agent(script: &ScriptedChatClient) -> Agent {
    Agent::builder()
        .with_name("Coordinator")
        .with_chat_client(RequestChecker::new(Arc::new(script.clone())))
        .with_tool_harness::<Specialists>()
        .with_permissions(Permissions::allow_all())
        .build()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_child_answers_and_the_parent_goes_on() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "Summarize it."})).and_text("Let me see."),
        Reply::text("three bullets"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let mut run = agent.run("Please summarize.");
    let mut types = vec![];
    while let Some(envelope) = run.next().await {
        if envelope.sequence.is_some() {
            types.push(format!("{} {}", envelope.agent().depth, envelope.event.type_name()));
            println!("{}", envelope.to_json().unwrap());
        }
    }
    let result = run.await.unwrap();
    assert_eq!(result.text(), "done");
    script.assert_exhausted();
    assert_eq!(
        types,
        [
            "0 THREAD_CREATED",
            "0 THREAD_EXECUTION_STARTED",
            "0 MESSAGE_TURN_STARTED",
            "0 MODEL_REQUEST",
            "0 MODEL_RESPONSE",
            "0 SUBAGENT_INVOCATION_STARTED",
            "1 THREAD_CREATED",
            "1 THREAD_EXECUTION_STARTED",
            "1 MESSAGE_TURN_STARTED",
            "1 MODEL_REQUEST",
            "1 MODEL_RESPONSE",
            "1 MESSAGE_TURN_FINISHED",
            "1 THREAD_EXECUTION_FINISHED",
            "0 SUBAGENT_INVOCATION_COMPLETED",
            "0 TOOL_CALL_RESULT",
            "0 MODEL_REQUEST",
            "0 MODEL_RESPONSE",
            "0 MESSAGE_TURN_FINISHED",
            "0 THREAD_EXECUTION_FINISHED",
        ]
    );
    let requests = script.requests();
    let texts: Vec<_> = requests[1].history.iter().map(|m| m.text().into_owned()).collect();
    assert_eq!(texts, ["Please summarize.", "Let me see.", "Summarize it."]);
    assert_eq!(&*requests[1].system, "You are the summarizer.");
    let _ = (EventBody::type_name, ChatErrorKind::Server, RunError::Cancelled);
}
