//! Whole delegations over real wire formats: the library, and the quickstart as a user starts it, against a server that
//! fails on demand and judges its clients.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod servers;

use std::{path::Path, process::Command};

use hpd_agent::{
    chat::genai::{GenaiChatClient, GenaiProvider},
    prelude::*,
};
use serde_json::{Value, json};
use servers::Server;

fn start() -> Server {
    let arguments = |port: u16| ["serve", "-h", "127.0.0.1", "-p", &port.to_string()].map(str::to_owned).to_vec();
    Server::start("HPD_LLMOCK", arguments, "/_llmock/verdict")
}

/// The parent is refused once, delegates; the child answers; the parent answers.
fn play(server: &Server) {
    let call = json!({"name": "summarizer", "arguments": {"input": "The light at Marrow Point was lit in 1871."}});
    let behaviors = json!([
        {"type": "fail", "status": 429, "retry_after": 1},
        {"type": "reply", "tool_calls": [call]},
        {"type": "reply", "text": "- lit in 1871"},
        {"type": "reply", "text": "It was lit in 1871, says the summarizer."},
    ]);
    server.call("POST", "/_llmock/scenario", &json!({"behaviors": behaviors}));
}

fn judge(server: &Server) {
    let verdict = server.call("GET", "/_llmock/verdict", &Value::Null);
    assert_eq!(verdict["passed"], true, "{verdict:#}");
}

#[derive(Default)]
struct Specialists;

#[tool_harness]
impl Specialists {
    /// Summarizes a text.
    #[subagent(agent_id = "specialist.summarizer", context = Fresh)]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("Summarize the text.")
    }
}

#[tokio::test]
async fn an_agent_delegates_in_every_wire_format() {
    for (provider, path) in [
        (GenaiProvider::OpenAiCompatible, "/v1"),
        (GenaiProvider::Anthropic, "/anthropic"),
        (GenaiProvider::Gemini, "/gemini"),
    ] {
        let server = start();
        play(&server);
        let client = GenaiChatClient::new(provider, "mock-model").with_api_key("test").with_base_url(&server.url(path));
        let agent = Agent::builder()
            .with_name("Coordinator")
            .with_system_instructions("Delegate.")
            .with_chat_client(client)
            .with_tool_harness::<Specialists>()
            .with_permissions(Permissions::allow_all())
            .build()
            .await
            .unwrap();
        let result = agent.run("When was the light lit?").await.unwrap();
        assert_eq!(result.text(), "It was lit in 1871, says the summarizer.", "{provider}");
        let by_agent: Vec<_> = result.usage_by_agent().iter().map(|agent| &*agent.agent_name).collect();
        assert_eq!(by_agent, ["Coordinator", "summarizer"], "{provider}");
        assert!(result.usage().input_tokens > 0 && result.usage().output_tokens > 0, "{provider}");
        judge(&server);
    }
}

/// What the quickstart prints as its answer, and what beside it.
fn quickstart(variables: &[(&str, &str)], model: &str) -> (String, String) {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("quickstart{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "build the examples first: cargo build --examples");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/documents/lighthouse.txt");
    let output = Command::new(program)
        .env_clear()
        .envs(variables.iter().copied())
        .args(["--yes", "--model", model])
        .arg(document)
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    (stdout, stderr)
}

#[test]
fn the_quickstart_delegates_over_openais_and_anthropics_wire_formats() {
    for (key, address, path, model) in [
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "openai/mock-model"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "/anthropic", "anthropic/mock-model"),
    ] {
        let server = start();
        play(&server);
        let (answer, beside) = quickstart(&[(key, "test"), (address, &server.url(path))], model);
        assert!(answer.contains("It was lit in 1871, says the summarizer."), "{answer}");
        assert!(beside.contains("summarizer") && beside.contains("lit in 1871"), "{beside}");
        judge(&server);
    }
}
