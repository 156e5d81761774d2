//! At which level a policy approves: by call, by input, by child, by command; and what a session remembers of it.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
};

use hpd_agent::{
    agent::RunResult,
    chat::BoxFuture,
    event::EventBody,
    id::ThreadKey,
    permission::{PermissionPolicy, PermissionRequest, Ruling, ToolCallView},
    prelude::*,
    store::{ThreadQuery, memory::MemorySessionStore},
    testing::{Reply, ScriptedChatClient},
};
use serde_json::{Map, Value, json};

use crate::support::{builder, children, journal, results};

#[derive(Default)]
struct Shell;

#[tool_harness]
impl Shell {
    /// Runs a program, without a shell.
    #[ai_function(requires_permission)]
    fn run(&self, command: String) -> String {
        format!("ran {command}")
    }

    /// Says what time it is.
    #[ai_function]
    fn clock(&self) -> String {
        "noon".to_owned()
    }

    /// Sees the conversation.
    #[subagent(agent_id = "worker.fork", tool_harnesses = [Shell], context = Fork)]
    fn fork_worker(&self) -> AgentConfig {
        AgentConfig::new("Worker").with_system_instructions("You are the worker.")
    }

    /// Shares the session.
    #[subagent(agent_id = "worker.fresh", tool_harnesses = [Shell], context = Fresh)]
    fn fresh_worker(&self) -> AgentConfig {
        AgentConfig::new("Worker").with_system_instructions("You are the worker.")
    }

    /// Has a session of its own.
    #[subagent(agent_id = "worker.isolated", tool_harnesses = [Shell], context = Isolated)]
    fn isolated_worker(&self) -> AgentConfig {
        AgentConfig::new("Worker").with_system_instructions("You are the worker.")
    }
}

fn run(command: &str) -> Reply {
    Reply::tool_call("run", json!({"command": command}))
}

fn command(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    arguments["command"].as_str().unwrap_or_default().to_owned()
}

/// What was asked about: the key, and the depth of the agent.
type Asked = Arc<Mutex<Vec<(String, u32)>>>;

/// Delegations may run; commands are remembered by their first two words. `answer` decides about them.
struct Signature<F> {
    answer: F,
    asked: Asked,
}

impl<F: Fn(&PermissionRequest) -> PermissionDecision + Send + Sync + 'static> PermissionPolicy for Signature<F> {
    fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
        match call.requires_permission && call.sub_agent.is_none() {
            true => Ruling::Ask,
            false => Ruling::Allow,
        }
    }

    fn key<'a>(&self, call: &ToolCallView<'a>) -> Cow<'a, str> {
        match call.tool {
            "run" => {
                let words: Vec<_> = command(call.arguments).split_whitespace().take(2).map(str::to_owned).collect();
                Cow::Owned(format!("run:{}", words.join(" ")))
            }
            other => Cow::Borrowed(other),
        }
    }

    fn answer(&self, request: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
        self.asked.lock().unwrap().push((request.key().to_owned(), request.agent().depth));
        let decision = (self.answer)(&request);
        Box::pin(async move {
            tokio::task::yield_now().await;
            Some(decision)
        })
    }
}

async fn asking(
    script: &ScriptedChatClient,
    store: &Arc<MemorySessionStore>,
    answer: impl Fn(&PermissionRequest) -> PermissionDecision + Send + Sync + 'static,
) -> (Agent, Asked) {
    let asked = Asked::default();
    let policy = Signature { answer, asked: asked.clone() };
    let agent = builder(script)
        .with_tool_harness::<Shell>()
        .with_session_store(store.clone())
        .with_permissions(Permissions::from_policy(policy))
        .build()
        .await
        .unwrap();
    (agent, asked)
}

fn keys(asked: &Asked) -> Vec<String> {
    std::mem::take(&mut *asked.lock().unwrap()).into_iter().map(|(key, _)| key).collect()
}

async fn told(agent: &Agent, result: &RunResult) -> Vec<String> {
    results(agent, result).await.iter().map(|result| result.output.text().to_owned()).collect()
}

