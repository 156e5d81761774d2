//! What is wrong with an agent is said when it is built, all of it at once.

use std::sync::Arc;

use hpd_agent::{
    agent::{BuildError, BuildProblem},
    chat::{ChatClient, ChatConfig, ChatOptions, ChatProviderRegistry},
    compaction::{CompactionPoint, CompactionSpecification, CompactionStrategy, ForkCompaction},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Specialists, TestStore, builder};

fn client() -> ScriptedChatClient {
    ScriptedChatClient::texts(["x"])
}

fn codes(error: &BuildError) -> Vec<&'static str> {
    error.problems().iter().map(BuildProblem::code).collect()
}

#[derive(Default)]
struct Wrong;

#[tool_harness]
impl Wrong {
    /// Fails.
    #[subagent(agent_id = "wrong.failing")]
    fn failing(&self) -> Result<AgentConfig, String> {
        Err("the file is missing".to_owned())
    }

    /// Has an id that nobody checked yet.
    #[subagent]
    fn bad_id(&self) -> SubAgent {
        SubAgent::from_config("has space", AgentConfig::new("x"))
    }

    /// Says two things.
    #[subagent(agent_id = "wrong.two", name = "one", context = Fresh, metadata(team = "a"))]
    fn contradicting(&self) -> SubAgent {
        SubAgent::from_config("wrong.other", AgentConfig::new("x"))
            .with_name("two")
            .with_context_policy(SubAgentContextPolicy::Fork)
            .with_metadata("team", "b")
    }

    /// Sets what the runtime sets.
    #[subagent(agent_id = "wrong.reserved")]
    fn reserved(&self) -> SubAgent {
        SubAgent::from_config("wrong.reserved", AgentConfig::new("x")).with_metadata("parentThreadId", "x")
    }

    /// Can be called by nobody.
    #[subagent]
    fn nobody(&self) -> SubAgent {
        SubAgent::from_config("wrong.nobody", AgentConfig::new("x"))
            .with_availability(SubAgentAvailability::through_depth(0))
    }

    /// Can do nothing.
    #[subagent(agent_id = "wrong.limits")]
    fn limits(&self) -> AgentConfig {
        AgentConfig::new(" ").with_max_iterations(0).with_tool_harness_named("NoSuchHarness")
    }
}

#[tokio::test]
async fn every_mistake_of_a_harness_is_reported_with_its_place() {
    let error = Agent::builder().with_tool_harness::<Wrong>().build().await.unwrap_err();
    let text = error.to_string();
    for part in [
        "has no model",
        "`Wrong.failing` (",
        "the file is missing",
        "`has space` is not a legal agent id",
        "the attribute says `agent_id = \"wrong.two\"`, the returned value says `\"wrong.other\"`",
        "`name = \"one\"`",
        "`context = Fresh`, the returned value says `Fork`",
        "`metadata = team: \"a\"`",
        "the metadata key `parentThreadId` is set by the runtime",
        "`availability` is 0",
        "`max_iterations` is 0",
        "the agent's name is blank",
        "there is no tool harness `NoSuchHarness`",
        "build.rs:",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    assert!(codes(&error).len() >= 12, "{text}");
}

#[derive(Default)]
struct Later;

#[tool_harness]
impl Later {
    /// Stays.
    #[subagent(agent_id = "later.stays", lifecycle = Continuable)]
    fn stays(&self) -> AgentConfig {
        AgentConfig::new("x")
    }

    /// With everything else.
    #[subagent]
    fn with_all(&self) -> SubAgent {
        let specification = CompactionSpecification::new(CompactionPoint::CurrentHead, CompactionStrategy::removal());
        SubAgent::from_config("later.all", AgentConfig::new("x"))
            .with_fork_compaction(ForkCompaction::Apply(specification))
    }
}

#[tokio::test]
async fn what_does_not_work_yet_is_an_error_that_names_the_argument() {
    let error = builder(&client()).with_tool_harness::<Later>().build().await.unwrap_err();
    let arguments: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| match problem {
            BuildProblem::NotSupported { argument, .. } => *argument,
            other => panic!("unexpected: {other}"),
        })
        .collect();
    assert_eq!(arguments, ["lifecycle", "fork_compaction"]);
}

#[derive(Default)]
struct Excluded;

#[tool_harness]
impl Excluded {
    /// Has nothing to compact.
    #[subagent(context = Fresh)]
    fn fresh(&self) -> SubAgent {
        SubAgent::from_config("excluded.fresh", AgentConfig::new("x")).with_fork_compaction(ForkCompaction::Disable)
    }

    /// Has nothing to tell.
    #[subagent(background_notification = None)]
    fn waits(&self) -> SubAgent {
        SubAgent::from_config("excluded.waits", AgentConfig::new("x"))
    }

    #[subagent]
    fn undescribed(&self) -> SubAgent {
        SubAgent::from_config("excluded.undescribed", AgentConfig::new("x"))
    }

    /// Fine: there may be something to compact.
    #[subagent(fork_compaction = Disable)]
    fn choice(&self) -> SubAgent {
        SubAgent::from_config("excluded.choice", AgentConfig::new("x"))
            .with_context_policy(SubAgentContextPolicy::ModelChoice)
    }
}

