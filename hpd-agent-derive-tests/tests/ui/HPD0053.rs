//! Parameters of types that a model cannot give.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
struct City;

#[tool_harness]
impl Tools {
    /// Gets the weather.
    #[ai_function]
    fn weather(&self, city: City) {
        let _ = city;
    }
}
// ANCHOR_END: example

#[derive(serde::Deserialize)]
struct WithoutSchema;

#[derive(schemars::JsonSchema)]
struct WithoutReading;

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// Has no schema.
    #[ai_function]
    async fn without_schema(&self, value: WithoutSchema) {
        let _ = value;
    }

    /// Cannot be read.
    #[ai_function]
    async fn without_reading(&self, value: Vec<WithoutReading>) {
        let _ = value;
    }

    /// The context of a subagent is not that of a function.
    #[ai_function]
    fn other_context(&self, context: &HarnessContext) {
        let _ = context;
    }

    /// By value.
    #[ai_function]
    fn by_value(&self, context: FunctionContext) {
        let _ = context;
    }

    /// Mutable.
    #[ai_function]
    fn mutable(&self, context: &mut FunctionContext) {
        let _ = context;
    }
}

fn main() {}
