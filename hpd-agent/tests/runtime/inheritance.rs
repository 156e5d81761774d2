//! What a child takes over of its parent's run, and what it may not have whatever it declares.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    agent::BuildProblem,
    chat::{ChatClient, ChatConfig, ChatOptions, ChatProviderRegistry, ChatRequest},
    declare::{ClientFamily, ClientInheritance, ClientPolicies},
    event::EventBody,
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, children, instructions, journal, results};

fn options(temperature: f64, effort: Option<&str>) -> ChatOptions {
    let mut options = ChatOptions::default();
    options.temperature = Some(temperature);
    options.effort = effort.map(Into::into);
    options
}

/// Does things.
#[derive(Default)]
struct Tools;

#[tool_harness(name = "inheritance.tools")]
impl Tools {
    /// Says what the run says.
    #[ai_function]
    fn property(&self, name: String, context: &FunctionContext) -> String {
        context.property(&name).map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// Deletes something.
    #[ai_function(requires_permission)]
    fn delete(&self) -> &'static str {
        "deleted"
    }
}

/// A parent with one child, which is declared with this.
fn parent(run_config: SubAgentRunConfig, config: AgentConfig) -> DynamicHarness {
    let child = SubAgent::from_config("child", config.with_system_instructions("You are the child."))
        .with_description("A child.")
        .with_context_policy(SubAgentContextPolicy::Fresh)
        .with_tool_harness::<Tools>()
        .with_run_config(run_config);
    DynamicHarness::new("inheritance.parent").with_sub_agent("child", child)
}

/// A script in which the child calls these tools.
fn script(calls: &[(&str, serde_json::Value)]) -> ScriptedChatClient {
    let calls = calls.iter().map(|(tool, arguments)| Reply::tool_call(*tool, arguments.clone()));
    ScriptedChatClient::route()
        .when(is_child, calls.chain([Reply::text("child done")]).collect::<Vec<_>>())
        .otherwise([Reply::tool_call("child", json!({"input": "Go."})), Reply::text("done")])
}

fn is_child(request: &ChatRequest) -> bool {
    request.history.iter().next().is_some_and(|message| message.text() == "Go.")
}

fn child_requests(script: &ScriptedChatClient) -> Vec<ChatRequest> {
    script.requests().into_iter().filter(is_child).collect()
}

/// The results of the calls of the only child of a run.
async fn child_results(agent: &Agent, result: &RunResult) -> Vec<String> {
    let [header] = children(agent, result.thread()).await.try_into().unwrap();
    let messages = agent.thread(&header.key.session_id, &header.key.thread_id).messages().await.unwrap();
    messages.iter().flat_map(|message| message.results().map(|result| result.output.text().to_owned())).collect()
}

#[tokio::test]
async fn instructions_and_options_of_a_run_are_inherited_as_the_declaration_says() {
    use RunConfigGroup::Instructions;
    for (declared, own, system, temperature, effort) in [
        // By default the options that really hold, and no instructions.
        (SubAgentRunConfig::inherit(), None, "You are the child.", Some(0.5), Some("high")),
        (SubAgentRunConfig::inherit_only([]), None, "You are the child.", Some(0.5), Some("high")),
        // The child's own options win, and an explicit value wins over everything.
        (SubAgentRunConfig::inherit(), Some(0.2), "You are the child.", Some(0.2), Some("high")),
        (
            SubAgentRunConfig::inherit().override_with(|run| run.set_temperature(0.1)),
            Some(0.2),
            "You are the child.",
            Some(0.1),
            Some("high"),
        ),
        (SubAgentRunConfig::inherit().include(Instructions), None, "Only this.\n\nAnd that.", Some(0.5), Some("high")),
        (
            SubAgentRunConfig::inherit()
                .include(Instructions)
                .override_with(|run| run.set_additional_instructions("Mine.")),
            None,
            "Only this.\n\nMine.",
            Some(0.5),
            Some("high"),
        ),
        (
            SubAgentRunConfig::inherit().include(Instructions).exclude(Instructions),
            None,
            "You are the child.",
            Some(0.5),
            Some("high"),
        ),
    ] {
        let script = script(&[]);
        let config = AgentConfig::new("Child");
        let config = match own {
            Some(own) => config.with_chat_options(options(own, None)),
            None => config,
        };
        let agent = builder(&script).with_dynamic_harness(parent(declared.clone(), config)).build().await.unwrap();
        let run = AgentRunConfig::new()
            .with_chat_options(options(0.5, Some("high")))
            .with_system_instructions("Only this.")
            .with_additional_instructions("And that.")
            .with_max_iterations(2);
        agent.run("Hi.").with_run_config(run).await.unwrap();
        let [request] = child_requests(&script).try_into().unwrap();
        assert_eq!(instructions(&request), system, "{declared:?}");
        assert_eq!(request.options.temperature, temperature, "{declared:?}");
        assert_eq!(request.options.effort.as_deref(), effort, "{declared:?}");
        // What the declaration says is the child's alone.
        assert_eq!(script.requests()[0].options.temperature, Some(0.5));
        assert_eq!(script.requests().last().unwrap().options.temperature, Some(0.5));
    }
}

