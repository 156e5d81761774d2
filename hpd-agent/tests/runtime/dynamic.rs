//! Agents of harnesses that were made at run time.

use std::sync::Arc;

use hpd_agent::{
    agent::{BuildError, BuildProblem},
    compaction::ForkCompaction,
    id::AgentId,
    prelude::*,
    testing::{Reply, ScriptedChatClient},
    tool::DynamicRegistry,
};
use serde_json::json;

use crate::support::{Specialists, builder, results};

fn codes(error: &BuildError) -> Vec<&'static str> {
    error.problems().iter().map(BuildProblem::code).collect()
}

/// A harness whose one function says who calls it.
fn notes() -> DynamicHarness {
    DynamicHarness::new("plugins.notes").with_function(
        DynamicFunction::new("find_note", "Finds a note.").with_param::<String>("subject", "What it is about."),
        |arguments, context| {
            Box::pin(async move {
                let subject: String = arguments.get("subject")?;
                context.emit("found", json!({ "subject": subject })).await?;
                Ok(format!("{} asked for {subject}", context.agent_name()))
            })
        },
    )
}

fn researcher() -> SubAgent {
    SubAgent::from_config(
        "plugins.researcher",
        AgentConfig::new("Researcher").with_system_instructions("You research."),
    )
    .with_description("Researches a question.")
    .with_context_policy(SubAgentContextPolicy::Fresh)
}

fn script() -> ScriptedChatClient {
    let call = Reply::tool_call("find_note", json!({"subject": "rivers"}));
    ScriptedChatClient::route()
        .when_system_contains("research", [call, Reply::text("Found one.")])
        .otherwise([Reply::tool_call("researcher", json!({"input": "Find a note."})), Reply::text("Done.")])
}

#[tokio::test]
async fn a_child_has_the_tools_of_a_harness_that_it_names_carries_or_configures() {
    let by_config = || {
        let config = AgentConfig::new("Researcher")
            .with_system_instructions("You research.")
            .with_tool_harness_named("plugins.notes");
        SubAgent::from_config("plugins.researcher", config).with_description("Researches a question.")
    };
    for (way, child) in [
        ("named", researcher().with_tool_harness_named("plugins.notes")),
        ("carried", researcher().with_dynamic_harness(notes())),
        ("configured", by_config()),
    ] {
        let registry = DynamicRegistry::new();
        registry.add(notes()).unwrap();
        let script = script();
        let agent = builder(&script)
            .with_dynamic_registry(registry.clone())
            .with_dynamic_harness(DynamicHarness::new("plugins.research").with_sub_agent("researcher", child))
            .build()
            .await
            .unwrap();
        // What was built does not change any more.
        registry.remove("plugins.notes");
        let result = agent.run("Go.").await.unwrap();
        assert_eq!(result.text(), "Done.", "{way}");
        assert_eq!(results(&agent, &result).await[0].output.text(), "Found one.", "{way}");
        let asked = script.requests();
        let found = asked.iter().find_map(|request| request.history.last()?.results().next().cloned()).unwrap();
        assert_eq!(found.output.text(), "researcher asked for rivers", "{way}");
        assert_eq!(asked[0].tools.len(), 1, "the parent has no tool of the child: {way}");
    }
}

#[tokio::test]
async fn functions_made_at_run_time_ask_for_permission_and_refuse_in_sentences() {
    let tools = || {
        DynamicHarness::new("plugins.files").with_function(
            DynamicFunction::new("delete", "Deletes a file.").with_param::<String>("path", "").requires_permission(),
            |_, _| Box::pin(async { Ok("deleted") }),
        )
    };
    let script = || {
        ScriptedChatClient::replies([
            Reply::tool_call("delete", json!({"path": "a"}))
                .and_tool_call("delete", json!({"path": 1}))
                .and_tool_call("delete", json!({"file": "a"})),
            Reply::text("Done."),
        ])
    };
    let agent = builder(&script()).with_dynamic_harness(tools()).build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    let told: Vec<String> = results(&agent, &result).await.iter().map(|r| r.output.text().to_owned()).collect();
    assert_eq!(told[0], "deleted");
    assert!(told[1].contains("The argument `path` is wrong"), "{told:?}");
    assert!(told[2].contains("There is no argument `file`; legal are `path`."), "{told:?}");

    let agent = builder(&script())
        .with_dynamic_harness(tools())
        .with_permissions(Permissions::deny_all())
        .build()
        .await
        .unwrap();
    let result = agent.run("Go.").await.unwrap();
    assert!(results(&agent, &result).await.iter().all(|result| result.output.is_error()));
}

