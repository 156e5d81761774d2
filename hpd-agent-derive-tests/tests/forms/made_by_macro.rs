//! Blocks that a `macro_rules!` writes.

use hpd_agent::prelude::*;

use super::*;

macro_rules! harness {
    ($(#[$doc:meta])* $type:ty, $method:ident, $id:expr, $text:literal, $policy:expr, $child:ty, $body:block) => {
        #[tool_harness(name = $text)]
        impl $type {
            $(#[$doc])*
            #[subagent(agent_id = $id, context = $policy, tool_harnesses = [$child], metadata(text = $text))]
            fn $method(&self) -> AgentConfig $body

            /// Echoes.
            #[ai_function(description = $text)]
            async fn echo(&self, text: String, ctx: &FunctionContext) -> Result<String, ToolError> {
                let _ = ctx;
                Ok(text)
            }

            #[doc = concat!("Adds to ", $text)]
            #[doc = " and says so."]
            #[ai_function]
            fn add(&self, a: u32) -> u32 {
                a + 1
            }
        }
    };
}

#[derive(Default)]
struct Made;
#[derive(Default)]
struct Child;

#[tool_harness]
impl Child {}

harness! {
    /// Made by a macro.
    ///
    /// In two paragraphs.
    Made, reviewer, "made.reviewer", "made-by-macro", ModelChoice, Child, { AgentConfig::new("Made") }
}

#[tokio::test]
async fn what_a_macro_writes_is_the_same() {
    assert_eq!(methods(&Made), ["reviewer", "echo", "add"]);
    assert_eq!(info(&Made, "reviewer").doc.as_deref(), Some("Made by a macro.\n\nIn two paragraphs."));
    assert_eq!(info(&Made, "echo").description.as_deref(), Some("made-by-macro"));
    assert_eq!(info(&Made, "add").doc.as_deref(), Some("Adds to made-by-macro\nand says so."));
    assert_eq!(sub_agent(&Made, "reviewer").agent_id, Some("made.reviewer"));
    assert_eq!(sub_agent(&Made, "reviewer").context, Some(SubAgentContextPolicy::ModelChoice));
    assert_eq!(text(&Made, "echo", r#"{"text":"x"}"#).await, "x");
    assert_eq!(text(&Made, "add", r#"{"a":1}"#).await, "2");
    assert!(define(&Made, "reviewer").await.is_ok());
    assert!(hpd_agent::tool::registry::harness("made-by-macro").is_ok());
}