#[tokio::test]
async fn a_child_with_a_model_of_its_own_takes_over_what_its_declaration_says() {
    let fallback = ClientPolicies::default().with(ClientFamily::Chat, ClientInheritance::FallbackToParent);
    for (declared, own, provider, temperature) in [
        (SubAgentRunConfig::inherit(), None, "parent", Some(0.5)),
        (SubAgentRunConfig::inherit(), Some(ChatConfig::new("mine", "m")), "mine", None),
        (SubAgentRunConfig::isolated(), Some(ChatConfig::new("mine", "m")), "mine", None),
        (SubAgentRunConfig::inherit().with_clients(fallback), None, "parent", Some(0.5)),
        (SubAgentRunConfig::inherit().with_clients(fallback), Some(ChatConfig::new("mine", "m")), "mine", None),
        (
            SubAgentRunConfig::inherit().with_clients(fallback),
            Some(ChatConfig::inherited(options(0.3, None))),
            "parent",
            Some(0.3),
        ),
    ] {
        let (parents, mine) = (script(&[]), ScriptedChatClient::texts(["child done"]));
        let made = mine.clone();
        let mut providers = ChatProviderRegistry::new();
        providers.register("mine", move |_: &ChatConfig| Ok(Arc::new(made.clone()) as Arc<dyn ChatClient>));
        let config = AgentConfig::new("Child");
        let config = match own {
            Some(own) => config.with_chat(own),
            None => config,
        };
        let agent = builder(&parents)
            .with_chat_providers(providers)
            .with_dynamic_harness(parent(declared.clone(), config))
            .build()
            .await
            .unwrap();
        agent.run("Hi.").with_run_config(AgentRunConfig::new().with_temperature(0.5)).await.unwrap();
        let (parents, mine) = (child_requests(&parents), mine.requests());
        let (asked, other) = if provider == "mine" { (mine, parents) } else { (parents, mine) };
        assert_eq!((asked.len(), other.len()), (1, 0), "{declared:?}");
        assert_eq!(asked[0].options.temperature, temperature, "{declared:?}");
    }
}

#[tokio::test]
async fn a_child_without_any_model_is_no_child() {
    let harness = parent(SubAgentRunConfig::isolated(), AgentConfig::new("Child"));
    let error = builder(&script(&[])).with_dynamic_harness(harness).build().await.unwrap_err();
    let [BuildProblem::NoOwnClient { agent, at }] = error.problems() else { panic!("{error}") };
    assert_eq!(agent, "child");
    assert!(at.contains("inheritance.rs:"), "{at}");
}

