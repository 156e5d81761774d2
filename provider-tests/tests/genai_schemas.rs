//! The schemas of an agent's tools as they arrive at a provider, in each wire format.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod servers;

use hpd_agent::{
    chat::{
        RetryPolicy, SchemaProfile, ToolSet,
        genai::{GenaiChatClient, GenaiProvider},
    },
    prelude::*,
    testing::ScriptedChatClient,
};
use serde::Deserialize;
use serde_json::{Value, json};
use servers::{Server, Tap};

#[derive(Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema matters")]
struct Trip {
    /// Where to.
    place: String,
    #[serde(default)]
    days: u8,
    by: Option<Transport>,
    /// In the order of the journey.
    stops: Vec<(f64, f64)>,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "only its schema matters")]
enum Transport {
    Foot,
    Train {
        #[schemars(regex(pattern = "^[A-Z]+[0-9]+$"))]
        number: String,
    },
}

#[derive(Default)]
struct Travel;

#[tool_harness]
impl Travel {
    /// Books a trip.
    #[ai_function]
    fn book(&self, trip: Trip, note: Option<String>) -> String {
        format!("{}: {}", trip.place, note.unwrap_or_default())
    }

    /// Plans a trip.
    #[subagent(agent_id = "travel.planner", context = ModelChoice)]
    fn planner(&self) -> AgentConfig {
        AgentConfig::new("Planner")
    }
}

fn start() -> Server {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/aimock.json");
    let arguments = |port: u16| {
        let port = port.to_string();
        ["-h", "127.0.0.1", "-p", &port, "-f", fixtures, "--strict"].map(str::to_owned).to_vec()
    };
    Server::start("HPD_AIMOCK", arguments, "/__aimock/journal")
}

/// The tools of the agent as a client is given them.
async fn tools() -> ToolSet {
    let script = ScriptedChatClient::texts(["x"]);
    let agent = Agent::builder().with_chat_client(script.clone()).with_tool_harness::<Travel>().build().await.unwrap();
    agent.run("Hello.").await.unwrap();
    script.requests()[0].tools.clone()
}

/// Name, schema and `strict` of each tool of a request.
fn sent(provider: GenaiProvider, body: &Value) -> Vec<(String, Value, Value)> {
    let tools = body["tools"].as_array().unwrap();
    let parts = |tool: &Value, schema: &str| {
        (tool["name"].as_str().unwrap().to_owned(), tool[schema].clone(), tool["strict"].clone())
    };
    match provider {
        GenaiProvider::Anthropic => tools.iter().map(|tool| parts(tool, "input_schema")).collect(),
        GenaiProvider::Gemini => {
            let all = tools.iter().flat_map(|tool| tool["functionDeclarations"].as_array().unwrap());
            all.map(|tool| parts(tool, "parametersJsonSchema")).collect()
        }
        _ => tools.iter().map(|tool| parts(&tool["function"], "parameters")).collect(),
    }
}

#[tokio::test]
async fn schemas_arrive_in_the_form_of_the_profile() {
    let server = start();
    let tap = Tap::before(&server);
    let tools = tools().await;
    assert_eq!(tools.len(), 2);
    for (provider, strict, path, profile, flag) in [
        (GenaiProvider::OpenAi, false, "/v1", SchemaProfile::OpenAi, json!(false)),
        (GenaiProvider::OpenAi, true, "/v1", SchemaProfile::OpenAiStrict, json!(true)),
        (GenaiProvider::Anthropic, false, "", SchemaProfile::Anthropic, Value::Null),
        (GenaiProvider::Gemini, false, "", SchemaProfile::Gemini, Value::Null),
        (GenaiProvider::DeepSeek, false, "/v1", SchemaProfile::OpenAi, json!(false)),
        (GenaiProvider::Ollama, false, "", SchemaProfile::OpenAi, Value::Null),
    ] {
        let client = GenaiChatClient::new(provider, "gpt-5")
            .with_api_key("test")
            .with_base_url(&tap.url(path))
            .with_retry_policy(RetryPolicy::never());
        let client = if strict { client.with_strict_tools() } else { client };
        let agent = Agent::builder().with_chat_client(client).with_tool_harness::<Travel>().build().await.unwrap();
        let result = agent.run("Please think.").await.unwrap();
        assert_eq!(result.text(), "The answer is 42.", "{provider}");
        let sent = sent(provider, &tap.take_body());
        let expected: Vec<_> = tools
            .iter()
            .map(|tool| (tool.name().to_string(), tool.schema().wire(profile).unwrap().clone(), flag.clone()))
            .collect();
        assert_eq!(sent, expected, "{provider}, strict: {strict}");
    }
}
