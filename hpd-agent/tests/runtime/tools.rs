//! Functions: arguments, results, the rolling pool, barriers, events of their own.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use hpd_agent::{
    event::EventBody,
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Duration, sleep};

use crate::support::{builder, journal, results, types};

#[derive(Default)]
struct Counters {
    running: AtomicUsize,
    most: AtomicUsize,
    order: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Functions(Arc<Counters>);

#[derive(Serialize)]
struct Weather {
    celsius: i32,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
}

#[derive(Debug)]
struct NoSuchCity(String);

impl std::fmt::Display for NoSuchCity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no city `{}`", self.0)
    }
}

impl std::error::Error for NoSuchCity {}

impl Functions {
    async fn work(&self, name: &str, millis: u64) {
        let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(running, Ordering::SeqCst);
        sleep(Duration::from_millis(millis)).await;
        self.0.order.lock().unwrap().push(name.to_owned());
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tool_harness]
impl Functions {
    /// Gets the current weather.
    #[ai_function]
    fn weather(&self, place: Place, unit: Option<String>) -> Result<Weather, NoSuchCity> {
        match place.city.as_str() {
            "Bern" => Ok(Weather { celsius: if unit.is_some() { 70 } else { 21 } }),
            _ => Err(NoSuchCity(place.city)),
        }
    }

    /// Works for some milliseconds.
    #[ai_function]
    async fn work_for(&self, name: String, millis: u64) -> String {
        self.work(&name, millis).await;
        name
    }

    /// Works alone.
    #[ai_function(exclusive)]
    async fn work_alone(&self, name: String) -> String {
        assert_eq!(self.0.running.load(Ordering::SeqCst), 0, "it is alone");
        self.work(&name, 5).await;
        name
    }

    /// Panics.
    #[ai_function]
    fn explode(&self) {
        panic!("boom")
    }

    /// Says things while it works.
    #[ai_function]
    async fn chatty(&self, ctx: &FunctionContext) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        ctx.emit("kept", json!({"depth": ctx.depth(), "tool": ctx.tool_name()})).await?;
        ctx.emit_live("forgotten", json!(1));
        Ok(())
    }

    /// Waits until the run is cancelled.
    #[ai_function]
    async fn wait(&self, cancellation: Cancellation) -> &'static str {
        cancellation.cancelled().await;
        "cancelled"
    }

    /// Sees what was given for the run.
    #[ai_function]
    fn property(&self, ctx: &FunctionContext) -> Option<String> {
        ctx.property("user").map(ToString::to_string)
    }
}

async fn run(script: ScriptedChatClient, parallel: u32) -> (Arc<Counters>, Agent, hpd_agent::agent::RunResult) {
    let counters = Arc::new(Counters::default());
    let agent = builder(&script)
        .with_tool_harness_value(Functions(counters.clone()))
        .with_max_parallel_tool_calls(parallel)
        .build()
        .await
        .unwrap();
    let result = agent.run("go").await.unwrap();
    (counters, agent, result)
}

async fn one(name: &str, arguments: serde_json::Value) -> (bool, String) {
    let script = ScriptedChatClient::replies([Reply::tool_call(name, arguments), Reply::text("done")]);
    let (_, agent, result) = run(script, 10).await;
    let [told] = results(&agent, &result).await.try_into().unwrap();
    (told.output.is_error(), told.output.text().to_owned())
}

