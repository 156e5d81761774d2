//! Agents that are not of the tree when it is built: new versions in the store, and those of a resolver.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    agent::{AgentBuilder, AgentLease, AgentRuntimeResolver, ResolveError},
    future::BoxFuture,
    id::{AgentId, SessionId, ThreadId},
    prelude::*,
    store::{AgentRecord, AgentStore, ExpectedVersion, memory::MemoryAgentStore, memory::MemorySessionStore},
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, children, results};

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

async fn save(store: &dyn AgentStore, agent: &str, config: &AgentConfig) {
    let record = AgentRecord::new(id(agent), serde_json::to_string(config).unwrap());
    store.save(record, ExpectedVersion::Any).await.unwrap();
}

fn says(text: &'static str) -> AgentConfig {
    AgentConfig::new("Assistant").with_system_instructions(text)
}

#[derive(Default)]
struct Stored;

#[tool_harness(name = "resolving.stored")]
impl Stored {
    /// Answers as the user wants.
    #[subagent(context = Fresh)]
    fn assistant(&self) -> SubAgent {
        SubAgent::from_agent_id("user.assistant").with_tool_harness::<Clock>()
    }
}

#[derive(Default)]
struct Clock;

#[tool_harness(name = "resolving.clock")]
impl Clock {
    /// Says what time it is.
    #[ai_function]
    fn time(&self) -> &'static str {
        "noon"
    }
}

/// A child of its parent's configuration, in a harness that several agents have.
#[derive(Default)]
struct Shared;

#[tool_harness(name = "resolving.shared")]
impl Shared {
    /// Helps.
    #[subagent(context = Fresh, availability = through_depth(3))]
    fn helper(&self) -> SubAgent {
        SubAgent::from_parent("shared.helper")
    }
}

fn stored(store: &Arc<MemoryAgentStore>, script: &ScriptedChatClient) -> AgentBuilder {
    builder(script).with_agent_store(Arc::clone(store) as Arc<dyn AgentStore>).with_tool_harness::<Stored>()
}

/// A script in which the assistant says what it was told to be.
fn echo(calls: usize) -> ScriptedChatClient {
    ScriptedChatClient::from_fn(move |request| {
        if request.system.contains("coordinator") {
            let asked = request.history.iter().filter(|message| message.results().next().is_some()).count();
            return match asked < calls {
                true => Reply::tool_call("assistant", json!({"input": "x"})),
                false => Reply::text("done"),
            };
        }
        let tools: Vec<_> = request.tools.iter().map(|tool| tool.name().as_str()).collect();
        Reply::text(format!("{} {}", request.system, tools.join(" ")))
    })
}

#[tokio::test]
async fn what_a_user_changes_in_the_store_holds_from_the_next_call_on() {
    let store = Arc::new(MemoryAgentStore::new());
    save(&*store, "user.assistant", &says("One.")).await;
    let script = echo(1);
    let agent = stored(&store, &script).build().await.unwrap();
    let ask = || async {
        let result = agent.run("Go.").await.unwrap();
        results(&agent, &result).await[0].output.text().to_owned()
    };
    // The harness of the declaration belongs to every version.
    assert_eq!(ask().await, "One. time");
    save(&*store, "user.assistant", &says("Two.").with_tool_harness_named("resolving.shared")).await;
    assert_eq!(ask().await, "Two. time helper");
    assert_eq!(ask().await, "Two. time helper");

    let nonsense = AgentRecord::new(id("user.assistant"), "7");
    store.save(nonsense, ExpectedVersion::Any).await.unwrap();
    let told = ask().await;
    assert!(told.contains("`assistant` was not started") && told.contains("version 3"), "{told}");
    save(&*store, "user.assistant", &says("Four.").with_tool_harness_named("resolving.clok")).await;
    let told = ask().await;
    assert!(told.contains("there is no tool harness `resolving.clok`"), "{told}");
    store.delete(id("user.assistant"), ExpectedVersion::Any).await.unwrap();
    let told = ask().await;
    assert!(told.contains("there is no definition of agent `user.assistant`"), "{told}");
}

#[tokio::test]
async fn a_conversation_goes_on_with_an_agent_that_only_the_store_has() {
    let store = Arc::new(MemoryAgentStore::new());
    save(&*store, "user.assistant", &says("I am the assistant.")).await;
    let sessions = Arc::new(MemorySessionStore::new());
    let script = echo(1);
    let first = stored(&store, &script).with_session_store(sessions.clone()).build().await.unwrap();
    let result = first.run("Go.").await.unwrap();
    let [header] = children(&first, result.thread()).await.try_into().unwrap();

    // Another process, whose tree does not have it.
    let second = builder(&script)
        .with_agent_store(store.clone())
        .with_session_store(sessions)
        .with_name("Other")
        .build()
        .await
        .unwrap();
    let child = second.thread(&header.key.session_id, &header.key.thread_id);
    assert_eq!(child.run("And now?").await.unwrap().text(), "I am the assistant. ");
    let main = second.thread(result.session_id(), result.thread_id());
    assert_eq!(main.with_agent("user.assistant").run("You?").await.unwrap().text(), "I am the assistant. ");
    let error = child.with_agent("user.nobody").run("You?").await.unwrap_err();
    assert_eq!(error.code(), "unknown_agent");
    assert!(error.to_string().contains("not in its agent store"), "{error}");
}

