//! Types of parameters without a default of their own.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[tool_harness]
impl Tools {
    /// Gets the temperature.
    #[ai_function]
    fn temperature(&self, #[arg(default)] unit: Unit) -> u32 {
        match unit {
            Unit::Celsius => 4,
            Unit::Fahrenheit => 39,
        }
    }
}
// ANCHOR_END: example

fn main() {}
