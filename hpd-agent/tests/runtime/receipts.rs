//! What a delegation was, and what one would be.

use hpd_agent::{
    agent::ExplainError,
    chat::ChatErrorKind,
    declare::Budget,
    event::{InvocationMode, ResolvedContext},
    message::{DelegationReceipt, StopReason, Usage},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, children, journal, results};

#[derive(Default)]
struct Helpers;

#[tool_harness(name = "receipts.helpers")]
impl Helpers {
    /// Looks something up.
    #[ai_function]
    fn look_up(&self) -> &'static str {
        "found"
    }

    /// Goes on.
    #[subagent(agent_id = "receipts.inner", context = Fresh, availability = through_depth(2))]
    fn inner(&self) -> AgentConfig {
        AgentConfig::new("Inner").with_system_instructions("You are inner.")
    }
}

#[derive(Default)]
struct Team;

#[tool_harness(name = "receipts.team")]
impl Team {
    /// Helps as it is asked to.
    #[subagent(agent_id = "receipts.helper", context = ModelChoice, invocation_mode = ModelChoice)]
    fn helper(&self) -> SubAgent {
        let config = AgentConfig::new("Helper").with_system_instructions("You are the helper.").with_max_iterations(7);
        SubAgent::from_config("receipts.helper", config).with_tool_harness::<Helpers>().with_run_config(
            SubAgentRunConfig::inherit().override_with(|run| {
                run.set_temperature(0.1);
                run.set_tool_filter(ToolFilter::deny(["look_up"]));
                run.set_budget(Budget::new().with_max_tokens(1_000));
            }),
        )
    }

    /// Cannot be called from here.
    #[subagent(agent_id = "receipts.far", context = Fresh)]
    fn far(&self) -> AgentConfig {
        AgentConfig::new("Far")
    }
}

async fn receipt(agent: &Agent, result: &RunResult, at: usize) -> DelegationReceipt {
    let result = results(agent, result).await.swap_remove(at);
    let child = result.metadata.sub_agent.expect("the result is a child's");
    (*child.receipt.expect("there is a receipt")).clone()
}

