use std::sync::Arc;

use serde_json::json;

use crate::{
    declare::{AgentInvocationModePolicy, Arguments, SubAgentContextPolicy, ToolError},
    event::{InvocationMode, ResolvedContext},
    id::ThreadKey,
    message::{RequestedDelegation, ToolOutput},
};

/// What a call of a subagent tool asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubAgentCall {
    pub(crate) input: Arc<str>,
    pub(crate) context: ResolvedContext,
    pub(crate) mode: InvocationMode,
    /// What of it the call said itself.
    pub(crate) requested: RequestedDelegation,
}

/// Why no child is started.
#[derive(Debug)]
pub(crate) enum Refusal {
    Error(ToolError),
    /// The mode contradicts the policy: the model gets a receipt that says so.
    InvalidMode {
        asked: InvocationMode,
        only: InvocationMode,
    },
    /// Nothing delivers results of the background: the model gets a receipt that says so.
    NoBackground {
        /// Whether the model may ask for the other mode.
        may_wait: bool,
    },
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl Refusal {
    /// What the model is told. `parent` is the thread of the agent that called `tool`.
    pub(crate) fn into_output(self, tool: &str, parent: &ThreadKey) -> ToolOutput {
        let (status, message) = match self {
            Self::Error(error) => return error.into(),
            Self::InvalidMode { asked, only } => (
                "invalid_invocation_mode",
                format!(
                    "The subagent `{tool}` cannot be called with invocationMode `{}`; it is always `{}`. Leave the \
                     argument out.",
                    asked.as_str(),
                    only.as_str()
                ),
            ),
            Self::NoBackground { may_wait } => (
                "background_unavailable",
                format!(
                    "The subagent `{tool}` was not started: nothing here runs in the background. {}",
                    if may_wait { "Call it with invocationMode `synchronous`." } else { "Do the task yourself." }
                ),
            ),
        };
        let receipt = json!({
            "status": status,
            "name": tool,
            "sourceKind": "SubAgent",
            "sessionId": parent.session_id,
            "threadId": parent.thread_id,
            "message": message,
        });
        ToolOutput::json(receipt).into_error()
    }
}

impl SubAgentCall {
    /// Reads the arguments of a call under the policies of its tool. An argument that is not advertised may repeat
    /// what the policy fixes; null counts as absent.
    pub(crate) fn parse(
        arguments: &str,
        context: SubAgentContextPolicy,
        mode: AgentInvocationModePolicy,
    ) -> Result<Self, Refusal> {
        let arguments = Arguments::parse_with(arguments, |name| matches!(name, "input" | "invocationMode" | "context"))
            .map_err(|refused| refused.map_or_else(|error| error, |name| unknown_argument(&name, context, mode)))?;
        let input: Arc<str> = match arguments.get("input") {
            None => return Err(ToolError::new("The argument `input` is missing: give the full task as text.").into()),
            Some(text) => serde_json::from_str::<String>(text)
                .map_err(|_| ToolError::new("The argument `input` has to be a string: give the full task as text."))?
                .into(),
        };
        if input.trim().is_empty() {
            return Err(ToolError::new("The argument `input` is empty: give the full task as text.").into());
        }
        let (asked_context, asked_mode) = (choice(&arguments, "context")?, choice(&arguments, "invocationMode")?);
        let is_said = (asked_context.is_some(), asked_mode.is_some());
        let context = resolve_context(asked_context, context)?;
        let may_wait = mode.is_model_choice();
        let mode = resolve_mode(asked_mode, mode)?;
        let requested = RequestedDelegation::new(is_said.0.then_some(context), is_said.1.then_some(mode));
        match mode {
            InvocationMode::Synchronous => Ok(Self { input, context, mode, requested }),
            InvocationMode::Background => Err(Refusal::NoBackground { may_wait }),
        }
    }
}

fn unknown_argument(name: &str, context: SubAgentContextPolicy, mode: AgentInvocationModePolicy) -> ToolError {
    let legal = match (mode.is_model_choice(), context.is_model_choice()) {
        (false, false) => "`input`",
        (true, false) => "`input`, `invocationMode`",
        (false, true) => "`input`, `context`",
        (true, true) => "`input`, `invocationMode`, `context`",
    };
    ToolError::new(format!("There is no argument `{name}`; legal are {legal}."))
}

/// An optional string argument in lower case.
fn choice(arguments: &Arguments<'_>, name: &str) -> Result<Option<String>, ToolError> {
    let legal = if name == "context" { "`fork` or `fresh`" } else { "`synchronous` or `background`" };
    arguments
        .get(name)
        .map(|text| {
            serde_json::from_str::<String>(text)
                .map(|value| value.to_lowercase())
                .map_err(|_| ToolError::new(format!("The argument `{name}` has to be {legal}.")))
        })
        .transpose()
}

fn resolve_context(asked: Option<String>, policy: SubAgentContextPolicy) -> Result<ResolvedContext, ToolError> {
    let asked = match asked.as_deref() {
        None => None,
        Some("fork") => Some(ResolvedContext::Fork),
        Some("fresh") => Some(ResolvedContext::Fresh),
        Some("isolated") => Some(ResolvedContext::Isolated),
        Some(other) => {
            return Err(ToolError::new(format!("The argument `context` cannot be `{other}`: `fork` or `fresh`.")));
        }
    };
    let fixed = match policy {
        SubAgentContextPolicy::Fork => ResolvedContext::Fork,
        SubAgentContextPolicy::Fresh => ResolvedContext::Fresh,
        SubAgentContextPolicy::Isolated => ResolvedContext::Isolated,
        SubAgentContextPolicy::ModelChoice => {
            return match asked.unwrap_or(ResolvedContext::Fresh) {
                ResolvedContext::Isolated => {
                    Err(ToolError::new("The argument `context` cannot be `isolated`: `fork` or `fresh`."))
                }
                chosen => Ok(chosen),
            };
        }
    };
    match asked {
        Some(asked) if asked != fixed => Err(ToolError::new(format!(
            "This subagent always runs with context `{}`; leave the argument `context` out.",
            fixed.as_str().to_lowercase()
        ))),
        _ => Ok(fixed),
    }
}

fn resolve_mode(asked: Option<String>, policy: AgentInvocationModePolicy) -> Result<InvocationMode, Refusal> {
    let asked = match asked.as_deref() {
        None => None,
        Some("synchronous") => Some(InvocationMode::Synchronous),
        Some("background") => Some(InvocationMode::Background),
        Some(other) => {
            return Err(ToolError::new(format!(
                "The argument `invocationMode` cannot be `{other}`: `synchronous` or `background`."
            ))
            .into());
        }
    };
    let only = match policy {
        AgentInvocationModePolicy::SynchronousOnly => InvocationMode::Synchronous,
        AgentInvocationModePolicy::BackgroundOnly => InvocationMode::Background,
        AgentInvocationModePolicy::ModelChoice => return Ok(asked.unwrap_or_default()),
    };
    match asked {
        Some(asked) if asked != only => Err(Refusal::InvalidMode { asked, only }),
        _ => Ok(only),
    }
}

#[cfg(test)]
mod tests {
    use AgentInvocationModePolicy as Mode;
    use SubAgentContextPolicy as Context;