#[tokio::test]
async fn policies_that_exclude_each_other_are_refused_in_the_words_of_the_compiler() {
    let error = Agent::builder().with_chat_client(client()).with_tool_harness::<Excluded>().build().await.unwrap_err();
    let found: Vec<_> = error.problems().iter().map(|problem| (problem.code(), problem.to_string())).collect();
    let of = |code: &str| found.iter().filter(|(other, _)| *other == code).map(|(_, text)| text).collect::<Vec<_>>();
    let [fresh, waits] = of("excluded_policies")[..] else { panic!("{error}") };
    assert!(fresh.starts_with("`Excluded.fresh` (") && fresh.contains("HPD0060: `fork_compaction` is for"), "{fresh}");
    assert!(
        waits.starts_with("`Excluded.waits` (") && waits.contains("HPD0061: `background_notification` is"),
        "{waits}"
    );
    assert_eq!(of("missing_description").len(), 1, "{error}");
    assert!(!error.to_string().contains("Excluded.choice"), "{error}");
}

#[tokio::test]
async fn names_and_ids_are_unique() {
    #[derive(Default)]
    struct Twin;
    #[tool_harness]
    impl Twin {
        /// The same name and id as another one.
        #[subagent(agent_id = "specialist.summarizer")]
        fn summarizer(&self) -> AgentConfig {
            AgentConfig::new("x")
        }
    }
    let error =
        builder(&client()).with_tool_harness::<Specialists>().with_tool_harness::<Twin>().build().await.unwrap_err();
    let text = error.to_string();
    assert_eq!(codes(&error), ["duplicate_agent_id", "duplicate_tool"]);
    assert!(text.contains("`Specialists.summarizer` (") && text.contains("`Twin.summarizer` ("), "{text}");
}

#[derive(Clone)]
struct Stateful(Arc<str>);

#[tool_harness]
impl Stateful {
    /// Says what it was made with.
    #[ai_function]
    fn state(&self) -> String {
        self.0.to_string()
    }
}

#[derive(Default)]
struct NeedsState;

#[tool_harness]
impl NeedsState {
    /// Has a stateful harness.
    #[subagent(agent_id = "needs-state", tool_harnesses = [Stateful], context = Fresh)]
    fn child(&self) -> AgentConfig {
        AgentConfig::new("Child").with_system_instructions("You are the child.")
    }
}

#[tokio::test]
async fn harnesses_with_state_come_from_values_and_factories_for_children_too() {
    let script = || {
        ScriptedChatClient::route()
            .when_system_contains("child", [Reply::tool_call("state", json!({})), Reply::text("ok")])
            .otherwise([Reply::tool_call("child", json!({"input": "x"})), Reply::text("done")])
    };
    let error = builder(&script()).with_tool_harness::<NeedsState>().build().await.unwrap_err();
    assert_eq!(codes(&error), ["no_harness_instance"]);
    assert!(error.to_string().contains("with_tool_harness_factory"), "{error}");

    for by_factory in [true, false] {
        let script = script();
        let builder = builder(&script).with_tool_harness::<NeedsState>();
        let agent = match by_factory {
            true => builder.with_tool_harness_factory(|| Stateful("made".into())),
            false => builder.with_tool_harness_value(Stateful("made".into())),
        }
        .build()
        .await
        .unwrap();
        let result = agent.run("go").await.unwrap();
        assert_eq!(result.text(), "done");
        let told = script.requests().into_iter().filter(|r| r.system.contains("child")).nth(1).unwrap();
        assert_eq!(told.history.last().unwrap().results().next().unwrap().output.text(), "made");
        // The parent has the stateful tool only if it was given it itself.
        let root_tools = script.requests()[0].tools.len();
        assert_eq!(root_tools, if by_factory { 1 } else { 2 });
    }
}

#[tokio::test]
async fn a_registered_harness_is_found_by_its_name() {
    let script = ScriptedChatClient::texts(["x"]);
    let config = AgentConfig::new("ByName").with_tool_harness_named("Specialists");
    let agent = builder(&script).with_config(config).build().await.unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(script.requests()[0].tools.len(), 4);
}