#[tokio::test]
async fn closures_define_children_once_for_every_agent_that_is_built() {
    let harness = Arc::new(DynamicHarness::new("plugins.team").with_sub_agent_fn("reviewer", |context| async move {
        let config = AgentConfig::new(format!("Reviewer of {}", context.agent_name()));
        SubAgent::from_config(format!("{}.reviewer", context.agent_id()), config).with_description("Reviews.")
    }));
    for name in ["Alpha", "Beta"] {
        let builder = builder(&ScriptedChatClient::texts(["x"])).with_name(name);
        let agent = builder.with_dynamic_harness(Arc::clone(&harness)).build().await.unwrap();
        let definitions = agent.definitions();
        assert_eq!(definitions[1].config.name(), format!("Reviewer of {name}"));
        assert_eq!(definitions[1].agent_id, AgentId::new(format!("{}.reviewer", name.to_lowercase())).unwrap());
    }
}

#[tokio::test]
async fn a_panic_of_a_closure_is_an_error_of_the_build_or_of_the_call() {
    let client = ScriptedChatClient::replies([Reply::tool_call("breaks", json!({})), Reply::text("Done.")]);
    let failing = DynamicHarness::new("plugins.failing").with_sub_agent_fn("broken", |context| {
        assert!(context.agent_name().is_empty(), "no name");
        async { SubAgent::from_config("x", AgentConfig::new("X")) }
    });
    let error = builder(&client).with_dynamic_harness(failing).build().await.unwrap_err();
    assert_eq!(codes(&error), ["definition_failed"]);
    assert!(
        error.to_string().contains("`plugins.failing.broken` (") && error.to_string().contains("no name"),
        "{error}"
    );

    let breaking = DynamicHarness::new("plugins.breaking").with_function(
        DynamicFunction::new("breaks", "Breaks."),
        |_, context| {
            assert!(context.agent_name().is_empty());
            Box::pin(async { Ok(()) })
        },
    );
    let agent = builder(&client).with_dynamic_harness(breaking).build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    assert!(results(&agent, &result).await[0].output.text().contains("panicked"));
}

