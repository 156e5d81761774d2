use std::{borrow::Cow, future::ready};

use serde_json::{Map, Value};

use super::{PermissionDecision, PermissionRequest};
use crate::{
    declare::{AgentInvocationModePolicy, SubAgentAvailability, SubAgentContextPolicy},
    event::{AgentScope, CallType},
    future::BoxFuture,
    id::AgentId,
};

/// What a policy says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ruling {
    /// It may run.
    Allow,
    /// It may not; the model is told the reason.
    Deny {
        /// A sentence for the model.
        reason: String,
    },
    /// Somebody has to be asked.
    Ask,
}

/// A call, as a policy sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToolCallView<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What the tool does.
    pub description: &'a str,
    /// The arguments as the model wrote them.
    pub arguments: &'a str,
    /// What kind of tool it is.
    pub call_type: CallType,
    /// Whether the declaration says that the tool needs permission. Subagents always do.
    pub requires_permission: bool,
    /// For a subagent: what its declaration says.
    pub sub_agent: Option<SubAgentView<'a>>,
    /// The agent that calls, with its chain from the root and its depth.
    pub agent: &'a AgentScope,
    /// What [`PermissionPolicy::learn`] has kept for the session.
    pub state: &'a Map<String, Value>,
}

/// The declaration of a subagent, as a policy sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SubAgentView<'a> {
    /// The child agent.
    pub agent_id: &'a AgentId,
    /// How its conversation begins.
    pub context_policy: SubAgentContextPolicy,
    /// Whether the parent waits.
    pub invocation_mode: AgentInvocationModePolicy,
    /// From which depths it may be called.
    pub availability: SubAgentAvailability,
}

/// Decides which calls may run. `rule` and `key` are pure; `answer` may ask a human; `learn` keeps something of an answer.
///
/// ```
/// use hpd_agent::permission::{PermissionPolicy, Ruling, ToolCallView};
///
/// /// Children may do nothing that needs permission.
/// struct RootOnly;
///
/// impl PermissionPolicy for RootOnly {
///     fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
///         match call.agent.depth {
///             _ if !call.requires_permission => Ruling::Allow,
///             0 => Ruling::Ask,
///             _ => Ruling::Deny { reason: "Only the main agent may do this.".to_owned() },
///         }
///     }
/// }
/// ```
pub trait PermissionPolicy: Send + Sync + 'static {
    /// What holds for a call before anybody is asked. Denying wins over every remembered choice.
    ///
    /// Asked again when it is the call's turn to be asked about: an answer that came in the meantime may have changed
    /// what the policy knows.
    fn rule(&self, call: &ToolCallView<'_>) -> Ruling;

    /// The key under which an answer for good is remembered: it holds for all calls in the session with the same key.
    /// By default that is the tool's name, so it holds for all calls of the tool.
    ///
    /// A key of your own is best begun with the tool's name, since calls of other tools with the same key share the
    /// answer. What was denied to a tool as a whole is denied to its calls with other keys too.
    ///
    /// ```
    /// use std::borrow::Cow;
    /// use hpd_agent::permission::{PermissionPolicy, Ruling, ToolCallView};
    ///
    /// /// Approvals hold for a command and its first word, and for the agent that asked.
    /// struct Commands;
    ///
    /// impl PermissionPolicy for Commands {
    ///     fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
    ///         if call.requires_permission { Ruling::Ask } else { Ruling::Allow }
    ///     }
    ///     fn key<'a>(&self, call: &ToolCallView<'a>) -> Cow<'a, str> {
    ///         if call.tool != "run" {
    ///             return Cow::Borrowed(call.tool);
    ///         }
    ///         let arguments: serde_json::Value = serde_json::from_str(call.arguments).unwrap_or_default();
    ///         let mut words = arguments["command"].as_str().unwrap_or_default().split_whitespace();
    ///         let first = words.next().unwrap_or_default();
    ///         // `run:git status@Coordinator/builder`
    ///         let second = words.next().unwrap_or_default();
    ///         Cow::Owned(format!("run:{first} {second}@{}", call.agent.agent_chain.join("/")))
    ///     }
    /// }
    /// ```
    fn key<'a>(&self, call: &ToolCallView<'a>) -> Cow<'a, str> {
        Cow::Borrowed(call.tool)
    }

    /// Asks somebody. `None`, the default: this policy has nobody; the question goes to whoever has taken the run's
    /// requests.
    fn answer(&self, request: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
        let _ = request;
        Box::pin(ready(None))
    }

    /// Takes a lesson from an answer, whoever gave it: what it writes into `state` is committed in one batch with the
    /// answer, and `rule` and `key` see it from then on as [`ToolCallView::state`]. The default keeps nothing.
    ///
    /// The state belongs to the session. It begins empty, is shared with forked and fresh children and not with isolated
    /// ones, and is there again after a restart. Only entries that changed are written, so many small ones are better
    /// than a large one; one that is `null` is removed. Not called at the same time twice for a session of one process.
    ///
    /// ```
    /// use hpd_agent::permission::{PermissionDecision, PermissionPolicy, PermissionRequest, Ruling, ToolCallView};
    /// use serde_json::{Map, Value};
    ///
    /// fn first_word(arguments: &str) -> Option<String> {
    ///     let arguments: Value = serde_json::from_str(arguments).ok()?;
    ///     Some(arguments["command"].as_str()?.split_whitespace().next()?.to_owned())
    /// }
    ///
    /// /// A command that was allowed once may run again, whatever stands behind its first word.
    /// struct FirstWord;
    ///
    /// impl PermissionPolicy for FirstWord {
    ///     fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
    ///         let is_known = |word: String| call.state.contains_key(&word);
    ///         match call.tool {
    ///             "run" if first_word(call.arguments).is_some_and(is_known) => Ruling::Allow,
    ///             _ if call.requires_permission => Ruling::Ask,
    ///             _ => Ruling::Allow,
    ///         }
    ///     }
    ///     fn learn(&self, request: &PermissionRequest, decision: &PermissionDecision, state: &mut Map<String, Value>) {
    ///         let word = first_word(request.arguments()).filter(|_| request.tool() == "run" && decision.is_approved());
    ///         state.extend(word.map(|word| (word, Value::Bool(true))));
    ///     }
    /// }
    /// ```
    fn learn(&self, request: &PermissionRequest, decision: &PermissionDecision, state: &mut Map<String, Value>) {
        let _ = (request, decision, state);
    }
}
