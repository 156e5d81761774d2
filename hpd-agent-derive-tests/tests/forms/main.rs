//! Every legal form, and what it becomes. One binary: linking is what costs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod bare;
mod conditional;
mod crates;
mod dynamic;
mod functions;
mod generic;
mod made_by_macro;
mod matrix;
mod parameters;
mod policies;
mod recursive;
mod shadowed;
mod sub_agents;

use hpd_agent::{
    declare::{CapabilityInfo, CapabilityKind, ErasedHarness, FunctionInfo, SubAgent, SubAgentInfo, ToolError},
    error::BoxError,
    message::ToolOutput,
    testing,
};

/// The place of a method in the table.
fn index_of(harness: &dyn ErasedHarness, method: &str) -> usize {
    (0..harness.len()).find(|index| harness.info(*index).unwrap().method == method).unwrap()
}

fn methods(harness: &dyn ErasedHarness) -> Vec<&str> {
    (0..harness.len()).map(|index| &*harness.info(index).unwrap().method).collect()
}

fn info<'h>(harness: &'h dyn ErasedHarness, method: &str) -> &'h CapabilityInfo {
    harness.info(index_of(harness, method)).unwrap()
}

fn sub_agent<'h>(harness: &'h dyn ErasedHarness, method: &str) -> &'h SubAgentInfo {
    match &info(harness, method).kind {
        CapabilityKind::SubAgent(info) => info,
        CapabilityKind::Function(_) => panic!("{method} is a function"),
    }
}

fn function<'h>(harness: &'h dyn ErasedHarness, method: &str) -> &'h FunctionInfo {
    match &info(harness, method).kind {
        CapabilityKind::Function(info) => info,
        CapabilityKind::SubAgent(_) => panic!("{method} is a subagent"),
    }
}

async fn define(harness: &dyn ErasedHarness, method: &str) -> Result<SubAgent, BoxError> {
    harness.define(index_of(harness, method), &testing::harness_context()).unwrap().await
}

async fn call(harness: &dyn ErasedHarness, method: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
    harness.call(index_of(harness, method), arguments, &testing::function_context()).unwrap().await
}

async fn text(harness: &dyn ErasedHarness, method: &str, arguments: &str) -> String {
    call(harness, method, arguments).await.unwrap().text().to_owned()
}

async fn refusal(harness: &dyn ErasedHarness, method: &str, arguments: &str) -> String {
    call(harness, method, arguments).await.unwrap_err().to_string()
}
