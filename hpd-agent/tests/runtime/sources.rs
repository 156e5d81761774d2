//! Where the definitions of children come from, and what the agent store keeps of them.

use std::{
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hpd_agent::{
    agent::{AgentBuilder, BuildError, BuildProblem},
    chat::{BoxFuture, ChatClient, ChatConfig, ChatProviderRegistry, ChatRequest},
    id::AgentId,
    prelude::*,
    store::{AgentQuery, AgentRecord, AgentStore, AgentStoreError, ExpectedVersion, memory::MemoryAgentStore},
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, results};

fn client() -> ScriptedChatClient {
    ScriptedChatClient::texts(["x"])
}

fn codes(error: &BuildError) -> Vec<&'static str> {
    error.problems().iter().map(BuildProblem::code).collect()
}

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

async fn record(store: &dyn AgentStore, agent: &str) -> AgentRecord {
    store.load(id(agent)).await.unwrap().unwrap_or_else(|| panic!("`{agent}` is not in the store"))
}

async fn save(store: &dyn AgentStore, agent: &str, config: &AgentConfig) {
    let record = AgentRecord::new(id(agent), serde_json::to_string(config).unwrap());
    store.save(record, ExpectedVersion::Any).await.unwrap();
}

/// Gives the time.
#[derive(Default)]
struct Clock;

#[tool_harness(name = "sources.clock")]
impl Clock {
    /// Says what time it is.
    #[ai_function]
    fn time(&self) -> &'static str {
        "noon"
    }
}

#[derive(Default)]
struct Team;

#[tool_harness(name = "sources.team")]
impl Team {
    /// Does a part of the work.
    #[subagent(agent_id = "team.helper", context = Fresh)]
    fn helper(&self) -> SubAgent {
        SubAgent::from_parent("team.helper").with_tool_harness::<Clock>()
    }

    /// Writes a text.
    #[subagent(agent_id = "team.writer", context = Fresh, tool_harnesses = [Clock])]
    fn writer(&self) -> AgentConfig {
        AgentConfig::new("Writer").with_system_instructions("You are the writer.")
    }
}

fn team(store: &Arc<MemoryAgentStore>, script: &ScriptedChatClient) -> AgentBuilder {
    builder(script).with_agent_store(Arc::clone(store) as Arc<dyn AgentStore>).with_tool_harness::<Team>()
}

#[tokio::test]
async fn a_child_of_the_parents_configuration_is_a_snapshot_with_harnesses_of_its_own() {
    let sees_time = |request: &ChatRequest| request.tools.iter().any(|tool| tool.name().as_str() == "time");
    let script = ScriptedChatClient::route()
        .when(sees_time, [Reply::tool_call("time", json!({})), Reply::text("Noon.")])
        .otherwise([
            Reply::tool_call("helper", json!({"input": "What time is it?"})),
            Reply::text("It is noon, they say."),
        ]);
    let store = Arc::new(MemoryAgentStore::new());
    let agent = team(&store, &script).build().await.unwrap();
    let result = agent.run("Ask the helper.").await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "Noon.");

    // The child has all that its parent has, and its own; what it may call is a matter of depth.
    let definitions = agent.definitions();
    let helper = definitions.iter().find(|definition| definition.agent_id.as_str() == "team.helper").unwrap();
    assert_eq!(helper.config.system_instructions(), Some("You are the coordinator."));
    assert_eq!(helper.tool_harnesses.iter().map(|name| &**name).collect::<Vec<_>>(), ["sources.team", "sources.clock"]);
    let stored = record(&*store, "team.helper").await;
    assert_eq!(stored.source.as_deref(), Some("ParentAgentConfiguration"));

    // Later changes of the parent do not reach the child unnoticed.
    let changed = team(&store, &script).with_system_instructions("You are another one.");
    let error = changed.build().await.unwrap_err();
    assert_eq!(codes(&error), ["agent_changed"], "{error}");
    assert_eq!(record(&*store, "team.helper").await, stored);
}

