//! What applications build on, each in one sentence: what a declaration says when it says nothing, what a child takes
//! over, what its thread says, what the journals of both say.

use hpd_agent::{
    chat::ChatOptions,
    compaction::ForkCompaction,
    declare::{ApprovalPolicy, ClientFamily, ClientInheritance, ClientPolicies, PermissionOverride, SubAgentSource},
    event::{EventBody, InvocationMode, ResolvedContext, ThreadKind, Visibility},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{Specialists, builder, children, journal, results};

fn child() -> SubAgent {
    SubAgent::from_config("a", AgentConfig::new("A"))
}

#[test]
fn a_declaration_forks_waits_and_is_for_the_root_unless_it_says_otherwise() {
    for declared in [child(), SubAgent::from_parent("a"), SubAgent::from_agent_id("a")] {
        assert_eq!(declared.context_policy(), SubAgentContextPolicy::Fork);
        assert_eq!(declared.invocation_mode(), AgentInvocationModePolicy::SynchronousOnly);
        assert_eq!(declared.availability(), SubAgentAvailability::ROOT_ONLY);
    }
    assert_eq!(ForkCompaction::default(), ForkCompaction::Inherit);
    for policy in [
        SubAgentContextPolicy::Fork,
        SubAgentContextPolicy::Fresh,
        SubAgentContextPolicy::Isolated,
        SubAgentContextPolicy::ModelChoice,
    ] {
        assert_eq!(child().with_context_policy(policy).context_policy(), policy);
    }
    assert!(matches!(child().source(), SubAgentSource::Supplied(config) if config.name() == "A"));
}

#[test]
fn availability_is_a_matter_of_depth() {
    let allows = |availability: SubAgentAvailability| {
        (0..4).filter(|depth| availability.allows_invocation_from(*depth)).collect::<Vec<_>>()
    };
    assert_eq!(allows(SubAgentAvailability::ROOT_ONLY), [0]);
    assert_eq!(SubAgentAvailability::ROOT_ONLY, SubAgentAvailability::through_depth(1));
    assert_eq!(allows(SubAgentAvailability::through_depth(2)), [0, 1]);
    assert_eq!(allows(SubAgentAvailability::ANY_ALLOWED_DEPTH), [0, 1, 2, 3]);
    assert_eq!(AgentConfig::new("A").max_sub_agent_depth(), 4);
}

#[test]
fn a_new_declaration_inherits_the_default_groups_and_clients() {
    let default = SubAgentRunConfig::default();
    for group in
        [RunConfigGroup::Permissions, RunConfigGroup::Execution, RunConfigGroup::Compaction, RunConfigGroup::Context]
    {
        assert!(default.inherits(group), "{group:?}");
    }
    for group in [RunConfigGroup::Instructions, RunConfigGroup::Tools, RunConfigGroup::Output] {
        assert!(!default.inherits(group), "{group:?}");
    }
    let clients = ClientPolicies::default();
    for (family, how) in [
        (ClientFamily::Chat, ClientInheritance::InheritResolved),
        (ClientFamily::Realtime, ClientInheritance::InheritResolved),
        (ClientFamily::SpeechToText, ClientInheritance::InheritResolved),
        (ClientFamily::TextToSpeech, ClientInheritance::InheritResolved),
        (ClientFamily::ImageGeneration, ClientInheritance::UseOwn),
        (ClientFamily::Embeddings, ClientInheritance::UseOwn),
        (ClientFamily::HostedFiles, ClientInheritance::FallbackToParent),
    ] {
        assert_eq!(clients.of(family), how, "{family:?}");
    }
    assert_eq!(*SubAgentRunConfig::isolated().clients(), ClientPolicies::all(ClientInheritance::UseOwn));
    // Selections are values: what one becomes, another does not.
    let (more, less) =
        (default.clone().include(RunConfigGroup::Output), default.clone().exclude(RunConfigGroup::Context));
    assert!(more.inherits(RunConfigGroup::Output) && !default.inherits(RunConfigGroup::Output));
    assert!(!less.inherits(RunConfigGroup::Context) && default.inherits(RunConfigGroup::Context));
}

/// A run with something of every group.
fn run() -> AgentRunConfig {
    let mut options = ChatOptions::default();
    options.model = Some("parents".into());
    options.temperature = Some(0.9);
    AgentRunConfig::new()
        .with_chat_options(options)
        .with_auto_approval()
        .with_permission_required("summarizer")
        .with_max_parallel_tool_calls(2)
        .with_property("user", "ada")
        .with_system_instructions("Parent's own.")
        .with_additional_instructions("And more.")
}

#[tokio::test]
async fn a_child_is_told_copies_of_what_it_takes_over() {
    let agent = |run: SubAgentRunConfig| async {
        let harness = DynamicHarness::new("contract.child")
            .with_sub_agent("child", child().with_description("A child.").with_run_config(run));
        let script = ScriptedChatClient::replies([Reply::text("Hello.")]);
        let agent = builder(&script).with_dynamic_harness(harness).build().await.unwrap();
        let result = agent.run("Hi.").await.unwrap();
        let thread = agent.thread(result.session_id(), result.thread_id());
        let parents = self::run();
        let preview = thread.explain("child", r#"{"input":"x"}"#, &parents).await.unwrap();
        // Nothing of the parent's has changed by it.
        assert_eq!(parents, self::run());
        preview
    };
    let preview = agent(SubAgentRunConfig::inherit()).await;
    let told = &preview.run_config;
    // The model's options hold, but are not the child's own.
    assert_eq!(preview.options.model.as_deref(), Some("parents"));
    assert_eq!(*told.chat(), ChatOptions::default());
    assert_eq!(told.approval(), ApprovalPolicy::AutoApprove);
    assert_eq!(told.permission_override("summarizer"), Some(PermissionOverride::Require));
    assert_eq!(told.max_parallel_tool_calls(), Some(2));
    assert_eq!(told.properties(), self::run().properties());
    assert_eq!((told.system_instructions(), told.additional_instructions()), (None, None));

    let preview = agent(SubAgentRunConfig::inherit_all()).await;
    let expected = AgentRunConfig::new()
        .with_auto_approval()
        .with_permission_required("summarizer")
        .with_max_parallel_tool_calls(2)
        .with_property("user", "ada")
        .with_system_instructions("Parent's own.")
        .with_additional_instructions("And more.");
    assert_eq!(preview.run_config, expected);

    let overridden = SubAgentRunConfig::inherit().override_with(|run| {
        run.set_model("childs");
        run.set_temperature(0.1);
    });
    let preview = agent(overridden).await;
    assert_eq!(preview.options.model.as_deref(), Some("childs"));
    assert_eq!(preview.options.temperature, Some(0.1));
}

#[tokio::test]
async fn both_journals_and_the_childs_thread_say_what_happened() {
    for (tool, arguments, context) in [
        ("summarizer", json!({"input": "Summarize."}), ResolvedContext::Fork),
        ("reviewer", json!({"input": "Review."}), ResolvedContext::Fresh),
        ("fresh", json!({"input": "Begin."}), ResolvedContext::Fresh),
        ("isolated", json!({"input": "Alone."}), ResolvedContext::Isolated),
    ] {
        let script = ScriptedChatClient::replies([
            Reply::tool_call(tool, arguments),
            Reply::text("the child's answer"),
            Reply::text("done"),
        ]);
        let agent = builder(&script).with_tool_harness::<Specialists>().build().await.unwrap();
        let result = agent.run("Go.").await.unwrap();
        assert_eq!(results(&agent, &result).await[0].output.text(), "the child's answer");

        let events = journal(&agent, result.thread()).await;
        let started: Vec<_> = events
            .iter()
            .filter_map(|event| match event.body() {
                EventBody::SubAgentInvocationStarted(started) => Some(&started.invocation),
                _ => None,
            })
            .collect();
        let [started] = started.as_slice() else { panic!("{tool}: {started:?}") };
        assert_eq!(started.role_name.as_str(), tool);
        assert_eq!(started.child_agent_id.as_str(), format!("specialist.{tool}"));
        assert_eq!((started.context_policy, started.mode), (context, InvocationMode::Synchronous));

        let [header] = children(&agent, result.thread()).await.try_into().unwrap();
        assert_eq!(header.key, started.child());
        assert_eq!((header.thread_kind, header.visibility), (ThreadKind::SubAgent, Visibility::Hidden));
        assert_eq!(header.key.session_id == *result.session_id(), context != ResolvedContext::Isolated);
        let origin = header.origin.as_ref().unwrap();
        assert_eq!(origin.invocation_id, started.invocation_id);
        assert_eq!(origin.parent_tool_call_id, started.parent_tool_call_id);
        assert_eq!(origin.context_policy, context);
        assert_eq!(&*origin.sub_agent_source_kind, "SuppliedAgentConfiguration");
        // What is a field of the header is no value of the author's, and those stay.
        let metadata = &header.thread_metadata;
        assert!(!metadata.contains_key("kind") && !metadata.contains_key("parentThreadId"), "{metadata:?}");
        assert_eq!(metadata.get("team"), (tool == "reviewer").then(|| json!("writing")).as_ref());

        // The parent's history has nothing of the child's but the result; the child's has its task and its answer.
        let said = agent.thread(&header.key.session_id, &header.key.thread_id).messages().await.unwrap();
        let texts: Vec<_> = said.iter().map(|message| message.text().into_owned()).collect();
        match context {
            ResolvedContext::Fork => assert_eq!(texts, ["Go.", "Summarize.", "the child's answer"]),
            _ => assert_eq!(texts.len(), 2, "{texts:?}"),
        }
    }
}
