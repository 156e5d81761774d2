//! What a built agent consists of: the frozen declarations, to look at and to compare.

use std::sync::Arc;

use super::{
    blueprint::{Blueprint, Tool, ToolKind},
    canonical::Members,
};
use crate::{
    chat::Schema,
    compaction::ForkCompaction,
    declare::{
        AgentConfig, AgentInvocationModePolicy, BackgroundNotification, Metadata, Recursion, SubAgentAvailability,
        SubAgentContextPolicy, SubAgentLifecycle, SubAgentRunConfig,
    },
    id::{AgentId, ToolName},
};

/// One agent of a tree as it was frozen by [`build`](super::AgentBuilder::build). Two ways of declaring an agent that
/// mean the same give the same definition, byte for byte.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentDefinition {
    /// Its id.
    pub agent_id: AgentId,
    /// Its name, instructions, model and limits.
    pub config: AgentConfig,
    /// The names of its harnesses, in the order in which it was given them.
    pub tool_harnesses: Vec<Arc<str>>,
    /// Its tools, in the order in which a model is shown them.
    pub tools: Vec<ToolDefinition>,
}

/// One tool of an [`AgentDefinition`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Its name.
    pub name: ToolName,
    /// What it does, for the model.
    pub description: Arc<str>,
    /// The schema of its arguments.
    pub schema: Schema,
    /// What stands behind it.
    pub kind: ToolDefinitionKind,
}

/// What stands behind a tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ToolDefinitionKind {
    /// A function.
    #[non_exhaustive]
    Function {
        /// Whether a call has to be permitted.
        requires_permission: bool,
        /// Whether no other call of the same message runs at the same time.
        exclusive: bool,
    },
    /// A child agent.
    SubAgent(Box<SubAgentDefinition>),
}

/// What a subagent tool says about its child.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SubAgentDefinition {
    /// The child's id; its own definition is another one of the same tree.
    pub agent_id: AgentId,
    /// Where the child's configuration came from, as thread metadata say it (`SuppliedAgentConfiguration`, …).
    pub source: &'static str,
    /// How its conversation begins.
    pub context_policy: SubAgentContextPolicy,
    /// Whether the parent waits.
    pub invocation_mode: AgentInvocationModePolicy,
    /// From which depths it may be called.
    pub availability: SubAgentAvailability,
    /// Whether it may be part of a cycle of delegations without a bound.
    pub recursion: Recursion,
    /// What becomes of it after its first answer.
    pub lifecycle: SubAgentLifecycle,
    /// What happens to a forked conversation.
    pub fork_compaction: ForkCompaction,
    /// When the end of a child in the background is told.
    pub background_notification: BackgroundNotification,
    /// What it takes over of its parent's run.
    pub run_config: SubAgentRunConfig,
    /// The values of its threads.
    pub metadata: Metadata,
}

impl AgentDefinition {
    pub(super) fn of(blueprint: &Blueprint) -> Self {
        Self {
            agent_id: blueprint.agent_id.clone(),
            config: blueprint.config.clone(),
            tool_harnesses: blueprint.harnesses.iter().map(|harness| Arc::from(harness.name())).collect(),
            tools: blueprint.tools.iter().map(ToolDefinition::of).collect(),
        }
    }

    /// The definition as canonical JSON: one line, the members of every object in the order of their names, except for
    /// those of schemas, whose text is the one that models are sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        let tools: Vec<String> = self.tools.iter().map(ToolDefinition::to_json).collect();
        Members::default()
            .with("agentId", &self.agent_id)
            .with("config", &self.config)
            .with("toolHarnesses", &self.tool_harnesses)
            .with_text("tools", format!("[{}]", tools.join(",")))
            .close()
    }
}

impl ToolDefinition {
    fn of(tool: &Tool) -> Self {
        let kind = match &tool.kind {
            ToolKind::Function(function) => ToolDefinitionKind::Function {
                requires_permission: function.requires_permission,
                exclusive: function.exclusive,
            },
            ToolKind::SubAgent(tool) => ToolDefinitionKind::SubAgent(Box::new(SubAgentDefinition {
                agent_id: tool.identity.agent_id.clone(),
                source: tool.identity.source_kind,
                context_policy: tool.context,
                invocation_mode: tool.mode,
                availability: tool.availability,
                recursion: tool.rest().recursion,
                lifecycle: tool.rest().lifecycle,
                fork_compaction: tool.rest().fork_compaction.clone(),
                background_notification: tool.rest().background_notification.clone(),
                run_config: tool.rest().run_config.clone(),
                metadata: (*tool.identity.metadata).clone(),
            })),
        };
        let spec = &tool.spec;
        let (name, description, schema) = (spec.name().clone(), spec.description().into(), spec.schema().clone());
        Self { name, description, schema, kind }
    }

    fn to_json(&self) -> String {
        let members = Members::default()
            .with("name", &self.name)
            .with("description", &self.description)
            .with_text("schema", self.schema.text().to_owned());
        let members = match &self.kind {
            ToolDefinitionKind::Function { requires_permission, exclusive } => {
                members.with("exclusive", exclusive).with("requiresPermission", requires_permission)
            }
            ToolDefinitionKind::SubAgent(child) => members.with_text("subAgent", child.to_json()),
        };
        members.close()
    }
}

impl SubAgentDefinition {
    fn to_json(&self) -> String {
        Members::default()
            .with("agentId", &self.agent_id)
            .with("source", &self.source)
            .with("contextPolicy", &self.context_policy)
            .with("invocationMode", &self.invocation_mode)
            .with("availability", &self.availability)
            .with("recursion", &self.recursion)
            .with("lifecycle", &self.lifecycle)
            .with("forkCompaction", &self.fork_compaction)
            .with("backgroundNotification", &self.background_notification)
            .with("runConfig", &self.run_config)
            .with("metadata", &self.metadata)
            .close()
    }
}
