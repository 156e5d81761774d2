//! What a child is shown, what its parent is told, and what the journals say.

use hpd_agent::{
    event::{EventBody, InvocationMode, ResolvedContext, ThreadKind, Visibility},
    id::ThreadKey,
    message::{Role, StopReason, SubAgentStatus, Usage},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{agent, builder, children, instructions, journal, results, types};

fn texts(script: &ScriptedChatClient, request: usize) -> Vec<String> {
    script.requests()[request].history.iter().map(|message| message.text().into_owned()).collect()
}

#[tokio::test]
async fn a_child_answers_and_the_parent_goes_on() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "Summarize it."})).and_text("Let me see."),
        Reply::text("three bullets"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let mut run = agent.run("Please summarize.");
    let mut seen = vec![];
    while let Some(envelope) = run.next().await {
        if envelope.sequence.is_some() {
            seen.push(format!("{} {}", envelope.agent().depth, envelope.event.type_name()));
        }
    }
    let result = run.await.unwrap();
    assert_eq!(result.text(), "done");
    script.assert_exhausted();
    assert_eq!(
        seen,
        [
            "0 THREAD_CREATED",
            "0 THREAD_EXECUTION_STARTED",
            "0 MESSAGE_TURN_STARTED",
            "0 MODEL_REQUEST",
            "0 MODEL_RESPONSE",
            "0 SUBAGENT_INVOCATION_STARTED",
            "1 THREAD_CREATED",
            "1 THREAD_EXECUTION_STARTED",
            "1 MESSAGE_TURN_STARTED",
            "1 MODEL_REQUEST",
            "1 MODEL_RESPONSE",
            "1 MESSAGE_TURN_FINISHED",
            "1 THREAD_EXECUTION_FINISHED",
            "0 SUBAGENT_INVOCATION_COMPLETED",
            "0 TOOL_CALL_RESULT",
            "0 MODEL_REQUEST",
            "0 MODEL_RESPONSE",
            "0 MESSAGE_TURN_FINISHED",
            "0 THREAD_EXECUTION_FINISHED",
        ]
    );
    // The child sees the delegating message's text without its call, and has its own instructions.
    assert_eq!(texts(&script, 1), ["Please summarize.", "Let me see.", "Summarize it."]);
    assert_eq!(instructions(&script.requests()[1]), "You are the summarizer.");
    assert!(script.requests()[1].tools.is_empty());
    // Neither the child's messages nor its events are in the parent's journal.
    let parent = journal(&agent, result.thread()).await;
    assert_eq!(parent.len(), 12);
    assert!(!parent.iter().any(|event| event.source().agent.depth > 0));
}

#[tokio::test]
async fn the_tool_result_says_what_became_of_the_child() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("the summary").with_usage(Usage::new(3, 4)),
        Reply::text("done").with_usage(Usage::new(1, 1)),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let [told] = results(&agent, &result).await.try_into().unwrap();
    assert_eq!(told.output.text(), "the summary");
    assert_eq!(told.output.canonical_json(), "\"the summary\"");
    assert!(!told.output.is_error());
    let child = told.metadata.sub_agent.as_ref().unwrap();
    assert_eq!((child.status, child.name.as_str()), (SubAgentStatus::Completed, "summarizer"));

    let started = journal(&agent, result.thread()).await;
    let invocation = started
        .iter()
        .find_map(|event| match event.body() {
            EventBody::SubAgentInvocationStarted(started) => Some(started.invocation.clone()),
            _ => None,
        })
        .unwrap();
    assert_eq!(invocation.child(), child.thread);
    assert_eq!(invocation.invocation_id, child.invocation_id);
    assert_eq!(invocation.child_agent_id.as_str(), "specialist.summarizer");
    assert_eq!((invocation.context_policy, invocation.mode), (ResolvedContext::Fork, InvocationMode::Synchronous));

    assert_eq!(result.usage().total(), 9);
    let by_agent: Vec<_> =
        result.usage_by_agent().iter().map(|a| (&*a.agent_name, a.model_calls, a.usage.total())).collect();
    assert_eq!(by_agent, [("Coordinator", 2, 2), ("summarizer", 1, 7)]);
}

