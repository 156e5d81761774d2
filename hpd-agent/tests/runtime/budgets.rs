//! What a run and all its descendants may take, and what they took.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hpd_agent::{
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatErrorKind, ChatRequest, ChatStream, ClientInfo},
    declare::{Budget, BudgetLimit, Price, PriceTable},
    message::Usage,
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::support::{builder, children, results};

fn budget(budget: Budget) -> AgentRunConfig {
    AgentRunConfig::new().with_budget(budget)
}

#[derive(Default)]
struct Team;

#[tool_harness(name = "budgets.team")]
impl Team {
    /// Works.
    #[subagent(agent_id = "budgets.worker", context = Fresh)]
    fn worker(&self) -> AgentConfig {
        AgentConfig::new("Worker").with_system_instructions("You are the worker.")
    }

    /// Works on little.
    #[subagent(agent_id = "budgets.frugal", context = Fresh)]
    fn frugal(&self) -> SubAgent {
        SubAgent::from_config("budgets.frugal", AgentConfig::new("Frugal").with_system_instructions("You are frugal."))
            .with_tool_harness::<Slow>()
            .with_run_config(
                SubAgentRunConfig::inherit().override_with(|run| run.set_budget(Budget::new().with_max_tokens(10))),
            )
    }

    /// Leads others.
    #[subagent(agent_id = "budgets.lead", context = Fresh, tool_harnesses = [Crew])]
    fn lead(&self) -> AgentConfig {
        AgentConfig::new("Lead").with_system_instructions("You are a lead.")
    }
}

#[derive(Default)]
struct Crew;

#[tool_harness(name = "budgets.crew")]
impl Crew {
    /// Works for a lead.
    #[subagent(agent_id = "budgets.crew", context = Fresh, availability = through_depth(2))]
    fn crew(&self) -> AgentConfig {
        AgentConfig::new("Crew").with_system_instructions("You are crew.")
    }
}

#[derive(Default)]
struct Slow;

#[tool_harness(name = "budgets.slow")]
impl Slow {
    /// Needs somebody's permission.
    #[ai_function(requires_permission)]
    fn guarded(&self) -> &'static str {
        "done"
    }

    /// Takes so many seconds, and says so every second if it shall.
    #[ai_function]
    async fn wait(&self, seconds: u64, tell: bool, context: &FunctionContext) -> &'static str {
        for _ in 0..seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if tell {
                context.emit_live("waited", json!(1));
            }
        }
        "waited"
    }
}

fn three_workers() -> Reply {
    Reply::tool_call("worker", json!({"input": "a"}))
        .and_tool_call("worker", json!({"input": "b"}))
        .and_tool_call("worker", json!({"input": "c"}))
}