/// What the session of a thread keeps, as `TYPE` and the interesting field.
async fn remembered(agent: &Agent, of: &ThreadKey) -> Vec<Value> {
    let key = ThreadKey::new(of.session_id.as_str(), "$session").unwrap();
    if agent.session_store().threads(ThreadQuery::key(key.clone())).await.unwrap().is_empty() {
        return vec![];
    }
    let events = journal(agent, &key).await;
    let entry = |event: &Arc<hpd_agent::event::Event>| match event.body() {
        EventBody::PermissionRemembered(remembered) => serde_json::to_value(remembered).unwrap(),
        EventBody::PermissionStateChanged(changed) => serde_json::to_value(changed).unwrap(),
        other => panic!("unexpected: {other:?}"),
    };
    events.iter().map(entry).collect()
}

#[tokio::test]
async fn a_choice_holds_for_the_key_that_the_policy_says_and_no_further() {
    let script = ScriptedChatClient::replies([
        run("git status"),
        run("git status --short"),
        run("git push"),
        run("git push --force"),
        Reply::text("done"),
    ]);
    let (agent, asked) = asking(&script, &Arc::default(), |request| match request.key() {
        "run:git push" => PermissionDecision::deny("Not from here.").always(),
        _ => PermissionDecision::allow().always(),
    })
    .await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(keys(&asked), ["run:git status", "run:git push"]);
    let told = told(&agent, &result).await;
    assert_eq!(told[..2], ["ran git status", "ran git status --short"]);
    assert_eq!(told[2], "Permission to use `run` was denied: Not from here.");
    assert_eq!(
        told[3],
        "This use of the tool `run` (`run:git push`) is denied for the rest of this session. Do without it."
    );
    assert_eq!(
        remembered(&agent, result.thread()).await,
        [
            json!({"functionName": "run", "key": "run:git status", "choice": "allow_always"}),
            json!({"functionName": "run", "key": "run:git push", "choice": "deny_always"}),
        ]
    );
}

#[tokio::test]
async fn both_choices_are_remembered_for_each_context_over_restarts_and_continuations() {
    for (allow, context, asked_in_child) in [
        (true, "fork", false),
        (true, "fresh", false),
        // A session of its own: what was allowed elsewhere is not allowed there.
        (true, "isolated", true),
        (false, "fork", false),
        (false, "fresh", false),
        (false, "isolated", false),
    ] {
        let case = format!("allow: {allow}, {context}");
        let store = Arc::new(MemorySessionStore::new());
        let decide = move |request: &PermissionRequest| match allow || request.agent().depth > 0 {
            true => PermissionDecision::allow().always(),
            false => PermissionDecision::deny("Never.").always(),
        };
        let script = ScriptedChatClient::route()
            .when_system_contains("worker", [run("rm -r b"), Reply::text("tried")])
            .otherwise([
                run("rm -r a"),
                Reply::tool_call(format!("{context}_worker"), json!({"input": "Try."})),
                Reply::text("done"),
            ]);
        let (agent, asked) = asking(&script, &store, decide).await;
        let result = agent.thread("s", "main").run("go").await.unwrap();
        let mut expected = vec!["run:rm -r".to_owned()];
        expected.extend(asked_in_child.then(|| "run:rm -r".to_owned()));
        assert_eq!(keys(&asked), expected, "{case}");
        let [child] = children(&agent, result.thread()).await.try_into().unwrap();
        let in_child = |agent: Agent| {
            let child = child.key.clone();
            async move { agent.thread(&child.session_id, &child.thread_id).messages().await.unwrap() }
        };
        let texts = |messages: Vec<Arc<hpd_agent::message::Message>>| -> Vec<String> {
            let results = messages.iter().flat_map(|message| message.results());
            results
                .map(|result| result.output.text().to_owned())
                .filter(|text| text.contains("rm -r b") || !allow)
                .collect()
        };
        let last = texts(in_child(agent.clone()).await).pop().unwrap();
        assert_eq!(last == "ran rm -r b", allow, "{case}: {last}");

        // A child that is continued, in the same process and in another one, and the root in another one.
        let (restarted, asked_again) = {
            let script = ScriptedChatClient::replies([
                run("rm -r b"),
                Reply::text("tried"),
                run("rm -r a"),
                Reply::text("done"),
            ]);
            asking(&script, &store, decide).await
        };
        let again = ScriptedChatClient::replies([run("rm -r b"), Reply::text("tried")]);
        let (same_store, asked_there) = asking(&again, &store, decide).await;
        for agent in [&restarted, &same_store] {
            agent.thread(&child.key.session_id, &child.key.thread_id).run("Again.").await.unwrap();
            let last = texts(in_child(agent.clone()).await).pop().unwrap();
            assert_eq!(last == "ran rm -r b", allow, "{case}: {last}");
        }
        let result = restarted.thread("s", "main").run("Again.").await.unwrap();
        assert_eq!(told(&restarted, &result).await.pop().unwrap() == "ran rm -r a", allow, "{case}");
        assert_eq!((keys(&asked_again), keys(&asked_there)), (vec![], vec![]), "{case}");
    }
}