#[tokio::test]
async fn a_child_of_its_parents_configuration_is_what_was_recorded_whoever_carries_its_harness() {
    let store = Arc::new(MemoryAgentStore::new());
    save(&*store, "user.assistant", &says("I am the assistant.")).await;
    let script = ScriptedChatClient::from_fn(|request| {
        let asked = request.history.iter().any(|message| message.results().next().is_some());
        match (&*request.system, asked, request.history.len()) {
            ("You are the coordinator.", false, 1) if request.tools.len() == 2 => {
                Reply::tool_call("assistant", json!({"input": "x"}))
            }
            ("I am the assistant.", false, _) => Reply::tool_call("helper", json!({"input": "y"})),
            (system, ..) => Reply::text(format!("{system} {}", request.tools.len())),
        }
    });
    let agent = stored(&store, &script).with_tool_harness::<Shared>().build().await.unwrap();
    // The new version carries the harness of the root; its helper is the root's all the same, and nothing is written.
    save(&*store, "user.assistant", &says("I am the assistant.").with_tool_harness_named("resolving.shared")).await;
    let result = agent.run("Go.").await.unwrap();
    let [assistant] = children(&agent, result.thread()).await.try_into().unwrap();
    let [helper] = children(&agent, &assistant.key).await.try_into().unwrap();
    let said = agent.thread(&helper.key.session_id, &helper.key.thread_id).messages().await.unwrap();
    assert!(said.last().unwrap().text().starts_with("You are the coordinator."), "{said:?}");
    assert_eq!(store.versions(id("shared.helper")).await.unwrap().len(), 1);

    // A record of somebody else is not taken.
    let foreign = AgentRecord::new(id("shared.helper"), "{}").owned_by("other:Harness.method", "00");
    store.save(foreign, ExpectedVersion::Any).await.unwrap();
    save(&*store, "user.assistant", &says("I am another.").with_tool_harness_named("resolving.shared")).await;
    let result = agent.run("Go.").await.unwrap();
    let told = results(&agent, &result).await[0].output.text().to_owned();
    assert!(told.contains("`hpd-agent:resolving.shared.helper`") && told.contains("other:Harness.method"), "{told}");
}

/// Leases an agent for each thread, and counts.
struct Pool {
    agent: Agent,
    asked: Mutex<Vec<String>>,
    living: Arc<AtomicUsize>,
    fails: bool,
}

struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl AgentRuntimeResolver for Pool {
    fn get_or_build(
        &self,
        agent: AgentId,
        session: SessionId,
        thread: ThreadId,
    ) -> BoxFuture<'_, Result<Option<AgentLease>, ResolveError>> {
        self.asked.lock().unwrap().push(format!("{agent} {session} {thread}"));
        let given = match (agent.as_str(), self.fails) {
            ("pool.member", true) => Err(ResolveError::Other { id: agent, source: "the pool is empty".into() }),
            ("pool.member", false) => {
                self.living.fetch_add(1, Ordering::SeqCst);
                Ok(Some(AgentLease::new(self.agent.clone()).with_guard(Living(self.living.clone()))))
            }
            _ => Ok(None),
        };
        Box::pin(std::future::ready(given))
    }
}

#[derive(Default)]
struct Members;

#[tool_harness(name = "resolving.members")]
impl Members {
    /// Works.
    #[subagent(agent_id = "pool.member", context = Fresh)]
    fn member(&self) -> AgentConfig {
        AgentConfig::new("Declared").with_system_instructions("You are declared.")
    }

    /// Works too.
    #[subagent(agent_id = "pool.other", context = Fresh)]
    fn other(&self) -> AgentConfig {
        AgentConfig::new("Other").with_system_instructions("You are the other.")
    }
}

#[tokio::test]
async fn a_resolver_of_the_applications_gives_the_agent_and_gets_it_back() {
    for fails in [false, true] {
        let leased = ScriptedChatClient::texts(["leased", "continued"]);
        let member = Agent::builder()
            .with_name("Leased")
            .with_system_instructions("You are leased.")
            .with_chat_client(leased.clone())
            .build()
            .await
            .unwrap();
        let living = Arc::new(AtomicUsize::new(0));
        let pool = Arc::new(Pool { agent: member, asked: Mutex::default(), living: living.clone(), fails });
        let script = ScriptedChatClient::replies([
            Reply::tool_call("member", json!({"input": "a"})),
            Reply::tool_call("other", json!({"input": "b"})),
            Reply::text("from the tree"),
            Reply::text("done"),
        ]);
        let agent =
            builder(&script).with_tool_harness::<Members>().with_runtime_resolver(pool.clone()).build().await.unwrap();
        let result = agent.run("Go.").await.unwrap();
        let told = results(&agent, &result).await;
        assert_eq!(told[1].output.text(), "from the tree");
        assert_eq!(living.load(Ordering::SeqCst), 0, "nothing is kept");
        if fails {
            assert!(told[0].output.text().contains("the pool is empty"), "{:?}", told[0]);
            continue;
        }
        assert_eq!(told[0].output.text(), "leased");
        assert_eq!(&*leased.requests()[0].system, "You are leased.");
        // The journal is the parent's, and the child is continued by whom the resolver gives.
        let headers = children(&agent, result.thread()).await;
        let header = headers.iter().find(|header| header.default_agent_id.as_str() == "pool.member").unwrap();
        let thread = agent.thread(&header.key.session_id, &header.key.thread_id);
        assert_eq!(thread.run("More.").await.unwrap().text(), "continued");
        assert_eq!(leased.requests()[1].history.len(), 3);
        let asked = pool.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 3, "the root is nobody's lease: {asked:?}");
        assert_eq!(asked[0], format!("pool.member {} {}", header.key.session_id, header.key.thread_id));
        assert_eq!(asked[2], asked[0]);
    }
}
