//! `#[ai_function]` in all its forms.

use std::sync::atomic::{AtomicU32, Ordering};

use hpd_agent::{prelude::*, tool::schema::function_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;

#[derive(Serialize)]
struct Weather {
    city: String,
    celsius: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
    country: Option<String>,
}

#[derive(Debug)]
struct OwnError;

impl std::fmt::Display for OwnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the station is down")
    }
}

impl std::error::Error for OwnError {}

#[derive(Default)]
struct Tools {
    calls: AtomicU32,
}

#[tool_harness]
impl Tools {
    /// Gets the current weather for a city.
    #[ai_function]
    async fn weather(
        &self,
        /// Where.
        ///
        /// A city in Europe.
        place: Place,
        ctx: &FunctionContext,
        days: Option<u32>,
        cancellation: Cancellation,
    ) -> Result<Weather, OwnError> {
        tokio::task::yield_now().await;
        assert_eq!(ctx.tool_name(), "test");
        assert!(!cancellation.is_cancelled());
        if place.country.as_deref() == Some("Atlantis") {
            return Err(OwnError);
        }
        Ok(Weather { city: place.city, celsius: f64::from(days.unwrap_or(20)) })
    }

    /// Adds.
    #[ai_function(requires_permission, exclusive)]
    fn add(a: u32, #[allow(unused_mut)] mut b: u32) -> u32 {
        b += a;
        b
    }

    /// Counts its own calls.
    #[ai_function(name = "count-calls", requires_permission = false, exclusive = true)]
    fn count(&self) -> u32 {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Borrows from the harness and from the context.
    #[ai_function]
    async fn borrows<'a>(&'a self, r#type: String, ctx: &'a FunctionContext) -> Result<&'a str, ToolError> {
        if r#type == "agent" { Ok(ctx.agent_name()) } else { Err(ToolError::new("Ask for `agent`.")) }
    }

    /// Gives nothing back.
    #[ai_function]
    fn nothing(&self) {}

    /// Fails with a text.
    #[ai_function]
    fn fails() -> Result<(), &'static str> {
        Err("no")
    }

    /// Fails with any error at all.
    #[ai_function]
    fn fails_with_any() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err(Box::new(ToolError::new("word for word")))
    }

    /// A method of which the name of the context is not a parameter of the model.
    #[ai_function]
    fn only_context(ctx: &FunctionContext) -> usize {
        ctx.agent_chain().len()
    }
}

