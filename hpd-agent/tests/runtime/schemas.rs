//! What a provider takes as the schema of a tool: said by `build()`, and undone in the arguments that come back.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use hpd_agent::{
    agent::BuildProblem,
    chat::{ChatClient, ChatConfig, ChatProviderRegistry, ClientInfo, SchemaProfile},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde::Deserialize;
use serde_json::json;

use crate::support::{Specialists, builder, results};

fn client(profile: SchemaProfile) -> ScriptedChatClient {
    let info = ClientInfo::new(profile.name(), "model").with_schema_profile(profile);
    ScriptedChatClient::texts(["x"]).with_info(info)
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Order {
    /// How many of each.
    #[allow(dead_code, reason = "only its schema matters")]
    items: BTreeMap<String, u32>,
}

#[derive(Default)]
struct Shop;

#[tool_harness]
impl Shop {
    /// Orders something.
    #[ai_function]
    fn order(&self, orders: Vec<Order>) -> usize {
        orders.len()
    }
}

#[derive(Default)]
struct Team;

#[tool_harness]
impl Team {
    /// Buys.
    #[subagent(agent_id = "team.buyer", tool_harnesses = [Shop])]
    fn buyer(&self) -> AgentConfig {
        AgentConfig::new("Buyer")
    }
}

#[derive(Default)]
struct Elsewhere;

#[tool_harness]
impl Elsewhere {
    /// Buys with a model of its own.
    #[subagent(agent_id = "elsewhere.buyer", tool_harnesses = [Shop])]
    fn own_buyer(&self) -> AgentConfig {
        AgentConfig::new("Buyer").with_chat(ChatConfig::new("strict", "model"))
    }
}

fn providers() -> ChatProviderRegistry {
    let mut providers = ChatProviderRegistry::new();
    providers.register("strict", |_| Ok(Arc::new(client(SchemaProfile::OpenAiStrict)) as Arc<dyn ChatClient>));
    providers
}

#[tokio::test]
async fn build_names_the_tool_the_field_the_provider_and_what_to_do() {
    let agent = Agent::builder().with_chat_client(client(SchemaProfile::OpenAiStrict)).with_tool_harness::<Shop>();
    let error = agent.build().await.unwrap_err();
    let [problem @ BuildProblem::Schema { agent, tool, source, .. }] = error.problems() else {
        panic!("{error}");
    };
    assert_eq!((agent.as_str(), tool.as_str()), ("agent", "order"));
    assert_eq!((problem.code(), source.profile()), ("schema_unsupported", SchemaProfile::OpenAiStrict));
    assert_eq!(source.pointer(), "/properties/orders/items/properties/items/additionalProperties");
    let text = error.to_string();
    for part in
        ["`Shop.order` (", "schemas.rs:", "`order`", "`orders[].items.*`", "OpenAI's strict mode", "a map", "take a"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_child_without_a_client_has_its_parents_provider() {
    let with = |profile| Agent::builder().with_chat_client(client(profile)).with_chat_providers(providers());
    let error = with(SchemaProfile::OpenAiStrict).with_tool_harness::<Team>().build().await.unwrap_err();
    assert!(error.to_string().contains("agent `team.buyer`"), "{error}");
    for profile in [SchemaProfile::OpenAi, SchemaProfile::Anthropic, SchemaProfile::Gemini] {
        with(profile).with_tool_harness::<Team>().build().await.unwrap();
        let error = with(profile).with_tool_harness::<Elsewhere>().build().await.unwrap_err();
        assert!(error.to_string().contains("agent `elsewhere.buyer`"), "{error}");
    }
    // The root takes it, the child with its parent's client too, the one with another client does not.
    let all = with(SchemaProfile::Gemini).with_tool_harness::<Shop>().with_tool_harness::<Team>();
    let error = all.with_tool_harness::<Elsewhere>().build().await.unwrap_err();
    assert_eq!(error.problems().len(), 1, "{error}");
    assert!(error.to_string().contains("elsewhere.buyer"), "{error}");
}

#[tokio::test]
async fn every_profile_takes_the_tools_of_subagents() {
    for profile in SchemaProfile::ALL {
        Agent::builder().with_chat_client(client(profile)).with_tool_harness::<Specialists>().build().await.unwrap();
    }
}

#[tokio::test]
async fn a_schema_that_was_written_by_hand_is_checked_too() {
    let schema = json!({
        "type": "object",
        "properties": { "near": { "type": "object", "properties": { "place": { "not": { "type": "null" } } } } },
    });
    let function = DynamicFunction::from_schema("find", "Finds something.", schema);
    let harness = DynamicHarness::new("plugins").with_function(function, |_, _| Box::pin(async { Ok("found") }));
    let agent = Agent::builder().with_chat_client(client(SchemaProfile::Gemini)).with_dynamic_harness(harness);
    let error = agent.build().await.unwrap_err();
    let [BuildProblem::Schema { source, .. }] = error.problems() else { panic!("{error}") };
    assert_eq!(source.pointer(), "/properties/near/properties/place/not");
    assert!(error.to_string().contains("`near.place`"), "{error}");
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused_whatever_the_client_is() {
    let schema = json!({
        "type": "object",
        "properties": { "near": { "type": "objekt" }, "far": { "$ref": "#/$defs/Missing" } },
        "required": "near",
    });
    let harness = || {
        let function = DynamicFunction::from_schema("find", "Finds something.", schema.clone());
        DynamicHarness::new("plugins").with_function(function, |_, _| Box::pin(async { Ok("found") }))
    };
    for client in [ScriptedChatClient::texts(["x"]), client(SchemaProfile::Gemini)] {
        let agent = Agent::builder().with_chat_client(client).with_dynamic_harness(harness());
        let error = agent.build().await.unwrap_err();
        let codes: Vec<_> = error.problems().iter().map(BuildProblem::code).collect();
        assert_eq!(codes, ["invalid_parameters"; 3], "{error}");
        let text = error.to_string();
        for part in [
            "`plugins.find` (",
            "a `required` that is no list of names, at `the arguments` (/required): write a list of texts",
            "the unknown type `\"objekt\"`, at `near` (/properties/near/type): the types are",
            "`$ref: #/$defs/Missing` at `far` (/properties/far) leads to no definition: refer to one",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[derive(Default)]
struct Steps;

#[tool_harness]
impl Steps {
    /// Goes some steps.
    #[ai_function]
    fn go(&self, steps: std::num::NonZeroI32, aside: Option<std::num::NonZeroI8>) -> i32 {
        steps.get() + aside.map_or(0, |steps| steps.get().into())
    }
}

#[tokio::test]
async fn every_profile_takes_an_integer_that_is_not_zero() {
    for profile in SchemaProfile::ALL {
        Agent::builder().with_chat_client(client(profile)).with_tool_harness::<Steps>().build().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_takes_everything() {
    let client = ScriptedChatClient::texts(["x"]);
    Agent::builder().with_chat_client(client).with_tool_harness::<Shop>().build().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
struct Search {
    text: String,
    #[serde(default = "ten")]
    limit: u32,
    #[serde(default)]
    order: Ordering,
    near: Option<String>,
    #[serde(default)]
    filters: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
struct Filter {
    field: String,
    #[serde(default)]
    negate: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, schemars::JsonSchema)]
enum Ordering {
    #[default]
    Newest,
    Oldest,
}

fn ten() -> u32 {
    10
}

#[derive(Clone, Default)]
struct Archive(Arc<Mutex<Vec<Search>>>);

#[tool_harness]
impl Archive {
    /// Searches the archive.
    #[ai_function]
    fn search(
        &self,
        search: Search,
        /** Which shelf. */
        shelf: Option<u8>,
    ) -> String {
        self.0.lock().unwrap().push(search);
        format!("nothing on shelf {}", shelf.unwrap_or_default())
    }
}

#[tokio::test]
async fn what_strict_mode_makes_null_counts_as_left_out() {
    let complete = json!({
        "search": { "text": "null", "limit": null, "order": null, "near": null, "filters": [{ "field": "a", "negate": null }] },
        "shelf": null,
    });
    let wrong = json!({ "search": { "text": null }, "shelf": 1 });
    let script = ScriptedChatClient::replies([
        Reply::tool_call("search", complete),
        Reply::tool_call("search", wrong),
        Reply::text("done"),
    ])
    .with_info(ClientInfo::new("openai", "model").with_schema_profile(SchemaProfile::OpenAiStrict));
    let archive = Archive::default();
    let agent = builder(&script).with_tool_harness_value(archive.clone()).build().await.unwrap();
    let result = agent.run("Search.").await.unwrap();
    let found = Search {
        text: "null".to_owned(),
        limit: 10,
        order: Ordering::Newest,
        near: None,
        filters: vec![Filter { field: "a".to_owned(), negate: false }],
    };
    assert_eq!(*archive.0.lock().unwrap(), [found]);
    let results = results(&agent, &result).await;
    assert_eq!(results[0].output.text(), "nothing on shelf 0");
    // A null for what must be there is wrong as ever.
    assert!(results[1].output.text().contains("`search` is wrong"), "{}", results[1].output.text());
}

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(tag = "t")]
enum Tagged {
    A {
        #[serde(default)]
        a: u8,
    },
    B,
}

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
enum External {
    C {
        #[serde(default)]
        c: u8,
    },
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "its fields are shown")]
struct Flat<T> {
    #[serde(default)]
    z: u8,
    #[serde(flatten)]
    of: T,
}

#[derive(Default)]
struct Flattened;

#[tool_harness]
impl Flattened {
    /// Of an enum with a tag.
    #[ai_function]
    fn tagged(&self, f: Flat<Tagged>) -> String {
        format!("{f:?}")
    }

    /// Of an enum without.
    #[ai_function]
    fn external(&self, f: Flat<External>) -> String {
        format!("{f:?}")
    }

    /// Of an enum that may be missing.
    #[ai_function]
    fn maybe(&self, f: Flat<Option<Tagged>>) -> String {
        format!("{f:?}")
    }
}

#[tokio::test]
async fn a_null_beside_a_flattened_enum_counts_as_left_out() {
    let calls = [
        ("tagged", json!({"z": null, "t": "A", "a": 1}), "Flat { z: 0, of: A { a: 1 } }"),
        ("tagged", json!({"z": 1, "t": "A", "a": null}), "Flat { z: 1, of: A { a: 0 } }"),
        ("tagged", json!({"z": null, "t": "B"}), "Flat { z: 0, of: B }"),
        ("external", json!({"z": null, "C": {"c": null}}), "Flat { z: 0, of: C { c: 0 } }"),
        ("maybe", json!({"z": null}), "Flat { z: 0, of: None }"),
        ("maybe", json!({"z": 1, "t": "A", "a": null}), "Flat { z: 1, of: Some(A { a: 0 }) }"),
        ("maybe", json!({"z": null, "t": "A", "a": 1}), "Flat { z: 0, of: Some(A { a: 1 }) }"),
    ];
    let replies = calls.iter().map(|(tool, f, _)| Reply::tool_call(*tool, json!({ "f": f })));
    let info = ClientInfo::new("openai", "model").with_schema_profile(SchemaProfile::OpenAiStrict);
    let script = ScriptedChatClient::replies(replies.chain([Reply::text("done")])).with_info(info);
    let agent = builder(&script).with_tool_harness::<Flattened>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    let results = results(&agent, &result).await;
    let told: Vec<&str> = results.iter().map(|result| result.output.text()).collect();
    assert_eq!(told, calls.map(|(_, _, expected)| expected));
}