#[tokio::test]
async fn a_definition_is_recorded_once_with_its_owner_and_fingerprint() {
    let store = Arc::new(MemoryAgentStore::new());
    team(&store, &client()).build().await.unwrap();
    let writer = record(&*store, "team.writer").await;
    assert_eq!(writer.owner.as_deref(), Some("hpd-agent:sources.team.writer"));
    assert_eq!(writer.source.as_deref(), Some("SuppliedAgentConfiguration"));
    assert_eq!(
        &*writer.definition,
        r#"{"name":"Writer","systemInstructions":"You are the writer.","toolharnesses":["sources.clock"]}"#
    );
    // What `sha256sum` says of this text.
    assert_eq!(writer.fingerprint.as_deref(), Some("11CB59FB17F0942F10F284442F9A268EB17975BC942D90A35E05934836472FA6"));
    let declaration: serde_json::Value = serde_json::from_str(writer.declaration.as_deref().unwrap()).unwrap();
    assert_eq!(declaration["name"], "writer");
    assert_eq!(declaration["description"], "Writes a text.");
    assert_eq!(declaration["contextPolicy"], "Fresh");

    team(&store, &client()).build().await.unwrap();
    assert_eq!(store.versions(id("team.writer")).await.unwrap(), [writer]);
    assert_eq!(store.list(AgentQuery::default()).await.unwrap().len(), 2);
}

/// The same agent, declared by a value.
fn writer(instructions: &'static str, description: &'static str) -> DynamicHarness {
    let config = AgentConfig::new("Writer").with_system_instructions(instructions);
    let child = SubAgent::from_config("team.writer", config)
        .with_description(description)
        .with_context_policy(SubAgentContextPolicy::Fresh)
        .with_tool_harness::<Clock>();
    DynamicHarness::new("sources.team-at-run-time").with_package("hpd-agent").with_sub_agent("writer", child)
}

#[tokio::test]
async fn the_record_is_the_same_however_a_child_is_declared() {
    /// With a parameter, so that it has no name to be found by: the other one's would be taken.
    #[derive(Default)]
    struct Compiled<T>(PhantomData<T>);

    #[tool_harness(name = "sources.team-at-run-time")]
    impl<T: Send + Sync + 'static> Compiled<T> {
        /// Writes a text.
        #[subagent(agent_id = "team.writer", context = Fresh, tool_harnesses = [Clock])]
        fn writer(&self) -> AgentConfig {
            AgentConfig::new("Writer").with_system_instructions("You are the writer.")
        }
    }

    let mut records = Vec::new();
    for dynamic in [false, true] {
        let store = Arc::new(MemoryAgentStore::new());
        let builder = builder(&client()).with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>);
        let builder = match dynamic {
            true => builder.with_dynamic_harness(writer("You are the writer.", "Writes a text.")),
            false => builder.with_tool_harness::<Compiled<()>>(),
        };
        match builder.build().await {
            Ok(_) => {
                let mut record = record(&*store, "team.writer").await;
                record.updated_at = hpd_agent::id::Timestamp::from_millis(0);
                records.push(record);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(records[0], records[1]);
}

#[tokio::test]
async fn policies_may_change_and_definitions_may_not() {
    let store = Arc::new(MemoryAgentStore::new());
    let build = |instructions, description| {
        let builder = builder(&client()).with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>);
        builder.with_dynamic_harness(writer(instructions, description))
    };
    build("Rhyme.", "Writes.").build().await.unwrap();
    build("Rhyme.", "Writes a text.").build().await.unwrap();
    assert_eq!(store.versions(id("team.writer")).await.unwrap().len(), 1);

    let error = build("Do not rhyme.", "Writes.").build().await.unwrap_err();
    let text = error.to_string();
    assert_eq!(codes(&error), ["agent_changed"], "{text}");
    let fingerprint = record(&*store, "team.writer").await.fingerprint.unwrap();
    for part in [&*fingerprint, "version 1", ".replace_definition(\"team.writer\")", "sources.rs:"] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }

    build("Do not rhyme.", "Writes.").replace_definition("team.writer").build().await.unwrap();
    let versions = store.versions(id("team.writer")).await.unwrap();
    assert_eq!(versions.len(), 2);
    assert!(versions[0].definition.contains("Rhyme.") && versions[1].definition.contains("Do not rhyme."));
    // Now it is the same, and nothing is replaced; and a slip of the pen is not taken for an intention.
    build("Do not rhyme.", "Writes.").replace_definition("team.writer").build().await.unwrap();
    assert_eq!(store.versions(id("team.writer")).await.unwrap().len(), 2);
    let error = build("Do not rhyme.", "Writes.").replace_definition("team.writers").build().await.unwrap_err();
    assert_eq!(codes(&error), ["nothing_to_replace"], "{error}");
}

