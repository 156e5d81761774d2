//! The plain data that declarations are made of, and the traits by which an authored harness meets the runtime.

mod config;
mod context;
mod delegation;
mod function;
mod harness;
mod policy;
mod run_config;
mod sub_agent;

pub use self::{
    config::{
        AgentConfig, DEFAULT_MAX_ITERATIONS, DEFAULT_MAX_PARALLEL_TOOL_CALLS, DEFAULT_MAX_SUB_AGENT_DEPTH,
        PromptSection,
    },
    context::{Cancellation, EmitError, FunctionContext},
    function::{IntoToolOutput, ToolError, ToolParam},
    harness::{HarnessContext, HarnessRef, IntoIdentifiedSubAgent, IntoSubAgent, ToolHarness},
    policy::{
        AgentInvocationModePolicy, BackgroundNotification, Recursion, SubAgentAvailability, SubAgentContextPolicy,
        SubAgentLifecycle,
    },
    run_config::{AgentRunConfig, AgentRunConfigPatch, RunConfigGroup, SubAgentRunConfig},
    sub_agent::{Metadata, SubAgent, SubAgentSource},
};
pub(crate) use self::{
    context::FunctionHost,
    delegation::{ARROW, REMEDY, WITHOUT_LIMIT, cycle},
    function::sentence,
};
#[doc(hidden)]
pub use self::{
    delegation::{
        Beyond, Child, Delegates, Fuel, HarnessIdentity, Hop, Look, NoHarness, Nowhere, Reach, Reaches, Through, Trace,
        Way,
    },
    function::{Arguments, Output, ParamInfo, PlainOutput},
    harness::{
        Action, CapabilityInfo, CapabilityKind, Entry, ErasedHarness, FunctionAction, FunctionInfo, HarnessParam,
        SubAgentAction, SubAgentInfo,
    },
};
