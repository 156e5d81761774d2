//! Agents that delegate to agents.
//!
//! `#[subagent]` on a harness method makes a specialist agent a tool of its parent. The macro emits the tool's schema,
//! checks the declaration while it compiles and registers it; the runtime gives every child its own thread, runs it,
//! shows its events through the parent, asks for permission where it is needed, and returns its answer.
//!
//! ```
//! use hpd_agent::{prelude::*, testing::{Reply, ScriptedChatClient}};
//!
//! #[derive(Default)]
//! struct SpecialistTools;
//!
//! #[tool_harness]
//! impl SpecialistTools {
//!     /// Summarizes a request before the parent answers.
//!     #[subagent(agent_id = "specialist.summarizer")]
//!     fn summarizer(&self) -> AgentConfig {
//!         AgentConfig::new("Summarizer").with_system_instructions("Summarize in three concise bullets.")
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! // A model that delegates, the child's model, and the parent's model again.
//! let client = ScriptedChatClient::replies([
//!     Reply::tool_call("summarizer", serde_json::json!({"input": "Summarize this."})),
//!     Reply::text("- one\n- two\n- three"),
//!     Reply::text("In short: one, two, three."),
//! ]);
//! let agent = Agent::builder()
//!     .with_chat_client(client)
//!     .with_tool_harness::<SpecialistTools>()
//!     .with_permissions(Permissions::allow_all())
//!     .build()
//!     .await?;
//! let result = agent.run("Summarize this request.").await?;
//! assert_eq!(result.text(), "In short: one, two, three.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules form layers; each uses only those before it: [`id`], [`error`] and [`future`], [`message`], [`event`], [`history`],
//! [`store`], [`compaction`], [`session`], [`chat`], [`clients`], [`declare`], [`tool`], [`permission`], then the turn, the
//! subagents and the [`agent`]. [`testing`] has clients for tests.

extern crate self as hpd_agent;

pub mod agent;
pub mod chat;
pub mod clients;
pub mod compaction;
pub mod declare;
#[cfg(feature = "definition-files")]
pub mod definition;
pub mod error;
pub mod event;
mod filter;
pub mod future;
pub mod history;
pub mod id;
mod json;
pub mod message;
pub mod permission;
pub mod session;
pub mod store;
mod subagent;
pub mod testing;
pub mod tool;
mod turn;

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;

mod macros;

pub use self::macros::{ai_function, subagent, tool_harness};

/// What an application needs to declare and to run agents.
pub mod prelude {
    pub use crate::{
        agent::{Agent, Run, RunError, RunResult, Thread},
        ai_function,
        compaction::ForkCompaction,
        declare::{
            AgentConfig, AgentInvocationModePolicy, AgentRunConfig, BackgroundNotification, Cancellation,
            DynamicFunction, DynamicHarness, FunctionContext, HarnessContext, Recursion, RunConfigGroup, SubAgent,
            SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, SubAgentRunConfig, ToolError, ToolFilter,
            ToolHarness,
        },
        permission::{PermissionDecision, Permissions},
        subagent, tool_harness,
    };
}