#[tokio::test]
async fn what_belongs_to_another_or_to_nobody_is_not_replaced_silently() {
    let store = Arc::new(MemoryAgentStore::new());
    team(&store, &client()).build().await.unwrap();
    let other = writer("You are the writer.", "Writes a text.");
    let error = builder(&client())
        .with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>)
        .with_dynamic_harness(other)
        .build()
        .await
        .unwrap_err();
    let text = error.to_string();
    assert_eq!(codes(&error), ["agent_owned"], "{text}");
    for part in ["`hpd-agent:sources.team-at-run-time.writer`", "`hpd-agent:sources.team.writer`", "sources.rs:"] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }

    let store = Arc::new(MemoryAgentStore::new());
    let mine = AgentConfig::new("Writer").with_system_instructions("You are mine.");
    save(&*store, "team.writer", &mine).await;
    let error = team(&store, &client()).build().await.unwrap_err();
    assert_eq!(codes(&error), ["agent_owned"], "{error}");
    assert!(error.to_string().contains("by nobody: a user made it"), "{error}");
    // Nothing at all is written of an agent that cannot be built.
    let all = store.list(AgentQuery::default()).await.unwrap();
    assert_eq!(all.len(), 1);
    assert!(all[0].definition.contains("You are mine."));
    team(&store, &client()).replace_definition("team.writer").build().await.unwrap();
    assert_eq!(store.versions(id("team.writer")).await.unwrap().len(), 2);
}

#[derive(Default)]
struct Stored;

#[tool_harness]
impl Stored {
    /// Answers as the user wants.
    #[subagent(context = Fresh)]
    fn assistant(&self) -> SubAgent {
        SubAgent::from_agent_id("user.assistant")
    }

    /// Answers as the user wants, and knows the conversation.
    #[subagent(context = Fork)]
    fn informed(&self) -> SubAgent {
        SubAgent::from_agent_id("user.assistant")
    }
}

#[tokio::test]
async fn a_stored_definition_is_all_that_a_child_needs() {
    let store = Arc::new(MemoryAgentStore::new());
    // It names a harness whose children are a part of the tree too.
    let config = AgentConfig::new("Assistant")
        .with_system_instructions("You are the user's assistant.")
        .with_tool_harness_named("sources.clock")
        .with_tool_harness_named("sources.team");
    save(&*store, "user.assistant", &config).await;
    let script = ScriptedChatClient::route()
        .when_system_contains("the user's assistant", [Reply::text("One."), Reply::text("Two.")])
        .otherwise([
            Reply::tool_call("assistant", json!({"input": "a"})).and_tool_call("informed", json!({"input": "b"})),
            Reply::text("Done."),
        ]);
    let agent = builder(&script)
        .with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>)
        .with_tool_harness::<Stored>()
        .build()
        .await
        .unwrap();
    let result = agent.run("Ask them.").await.unwrap();
    let results = results(&agent, &result).await;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| !result.output.is_error()), "{results:?}");

    let ids: Vec<_> = agent.definitions().into_iter().map(|definition| definition.agent_id.to_string()).collect();
    assert_eq!(ids, ["coordinator", "user.assistant", "team.helper", "team.writer"]);
    let helper = record(&*store, "team.helper").await;
    assert!(helper.definition.contains("You are the user's assistant."), "its parent is the assistant: {helper:?}");
    // What a user made stays as it is.
    assert_eq!(store.versions(id("user.assistant")).await.unwrap().len(), 1);
    assert_eq!(record(&*store, "user.assistant").await.owner, None);
}