#[tokio::test]
async fn a_childs_thread_is_hidden_and_linked_to_its_parent() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("reviewer", json!({"input": "x", "context": "fork"})),
        Reply::text("fine"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    assert_eq!((header.thread_kind, header.visibility), (ThreadKind::SubAgent, Visibility::Hidden));
    let metadata = header.metadata();
    for (key, value) in [
        ("kind", "subagent"),
        ("defaultAgentId", "specialist.reviewer"),
        ("subAgentName", "reviewer"),
        ("subAgentSourceKind", "SuppliedAgentConfiguration"),
        ("parentSessionId", result.session_id().as_str()),
        ("parentThreadId", "main"),
        ("contextPolicy", "Fork"),
        ("visibility", "hidden"),
        ("createdBy", "subagent"),
        ("team", "writing"),
    ] {
        assert_eq!(metadata[key], value, "{key}");
    }
    for key in ["parentToolCallId", "invocationId"] {
        assert!(metadata.contains_key(key), "{key}");
    }
}

#[tokio::test]
async fn each_context_policy_begins_the_child_as_it_says() {
    for (tool, arguments, context, history) in [
        ("summarizer", json!({"input": "x"}), ResolvedContext::Fork, &["first", "answer", "go", "x"][..]),
        ("fresh", json!({"input": "x"}), ResolvedContext::Fresh, &["x"]),
        ("isolated", json!({"input": "x"}), ResolvedContext::Isolated, &["x"]),
        ("reviewer", json!({"input": "x"}), ResolvedContext::Fresh, &["x"]),
        ("reviewer", json!({"input": "x", "context": "fork"}), ResolvedContext::Fork, &["first", "answer", "go", "x"]),
    ] {
        let script = ScriptedChatClient::replies([
            Reply::text("answer"),
            Reply::tool_call(tool, arguments),
            Reply::text("child"),
            Reply::text("done"),
        ]);
        let agent = agent(&script).await;
        let thread = agent.thread("session", "main");
        thread.run("first").await.unwrap();
        let result = thread.run("go").await.unwrap();
        assert_eq!(texts(&script, 2), history, "{tool}");
        let [header] = children(&agent, result.thread()).await.try_into().unwrap();
        assert_eq!(header.origin.as_ref().unwrap().context_policy, context);
        assert_eq!(header.key.session_id == *result.session_id(), context != ResolvedContext::Isolated);
        assert_eq!(header.forked_from.is_some(), context == ResolvedContext::Fork);
    }
}

/// The fork point is fixed when the delegating message commits: siblings see the same, and nothing of each other.
#[tokio::test]
async fn forks_of_one_message_are_equal_whatever_finishes_first() {
    let script = ScriptedChatClient::route()
        .when_system_contains("summarizer", [Reply::text("one"), Reply::text("two")])
        .otherwise([
            Reply::text("Both.")
                .and_tool_call("summarizer", json!({"input": "same"}))
                .and_tool_call("fresh_unknown", json!({}))
                .and_tool_call("summarizer", json!({"input": "same"})),
            Reply::text("done"),
        ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let requests: Vec<_> =
        script.requests().into_iter().filter(|request| request.system.contains("summarizer")).collect();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let history: Vec<_> = request.history.iter().map(|m| m.text().into_owned()).collect();
        assert_eq!(history, ["go", "Both.", "same"]);
    }
    let shown = results(&agent, &result).await;
    assert_eq!(shown.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["summarizer", "fresh_unknown", "summarizer"]);
    let points: Vec<_> =
        children(&agent, result.thread()).await.iter().map(|header| header.forked_from.clone()).collect();
    assert_eq!(points[0], points[1]);
}

#[tokio::test]
async fn the_answer_is_the_last_text_of_the_child_even_if_it_came_with_a_call() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("the real answer").and_tool_call("nothing", json!({})),
        Reply::empty(),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "the real answer");
}

#[tokio::test]
async fn a_cut_answer_of_a_child_says_that_it_was_cut() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("half an ans").with_stop_reason(StopReason::MaxTokens),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(results(&agent, &result).await[0].metadata.to_map()["stopReason"], "maxTokens");
}

mod nesting {
    use super::*;

    #[derive(Default)]
    struct Inner;

