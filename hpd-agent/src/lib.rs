//! hpd
extern crate self as hpd_agent;

pub mod chat;
pub mod compaction;
pub mod declare;
pub mod error;
pub mod event;
pub mod history;
pub mod id;
pub mod message;
pub mod store;
pub mod testing;
pub mod tool;

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;

mod macros;

pub use self::macros::{ai_function, subagent, tool_harness};

/// What an application needs to declare and to run agents.
pub mod prelude {
    pub use crate::{
        ai_function,
        compaction::ForkCompaction,
        declare::{
            AgentConfig, AgentInvocationModePolicy, AgentRunConfig, BackgroundNotification, Cancellation,
            FunctionContext, HarnessContext, RunConfigGroup, SubAgent, SubAgentAvailability, SubAgentContextPolicy,
            SubAgentLifecycle, SubAgentRunConfig, ToolError,
        },
        subagent, tool_harness,
    };
}