#[tokio::test]
async fn a_receipt_says_what_was_asked_for_what_the_child_got_and_what_it_took() {
    let script = ScriptedChatClient::route()
        .when_system_contains(
            "You are the helper.",
            [
                Reply::tool_call("inner", json!({"input": "x"})).with_usage(Usage::new(10, 1)),
                Reply::text("helped").with_usage(Usage::new(20, 2)).with_stop_reason(StopReason::MaxTokens),
            ],
        )
        .when_system_contains("You are inner.", [Reply::text("inner").with_usage(Usage::new(40, 4))])
        .otherwise([
            Reply::tool_call("helper", json!({"input": "Help.", "context": "FORK"})).with_usage(Usage::new(80, 8)),
            Reply::text("done").with_usage(Usage::new(160, 16)),
        ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let run = AgentRunConfig::new().with_tool_filter(ToolFilter::deny(["delete"]));
    let result = agent.run("Go.").with_run_config(run).await.unwrap();
    let told = receipt(&agent, &result, 0).await;
    assert_eq!(told.agent_id.as_str(), "receipts.helper");
    assert_eq!((told.requested.context, told.requested.mode), (Some(ResolvedContext::Fork), None));
    assert_eq!((told.effective.context, told.effective.mode), (ResolvedContext::Fork, InvocationMode::Synchronous));
    assert_eq!((&*told.effective.model.provider, told.effective.max_iterations), ("scripted", 7));
    assert_eq!(told.rights.tools.iter().map(|tool| &**tool).collect::<Vec<_>>(), ["inner"]);
    assert!(!told.rights.denials.permits("delete") && told.rights.denials.permits("look_up"));
    assert_eq!(told.rights.max_depth, 4);
    assert_eq!(told.stop_reason, Some(StopReason::MaxTokens));
    assert_eq!((told.usage, told.subtree_usage), (Usage::new(30, 3), Usage::new(70, 7)));
    assert_eq!(told.seed_hash.as_ref().map(|hash| hash.len()), Some(16));
    // It is part of the journal, and models are not shown it.
    let json = journal(&agent, result.thread()).await.iter().map(|event| event.to_json().unwrap()).collect::<Vec<_>>();
    assert!(json.iter().any(|event| event.contains(r#""delegationReceipt":{"agentId":"receipts.helper""#)), "{json:?}");
    let last = script.requests().pop().unwrap();
    assert!(!last.history.iter().any(|message| message.text().contains("receipts.helper")));
}

#[tokio::test]
async fn children_that_begin_with_the_same_conversation_have_the_same_seed() {
    let call = |context| Reply::tool_call("helper", json!({"input": "Help.", "context": context}));
    let script = ScriptedChatClient::route().when_system_contains("You are the helper.", ["1", "2", "3"]).otherwise([
        call("fork").and_tool_call("helper", json!({"input": "Other.", "context": "fork"})),
        call("fresh"),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    let (one, other) = (receipt(&agent, &result, 0).await, receipt(&agent, &result, 1).await);
    assert!(one.seed_hash.is_some());
    assert_eq!(one.seed_hash, other.seed_hash);
    assert_eq!(receipt(&agent, &result, 2).await.seed_hash, None);
}

#[tokio::test]
async fn a_child_that_fails_leaves_a_receipt_too() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("helper", json!({"input": "Help."})),
        Reply::text("half").with_usage(Usage::new(5, 5)).and_error(ChatErrorKind::Interrupted, "gone"),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    let told = receipt(&agent, &result, 0).await;
    assert_eq!((told.stop_reason, told.usage, told.subtree_usage), (None, Usage::new(5, 5), Usage::new(5, 5)));
}

#[tokio::test]
async fn a_preview_shows_what_the_child_is_then_shown() {
    let script = ScriptedChatClient::route().when_system_contains("You are the helper.", ["helped"]).otherwise([
        Reply::text("Hello."),
        Reply::tool_call("helper", json!({"input": "Help.", "context": "fork"})),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Hi.").await.unwrap();
    let thread = agent.thread(result.session_id(), result.thread_id());
    let run = AgentRunConfig::new().with_max_tokens(99).with_property("a", 1);
    let preview = thread.explain("helper", r#"{"input":"Help.","context":"fork"}"#, &run).await.unwrap();
    assert_eq!(script.requests().len(), 1, "nobody was asked");
    assert!(children(&agent, result.thread()).await.is_empty());

    thread.run("Please.").with_run_config(run).await.unwrap();
    let shown = script.requests().into_iter().find(|request| request.system.contains("helper")).unwrap();
    assert_eq!(preview.system, shown.system);
    assert_eq!(preview.options, shown.options);
    assert_eq!((preview.options.max_tokens, preview.options.temperature), (Some(99), Some(0.1)));
    let names: Vec<_> = shown.tools.iter().map(|tool| tool.name().clone()).collect();
    assert_eq!(preview.tools, names);
    let texts: Vec<_> = preview.messages.iter().map(|message| message.text().into_owned()).collect();
    // The turn in which it is called has one message more.
    assert_eq!(texts, ["Hi.", "Hello.", "Help."]);
    assert_eq!(preview.run_config.properties()["a"], 1);
    assert_eq!((preview.depth, preview.max_depth, preview.max_iterations), (1, 4, 7));
    assert_eq!(preview.budget, Some(Budget::new().with_max_tokens(1_000)));
    assert!(preview.requires_permission);
    let text = preview.to_string();
    assert!(text.contains("helper (receipts.helper), depth 1 of at most 4") && text.contains("tools: inner"), "{text}");
}

#[tokio::test]
async fn a_preview_of_a_call_that_would_be_refused_says_why() {
    let script = ScriptedChatClient::texts(["never asked"]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let told = |arguments: &str| agent.explain("helper", arguments).unwrap_err();
    for (arguments, expected) in [
        ("{}", "`input` is missing"),
        (r#"{"input":"x","context":"isolated"}"#, "`fork` or `fresh`"),
        (r#"{"input":"x","invocationMode":"background"}"#, "background_unavailable"),
    ] {
        let error = told(arguments);
        assert_eq!(error.code(), "call_refused");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = agent.explain("nobody", "{}").unwrap_err();
    assert!(matches!(&error, ExplainError::NoSubAgent { tool, .. } if tool == "nobody"), "{error}");

    let result = agent.run("Hi.").await.unwrap();
    let thread = agent.thread(result.session_id(), result.thread_id());
    let run = AgentRunConfig::new().with_budget(Budget::new().with_max_children(0));
    let error = thread.explain("helper", r#"{"input":"x"}"#, &run).await.unwrap_err();
    assert!(error.to_string().contains("allows 0 children"), "{error}");

    let thread = agent.thread("unknown", "unknown");
    let error = thread.explain("helper", r#"{"input":"x"}"#, &AgentRunConfig::new()).await.unwrap_err();
    assert_eq!(error.code(), "thread_not_found");
    let (_, denied) = (agent.explain("far", r#"{"input":"x"}"#).unwrap(), ToolFilter::deny(["far"]));
    let thread = agent.thread(result.session_id(), result.thread_id());
    let run = AgentRunConfig::new().with_tool_filter(denied);
    let error = thread.explain("far", r#"{"input":"x"}"#, &run).await.unwrap_err();
    assert!(error.to_string().contains("may not be used") || error.to_string().contains("denied"), "{error}");
    assert_eq!(script.requests().len(), 1);
}