    #[tool_harness]
    impl Inner {
        /// For the root only, which is the default.
        #[subagent(agent_id = "inner.root-only")]
        fn root_only(&self) -> AgentConfig {
            AgentConfig::new("RootOnly")
        }

        /// As deep as the ceiling allows.
        #[subagent(
            agent_id = "inner.any",
            availability = SubAgentAvailability::ANY_ALLOWED_DEPTH,
            recursion = Allowed,
            tool_harnesses = [Inner],
            context = Fresh
        )]
        fn any(&self) -> AgentConfig {
            AgentConfig::new("Any")
        }
    }

    #[tokio::test]
    async fn the_ceiling_and_the_availability_hide_tools_and_refuse_forced_calls() {
        // Every agent tries `any`, then, when that is refused, `root_only`.
        let script = ScriptedChatClient::from_fn(|request| {
            let results: Vec<_> =
                request.history.iter().flat_map(|m| m.results().cloned().collect::<Vec<_>>()).collect();
            match results.len() {
                0 => Reply::tool_call("any", json!({"input": "deeper"})),
                1 if results[0].output.is_error() => Reply::tool_call("root_only", json!({"input": "x"})),
                _ => Reply::text(results.iter().map(|r| r.output.text().to_owned()).collect::<Vec<_>>().join(" | ")),
            }
        });
        let agent = builder(&script).with_tool_harness::<Inner>().build().await.unwrap();
        let result = agent.run("go").await.unwrap();
        assert!(result.text().contains("would exceed MaxSubAgentDepth (4)"), "{}", result.text());
        assert!(result.text().contains("only create children through depth 1"), "{}", result.text());
        let shown: Vec<Vec<String>> = script
            .requests()
            .iter()
            .map(|request| request.tools.iter().map(|tool| tool.name().to_string()).collect())
            .collect();
        assert_eq!(shown[0], ["root_only", "any"]);
        for shown in &shown[1..4] {
            assert_eq!(*shown, ["any"]);
        }
        assert!(shown[4].is_empty(), "at the ceiling no subagent is shown");

        // A refused call leaves no child behind.
        let mut thread: Option<ThreadKey> = Some(result.thread().clone());
        let mut depth = 0;
        while let Some(parent) = thread.take() {
            thread = children(&agent, &parent).await.first().map(|header| header.key.clone());
            depth += 1;
        }
        assert_eq!(depth, 5, "the root and four children");
    }

    #[test]
    fn a_very_deep_tree_fits_on_the_stack() {
        let script = ScriptedChatClient::from_fn(|request| match request.history.last().map(|m| m.role()) {
            Some(Role::User) => Reply::tool_call("any", json!({"input": "deeper"})),
            _ => Reply::text("ok"),
        });
        let run = async move {
            let agent = builder(&script).with_max_sub_agent_depth(1_000).with_tool_harness::<Deeper>().build().await;
            agent.unwrap().run("go").await.unwrap();
            script.requests().len()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(run), 2 * 1_001);
    }

    #[derive(Default)]
    struct Deeper;

    #[tool_harness]
    impl Deeper {
        /// As deep as the ceiling allows, which is deep.
        #[subagent(agent_id = "deeper.any", availability = SubAgentAvailability::ANY_ALLOWED_DEPTH, recursion = Allowed, tool_harnesses = [Deeper], context = Fresh)]
        fn any(&self) -> AgentConfig {
            AgentConfig::new("Any").with_max_sub_agent_depth(1_000)
        }
    }

    #[tokio::test]
    async fn a_child_can_only_lower_the_ceiling() {
        #[derive(Default)]
        struct Deep;
        #[tool_harness]
        impl Deep {
            /// Wants to go deeper than its parent allows.
            #[subagent(agent_id = "deep", availability = SubAgentAvailability::ANY_ALLOWED_DEPTH, recursion = Allowed, tool_harnesses = [Deep], context = Fresh)]
            fn deep(&self) -> AgentConfig {
                AgentConfig::new("Deep").with_max_sub_agent_depth(100)
            }
        }
        let script = ScriptedChatClient::from_fn(|request| match request.history.last().map(|m| m.role()) {
            Some(Role::User) => Reply::tool_call("deep", json!({"input": "deeper"})),
            _ => Reply::text("ok"),
        });
        let agent = builder(&script).with_max_sub_agent_depth(2).with_tool_harness::<Deep>().build().await.unwrap();
        agent.run("go").await.unwrap();
        // The root, two children, and the refusal at depth 2: three first requests and three second ones.
        assert_eq!(script.requests().len(), 6);
    }
}