#[tokio::test]
async fn every_mistake_is_reported_with_the_line_at_which_it_was_made() {
    let wrong = DynamicHarness::new("plugins.wrong")
        .with_sub_agent("has space", SubAgent::from_config("has space", AgentConfig::new("X")))
        .with_sub_agent("child", researcher().with_tool_harness_named("plugin.notes"))
        .with_function(DynamicFunction::new("blank", "  "), |_, _| Box::pin(async { Ok(()) }))
        .with_function(
            DynamicFunction::new("twice", "Takes one thing twice.").with_param::<u8>("a", "").with_param::<u8>("a", ""),
            |_, _| Box::pin(async { Ok(()) }),
        )
        .with_function(DynamicFunction::new("unnamed", "Takes what has no name.").with_param::<u8>(" ", ""), |_, _| {
            Box::pin(async { Ok(()) })
        })
        .with_function(DynamicFunction::from_schema("raw", "Takes anything.", json!([])), |_, _| {
            Box::pin(async { Ok(()) })
        });
    let registry = DynamicRegistry::new();
    registry.add(notes()).unwrap();
    let client = ScriptedChatClient::texts(["x"]);
    let error = builder(&client).with_dynamic_registry(registry).with_dynamic_harness(wrong).build().await.unwrap_err();
    assert_eq!(
        codes(&error),
        [
            "invalid_id",
            "missing_description",
            "invalid_id",
            "unknown_harness",
            "missing_description",
            "invalid_parameters",
            "invalid_parameters",
            "invalid_parameters",
        ],
        "{error}"
    );
    let text = error.to_string();
    assert_eq!(text.matches("dynamic.rs:").count(), 8, "{text}");
    for part in [
        "`plugins.wrong.child` (",
        "there is no tool harness `plugin.notes`",
        "did you mean `plugins.notes`?",
        "two parameters are named `a`",
        "the parameter name \" \" is not legal: expected 1 to 64",
        "\"type\": \"object\"",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[tokio::test]
async fn what_has_to_be_given_is_declared_before_what_has_a_default_as_in_a_method() {
    let function = || DynamicFunction::new("f", "Does it.").with_param_or::<u32>("limit", "", 10);
    let nothing =
        |harness: DynamicHarness, function| harness.with_function(function, |_, _| Box::pin(async { Ok(()) }));
    let client = ScriptedChatClient::texts(["x"]);
    let wrong = function().with_param::<String>("query", "").with_param::<u8>(" ", "").with_param::<u8>("limit", " ");
    let wrong = nothing(DynamicHarness::new("plugins.order"), wrong);
    let error = builder(&client).with_dynamic_harness(wrong).build().await.unwrap_err();
    assert_eq!(codes(&error), ["invalid_parameters"; 6], "{error}");
    for part in [
        "`query` has to be given and stands behind `limit`, which has a default; put it before, or give it a default too",
        "the parameter name \" \" is not legal",
        "two parameters are named `limit`",
        "the description of `limit` is blank",
    ] {
        assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
    }
    let right = function().with_param::<Option<u8>>("near", "").with_param_or::<u8>("more", "", 1);
    let right = nothing(DynamicHarness::new("plugins.order"), right);
    builder(&client).with_dynamic_harness(right).build().await.unwrap();
}

/// Whoever writes values has no attributes, and no doc comments.
#[tokio::test]
async fn advice_for_values_speaks_of_values() {
    let child = |id: &str| SubAgent::from_config(id, AgentConfig::new("X")).with_description("Does it.");
    let failing = |_| async { Err::<SubAgent, _>("no such plugin") };
    let team = || {
        DynamicHarness::new("plugins.team")
            .with_sub_agent("undescribed", SubAgent::from_config("a", AgentConfig::new("A")))
            .with_function(DynamicFunction::new("blank", ""), |_, _| Box::pin(async { Ok(()) }))
            .with_sub_agent_fn("failing", failing)
            .with_sub_agent("stored", SubAgent::from_agent_id("b").with_description("Stored."))
            .with_sub_agent("twice", child("c"))
            .with_sub_agent("twice", child("d"))
            .with_sub_agent(
                "compacted",
                child("e")
                    .with_context_policy(SubAgentContextPolicy::Fresh)
                    .with_fork_compaction(ForkCompaction::Disable),
            )
            .with_sub_agent("told", child("f").with_background_notification(BackgroundNotification::None))
            .with_sub_agent(
                "endless",
                child("g")
                    .with_availability(SubAgentAvailability::ANY_ALLOWED_DEPTH)
                    .with_tool_harness_named("plugins.team"),
            )
    };
    let client = ScriptedChatClient::texts(["x"]);
    let error = builder(&client).with_dynamic_harness(team()).build().await.unwrap_err();
    for part in [
        "no description: give the `SubAgent` one with `.with_description(\"…\")`",
        "no description: give it as the second argument of `DynamicFunction::new`",
        "the definition failed: no such plugin",
        "or define the agent here with `SubAgent::from_config`\n",
        "give one of them another name",
        "`.with_context_policy(…)` with `Fork` or `ModelChoice`",
        "`.with_invocation_mode(…)` with `BackgroundOnly` or `ModelChoice`",
        "`.with_availability(SubAgentAvailability::through_depth(2))`",
        "`.with_recursion(Recursion::Allowed)`",
    ] {
        assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
    }
    for attribute in ["#[", "doc comment", " = Fork", " = BackgroundOnly", "name = ", "attribute", "the method"] {
        assert!(!error.to_string().contains(attribute), "{attribute:?} is in: {error}");
    }
    let registry = DynamicRegistry::new();
    registry.add(team()).unwrap();
    let twice = registry.add(team()).unwrap_err().to_string();
    assert!(twice.contains("`DynamicRegistry::replace`") && !twice.contains("#["), "{twice}");
}

/// A harness with a subagent that carries what `next` makes.
fn made_anew(depth: usize, next: fn(usize) -> DynamicHarness, name: &str) -> DynamicHarness {
    DynamicHarness::new(name).with_sub_agent_fn("helper", move |_| async move {
        let id = format!("helper-{depth}");
        researcher_of(&id).with_dynamic_harness(next(depth + 1))
    })
}

fn researcher_of(id: &str) -> SubAgent {
    SubAgent::from_config(id, AgentConfig::new("Helper")).with_description("Helps.")
}

#[tokio::test]
async fn a_harness_that_makes_itself_anew_ends_with_a_word_about_it() {
    fn same(depth: usize) -> DynamicHarness {
        made_anew(depth, same, "team")
    }
    fn renamed(depth: usize) -> DynamicHarness {
        made_anew(depth, renamed, &format!("team-{depth}"))
    }
    fn ends(depth: usize) -> DynamicHarness {
        if depth < 9 { made_anew(depth, ends, &format!("team-{depth}")) } else { DynamicHarness::new("last") }
    }
    let client = ScriptedChatClient::texts(["x"]);
    for make in [same, renamed] {
        let error = builder(&client).with_dynamic_harness(make(0)).build().await.unwrap_err();
        assert_eq!(codes(&error), ["endless_harness"], "{error}");
        assert!(error.to_string().contains("dynamic.rs:") && error.to_string().contains("in an `Arc`"), "{error}");
    }
    builder(&client).with_dynamic_harness(ends(0)).build().await.unwrap();
}

#[tokio::test]
async fn names_of_harnesses_are_unique_over_both_registries() {
    let client = ScriptedChatClient::texts(["x"]);
    let registry = DynamicRegistry::new();
    registry.add(notes()).unwrap();
    for (harness, expected) in [
        (DynamicHarness::new("Specialists"), "belongs to the one declared at"),
        (notes(), "two tool harnesses are registered as `plugins.notes`"),
        (DynamicHarness::new(""), "is not a legal name of a harness"),
    ] {
        let builder = builder(&client).with_tool_harness::<Specialists>().with_dynamic_registry(registry.clone());
        let error = builder.with_dynamic_harness(harness).build().await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.problems().len(), 1, "{error}");
    }
    let twice = Arc::new(notes());
    let error = builder(&client)
        .with_dynamic_harness(Arc::clone(&twice))
        .with_dynamic_harness(twice)
        .build()
        .await
        .unwrap_err();
    assert_eq!(codes(&error), ["duplicate_harness"]);
    // The one that is in the registry may be given too.
    let registered = registry.get("plugins.notes").unwrap();
    builder(&client).with_dynamic_registry(registry).with_dynamic_harness(registered).build().await.unwrap();
}

#[tokio::test]
async fn the_root_finds_a_harness_made_at_run_time_by_its_name() {
    let registry = DynamicRegistry::new();
    registry.add(notes()).unwrap();
    let client = ScriptedChatClient::texts(["x"]);
    let agent = builder(&client)
        .with_dynamic_registry(registry)
        .with_tool_harness_named("plugins.notes")
        .with_tool_harness_named("Specialists")
        .build()
        .await
        .unwrap();
    let root = &agent.definitions()[0];
    assert_eq!(root.tool_harnesses.iter().map(|name| &**name).collect::<Vec<_>>(), ["plugins.notes", "Specialists"]);
    assert_eq!(root.tools.len(), 5);
}

#[tokio::test]
async fn harnesses_that_are_made_for_one_child_are_not_taken_for_each_other() {
    // The one without tools is done with before the last one is made: nothing may take it for that.
    let nested = |_| async {
        let inner = DynamicHarness::new("plugins.inner").with_sub_agent_fn("inner", |_| async {
            SubAgent::from_config("plugins.inner", AgentConfig::new("Inner"))
                .with_description("Has notes.")
                .with_dynamic_harness(notes())
        });
        researcher().with_dynamic_harness(inner).with_dynamic_harness(DynamicHarness::new("plugins.empty"))
    };
    let client = ScriptedChatClient::texts(["x"]);
    for _ in 0..20 {
        let outer = DynamicHarness::new("plugins.outer").with_sub_agent_fn("researcher", nested);
        let agent = builder(&client).with_dynamic_harness(outer).build().await.unwrap();
        let names: Vec<Vec<String>> = agent
            .definitions()
            .iter()
            .map(|agent| agent.tool_harnesses.iter().map(|name| name.to_string()).collect())
            .collect();
        assert_eq!(names, [vec!["plugins.outer"], vec!["plugins.inner", "plugins.empty"], vec!["plugins.notes"]]);
    }
}

#[tokio::test]
async fn a_harness_that_a_child_carries_has_a_legal_name() {
    let client = ScriptedChatClient::texts(["x"]);
    let child = researcher().with_dynamic_harness(DynamicHarness::new("has space"));
    let outer = DynamicHarness::new("plugins.outer").with_sub_agent("researcher", child);
    let error = builder(&client).with_dynamic_harness(outer).build().await.unwrap_err();
    assert_eq!(codes(&error), ["illegal_harness_name"]);
    assert!(error.to_string().contains("dynamic.rs:"), "{error}");
}
