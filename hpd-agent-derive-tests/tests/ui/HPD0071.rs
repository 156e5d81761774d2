//! Harnesses of which no instance can be made.
use hpd_agent::{agent::AgentBuilder, prelude::*};

// ANCHOR: example
struct Database {
    address: String,
}

#[tool_harness]
impl Database {
    /// Finds the address.
    #[ai_function]
    fn address(&self) -> String {
        self.address.clone()
    }
}

fn build() -> AgentBuilder {
    Agent::builder().with_tool_harness::<Database>()
}
// ANCHOR_END: example

fn main() {
    // Fine: the instance is given.
    let _ = Agent::builder().with_tool_harness_value(Database { address: String::new() });
    let _ = build();
}