#[tokio::test]
async fn a_recorded_definition_rebuilds_the_same_child_from_the_registries_alone() {
    let store = Arc::new(MemoryAgentStore::new());
    let first = team(&store, &client()).build().await.unwrap();
    let other = DynamicHarness::new("sources.other")
        .with_sub_agent("writer", SubAgent::from_agent_id("team.writer").with_description("Writes a text."));
    let second = builder(&client())
        .with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>)
        .with_dynamic_harness(other)
        .build()
        .await
        .unwrap();
    let of = |agent: &Agent| {
        let definitions = agent.definitions();
        let writer = definitions.iter().find(|definition| definition.agent_id.as_str() == "team.writer").unwrap();
        (writer.tool_harnesses.clone(), writer.config.system_instructions().map(str::to_owned), writer.tools.len())
    };
    assert_eq!(of(&first), of(&second));
}

#[tokio::test]
async fn a_stored_definition_that_is_missing_or_makes_no_sense_fails_the_build() {
    let store = Arc::new(MemoryAgentStore::new());
    let build = || {
        let builder = builder(&client()).with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>);
        builder.with_tool_harness::<Stored>().build()
    };
    let error = build().await.unwrap_err();
    assert_eq!(codes(&error), ["agent_not_found"], "{error}");
    for part in ["`Stored.assistant` (", "`user.assistant`", "sources.rs:"] {
        assert!(error.to_string().contains(part), "{part:?} is missing in:\n{error}");
    }

    let nonsense = AgentRecord::new(id("user.assistant"), r#"{"name": 7}"#);
    store.save(nonsense, ExpectedVersion::Absent).await.unwrap();
    let error = build().await.unwrap_err();
    assert_eq!(codes(&error), ["stored_agent_unreadable"], "{error}");
    assert!(error.to_string().contains("version 1 of agent `user.assistant`"), "{error}");

    save(&*store, "user.assistant", &AgentConfig::new("Assistant").with_tool_harness_named("sources.clok")).await;
    let error = build().await.unwrap_err();
    assert_eq!(codes(&error), ["unknown_harness"], "{error}");
    assert!(error.to_string().contains("sources.clock"), "{error}");
}

#[tokio::test]
async fn an_id_that_the_tree_declares_itself_is_that_agent() {
    let other = |with_clock: bool| {
        let child = SubAgent::from_agent_id("team.writer").with_description("Writes.");
        let child = if with_clock { child.with_tool_harness::<Clock>() } else { child };
        DynamicHarness::new("sources.again").with_sub_agent("again", child)
    };
    // In whichever order they are declared.
    for late in [false, true] {
        let builder = builder(&client());
        let agent = match late {
            true => builder.with_tool_harness::<Team>().with_dynamic_harness(other(false)),
            false => builder.with_dynamic_harness(other(false)).with_tool_harness::<Team>(),
        };
        let agent = agent.build().await.unwrap();
        let ids: Vec<_> = agent.definitions().into_iter().map(|definition| definition.agent_id.to_string()).collect();
        assert_eq!(ids.iter().filter(|id| *id == "team.writer").count(), 1, "{ids:?}");
    }
    let error =
        builder(&client()).with_tool_harness::<Team>().with_dynamic_harness(other(true)).build().await.unwrap_err();
    assert_eq!(codes(&error), ["stored_agent_harnesses"], "{error}");
}

