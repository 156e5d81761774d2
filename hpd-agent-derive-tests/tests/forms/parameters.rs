//! What `#[arg(…)]` and `#[cfg]` say about parameters.

use hpd_agent::{prelude::*, tool::schema::function_schema};
use serde_json::json;

use super::*;

const UNIT: &str = "Which unit the answer is in.";

fn ten() -> u32 {
    10
}

#[derive(Default)]
struct Tools;

#[tool_harness]
#[allow(clippy::needless_bool, reason = "any expression may stand there")]
impl Tools {
    const ALOUD: bool = true;

    /// Searches.
    #[ai_function]
    #[allow(clippy::too_many_arguments)]
    async fn search(
        &self,
        /// What to look for.
        query: String,
        /// How much of it.
        #[arg(default = ten() * 2)]
        limit: u32,
        /// Is replaced.
        #[arg(description = UNIT, name = "unit")]
        #[arg(default = "km".to_owned())]
        größe: String,
        #[arg(default)] tags: Vec<String>,
        #[arg(default = Self::ALOUD)] aloud: bool,
        #[arg(default = [1, 2])] range: [u32; 2],
        #[arg(default = None)] near: Option<String>,
        ctx: &FunctionContext,
    ) -> String {
        format!("{query} {limit} {größe} {tags:?} {aloud} {range:?} {near:?} {}", ctx.tool_name())
    }

    /// Adds what is there.
    #[ai_function(requires_permission = Self::ALOUD && cfg!(target_os = "none"), exclusive = if Self::ALOUD { true } else { false })]
    fn conditional(
        a: u32,
        #[cfg(not(target_os = "none"))] b: u32,
        #[cfg(target_os = "none")] c: absent::Type,
        #[cfg_attr(not(target_os = "none"), cfg(target_os = "none"))] d: absent::Type,
    ) -> u32 {
        a + b
    }

    /// Has a context where there is one.
    #[subagent(agent_id = "parameters.conditional")]
    fn sub_agent(&self, #[cfg(not(target_os = "none"))] context: &HarnessContext) -> AgentConfig {
        AgentConfig::new(context.agent_name())
    }
}

macro_rules! with_default {
    ($harness:ident, $default:expr) => {
        #[derive(Default)]
        struct $harness;

        #[tool_harness]
        impl $harness {
            /// Shows the range.
            #[ai_function]
            fn range(&self, #[arg(default = $default)] range: [u32; 2]) -> String {
                format!("{range:?}")
            }
        }
    };
}

with_default!(FromMacro, [1, 2]);

#[tokio::test]
async fn a_default_may_come_from_a_macro_by_example() {
    assert_eq!(text(&FromMacro, "range", "{}").await, "[1, 2]");
}

#[tokio::test]
async fn a_parameter_that_is_left_out_or_null_has_its_default() {
    let all_defaults = "lakes 20 km [] true [1, 2] None test";
    assert_eq!(text(&Tools, "search", r#"{"query":"lakes"}"#).await, all_defaults);
    let nulls = r#"{"query":"lakes","limit":null,"unit":null,"tags":null,"aloud":null,"range":null,"near":null}"#;
    assert_eq!(text(&Tools, "search", nulls).await, all_defaults);
    let given = r#"{"query":"lakes","limit":1,"unit":"m","tags":["a"],"aloud":false,"range":[3,4],"near":"Oslo"}"#;
    assert_eq!(text(&Tools, "search", given).await, r#"lakes 1 m ["a"] false [3, 4] Some("Oslo") test"#);
    let wrong = refusal(&Tools, "search", r#"{"query":"lakes","limit":"many"}"#).await;
    assert!(wrong.contains("`limit` is wrong"), "{wrong}");
    assert!(
        refusal(&Tools, "search", r#"{"query":"x","größe":"m"}"#).await.contains("legal are `query`, `limit`, `unit`")
    );
    assert!(refusal(&Tools, "search", "{}").await.contains("`query` is missing"));
}

#[test]
fn a_default_is_told_to_the_model() {
    let schema = function_schema(&function(&Tools, "search").params);
    let schema = schema.value();
    assert_eq!(schema["required"], json!(["query"]));
    let properties = &schema["properties"];
    assert_eq!(properties["limit"]["default"], 20);
    assert_eq!(properties["limit"]["description"], "How much of it.");
    assert_eq!(properties["unit"], json!({ "type": "string", "description": UNIT, "default": "km" }));
    assert_eq!(properties["tags"]["default"], json!([]));
    assert_eq!(properties["aloud"]["default"], true);
    assert_eq!(properties["range"]["default"], json!([1, 2]));
    // No default that says no more than that it may be left out.
    assert!(properties["near"].get("default").is_none(), "{properties}");
}

#[tokio::test]
async fn a_parameter_that_is_not_there_is_nowhere() {
    assert_eq!(text(&Tools, "conditional", r#"{"a":1,"b":2}"#).await, "3");
    let schema = function_schema(&function(&Tools, "conditional").params);
    assert_eq!(schema.value()["properties"].as_object().map(serde_json::Map::len), Some(2));
    assert!(define(&Tools, "sub_agent").await.is_ok());
}