#[tokio::test]
async fn what_an_ancestor_is_denied_after_an_isolated_child_has_ended_holds_when_the_child_goes_on() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("worker", [Reply::text("nothing to do"), run("rm -r b"), Reply::text("tried")])
        .otherwise([
            Reply::tool_call("isolated_worker", json!({"input": "Wait."})),
            run("rm -r a"),
            Reply::text("done"),
        ]);
    let deny = |_: &PermissionRequest| PermissionDecision::deny("Never.").always();
    let (agent, asked) = asking(&script, &store, deny).await;
    let result = agent.run("go").await.unwrap();
    assert_eq!(keys(&asked), ["run:rm -r"]);
    let [child] = children(&agent, result.thread()).await.try_into().unwrap();
    let again = ScriptedChatClient::replies([run("rm -r b"), Reply::text("tried")]);
    let (restarted, asked_again) = asking(&again, &store, deny).await;
    for agent in [&agent, &restarted] {
        let result = agent.thread(&child.key.session_id, &child.key.thread_id).run("Now.").await.unwrap();
        let last = told(agent, &result).await.pop().unwrap();
        assert!(last.contains("(`run:rm -r`) was denied to an agent above"), "{last}");
    }
    assert_eq!((keys(&asked), keys(&asked_again)), (vec![], vec![]));
}

#[tokio::test]
async fn questions_with_the_same_key_in_one_message_are_asked_once() {
    for allow in [true, false] {
        let script = ScriptedChatClient::replies([
            run("git status")
                .and_tool_call("run", json!({"command": "git status -s"}))
                .and_tool_call("run", json!({"command": "ls"})),
            Reply::text("done"),
        ]);
        let (agent, asked) = asking(&script, &Arc::default(), move |_| match allow {
            true => PermissionDecision::allow().always(),
            false => PermissionDecision::deny("No.").always(),
        })
        .await;
        let result = agent.run("go").await.unwrap();
        assert_eq!(keys(&asked), ["run:git status", "run:ls"]);
        assert!(results(&agent, &result).await.iter().all(|told| told.output.is_error() != allow));
    }
}

#[tokio::test]
async fn a_key_with_the_chain_of_agents_keeps_a_choice_to_them() {
    struct PerAgent(Asked);
    impl PermissionPolicy for PerAgent {
        fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
            if call.tool == "run" { Ruling::Ask } else { Ruling::Allow }
        }
        fn key<'a>(&self, call: &ToolCallView<'a>) -> Cow<'a, str> {
            Cow::Owned(format!("{}@{}", call.tool, call.agent.agent_chain.join("/")))
        }
        fn answer(&self, request: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
            self.0.lock().unwrap().push((request.key().to_owned(), 0));
            Box::pin(std::future::ready(Some(PermissionDecision::allow().always())))
        }
    }
    let script = ScriptedChatClient::route()
        .when_system_contains("worker", [run("b"), run("c"), Reply::text("ran")])
        .otherwise([run("a"), Reply::tool_call("fresh_worker", json!({"input": "Try."})), Reply::text("done")]);
    let asked = Asked::default();
    let permissions = Permissions::from_policy(PerAgent(asked.clone()));
    let agent = builder(&script).with_tool_harness::<Shell>().with_permissions(permissions).build().await.unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(keys(&asked), ["run@Coordinator", "run@Coordinator/fresh_worker"]);
}

