//! Contexts for tests that call a harness method without an agent around it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    declare::{Cancellation, EmitError, FunctionContext, FunctionHost, HarnessContext},
    event::AgentScope,
    future::BoxFuture,
    id::{AgentId, CallId, MessageId, SessionId, ThreadId, ThreadKey},
};

/// A context for a function that is called directly. Events that it emits go nowhere.
///
/// ```
/// use hpd_agent::{prelude::*, testing};
///
/// #[derive(Default)]
/// struct Tools;
///
/// #[tool_harness]
/// impl Tools {
///     /// Says who asks.
///     #[ai_function]
///     fn who(&self, ctx: &FunctionContext) -> String {
///         ctx.agent_name().to_owned()
///     }
/// }
///
/// assert_eq!(Tools.who(&testing::function_context()), "test");
/// ```
#[must_use]
pub fn function_context() -> FunctionContext {
    FunctionContext::new(
        CallId::new(MessageId::from_u128(1), 0),
        Arc::from("test"),
        Arc::new(AgentScope::root(Arc::from("test"), AgentId::trusted("test"))),
        ThreadKey { session_id: SessionId::trusted("test"), thread_id: ThreadId::trusted("test") },
        Cancellation::new(),
        Arc::new(Nowhere(Map::new())),
    )
}

/// A context for a `#[subagent]` method that is called directly.
///
/// ```
/// assert_eq!(hpd_agent::testing::harness_context().agent_name(), "test");
/// ```
#[must_use]
pub fn harness_context() -> HarnessContext {
    HarnessContext::new(AgentId::trusted("test"), Arc::from("test"))
}

struct Nowhere(Map<String, Value>);

impl FunctionHost for Nowhere {
    fn emit(&self, _: CallId, _: &str, _: Value) -> BoxFuture<'_, Result<(), EmitError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn emit_live(&self, _: CallId, _: &str, _: Value) {}

    fn properties(&self) -> &Map<String, Value> {
        &self.0
    }
}