#[tokio::test]
async fn values_for_functions_are_copied() {
    for (declared, expected) in [
        (SubAgentRunConfig::inherit(), ["1", "none"]),
        (SubAgentRunConfig::inherit().exclude(RunConfigGroup::Context), ["none", "none"]),
        (SubAgentRunConfig::inherit().override_with(|run| run.set_property("b", 2)), ["1", "2"]),
        (SubAgentRunConfig::inherit_only([]).override_with(|run| run.set_property("a", 3)), ["3", "none"]),
    ] {
        let script = script(&[("property", json!({"name": "a"})), ("property", json!({"name": "b"}))]);
        let agent = builder(&script)
            .with_dynamic_harness(parent(declared.clone(), AgentConfig::new("Child")))
            .build()
            .await
            .unwrap();
        let run = AgentRunConfig::new().with_property("a", 1);
        let result = agent.run("Hi.").with_run_config(run).await.unwrap();
        assert_eq!(child_results(&agent, &result).await, expected, "{declared:?}");
    }
}

#[tokio::test]
async fn whether_calls_are_asked_about_is_inherited_with_the_permissions() {
    let asking = |asked: &Arc<AtomicUsize>| {
        let asked = Arc::clone(asked);
        Permissions::ask_with(move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            std::future::ready(PermissionDecision::allow())
        })
    };
    for (declared, run, expected) in [
        // The child itself, and what it deletes.
        (SubAgentRunConfig::inherit(), AgentRunConfig::new(), 2),
        (SubAgentRunConfig::inherit(), AgentRunConfig::new().with_auto_approval(), 0),
        (
            SubAgentRunConfig::inherit().exclude(RunConfigGroup::Permissions),
            AgentRunConfig::new().with_auto_approval(),
            1,
        ),
        (SubAgentRunConfig::inherit(), AgentRunConfig::new().with_permission_disabled("delete"), 1),
        (
            SubAgentRunConfig::inherit().override_with(|run| run.require_permission("delete")),
            AgentRunConfig::new().with_permission_disabled("delete"),
            2,
        ),
        (
            SubAgentRunConfig::inherit().override_with(|run| run.require_permission("property")),
            AgentRunConfig::new(),
            3,
        ),
    ] {
        let script = script(&[("delete", json!({})), ("property", json!({"name": "a"}))]);
        let asked = Arc::new(AtomicUsize::new(0));
        let agent = builder(&script)
            .with_permissions(asking(&asked))
            .with_dynamic_harness(parent(declared.clone(), AgentConfig::new("Child")))
            .build()
            .await
            .unwrap();
        let result = agent.run("Hi.").with_run_config(run.clone()).await.unwrap();
        assert_eq!(child_results(&agent, &result).await, ["deleted", "none"]);
        assert_eq!(asked.load(Ordering::SeqCst), expected, "{declared:?} {run:?}");
    }

    // What the builder says holds for the whole tree, and a run can say otherwise.
    for (run, expected) in [(AgentRunConfig::new(), 1), (AgentRunConfig::new().with_permission_required("child"), 2)] {
        let script = script(&[("delete", json!({})), ("property", json!({"name": "a"}))]);
        let asked = Arc::new(AtomicUsize::new(0));
        let agent = builder(&script)
            .with_permissions(asking(&asked).disable("child").disable("delete").require("property"))
            .with_dynamic_harness(parent(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
            .build()
            .await
            .unwrap();
        agent.run("Hi.").with_run_config(run).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn a_policy_that_denies_is_not_overruled_by_a_run_that_approves() {
    let script = script(&[("delete", json!({}))]);
    let agent = builder(&script)
        .with_permissions(Permissions::deny_all())
        .with_dynamic_harness(parent(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let result = agent.run("Hi.").with_run_config(AgentRunConfig::new().with_auto_approval()).await.unwrap();
    assert!(results(&agent, &result).await[0].output.is_error());
    assert!(children(&agent, result.thread()).await.is_empty());
}

#[tokio::test]
async fn what_a_filter_leaves_out_is_neither_shown_nor_run_and_what_it_denies_stays_denied_below() {
    for (filter, declared, shown, deleted) in [
        (ToolFilter::new(), SubAgentRunConfig::inherit(), &["property", "delete"][..], "deleted"),
        // The child has the tools of its own harnesses, unless an ancestor was denied them.
        (ToolFilter::allow(["child"]), SubAgentRunConfig::inherit(), &["property", "delete"], "deleted"),
        (ToolFilter::deny(["delete"]), SubAgentRunConfig::inherit(), &["property"], "denied to an agent above"),
        (ToolFilter::deny(["delete"]), SubAgentRunConfig::inherit_only([]), &["property"], "denied to an agent above"),
        (ToolFilter::deny_all_except(["child", "property"]), SubAgentRunConfig::inherit(), &["property"], "denied to"),
        // It may be given the same list, and it may have one of its own, which does not widen anything.
        (
            ToolFilter::allow(["child"]),
            SubAgentRunConfig::inherit().include(RunConfigGroup::Tools),
            &[],
            "may not be used in this run",
        ),
        (
            ToolFilter::deny(["delete"]),
            SubAgentRunConfig::inherit().override_with(|run| run.set_tool_filter(ToolFilter::allow(["delete"]))),
            &[],
            "denied to an agent above",
        ),
        (
            ToolFilter::new(),
            SubAgentRunConfig::inherit().override_with(|run| run.set_tool_filter(ToolFilter::allow(["property"]))),
            &["property"],
            "may not be used in this run",
        ),
    ] {
        let script = script(&[("delete", json!({}))]);
        let agent = builder(&script)
            .with_dynamic_harness(parent(declared.clone(), AgentConfig::new("Child")))
            .build()
            .await
            .unwrap();
        let run = AgentRunConfig::new().with_tool_filter(filter.clone());
        let result = agent.run("Hi.").with_run_config(run).await.unwrap();
        let told = child_results(&agent, &result).await;
        assert!(told[0].contains(deleted), "{filter:?} {declared:?}: {told:?}");
        for request in child_requests(&script) {
            let names: Vec<_> = request.tools.iter().map(|tool| tool.name().as_str()).collect();
            assert_eq!(names, shown, "{filter:?} {declared:?}");
        }

        // The same holds when the child is continued.
        let [header] = children(&agent, result.thread()).await.try_into().unwrap();
        let started = journal(&agent, &header.key).await;
        let started = started.iter().find_map(|event| match event.body() {
            EventBody::ExecutionStarted(started) => Some(started.settings.denials.clone()),
            _ => None,
        });
        assert_eq!(*started.unwrap(), filter.denials());
    }
}

#[tokio::test]
async fn a_child_that_is_continued_keeps_what_its_ancestors_were_denied() {
    let script = ScriptedChatClient::route()
        .when(is_child, [Reply::text("child done"), Reply::tool_call("delete", json!({})), Reply::text("I may not.")])
        .otherwise([Reply::tool_call("child", json!({"input": "Go."})), Reply::text("done")]);
    let agent = builder(&script)
        .with_dynamic_harness(parent(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let run = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["delete"]));
    let result = agent.run("Hi.").with_run_config(run).await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    agent.thread(&header.key.session_id, &header.key.thread_id).run("Delete it now.").await.unwrap();
    assert!(child_results(&agent, &result).await[0].contains("denied to an agent above"));
}

#[tokio::test]
async fn a_child_that_is_continued_keeps_what_its_declaration_demands() {
    let declared = SubAgentRunConfig::inherit().override_with(|run| {
        run.set_tool_filter(ToolFilter::deny(["delete"]));
        run.require_permission("property");
        run.set_temperature(0.1);
    });
    let script = ScriptedChatClient::route()
        .when(
            is_child,
            [
                Reply::text("child done"),
                Reply::tool_call("delete", json!({})).and_tool_call("property", json!({"name": "a"})),
                Reply::text("I may not."),
            ],
        )
        .otherwise([Reply::tool_call("child", json!({"input": "Go."})), Reply::text("done")]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let permissions = Permissions::ask_with(move |request| {
        seen.lock().unwrap().push(request.tool().to_owned());
        std::future::ready(PermissionDecision::allow())
    });
    let agent = builder(&script)
        .with_permissions(permissions)
        .with_dynamic_harness(parent(declared, AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let result = agent.run("Hi.").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let thread = agent.thread(&header.key.session_id, &header.key.thread_id);
    thread.run("Go on.").with_run_config(AgentRunConfig::new().with_property("a", 1)).await.unwrap();
    let told = child_results(&agent, &result).await;
    assert!(told[0].contains("may not be used in this run"), "{told:?}");
    assert_eq!(told[1], "1");
    assert_eq!(*asked.lock().unwrap(), ["child", "property"]);
    // What only shapes a delegation is the caller's to say.
    let continued = child_requests(&script);
    assert_eq!(continued[0].options.temperature, Some(0.1));
    assert_eq!(continued[1].options.temperature, None);
}

#[tokio::test]
async fn a_filter_of_the_root_holds_for_the_root() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("delete", json!({})).and_tool_call("child", json!({"input": "Go."})),
        Reply::text("done"),
    ]);
    let agent = builder(&script)
        .with_tool_harness::<Tools>()
        .with_dynamic_harness(parent(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let run = AgentRunConfig::new().with_tool_filter(ToolFilter::allow(["property"]));
    let result = agent.run("Hi.").with_run_config(run).await.unwrap();
    let results = results(&agent, &result).await;
    assert!(results.iter().all(|result| result.output.text().contains("may not be used in this run")), "{results:?}");
    assert!(children(&agent, result.thread()).await.is_empty());
    let names: Vec<_> = script.requests()[0].tools.iter().map(|tool| tool.name().to_string()).collect();
    assert_eq!(names, ["property"]);
}

#[tokio::test]
async fn what_a_declaration_puts_into_the_maps_of_a_run_is_the_childs_alone() {
    let declared = SubAgentRunConfig::inherit_all().override_with(|run| {
        run.set_property("a", 2);
        run.set_property("b", 2);
        run.require_permission("property");
    });
    let look = |name: &str| Reply::tool_call("property", json!({ "name": name }));
    let script = ScriptedChatClient::route()
        .when(is_child, [look("a"), look("b"), Reply::text("child done")])
        .otherwise([Reply::tool_call("child", json!({"input": "Go."})), look("a"), look("b"), Reply::text("done")]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let permissions = Permissions::ask_with(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(PermissionDecision::allow())
    });
    let agent = builder(&script)
        .with_permissions(permissions)
        .with_tool_harness::<Tools>()
        .with_dynamic_harness(parent(declared, AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let run = AgentRunConfig::new().with_property("a", 1).with_permission_disabled("child");
    let result = agent.run("Hi.").with_run_config(run).await.unwrap();
    assert_eq!(child_results(&agent, &result).await, ["2", "2"]);
    let told: Vec<_> = results(&agent, &result).await.iter().map(|result| result.output.text().to_owned()).collect();
    assert_eq!(told[1..], ["1", "none"]);
    assert_eq!(asked.load(Ordering::SeqCst), 2, "only the child's calls are asked about");
}

#[tokio::test]
async fn another_model_in_a_declaration_is_the_childs_alone() {
    let declared = SubAgentRunConfig::inherit().override_with(|run| {
        run.set_model("childs");
        run.set_temperature(0.1);
    });
    let script = script(&[]);
    let harness = parent(declared, AgentConfig::new("Child"));
    let agent = builder(&script).with_dynamic_harness(harness).build().await.unwrap();
    let run = AgentRunConfig::new().with_model("parents").with_temperature(0.9);
    agent.run("Hi.").with_run_config(run).await.unwrap();
    let requests = script.requests();
    let asked: Vec<_> =
        requests.iter().map(|asked| (asked.options.model.as_deref(), asked.options.temperature)).collect();
    let parents = (Some("parents"), Some(0.9));
    assert_eq!(asked, [parents, (Some("childs"), Some(0.1)), parents]);
}