#[tokio::test]
async fn no_more_children_are_started_than_the_budget_has() {
    let script = ScriptedChatClient::route().when_system_contains("You are the worker.", ["1", "2"]).otherwise([
        three_workers(),
        Reply::tool_call("worker", json!({"input": "d"})),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").with_run_config(budget(Budget::new().with_max_children(2))).await.unwrap();
    assert_eq!(result.text(), "done");
    let told = results(&agent, &result).await;
    let refused: Vec<_> = told.iter().filter(|result| result.output.is_error()).collect();
    assert_eq!(refused.len(), 2);
    for result in refused {
        let text = result.output.text();
        assert!(text.contains("`worker` was not started") && text.contains("allows 2 children"), "{text}");
    }
    assert_eq!(children(&agent, result.thread()).await.len(), 2);
}

#[tokio::test]
async fn so_many_children_live_at_a_time_and_places_are_given_back() {
    let script = ScriptedChatClient::route().when_system_contains("You are the worker.", ["1", "2"]).otherwise([
        Reply::tool_call("worker", json!({"input": "a"})),
        Reply::tool_call("worker", json!({"input": "b"})),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let one = || budget(Budget::new().with_max_live_children(1));
    let result = agent.run("Go.").with_run_config(one()).await.unwrap();
    assert!(results(&agent, &result).await.iter().all(|result| !result.output.is_error()));

    // A child that fails gives its place back too; a grandchild takes a place besides its parent's.
    let script = ScriptedChatClient::route()
        .when_system_contains("You are crew.", ["crew"])
        .when_system_contains(
            "You are a lead.",
            [Reply::tool_call("crew", json!({"input": "x"})), Reply::text("alone")],
        )
        .when_system_contains("You are the worker.", [Reply::error(ChatErrorKind::Other, "broken")])
        .otherwise([
            Reply::tool_call("worker", json!({"input": "a"})),
            Reply::tool_call("lead", json!({"input": "b"})),
            Reply::text("done"),
        ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").with_run_config(one()).await.unwrap();
    assert_eq!(results(&agent, &result).await[1].output.text(), "alone");
    let leads = children(&agent, result.thread()).await;
    let lead = leads.iter().find(|header| header.default_agent_id.as_str() == "budgets.lead").unwrap();
    let thread = agent.thread(&lead.key.session_id, &lead.key.thread_id);
    let told = thread.messages().await.unwrap();
    let refusal = told.iter().find_map(|message| message.results().next().cloned()).unwrap();
    assert!(refusal.output.text().contains("allows 1 child at a time"), "{}", refusal.output.text());
}

#[tokio::test]
async fn a_run_without_tokens_left_ends_and_keeps_what_it_had_said() {
    let script = ScriptedChatClient::replies([
        Reply::text("I shall ask.").and_tool_call("worker", json!({"input": "a"})).with_usage(Usage::new(40, 5)),
        Reply::text("child").with_usage(Usage::new(50, 5)),
        Reply::text("never asked"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let mut run = agent.run("Go.").with_run_config(budget(Budget::new().with_max_tokens(100)));
    run.start();
    let handle = run.handle();
    let error = run.await.unwrap_err();
    let RunError::BudgetReached { limit: BudgetLimit::Tokens, allowed, ref partial, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((allowed, partial.as_deref()), (100.0, Some("I shall ask.")));
    assert_eq!(error.partial_answer(), Some("I shall ask."));
    assert_eq!(error.code(), "budget_reached");
    assert_eq!(script.remaining(), 1);
    // What was taken is known although the run failed.
    assert_eq!(handle.usage_by_agent().iter().map(|agent| agent.usage.total()).sum::<u64>(), 100);
}

#[tokio::test]
async fn a_child_with_a_budget_of_its_own_fails_alone() {
    let script = ScriptedChatClient::route()
        .when_system_contains(
            "You are frugal.",
            [Reply::text("So far.")
                .and_tool_call("wait", json!({"seconds": 0, "tell": false}))
                .with_usage(Usage::new(9, 3))],
        )
        .otherwise([
            Reply::tool_call("frugal", json!({"input": "a"})).with_usage(Usage::new(50, 5)),
            Reply::text("done"),
        ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    assert_eq!(result.text(), "done");
    let told = results(&agent, &result).await;
    let text = told[0].output.text();
    assert!(text.contains("is used up: 10 tokens") && text.contains("So far."), "{text}");
    assert_eq!(told[0].metadata.to_map()["subAgentErrorType"], "budget_reached");
}

#[tokio::test]
async fn costs_are_those_of_the_price_table() {
    let run = |prices: PriceTable, most: f64| async move {
        let script = ScriptedChatClient::replies([
            Reply::tool_call("worker", json!({"input": "a"})).with_usage(Usage::new(1_000_000, 0)),
            Reply::text("child").with_usage(Usage::new(0, 100_000)),
            Reply::text("done"),
        ]);
        let agent = builder(&script).with_tool_harness::<Team>().with_prices(prices).build().await.unwrap();
        agent.run("Go.").with_run_config(budget(Budget::new().with_max_cost(most))).await.map(|_| ())
    };
    let prices = PriceTable::new().with("scripted", Price::new(3.0, 15.0));
    run(prices.clone(), 4.6).await.unwrap();
    let error = run(prices, 4.5).await.unwrap_err();
    assert!(matches!(error, RunError::BudgetReached { limit: BudgetLimit::Cost, .. }), "{error}");
    let error = run(PriceTable::new(), 4.6).await.unwrap_err();
    assert_eq!(error.code(), "no_price");
    assert!(error.to_string().contains("`scripted`") && error.to_string().contains(".with_prices(…)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn time_ends_a_run_wherever_it_is() {
    let scripts = [
        // The model does not answer.
        vec![Reply::pending()],
        // A function does not return.
        vec![Reply::tool_call("wait", json!({"seconds": 1_000, "tell": true})), Reply::text("never asked")],
        // Nobody answers a question.
        vec![Reply::tool_call("guarded", json!({})), Reply::text("never asked")],
        // A child's model does not answer.
        vec![Reply::tool_call("worker", json!({"input": "a"})), Reply::pending(), Reply::text("never asked")],
    ];
    for script in scripts {
        let script = ScriptedChatClient::replies(script);
        let permissions = Permissions::ask_with(|request| async move {
            if request.tool() == "guarded" {
                std::future::pending::<()>().await;
            }
            PermissionDecision::allow()
        });
        let agent = builder(&script)
            .with_tool_harness::<Team>()
            .with_tool_harness::<Slow>()
            .with_permissions(permissions)
            .build()
            .await
            .unwrap();
        let begun = tokio::time::Instant::now();
        let limit = Budget::new().with_wall_time(Duration::from_secs(60));
        let error = agent.run("Go.").with_run_config(budget(limit)).await.unwrap_err();
        assert!(matches!(error, RunError::BudgetReached { limit: BudgetLimit::WallTime, .. }), "{error}");
        assert_eq!(begun.elapsed().as_secs(), 60);
    }
}

#[tokio::test(start_paused = true)]
async fn activity_keeps_a_run_alive() {
    for (tell, ends) in [(true, None), (false, Some(BudgetLimit::IdleTime))] {
        let script = ScriptedChatClient::replies([
            Reply::tool_call("wait", json!({"seconds": 100, "tell": tell})),
            Reply::text("d")
                .and_pause(Duration::from_secs(8))
                .and_text("o")
                .and_pause(Duration::from_secs(8))
                .and_text("ne"),
        ]);
        let agent = builder(&script).with_tool_harness::<Slow>().build().await.unwrap();
        let limit = Budget::new().with_idle_time(Duration::from_secs(10));
        match (agent.run("Go.").with_run_config(budget(limit)).await, ends) {
            (Ok(result), None) => assert_eq!(result.text(), "done"),
            (Err(RunError::BudgetReached { limit, .. }), Some(expected)) => assert_eq!(limit, expected),
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_depth_of_a_budget_lowers_the_ceiling() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("lead", json!({"input": "a"})),
        Reply::text("lead"),
        Reply::text("done"),
    ]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    agent.run("Go.").with_run_config(budget(Budget::new().with_max_depth(1))).await.unwrap();
    assert!(script.requests()[1].tools.is_empty(), "the lead may not delegate");

    let script = ScriptedChatClient::texts(["done"]);
    let agent = builder(&script).with_tool_harness::<Team>().build().await.unwrap();
    agent.run("Go.").with_run_config(budget(Budget::new().with_max_depth(0))).await.unwrap();
    assert!(script.requests()[0].tools.is_empty());
}

/// Counts how many calls run at a time, and what they report.
#[derive(Clone)]
struct Counting {
    inner: ScriptedChatClient,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    usage: Arc<Mutex<Usage>>,
}

impl Counting {
    fn new(inner: &ScriptedChatClient) -> Self {
        Self { inner: inner.clone(), now: Arc::default(), most: Arc::default(), usage: Arc::default() }
    }
}

impl ChatClient for Counting {
    fn info(&self) -> &ClientInfo {
        self.inner.info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        Box::pin(async move {
            let running = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            tokio::task::yield_now().await;
            let stream = self.inner.stream(request).await;
            let (now, usage) = (self.now.clone(), self.usage.clone());
            let stream = stream.inspect_err(|_| {
                now.fetch_sub(1, Ordering::SeqCst);
            })?;
            Ok(ChatStream::new(futures_util::StreamExt::inspect(stream, move |delta| match delta {
                Ok(ChatDelta::Usage(one)) => *usage.lock().unwrap() += *one,
                Ok(ChatDelta::Finish(_)) | Err(_) => {
                    now.fetch_sub(1, Ordering::SeqCst);
                }
                Ok(_) => {}
            })))
        })
    }
}

#[tokio::test]
async fn a_limit_of_one_model_call_lets_every_tree_come_to_its_end() {
    let script = ScriptedChatClient::from_fn(|request| {
        let is = |text| request.system.contains(text);
        let asked = request.history.iter().any(|message| message.results().next().is_some());
        match (is("coordinator"), is("lead"), asked) {
            (true, _, false) => Reply::tool_call("lead", json!({"input": "a"}))
                .and_tool_call("lead", json!({"input": "b"}))
                .and_tool_call("lead", json!({"input": "c"})),
            (_, true, false) => {
                Reply::tool_call("crew", json!({"input": "1"})).and_tool_call("crew", json!({"input": "2"}))
            }
            _ => Reply::text("done"),
        }
    });
    for (limit, expected) in [(Some(1), 1), (Some(2), 2), (None, 6)] {
        let counting = Counting::new(&script);
        let agent = builder(&script).with_chat_client(counting.clone()).with_tool_harness::<Team>();
        let agent = match limit {
            Some(limit) => agent.with_max_concurrent_model_calls(limit),
            None => agent,
        };
        let agent = agent.build().await.unwrap();
        let result = agent.run("Go.").await.unwrap();
        assert_eq!(result.text(), "done");
        let leads = children(&agent, result.thread()).await;
        assert_eq!(leads.len(), 3);
        for lead in leads {
            assert_eq!(children(&agent, &lead.key).await.len(), 2);
        }
        assert_eq!(counting.most.load(Ordering::SeqCst), expected, "{limit:?}");
        assert_eq!(counting.now.load(Ordering::SeqCst), 0);
    }
    let error = builder(&script).with_max_concurrent_model_calls(0).build().await.unwrap_err();
    assert!(error.to_string().contains("`max_concurrent_model_calls` is 0"), "{error}");
}

#[tokio::test]
async fn usage_is_told_for_the_turn_its_subtree_and_each_agent() {
    let script = ScriptedChatClient::route()
        .when_system_contains(
            "You are a lead.",
            [
                Reply::tool_call("crew", json!({"input": "c"})).with_usage(Usage::new(2, 0)),
                Reply::text("lead").with_usage(Usage::new(16, 0)),
            ],
        )
        .when_system_contains("You are the worker.", [Reply::text("worker").with_usage(Usage::new(4, 0))])
        .when_system_contains(
            "You are crew.",
            // An answer that breaks off was paid for all the same.
            [Reply::text("crew").with_usage(Usage::new(8, 0)).and_error(ChatErrorKind::Interrupted, "gone")],
        )
        .otherwise([
            Reply::tool_call("lead", json!({"input": "a"}))
                .and_tool_call("worker", json!({"input": "b"}))
                .with_usage(Usage::new(1, 0)),
            Reply::text("done").with_usage(Usage::new(32, 0)),
            Reply::text("more").with_usage(Usage::new(64, 0)),
        ]);
    let counting = Counting::new(&script);
    let agent = builder(&script).with_chat_client(counting.clone()).with_tool_harness::<Team>().build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    assert_eq!(result.own_usage(), Usage::new(33, 0));
    assert_eq!(result.usage(), *counting.usage.lock().unwrap());
    let by_agent: Vec<_> =
        result.usage_by_agent().iter().map(|agent| (&*agent.agent_name, agent.usage.input_tokens)).collect();
    assert_eq!(by_agent.iter().map(|(_, tokens)| tokens).sum::<u64>(), result.usage().input_tokens);
    assert!(by_agent.contains(&("Coordinator", 33)) && by_agent.contains(&("lead", 18)), "{by_agent:?}");

    // A turn counts what it took itself.
    let more = agent.thread(result.session_id(), result.thread_id()).run("More.").await.unwrap();
    assert_eq!((more.own_usage(), more.usage()), (Usage::new(64, 0), Usage::new(64, 0)));
}
