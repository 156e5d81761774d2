//! For tests of agents: models that answer from a script, and a reviewer that refuses what real providers refuse.
//!
//! Nothing here needs a network, a key or real time: scripted delays use tokio's clock, so that a test with a paused
//! clock (`#[tokio::test(start_paused = true)]`) takes no time.
//!
//! ```
//! # use std::sync::Arc;
//! # use hpd_agent::{chat::ChatClient, testing::{Reply, RequestChecker, ScriptedChatClient}};
//! # use serde_json::json;
//! let script = ScriptedChatClient::replies([
//!     Reply::tool_call("get_weather", json!({"city": "Bern"})),
//!     Reply::text("It is warm in Bern."),
//! ]);
//! let client: Arc<dyn ChatClient> = Arc::new(RequestChecker::new(script.clone()));
//! // … give `client` to an agent, run it, then look at what it asked:
//! assert_eq!(script.requests().len(), 0);
//! assert_eq!(script.remaining(), 2);
//! ```

mod checker;
mod context;
mod reply;
mod scripted;

pub use self::{
    checker::{RequestChecker, Rule, Violation},
    context::{function_context, harness_context},
    reply::{Hold, Reply},
    scripted::{ScriptRoutes, ScriptedChatClient},
};