/// A command that was allowed may run again, whatever stands behind its first word; the state of the session says so.
struct FirstWord(Asked);

impl PermissionPolicy for FirstWord {
    fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
        let first = command(call.arguments).split_whitespace().next().unwrap_or_default().to_owned();
        match call.tool {
            "run" if first == "panic" => panic!("as asked"),
            "run" if call.state.contains_key(&first) => Ruling::Allow,
            "run" => Ruling::Ask,
            _ => Ruling::Allow,
        }
    }
    fn answer(&self, request: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
        self.0.lock().unwrap().push((command(request.arguments()), request.agent().depth));
        Box::pin(async {
            tokio::task::yield_now().await;
            Some(PermissionDecision::allow())
        })
    }
    fn learn(&self, request: &PermissionRequest, decision: &PermissionDecision, state: &mut Map<String, Value>) {
        let command = command(request.arguments());
        match command.split_once(' ') {
            _ if !decision.is_approved() => {}
            Some(("forget", word)) => drop(state.remove(word)),
            Some(("fail", _)) => panic!("as asked"),
            Some((first, _)) => drop(state.insert(first.to_owned(), json!({"seen": command}))),
            None => {}
        }
    }
}

#[tokio::test]
async fn a_policy_keeps_state_for_the_session_with_the_answer() {
    let store = Arc::new(MemorySessionStore::new());
    let asked = Asked::default();
    let build = async |script: &ScriptedChatClient| {
        builder(script)
            .with_tool_harness::<Shell>()
            .with_session_store(store.clone())
            .with_permissions(Permissions::from_policy(FirstWord(asked.clone())))
            .build()
            .await
            .unwrap()
    };
    let script = ScriptedChatClient::route()
        .when_system_contains("worker", [run("git log"), Reply::text("ran"), run("git log"), Reply::text("ran")])
        .otherwise([
            // Both are asked about before either is answered: the second needs no question any more.
            run("git status").and_tool_call("run", json!({"command": "git push"})),
            Reply::tool_call("fresh_worker", json!({"input": "Try."})),
            Reply::tool_call("isolated_worker", json!({"input": "Try."})),
            Reply::text("done"),
        ]);
    let agent = build(&script).await;
    let result = agent.thread("s", "main").run("go").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [("git status".to_owned(), 0), ("git log".to_owned(), 1)], "the isolated one");
    assert_eq!(remembered(&agent, result.thread()).await, [json!({"entries": {"git": {"seen": "git status"}}})]);

    // After a restart it is there; an entry can be removed; what only the denied would have taught is not learned.
    keys(&asked);
    let script =
        ScriptedChatClient::replies([run("git pull"), run("forget git"), run("git pull"), Reply::text("done")]);
    let restarted = build(&script).await;
    restarted.thread("s", "other").run("go").await.unwrap();
    assert_eq!(keys(&asked), ["forget git", "git pull"]);
    assert_eq!(
        remembered(&restarted, result.thread()).await[1..],
        [json!({"entries": {"git": null}}), json!({"entries": {"git": {"seen": "git pull"}}})]
    );
}

#[tokio::test]
async fn a_policy_that_panics_while_it_decides_or_learns_denies() {
    let script =
        ScriptedChatClient::replies([run("panic now"), run("fail now"), run("git status"), Reply::text("done")]);
    let permissions = Permissions::from_policy(FirstWord(Asked::default()));
    let agent = builder(&script).with_tool_harness::<Shell>().with_permissions(permissions).build().await.unwrap();
    let result = agent.run("go").await.unwrap();
    let told = told(&agent, &result).await;
    assert!(told[..2].iter().all(|text| text.contains("hoever decides about it failed")), "{told:?}");
    assert_eq!(told[2], "ran git status");
}