#[tokio::test]
async fn values_and_errors_reach_the_model() {
    assert_eq!(one("weather", json!({"place": {"city": "Bern"}})).await, (false, r#"{"celsius":21}"#.to_owned()));
    assert_eq!(
        one("weather", json!({"place": {"city": "Bern"}, "unit": "f"})).await,
        (false, r#"{"celsius":70}"#.to_owned())
    );
    assert_eq!(one("weather", json!({"place": {"city": "Ur"}})).await, (true, "there is no city `Ur`".to_owned()));
    for (arguments, expected) in [
        (json!({}), "`place` is missing"),
        (json!({"place": {}}), "`place` is wrong: missing field `city`"),
        (json!({"place": {"city": "Bern"}, "units": "f"}), "no argument `units`; legal are `place`, `unit`"),
        (json!([1]), "JSON object"),
    ] {
        let (is_error, text) = one("weather", arguments).await;
        assert!(is_error && text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_call() {
    let (is_error, text) = one("explode", json!({})).await;
    assert!(is_error && text.contains("`explode` failed: it panicked"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_results_are_shown_in_call_order() {
    let call = |name: &str, millis: u64| json!({"name": name, "millis": millis});
    let script = ScriptedChatClient::replies([
        Reply::tool_call("work_for", call("slow", 50))
            .and_tool_call("work_for", call("fast", 1))
            .and_tool_call("work_for", call("middle", 20)),
        Reply::text("done"),
    ]);
    let (counters, agent, result) = run(script, 10).await;
    assert_eq!(*counters.order.lock().unwrap(), ["fast", "middle", "slow"]);
    assert_eq!(counters.most.load(Ordering::SeqCst), 3);
    let shown: Vec<_> = results(&agent, &result).await.iter().map(|r| r.output.text().to_owned()).collect();
    assert_eq!(shown, ["slow", "fast", "middle"]);
    // They were committed as they finished.
    let committed: Vec<String> = journal(&agent, result.thread())
        .await
        .iter()
        .filter_map(|event| match event.body() {
            EventBody::ToolCallResult(result) => {
                Some(result.message.results().next().unwrap().output.text().to_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(committed, ["fast", "middle", "slow"]);
}

#[tokio::test(start_paused = true)]
async fn the_pool_rolls_and_keeps_its_limit() {
    let mut reply = Reply::empty();
    for n in 0..7 {
        reply = reply.and_tool_call("work_for", json!({"name": n.to_string(), "millis": 10 + n}));
    }
    let script = ScriptedChatClient::replies([reply, Reply::text("done")]);
    let (counters, agent, result) = run(script, 3).await;
    assert_eq!(counters.most.load(Ordering::SeqCst), 3);
    assert_eq!(results(&agent, &result).await.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_function_is_a_barrier() {
    let script = ScriptedChatClient::replies([
        Reply::tool_call("work_for", json!({"name": "a", "millis": 30}))
            .and_tool_call("work_for", json!({"name": "b", "millis": 10}))
            .and_tool_call("work_alone", json!({"name": "alone"}))
            .and_tool_call("work_for", json!({"name": "c", "millis": 1})),
        Reply::text("done"),
    ]);
    let (counters, ..) = run(script, 10).await;
    assert_eq!(*counters.order.lock().unwrap(), ["b", "a", "alone", "c"]);
}

#[tokio::test]
async fn a_function_can_say_things_journaled_or_live() {
    let script = ScriptedChatClient::replies([Reply::tool_call("chatty", json!({})), Reply::text("done")]);
    let agent = builder(&script).with_tool_harness_value(Functions(Arc::default())).build().await.unwrap();
    let mut run = agent.run("go");
    let mut seen = vec![];
    while let Some(envelope) = run.next().await {
        if let EventBody::Custom(custom) = envelope.body() {
            seen.push((custom.name.to_string(), envelope.sequence.is_some()));
        }
    }
    assert_eq!(seen, [("kept".to_owned(), true), ("forgotten".to_owned(), false)]);
    let result = run.await.unwrap();
    let events = journal(&agent, result.thread()).await;
    assert_eq!(types(&events).iter().filter(|name| **name == "CUSTOM").count(), 1);
    // The intent to run it stands before what it did.
    let position = |name| types(&events).iter().position(|other| *other == name).unwrap();
    assert!(position("TOOL_EXECUTION_STARTED") < position("CUSTOM"));
}

#[tokio::test]
async fn what_is_given_for_the_run_reaches_functions() {
    let script = ScriptedChatClient::replies([Reply::tool_call("property", json!({})), Reply::text("done")]);
    let agent = builder(&script).with_tool_harness_value(Functions(Arc::default())).build().await.unwrap();
    let config = AgentRunConfig::new().with_property("user", 42).with_temperature(0.5).with_model("other");
    let result = agent.run("go").with_run_config(config).await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "42");
    let request = &script.requests()[0];
    assert_eq!((request.options.temperature, request.options.model.as_deref()), (Some(0.5), Some("other")));
    let started = journal(&agent, result.thread()).await;
    let EventBody::ExecutionStarted(started) = started[1].body() else { panic!("not started") };
    let kept = started.settings.run_config.as_ref().unwrap().as_map();
    assert_eq!(kept["properties"]["user"], 42);
    assert_eq!(kept["chat"]["model"], "other");
}

#[tokio::test]
async fn the_schema_names_descriptions_and_what_is_required() {
    let script = ScriptedChatClient::texts(["done"]);
    let (_, _, _) = run(script.clone(), 1).await;
    let requests = script.requests();
    let weather = requests[0].tools.iter().find(|tool| tool.name().as_str() == "weather").unwrap();
    assert_eq!(weather.description(), "Gets the current weather.");
    let schema = weather.schema().value();
    assert_eq!(schema["required"], json!(["place"]));
    assert_eq!(schema["properties"]["place"]["properties"]["city"]["type"], "string");
    assert_eq!(schema["additionalProperties"], false);
    let chatty = requests[0].tools.iter().find(|tool| tool.name().as_str() == "chatty").unwrap();
    assert_eq!(chatty.schema().value()["properties"], json!({}));
}