#[tokio::test]
async fn values_and_results_become_tool_results() {
    let tools = Tools::default();
    assert_eq!(
        text(&tools, "weather", r#"{"place":{"city":"Oslo"},"days":3}"#).await,
        r#"{"city":"Oslo","celsius":3.0}"#
    );
    assert_eq!(text(&tools, "add", r#"{"b":1,"a":2}"#).await, "3");
    assert_eq!(text(&tools, "nothing", "").await, "null");
    assert_eq!(text(&tools, "borrows", r#"{"type":"agent"}"#).await, "test");
    assert_eq!(text(&tools, "only_context", "{}").await, "1");
}

#[tokio::test]
async fn errors_become_sentences() {
    let tools = Tools::default();
    let atlantis = r#"{"place":{"city":"Poseidonis","country":"Atlantis"}}"#;
    assert_eq!(refusal(&tools, "weather", atlantis).await, "the station is down");
    assert_eq!(refusal(&tools, "fails", "{}").await, "no");
    assert_eq!(refusal(&tools, "fails_with_any", "{}").await, "word for word");
    assert_eq!(refusal(&tools, "borrows", r#"{"type":"x"}"#).await, "Ask for `agent`.");
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_the_function_runs() {
    let tools = Tools::default();
    assert!(refusal(&tools, "add", r#"{"a":1}"#).await.contains("`b` is missing"));
    assert!(refusal(&tools, "add", r#"{"a":1,"b":"x"}"#).await.contains("`b` is wrong"));
    assert!(refusal(&tools, "add", r#"{"a":1,"b":2,"c":3}"#).await.contains("no argument `c`; legal are `a`, `b`"));
    assert!(refusal(&tools, "add", "[]").await.contains("JSON object"));
    let runtime_only = refusal(&tools, "only_context", r#"{"ctx":1}"#).await;
    assert!(runtime_only.contains("no argument `ctx`; this tool takes none"), "{runtime_only}");
    assert!(refusal(&tools, "count", r#"{"x":1}"#).await.contains("takes none"));
    assert_eq!(tools.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_function_runs_when_it_is_polled() {
    let tools = Tools::default();
    let context = testing::function_context();
    let call = tools.call(index_of(&tools, "count"), "{}", &context).unwrap();
    assert_eq!(tools.calls.load(Ordering::SeqCst), 0);
    assert_eq!(call.await.unwrap().text(), "1");
}

#[test]
fn the_table_says_what_the_attribute_says() {
    let tools = Tools::default();
    let flags = |method| {
        let function = function(&tools, method);
        (function.requires_permission, function.exclusive)
    };
    assert_eq!(flags("weather"), (false, false));
    assert_eq!(flags("add"), (true, true));
    assert_eq!(flags("count"), (false, true));
    assert_eq!(info(&tools, "count").name.as_deref(), Some("count-calls"));
    assert_eq!(info(&tools, "add").doc.as_deref(), Some("Adds."));
}

#[test]
fn types_decide_what_the_model_is_asked_for() {
    let tools = Tools::default();
    let schema = function_schema(&function(&tools, "weather").params);
    assert_eq!(
        schema.value(),
        &json!({
            "type": "object",
            "properties": {
                "place": {
                    "description": "Where.\n\nA city in Europe.",
                    "type": "object",
                    "properties": {
                        "city": {"description": "The name of a city.", "type": "string"},
                        "country": {"type": ["string", "null"]},
                    },
                    "required": ["city"],
                },
                "days": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
            },
            "required": ["place"],
            "additionalProperties": false,
        })
    );
    let names: Vec<_> = function(&tools, "borrows").params.iter().map(|param| param.name).collect();
    assert_eq!(names, ["type", "ctx"]);
}

#[deny(deprecated)]
mod deprecated {
    use super::*;

    #[derive(Default)]
    pub(super) struct Old;

    #[deprecated]
    pub(super) type Text = String;

    #[tool_harness]
    impl Old {
        /// Is called by models until it is gone.
        #[deprecated]
        #[ai_function]
        fn old(&self) -> u32 {
            1
        }

        /// Is so under a condition.
        #[cfg_attr(all(), deprecated)]
        #[ai_function]
        fn older(&self) -> u32 {
            2
        }

        /// Takes what is old, under a condition.
        #[cfg_attr(all(), allow(deprecated))]
        #[ai_function]
        fn shout(&self, text: Text) -> Text {
            text.to_uppercase()
        }

        /// Takes what is old.
        #[expect(deprecated)]
        #[ai_function]
        fn echo(&self, text: Text) -> Text {
            text
        }
    }
}

#[tokio::test]
async fn deprecation_is_for_those_who_call_it_by_name() {
    assert_eq!(text(&deprecated::Old, "old", "{}").await, "1");
    assert_eq!(text(&deprecated::Old, "older", "{}").await, "2");
    assert_eq!(text(&deprecated::Old, "shout", r#"{"text":"x"}"#).await, "X");
    assert_eq!(text(&deprecated::Old, "echo", r#"{"text":"x"}"#).await, "x");
}

#[derive(Default)]
struct Attributed;

#[tool_harness]
impl Attributed {
    /// Has an attribute among its lifetimes.
    #[ai_function]
    fn lifetimes<#[allow(single_use_lifetimes)] 'a>(&'a self, x: u32) -> u32 {
        x
    }
}

#[tokio::test]
async fn an_attribute_of_a_lifetime_takes_no_tool_away() {
    assert_eq!(text(&Attributed, "lifetimes", r#"{"x":1}"#).await, "1");
}