    use super::*;

    fn parse(arguments: &str, context: Context, mode: Mode) -> Result<SubAgentCall, String> {
        SubAgentCall::parse(arguments, context, mode)
            .map_err(|refusal| refusal.into_output("t", &ThreadKey::new("s", "t").unwrap()).text().to_owned())
    }

    #[test]
    fn what_the_policy_fixes_may_be_repeated_in_any_case() {
        for (policy, text, resolved) in [
            (Context::Fork, "FORK", ResolvedContext::Fork),
            (Context::Fresh, "fresh", ResolvedContext::Fresh),
            (Context::Isolated, "isolated", ResolvedContext::Isolated),
            (Context::ModelChoice, "Fork", ResolvedContext::Fork),
        ] {
            let arguments = format!(r#"{{"input":"x","context":"{text}","invocationMode":"Synchronous"}}"#);
            let call = parse(&arguments, policy, Mode::SynchronousOnly).unwrap();
            assert_eq!((call.context, call.mode), (resolved, InvocationMode::Synchronous));
        }
    }

    #[test]
    fn what_is_left_out_or_null_has_its_default() {
        for arguments in [r#"{"input":"x"}"#, r#"{"input":"x","context":null,"invocationMode":null}"#] {
            let call = parse(arguments, Context::ModelChoice, Mode::ModelChoice).unwrap();
            assert_eq!((call.context, call.mode), (ResolvedContext::Fresh, InvocationMode::Synchronous));
        }
    }

    #[test]
    fn every_wrong_call_gets_a_sentence_that_says_what_is_legal() {
        for (arguments, context, mode, expected) in [
            ("", Context::Fork, Mode::SynchronousOnly, "`input` is missing"),
            ("{}", Context::Fork, Mode::SynchronousOnly, "`input` is missing"),
            (r#"{"input":null}"#, Context::Fork, Mode::SynchronousOnly, "`input` is missing"),
            (r#"{"input":7}"#, Context::Fork, Mode::SynchronousOnly, "has to be a string"),
            (r#"{"input":" \n"}"#, Context::Fork, Mode::SynchronousOnly, "`input` is empty"),
            (r#"{"input":"#, Context::Fork, Mode::SynchronousOnly, "not a valid JSON object"),
            (r#"["x"]"#, Context::Fork, Mode::SynchronousOnly, "JSON object"),
            (
                r#"{"input":"x","query":1}"#,
                Context::Fork,
                Mode::SynchronousOnly,
                "no argument `query`; legal are `input`.",
            ),
            (
                r#"{"input":"x","q":1}"#,
                Context::ModelChoice,
                Mode::ModelChoice,
                "`input`, `invocationMode`, `context`.",
            ),
            (
                r#"{"input":"x","context":"fresh"}"#,
                Context::Fork,
                Mode::SynchronousOnly,
                "always runs with context `fork`",
            ),
            (r#"{"input":"x","context":"fork"}"#, Context::Fresh, Mode::SynchronousOnly, "context `fresh`"),
            (r#"{"input":"x","context":"fork"}"#, Context::Isolated, Mode::SynchronousOnly, "context `isolated`"),
            (
                r#"{"input":"x","context":"isolated"}"#,
                Context::ModelChoice,
                Mode::SynchronousOnly,
                "cannot be `isolated`",
            ),
            (r#"{"input":"x","context":"all"}"#, Context::ModelChoice, Mode::SynchronousOnly, "`fork` or `fresh`"),
            (r#"{"input":"x","context":1}"#, Context::ModelChoice, Mode::SynchronousOnly, "`fork` or `fresh`"),
            (
                r#"{"input":"x","invocationMode":"later"}"#,
                Context::Fork,
                Mode::ModelChoice,
                "`synchronous` or `background`",
            ),
            (r#"{"input":"x","invocationMode":[]}"#, Context::Fork, Mode::ModelChoice, "`synchronous` or `background`"),
            (
                r#"{"input":"x","invocationMode":"background"}"#,
                Context::Fork,
                Mode::SynchronousOnly,
                "invalid_invocation_mode",
            ),
            (
                r#"{"input":"x","invocationMode":"synchronous"}"#,
                Context::Fork,
                Mode::BackgroundOnly,
                "invalid_invocation_mode",
            ),
            (r#"{"input":"x"}"#, Context::Fork, Mode::BackgroundOnly, "background_unavailable"),
            (
                r#"{"input":"x","invocationMode":"Background"}"#,
                Context::Fork,
                Mode::ModelChoice,
                "Call it with invocationMode `synchronous`.",
            ),
        ] {
            let error = parse(arguments, context, mode).unwrap_err();
            assert!(error.contains(expected), "{arguments}: {error}");
        }
    }
}
