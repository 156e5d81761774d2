//! The plain data that declarations are made of, and the traits by which an authored harness meets the runtime.

mod advice;
mod budget;
mod config;
mod context;
mod delegation;
mod dynamic;
mod function;
mod harness;
mod identity;
mod inheritance;
mod param;
mod policy;
mod run_config;
mod sub_agent;
mod whole;

pub(crate) use self::{
    advice::{Advice, Written},
    context::FunctionHost,
    delegation::{ARROW, REMEDY, WITHOUT_LIMIT, cycle},
    function::sentence,
    identity::same,
    policy::exclusive,
    sub_agent::{CarriedHarness, DeniedTool, FileEntry},
};
pub use self::{
    budget::{Budget, BudgetLimit, Price, PriceTable},
    config::{
        AgentConfig, DEFAULT_MAX_ITERATIONS, DEFAULT_MAX_PARALLEL_TOOL_CALLS, DEFAULT_MAX_SUB_AGENT_DEPTH,
        PromptSection,
    },
    context::{Cancellation, EmitError, FunctionContext},
    dynamic::{DynamicArguments, DynamicFunction, DynamicHarness},
    function::{IntoToolOutput, ToolError, ToolParam},
    harness::{DefaultHarness, HarnessContext, HarnessRef, IntoIdentifiedSubAgent, IntoSubAgent, ToolHarness},
    inheritance::{ClientInheritance, ClientPolicies, RunConfigGroup, SubAgentRunConfig},
    policy::{
        AgentInvocationModePolicy, BackgroundNotification, Recursion, SubAgentAvailability, SubAgentContextPolicy,
        SubAgentLifecycle,
    },
    run_config::{AgentRunConfig, AgentRunConfigPatch, ApprovalPolicy, PermissionOverride},
    sub_agent::{Metadata, SubAgent, SubAgentSource},
};
#[doc(hidden)]
pub use self::{
    delegation::{Beyond, Child, Delegates, Fuel, Hop, Look, NoHarness, Nowhere, Reach, Reaches, Through, Trace, Way},
    dynamic::RawSchema,
    function::{ArgumentDefault, Arguments, IntoToolError, Output, OwnDefault, PlainOutput},
    harness::{
        Action, CapabilityInfo, CapabilityKind, Entry, ErasedHarness, FunctionAction, FunctionInfo, HarnessKey,
        HarnessParam, HarnessType, Origin, RegisteredHarness, SubAgentAction, SubAgentInfo,
    },
    identity::HarnessIdentity,
    param::{OwnedParam, ParamDefault, ParamInfo, Params},
    sub_agent::MetadataValue,
};
pub use crate::{clients::ClientFamily, filter::ToolFilter};
