//! What a delegation would be, without any model call and without a trace.

use std::{fmt, sync::Arc};

use super::{Agent, RunError, blueprint::ToolKind, lane::Lane, resolver::Resolved, spot::Spot, tools::no_room};
use crate::{
    chat::ChatOptions,
    declare::{AgentRunConfig, Budget, ClientFamily, ToolFilter},
    event::{InvocationMode, ResolvedContext},
    id::{AgentId, CallId, MessageId, SessionId, ThreadKey, ToolName},
    message::{Message, ModelSelection},
    subagent::{SubAgentCall, availability_error},
};

/// What a child would see and might do if its parent called its tool now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DelegationPreview {
    /// The child agent.
    pub agent_id: AgentId,
    /// The name of its tool.
    pub tool: ToolName,
    /// How its conversation would begin.
    pub context: ResolvedContext,
    /// Whether its parent would wait.
    pub mode: InvocationMode,
    /// Its system prompt.
    pub system: Arc<str>,
    /// The conversation that it would be shown; the last message is its task.
    pub messages: Vec<Arc<Message>>,
    /// The tools that it would be shown.
    pub tools: Vec<ToolName>,
    /// Its model.
    pub model: Arc<ModelSelection>,
    /// The options of its model.
    pub options: Arc<ChatOptions>,
    /// Of which other families it would have a [client](crate::clients).
    pub clients: Vec<ClientFamily>,
    /// What it would be told for its run.
    pub run_config: AgentRunConfig,
    /// What it may not have, whatever it declares.
    pub denials: Arc<ToolFilter>,
    /// Its depth.
    pub depth: u32,
    /// The depth of the deepest child in the tree.
    pub max_depth: u32,
    /// How many model calls its turn might take.
    pub max_iterations: u32,
    /// The budget that it would have of its own.
    pub budget: Option<Budget>,
    /// Whether the call would have to be permitted, as far as declarations and overrides say.
    pub requires_permission: bool,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The agent has no subagent tool of this name.
    #[error("agent `{agent}` has no subagent tool `{tool}`")]
    NoSubAgent {
        /// The agent.
        agent: AgentId,
        /// The tool.
        tool: String,
    },
    /// The call would be refused; the text is what the model would be told.
    #[error("the call would be refused: {text}")]
    Refused {
        /// What the model would be told.
        text: String,
    },
    /// The conversation could not be read.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ExplainError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSubAgent { .. } => "no_sub_agent",
            Self::Refused { .. } => "call_refused",
            Self::Run(error) => error.code(),
        }
    }
}

impl fmt::Display for DelegationPreview {
    /// For people: a few lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(ToolName::as_str).collect();
        writeln!(f, "{} ({}), depth {} of at most {}", self.tool, self.agent_id, self.depth, self.max_depth)?;
        writeln!(f, "context: {}, mode: {}", self.context.as_str(), self.mode.as_str())?;
        writeln!(f, "model: {} of {}", self.model.model, self.model.provider)?;
        writeln!(f, "tools: {}", if tools.is_empty() { "none".to_owned() } else { tools.join(", ") })?;
        write!(f, "messages: {}, the last of them its task", self.messages.len())
    }
}

impl Agent {
    /// What the child behind a subagent tool would see if the model called the tool with these arguments at the beginning
    /// of a new conversation. Asks no model and nobody, and writes nothing. `arguments`: a JSON object, as a model would
    /// write it.
    ///
    /// For a conversation that exists, see [`Thread::explain`](super::Thread::explain).
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
    /// #[derive(Default)]
    /// struct Team;
    ///
    /// #[tool_harness]
    /// impl Team {
    ///     /// Reviews a draft.
    ///     #[subagent(agent_id = "team.reviewer")]
    ///     fn reviewer(&self) -> AgentConfig {
    ///         AgentConfig::new("Reviewer").with_system_instructions("Be kind.")
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let client = ScriptedChatClient::texts(["never asked"]);
    /// let agent = Agent::builder().with_chat_client(client).with_tool_harness::<Team>().build().await?;
    /// let preview = agent.explain("reviewer", r#"{"input": "Is this clear?"}"#)?;
    /// assert!(preview.system.starts_with("Be kind."));
    /// assert_eq!(preview.messages.last().unwrap().text(), "Is this clear?");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ExplainError`] if there is no such tool, or if the call would be refused before anybody is asked.
    pub fn explain(&self, tool: &str, arguments: &str) -> Result<DelegationPreview, ExplainError> {
        let key = ThreadKey::of(SessionId::trusted("preview"), super::main_thread());
        let lane = Arc::new(Spot::preview(self, key, None, None)?);
        lane.explain(tool, arguments)
    }
}

impl Lane {
    /// What a child of this agent would see. Of a lane that never commits anything.
    pub(super) fn explain(self: &Arc<Self>, name: &str, arguments: &str) -> Result<DelegationPreview, ExplainError> {
        let blueprint = self.blueprint()?;
        let refused = |text: String| ExplainError::Refused { text };
        let tool = blueprint.tools.get(name);
        let Some((tool, sub_agent)) = tool.and_then(|tool| match &tool.kind {
            ToolKind::SubAgent(sub_agent) => Some((tool, sub_agent)),
            ToolKind::Function(_) => None,
        }) else {
            return Err(ExplainError::NoSubAgent { agent: blueprint.agent_id.clone(), tool: name.to_owned() });
        };
        let why_not = self
            .filtered_out(name)
            .or_else(|| availability_error(name, sub_agent.availability, self.depth(), self.ceiling));
        let no_room = || self.ledger.as_ref()?.has_room().err().map(|reached| no_room(name, reached));
        if let Some(why_not) = why_not.or_else(no_room) {
            return Err(refused(why_not));
        }
        let asked = SubAgentCall::parse(arguments, sub_agent.context, sub_agent.mode)
            .map_err(|refusal| refused(refusal.into_output(name, &self.key).text().to_owned()))?;
        let call = CallId::new(MessageId::generate(), 0);
        let invocation = Arc::new(sub_agent.identity.invocation(call, &self.key, asked.context, asked.mode));
        let at = Resolved::of(&self.forest, sub_agent.child);
        let mut state = self.state.try_lock().map_err(|_| RunError::Internal { reason: "a preview is in use" })?;
        let (child, ..) = self.record_child(&mut state, (sub_agent, at), &invocation, asked.input)?;
        let of_child = child.blueprint()?;
        let child_state = child.state.try_lock().map_err(|_| RunError::Internal { reason: "a preview is in use" })?;
        Ok(DelegationPreview {
            agent_id: of_child.agent_id.clone(),
            tool: tool.name().clone(),
            context: asked.context,
            mode: asked.mode,
            system: Arc::clone(&child.system),
            messages: child_state.thread.history.iter().cloned().collect(),
            tools: child.visible_tools(of_child).iter().map(|tool| tool.name().clone()).collect(),
            model: Arc::clone(&child.selection),
            options: Arc::clone(&child.options),
            clients: child.clients.iter().flat_map(|clients| clients.families()).collect(),
            run_config: child.run_config.as_deref().cloned().unwrap_or_default(),
            denials: Arc::clone(&child.denials),
            depth: child.depth(),
            max_depth: child.ceiling,
            max_iterations: child.max_iterations(of_child),
            budget: child.run_config.as_ref().and_then(|run| run.budget().cloned()),
            requires_permission: self.requires_permission(tool),
        })
    }
}