#[tokio::test]
async fn what_a_tool_was_denied_as_a_whole_wins_over_finer_keys_of_a_later_policy() {
    let store = Arc::new(MemorySessionStore::new());
    let script = ScriptedChatClient::replies([run("ls"), Reply::text("done")]);
    let agent = builder(&script)
        .with_tool_harness::<Shell>()
        .with_session_store(store.clone())
        .with_permissions(Permissions::ask_with(|_| std::future::ready(PermissionDecision::deny("No.").always())))
        .build()
        .await
        .unwrap();
    agent.thread("s", "main").run("go").await.unwrap();
    let script = ScriptedChatClient::replies([run("ls"), Reply::text("done")]);
    let (later, asked) = asking(&script, &store, |_| PermissionDecision::allow()).await;
    let result = later.thread("s", "main").run("go").await.unwrap();
    assert!(told(&later, &result).await[1].contains("is denied for the rest of this session"));
    assert!(keys(&asked).is_empty());
}

/// What is said about a tool's need for permission, from the weakest to the strongest: declaration, builder, run. What
/// was denied for good holds whatever is said.
#[tokio::test]
async fn what_a_run_says_wins_over_the_builder_and_denials_win_over_both() {
    let require: fn(Permissions) -> Permissions = |permissions| permissions.require("clock").require("run");
    let disable: fn(Permissions) -> Permissions = |permissions| permissions.disable("clock").disable("run");
    let as_it_is: fn(Permissions) -> Permissions = |permissions| permissions;
    let run_requires = || AgentRunConfig::new().with_permission_required("clock").with_permission_required("run");
    let run_disables = || AgentRunConfig::new().with_permission_disabled("clock").with_permission_disabled("run");
    for (of_builder, of_run, expected) in [
        (as_it_is, AgentRunConfig::new(), &["run"][..]),
        (require, AgentRunConfig::new(), &["clock", "run"]),
        (disable, AgentRunConfig::new(), &[]),
        (disable, run_requires(), &["clock", "run"]),
        (require, run_disables(), &[]),
        (as_it_is, run_requires(), &["clock", "run"]),
        (require, run_requires().with_auto_approval(), &[]),
        // The last word about one tool counts.
        (|permissions: Permissions| permissions.disable("run").require("run"), AgentRunConfig::new(), &["run"]),
    ] {
        for decision in [
            PermissionDecision::allow(),
            PermissionDecision::allow().always(),
            PermissionDecision::deny("No."),
            PermissionDecision::deny("No.").always(),
        ] {
            let calls = || [Reply::tool_call("clock", json!({})), run("ls")];
            let script = ScriptedChatClient::replies(
                calls().into_iter().chain([Reply::text("done")]).chain(calls()).chain([Reply::text("done")]),
            );
            let asked = Arc::new(Mutex::new(vec![]));
            let (log, answer) = (asked.clone(), decision.clone());
            let permissions = Permissions::ask_with(move |request: PermissionRequest| {
                log.lock().unwrap().push(request.tool().to_owned());
                std::future::ready(answer.clone())
            });
            let agent = builder(&script)
                .with_tool_harness::<Shell>()
                .with_permissions(of_builder(permissions))
                .build()
                .await
                .unwrap();
            let case = format!("{of_run:?} {decision:?}");
            let thread = agent.thread("s", "main");
            thread.run("go").with_run_config(of_run.clone()).await.unwrap();
            assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), expected, "{case}");

            // The second run disables both and approves all: only what was denied for good is still denied.
            let disabled = run_disables().with_auto_approval();
            let result = thread.run("again").with_run_config(disabled).await.unwrap();
            assert!(asked.lock().unwrap().is_empty());
            let denied = decision == PermissionDecision::deny("No.").always();
            let again = results(&agent, &result).await.split_off(2);
            for told in again {
                assert_eq!(told.output.is_error(), denied && expected.contains(&&*told.name), "{case}: {told:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_choice_to_allow_answers_what_is_required_later() {
    let script = ScriptedChatClient::replies([run("ls"), Reply::text("done"), run("ls"), Reply::text("done")]);
    let (agent, asked) = asking(&script, &Arc::default(), |_| PermissionDecision::allow().always()).await;
    agent.thread("s", "main").run("go").await.unwrap();
    let required = AgentRunConfig::new().with_permission_required("run");
    agent.thread("s", "main").run("again").with_run_config(required).await.unwrap();
    assert_eq!(keys(&asked).len(), 1);
}