#[tokio::test]
async fn a_childs_journal_holds_its_own_run() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("the summary"),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let result = agent.run("go").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let events = journal(&agent, &header.key).await;
    assert_eq!(
        types(&events),
        [
            "THREAD_CREATED",
            "THREAD_EXECUTION_STARTED",
            "MESSAGE_TURN_STARTED",
            "MODEL_REQUEST",
            "MODEL_RESPONSE",
            "MESSAGE_TURN_FINISHED",
            "THREAD_EXECUTION_FINISHED",
        ]
    );
    let scope = &events[0].source().agent;
    assert_eq!(scope.agent_chain.iter().map(|name| &**name).collect::<Vec<_>>(), ["Coordinator", "summarizer"]);
    assert_eq!(scope.parent_agent_id.as_ref().unwrap().as_str(), "coordinator");
    let root = journal(&agent, result.thread()).await;
    assert_eq!(events[0].source().trace, root[0].source().trace);
    assert_eq!(events[0].source().parent_span, Some(root[0].source().span));
}

#[derive(Default)]
struct Background;

#[tool_harness]
impl Background {
    /// Always in the background.
    #[subagent(agent_id = "background.only", invocation_mode = BackgroundOnly)]
    fn only(&self) -> AgentConfig {
        AgentConfig::new("Only")
    }

    /// As the model wants.
    #[subagent(agent_id = "background.choice", context = Fresh, invocation_mode = ModelChoice)]
    fn choice(&self) -> AgentConfig {
        AgentConfig::new("Choice").with_system_instructions("You are chosen.")
    }
}

#[tokio::test]
async fn a_background_call_gets_a_receipt_and_starts_nothing_as_long_as_nothing_delivers_its_result() {
    let script = ScriptedChatClient::route().when_system_contains("You are chosen.", ["Done."]).otherwise([
        Reply::tool_call("only", json!({"input": "a"}))
            .and_tool_call("choice", json!({"input": "b", "invocationMode": "background"}))
            .and_tool_call("choice", json!({"input": "c", "invocationMode": "synchronous"})),
        Reply::text("Answer."),
    ]);
    let agent = builder(&script).with_tool_harness::<Background>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    let results = results(&agent, &result).await;
    let parent = result.thread();
    for (result, name) in results[..2].iter().zip(["only", "choice"]) {
        assert!(result.output.is_error());
        let receipt: serde_json::Value = serde_json::from_str(result.output.text()).unwrap();
        assert_eq!(receipt["status"], "background_unavailable", "{receipt}");
        assert_eq!(receipt["sourceKind"], "SubAgent");
        assert_eq!(receipt["name"], name);
        let thread = (&receipt["sessionId"], &receipt["threadId"]);
        assert_eq!(thread, (&json!(parent.session_id), &json!(parent.thread_id)));
        assert!(receipt["message"].as_str().unwrap().contains("was not started"), "{receipt}");
    }
    assert_eq!(results[2].output.text(), "Done.");
    assert_eq!(children(&agent, result.thread()).await.len(), 1, "only the one that was waited for");
}

#[derive(Default)]
struct Fixed;

#[tool_harness(name = "delegation.fixed")]
impl Fixed {
    /// Needs nothing of its harness.
    #[subagent(agent_id = "delegation.fixed", context = Fresh)]
    fn fixed() -> AgentConfig {
        AgentConfig::new("Fixed").with_system_instructions("You are fixed.")
    }
}

#[tokio::test]
async fn a_method_without_a_receiver_declares_a_child_too() {
    let script = ScriptedChatClient::route()
        .when_system_contains("You are fixed.", ["Here."])
        .otherwise([Reply::tool_call("fixed", json!({"input": "x"})), Reply::text("done")]);
    let agent = builder(&script).with_tool_harness::<Fixed>().build().await.unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "Here.");
}