#[tokio::test]
async fn a_child_of_its_parents_configuration_that_may_call_itself_for_ever_is_a_cycle() {
    let child = SubAgent::from_parent("endless").with_description("Helps.");
    let child = child.with_availability(SubAgentAvailability::ANY_ALLOWED_DEPTH);
    let harness = DynamicHarness::new("sources.endless").with_sub_agent("helper", child);
    let error = builder(&client()).with_dynamic_harness(harness).build().await.unwrap_err();
    assert_eq!(codes(&error), ["unbounded_delegation"], "{error}");
    assert!(error.to_string().contains("sources.endless.helper → sources.endless"), "{error}");
}

/// A store into which somebody else writes between the look and the write.
struct Raced {
    inner: MemoryAgentStore,
    looks: AtomicUsize,
    rival: AgentRecord,
}

impl AgentStore for Raced {
    fn load(&self, id: AgentId) -> BoxFuture<'_, Result<Option<AgentRecord>, AgentStoreError>> {
        Box::pin(async move {
            let found = self.inner.load(id.clone()).await?;
            if id == self.rival.id && self.looks.fetch_add(1, Ordering::SeqCst) == 0 {
                self.inner.save(self.rival.clone(), ExpectedVersion::Any).await?;
            }
            Ok(found)
        })
    }
    fn list(&self, query: AgentQuery) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>> {
        self.inner.list(query)
    }
    fn versions(&self, id: AgentId) -> BoxFuture<'_, Result<Vec<AgentRecord>, AgentStoreError>> {
        self.inner.versions(id)
    }
    fn save(&self, record: AgentRecord, expected: ExpectedVersion) -> BoxFuture<'_, Result<u64, AgentStoreError>> {
        self.inner.save(record, expected)
    }
    fn delete(&self, id: AgentId, expected: ExpectedVersion) -> BoxFuture<'_, Result<(), AgentStoreError>> {
        self.inner.delete(id, expected)
    }
}

#[tokio::test]
async fn two_processes_that_record_at_once_agree_or_say_why_not() {
    let first = Arc::new(MemoryAgentStore::new());
    team(&first, &client()).build().await.unwrap();
    let same = record(&*first, "team.writer").await;
    let foreign = AgentRecord::new(id("team.writer"), "{}").owned_by("other:Harness.method", "00");
    for (rival, expected) in [(same, None), (foreign, Some("agent_owned"))] {
        let store = Arc::new(Raced { inner: MemoryAgentStore::new(), looks: AtomicUsize::new(0), rival });
        let built = builder(&client()).with_agent_store(store.clone()).with_tool_harness::<Team>().build().await;
        assert_eq!(built.err().map(|error| codes(&error)[0]), expected);
        assert_eq!(store.versions(id("team.writer")).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_supplied_configuration_is_kept_and_recorded_as_it_was_declared() {
    let config = AgentConfig::new("Child")
        .with_system_instructions("Do it.")
        .with_chat(ChatConfig::new("mine", "large"))
        .with_max_iterations(7);
    let child = SubAgent::from_config("kept.child", config.clone()).with_description("A child.");
    let mut providers = ChatProviderRegistry::new();
    providers.register("mine", |_: &ChatConfig| Ok(Arc::new(client()) as Arc<dyn ChatClient>));
    let store = Arc::new(MemoryAgentStore::new());
    let agent = builder(&client())
        .with_chat_providers(providers)
        .with_agent_store(Arc::clone(&store) as Arc<dyn AgentStore>)
        .with_dynamic_harness(DynamicHarness::new("sources.kept").with_sub_agent("child", child))
        .build()
        .await
        .unwrap();
    assert_eq!(agent.definitions()[1].config, config);
    let stored = record(&*store, "kept.child").await.definition;
    assert_eq!(serde_json::from_str::<AgentConfig>(&stored).unwrap(), config);
}