#[tokio::test]
async fn children_find_their_own_clients_by_provider_and_inherit_the_parents_otherwise() {
    #[derive(Default)]
    struct Own;
    #[tool_harness]
    impl Own {
        /// Has a provider of its own.
        #[subagent(agent_id = "own.provider", context = Fresh)]
        fn elsewhere(&self) -> AgentConfig {
            AgentConfig::new("Elsewhere").with_chat(ChatConfig::new("other", "model-b"))
        }

        /// Has options of its own.
        #[subagent(agent_id = "own.options", context = Fresh)]
        fn cooler(&self) -> AgentConfig {
            let mut options = ChatOptions::default();
            options.temperature = Some(0.0);
            AgentConfig::new("Cooler").with_chat_options(options)
        }
    }
    let error = builder(&client()).with_tool_harness::<Own>().build().await.unwrap_err();
    assert_eq!(codes(&error), ["unknown_provider"]);
    assert!(error.to_string().contains("agent `own.provider`: chat provider `other`"), "{error}");

    let other = ScriptedChatClient::texts(["from elsewhere"]);
    let mut providers = ChatProviderRegistry::new();
    let made = other.clone();
    providers.register("other", move |_| Ok(Arc::new(made.clone()) as Arc<dyn ChatClient>));
    let script = ScriptedChatClient::replies([
        Reply::tool_call("elsewhere", json!({"input": "x"})).and_tool_call("cooler", json!({"input": "x"})),
        Reply::text("cooled"),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_chat_providers(providers).with_tool_harness::<Own>().build().await.unwrap();
    let run = AgentRunConfig::new().with_temperature(0.9).with_max_tokens(100);
    agent.run("go").with_run_config(run).await.unwrap();
    let own = &other.requests()[0].options;
    assert_eq!((own.model.as_deref(), own.temperature), (Some("model-b"), None));
    let inherited = &script.requests()[1].options;
    assert_eq!((inherited.temperature, inherited.max_tokens), (Some(0.0), Some(100)));
}

#[tokio::test]
async fn a_durable_store_wants_an_agent_with_an_id_of_its_own() {
    let durable = || Arc::new(TestStore { durable: true, ..TestStore::default() });
    let error = builder(&client()).with_session_store(durable()).build().await.unwrap_err();
    assert_eq!(codes(&error), ["missing_agent_id"]);
    assert!(error.to_string().contains("`Coordinator`") && error.to_string().contains("with_agent_id"), "{error}");
    builder(&client()).with_session_store(durable()).with_agent_id("coordinator").build().await.unwrap();
}

#[tokio::test]
async fn a_harness_that_is_given_twice_is_named() {
    let error = builder(&client())
        .with_tool_harness::<Specialists>()
        .with_tool_harness_value(Specialists)
        .build()
        .await
        .unwrap_err();
    assert_eq!(codes(&error), ["duplicate_harness"]);
    assert!(error.to_string().contains("`Specialists`"), "{error}");
}

#[derive(Default)]
struct Searching;

#[tool_harness]
impl Searching {
    /// Searches.
    #[ai_function]
    fn search(&self) -> &'static str {
        "nothing"
    }
}

#[derive(Default)]
struct Repeating;

#[tool_harness]
impl Repeating {
    /// Has one harness by two paths.
    #[subagent(agent_id = "repeating", tool_harnesses = [Searching, crate::build::Searching])]
    fn repeating(&self) -> AgentConfig {
        AgentConfig::new("x")
    }
}

#[tokio::test]
async fn a_harness_that_a_child_is_given_twice_is_told() {
    let error = builder(&client()).with_tool_harness::<Repeating>().build().await.unwrap_err();
    assert_eq!(codes(&error), ["duplicate_harness"]);
    let told = error.to_string();
    assert!(told.contains("`Repeating.repeating` (") && told.contains("`Searching` is given twice"), "{told}");
}

type Maybe = Option<u32>;

/// A type of the author's, of which the macro knows only the name.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Given(u32);

#[derive(Default)]
struct Defaults;

#[tool_harness]
impl Defaults {
    /// Has a default that JSON does not have, and one in front of what has to be given.
    #[ai_function]
    fn wrong(&self, #[arg(default = f64::NAN)] ratio: f64, given: Given) -> f64 {
        ratio + f64::from(given.0)
    }

    /// Has what may be left out behind a default.
    #[ai_function]
    fn right(&self, #[arg(default)] limit: u32, maybe: Maybe, value: serde_json::Value) -> String {
        format!("{limit}{maybe:?}{value}")
    }
}

#[tokio::test]
async fn what_only_the_type_of_a_parameter_knows_is_said_as_of_a_function_made_at_run_time() {
    let error = builder(&client()).with_tool_harness::<Defaults>().build().await.unwrap_err();
    assert_eq!(codes(&error), ["invalid_parameters"; 2], "{error}");
    for part in [
        "the default of `ratio` cannot be written as JSON: give it another, or none",
        "`given` has to be given and stands behind `ratio`, which has a default; put it before, or give it a default too",
    ] {
        assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
    }
}

#[tokio::test]
async fn a_specification_for_forks_is_refused_where_nothing_is_forked() {
    for context in [SubAgentContextPolicy::Fresh, SubAgentContextPolicy::Isolated] {
        let specification = CompactionSpecification::new(CompactionPoint::CurrentHead, CompactionStrategy::removal());
        let child = SubAgent::from_config("a", AgentConfig::new("A"))
            .with_description("A child.")
            .with_context_policy(context)
            .with_fork_compaction(ForkCompaction::Apply(specification));
        let harness = DynamicHarness::new("build.apply").with_sub_agent("child", child);
        let error = builder(&client()).with_dynamic_harness(harness).build().await.unwrap_err();
        assert!(codes(&error).contains(&"excluded_policies"), "{error}");
        assert!(error.to_string().contains("HPD0060: `fork_compaction` is for"), "{error}");
    }
}
