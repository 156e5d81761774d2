//! What is said for one run.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Budget, RunConfigGroup, ToolFilter};
use crate::{
    chat::ChatOptions,
    clients::{
        ClientChoices, EmbeddingsConfig, HostedFilesConfig, ImageGenerationConfig, RealtimeConfig, SpeechToTextConfig,
        TextToSpeechConfig, families,
    },
};

/// What is said for one run, put over the agent's own definition.
///
/// ```
/// # use hpd_agent::declare::AgentRunConfig;
/// let run = AgentRunConfig::new().with_temperature(0.1).with_max_iterations(3);
/// assert_eq!(run.chat().temperature, Some(0.1));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentRunConfig {
    #[serde(skip_serializing_if = "is_default")]
    chat: ChatOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<Box<ClientChoices>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "is_default")]
    approval: ApprovalPolicy,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    permission_overrides: BTreeMap<Arc<str>, PermissionOverride>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_parallel_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "ToolFilter::is_open")]
    tool_filter: ToolFilter,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Box<Budget>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instructions: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_instructions: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    properties: Map<String, Value>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether calls that need permission are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ApprovalPolicy {
    /// They are.
    #[default]
    ReviewProtectedActions,
    /// They may run without a question; what the permission policy denies stays denied.
    AutoApprove,
}

/// Another answer than the declaration's to the question whether a tool needs permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PermissionOverride {
    /// It does.
    Require,
    /// It does not.
    Disable,
}

macro_rules! run_settings {
    ($($(#[$doc:meta])* $with:ident / $set:ident ($($arg:ident: $type:ty),*) |$run:ident| $body:block)*) => {
        impl AgentRunConfig {
            $($(#[$doc])*
            #[must_use]
            pub fn $with(mut self, $($arg: $type),*) -> Self {
                let $run = &mut self;
                $body
                self
            })*
        }

        impl AgentRunConfigPatch {
            $($(#[$doc])*
            pub fn $set(&mut self, $($arg: $type),*) {
                let $run = &mut self.0;
                $body
            })*
        }
    };
}

run_settings! {
    /// 0 for the most likely answer.
    with_temperature / set_temperature (temperature: f64) |run| { run.chat.temperature = Some(temperature); }
    /// The largest number of tokens of each answer.
    with_max_tokens / set_max_tokens (tokens: u32) |run| { run.chat.max_tokens = Some(tokens); }
    /// Another model of the same provider.
    with_model / set_model (model: impl Into<Arc<str>>) |run| { run.chat.model = Some(model.into()); }
    /// How much the model shall think, in the provider's words.
    with_effort / set_effort (effort: impl Into<Arc<str>>) |run| { run.chat.effort = Some(effort.into()); }
    /// All options of the model at once.
    with_chat_options / set_chat_options (options: ChatOptions) |run| { run.chat = options; }
    /// The largest number of model calls in the turn, at least 1.
    with_max_iterations / set_max_iterations (calls: u32) |run| { run.max_iterations = Some(calls); }
    /// How many tool calls of one message run at a time, at least 1.
    with_max_parallel_tool_calls / set_max_parallel_tool_calls (calls: u32) |run| {
        run.max_parallel_tool_calls = Some(calls);
    }
    /// A call of this tool needs permission, whatever its declaration says.
    with_permission_required / require_permission (tool: impl Into<Arc<str>>) |run| {
        run.permission_overrides.insert(tool.into(), PermissionOverride::Require);
    }
    /// Which tools the agent may have; of two filters both hold.
    with_tool_filter / set_tool_filter (filter: ToolFilter) |run| {
        run.tool_filter = std::mem::take(&mut run.tool_filter).and(filter);
    }
    /// What the run and all its descendants may take together.
    with_budget / set_budget (budget: Budget) |run| { run.budget = Some(Box::new(budget)); }
    /// Other instructions than the agent's own.
    with_system_instructions / set_system_instructions (text: impl Into<Arc<str>>) |run| {
        run.system_instructions = Some(text.into());
    }
    /// Instructions after the agent's own.
    with_additional_instructions / set_additional_instructions (text: impl Into<Arc<str>>) |run| {
        run.additional_instructions = Some(text.into());
    }
    /// A value that functions find in their context.
    with_property / set_property (name: impl Into<String>, value: impl Into<Value>) |run| {
        run.properties.insert(name.into(), value.into());
    }
}

impl AgentRunConfig {
    /// A run without anything said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls that need permission may run without a question.
    #[must_use]
    pub fn with_auto_approval(mut self) -> Self {
        self.approval = ApprovalPolicy::AutoApprove;
        self
    }

    /// A call of this tool needs no permission, whatever its declaration says.
    #[must_use]
    pub fn with_permission_disabled(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.permission_overrides.insert(tool.into(), PermissionOverride::Disable);
        self
    }

    /// What of it belongs to these groups. The model's options and what is said of clients go their own way, a limit of
    /// model calls is for the run's own agent, and a budget holds for descendants without being copied.
    pub(crate) fn of_groups(&self, groups: &[RunConfigGroup]) -> Self {
        let mut taken = Self::default();
        for group in groups {
            match group {
                RunConfigGroup::Permissions => {
                    taken.approval = self.approval;
                    taken.permission_overrides = self.permission_overrides.clone();
                }
                RunConfigGroup::Execution => taken.max_parallel_tool_calls = self.max_parallel_tool_calls,
                RunConfigGroup::Context => taken.properties = self.properties.clone(),
                RunConfigGroup::Instructions => {
                    taken.system_instructions = self.system_instructions.clone();
                    taken.additional_instructions = self.additional_instructions.clone();
                }
                RunConfigGroup::Tools => taken.tool_filter = self.tool_filter.clone(),
                // Nothing of a run belongs to them yet.
                RunConfigGroup::Compaction | RunConfigGroup::Output => {}
            }
        }
        taken
    }

    /// The same with what a declaration says put over it.
    pub(crate) fn overlaid_with(self, patch: &AgentRunConfigPatch) -> Self {
        let AgentRunConfigPatch(over) = patch;
        let mut permission_overrides = self.permission_overrides;
        permission_overrides.extend(over.permission_overrides.iter().map(|(tool, how)| (Arc::clone(tool), *how)));
        let mut properties = self.properties;
        properties.extend(over.properties.iter().map(|(name, value)| (name.clone(), value.clone())));
        Self {
            chat: self.chat.overlaid_with(&over.chat),
            clients: match (self.clients, &over.clients) {
                (Some(own), Some(over)) => Some(Box::new(own.overlaid_with(over))),
                (own, over) => over.clone().or(own),
            },
            max_iterations: over.max_iterations.or(self.max_iterations),
            approval: self.approval,
            permission_overrides,
            max_parallel_tool_calls: over.max_parallel_tool_calls.or(self.max_parallel_tool_calls),
            tool_filter: self.tool_filter.and(over.tool_filter.clone()),
            budget: over.budget.clone().or(self.budget),
            system_instructions: over.system_instructions.clone().or(self.system_instructions),
            additional_instructions: over.additional_instructions.clone().or(self.additional_instructions),
            properties,
        }
    }

    /// The same with the options of the model that really hold.
    pub(crate) fn resolved(&self, options: &ChatOptions) -> Self {
        Self { chat: options.clone(), ..self.clone() }
    }

    /// The options of the model.
    #[must_use]
    pub fn chat(&self) -> &ChatOptions {
        &self.chat
    }

    /// What this run says of the other clients.
    pub(crate) fn clients(&self) -> Option<&ClientChoices> {
        self.clients.as_deref()
    }

    /// The largest number of model calls in the turn, if this run says it.
    #[must_use]
    pub fn max_iterations(&self) -> Option<u32> {
        self.max_iterations
    }

    /// The same with what a declaration demands: its filter, the permission that it requires, and its budget if this
    /// run has none.
    pub(crate) fn tightened_by(mut self, patch: &AgentRunConfigPatch) -> Self {
        let AgentRunConfigPatch(over) = patch;
        self.permission_overrides.extend(over.permission_overrides.iter().map(|(tool, how)| (Arc::clone(tool), *how)));
        self.tool_filter = self.tool_filter.and(over.tool_filter.clone());
        self.budget = self.budget.or_else(|| over.budget.clone());
        self
    }

    /// Whether calls that need permission are asked about.
    #[must_use]
    pub fn approval(&self) -> ApprovalPolicy {
        self.approval
    }

    /// What this run says about a tool's need for permission.
    #[must_use]
    pub fn permission_override(&self, tool: &str) -> Option<PermissionOverride> {
        self.permission_overrides.get(tool).copied()
    }

    /// How many tool calls of one message run at a time, if this run says it.
    #[must_use]
    pub fn max_parallel_tool_calls(&self) -> Option<u32> {
        self.max_parallel_tool_calls
    }

    /// What the run and all its descendants may take together, if this run says it.
    #[must_use]
    pub fn budget(&self) -> Option<&Budget> {
        self.budget.as_deref()
    }

    /// Which tools the agent may have.
    #[must_use]
    pub fn tool_filter(&self) -> &ToolFilter {
        &self.tool_filter
    }

    /// Other instructions than the agent's own.
    #[must_use]
    pub fn system_instructions(&self) -> Option<&str> {
        self.system_instructions.as_deref()
    }

    /// Instructions after the agent's own.
    #[must_use]
    pub fn additional_instructions(&self) -> Option<&str> {
        self.additional_instructions.as_deref()
    }

    /// The values that functions find in their context.
    #[must_use]
    pub fn properties(&self) -> &Map<String, Value> {
        &self.properties
    }
}

/// The settings that a declaration puts over what its child inherits: data from the moment of declaration on, so that
/// they can be stored, shown and inherited.
///
/// It can ask for more permission and not for less: what may run without a question, the application says, not the
/// declaration of a child.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentRunConfigPatch(AgentRunConfig);

impl AgentRunConfigPatch {
    /// What it says about the model.
    pub(crate) fn chat(&self) -> &ChatOptions {
        &self.0.chat
    }

    /// Whether it demands something that holds whoever runs the child.
    pub(crate) fn tightens(&self) -> bool {
        let Self(over) = self;
        !(over.permission_overrides.is_empty() && over.tool_filter.is_open() && over.budget.is_none())
    }

    /// What it says about other clients.
    pub(crate) fn clients(&self) -> Option<&ClientChoices> {
        self.0.clients()
    }

    /// Whether it says anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == AgentRunConfig::default()
    }
}

macro_rules! choices {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal,
        $with:ident, $set:ident, $with_client:ident, $with_providers:ident;)*) => {
        impl AgentRunConfig {
            $(#[doc = concat!("The client for ", $words, ": what is said here wins over the agent's own configuration.")]
            #[must_use]
            pub fn $with(mut self, choice: $config) -> Self {
                self.clients.get_or_insert_default().$field = Some(choice);
                self
            }

            #[doc = concat!("What this run says of the client for ", $words, ".")]
            #[must_use]
            pub fn $field(&self) -> Option<&$config> {
                self.clients()?.$field.as_ref()
            }
            )*
        }

        impl AgentRunConfigPatch {
            $(#[doc = concat!("The client for ", $words, ": what is said here wins over what the child has otherwise.")]
            pub fn $set(&mut self, choice: $config) {
                self.0.clients.get_or_insert_default().$field = Some(choice);
            }
            )*
        }
    };
}
families!(choices);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_copied_alone_and_together() {
        let run = AgentRunConfig::new()
            .with_temperature(0.5)
            .with_max_iterations(2)
            .with_auto_approval()
            .with_permission_disabled("read")
            .with_permission_required("write")
            .with_max_parallel_tool_calls(3)
            .with_tool_filter(ToolFilter::deny(["delete"]))
            .with_system_instructions("s")
            .with_additional_instructions("a")
            .with_property("p", 1);
        assert_eq!(run.of_groups(&[]), AgentRunConfig::default());
        for (group, fields) in [
            (RunConfigGroup::Permissions, &["approval", "permissionOverrides"][..]),
            (RunConfigGroup::Execution, &["maxParallelToolCalls"]),
            (RunConfigGroup::Compaction, &[]),
            (RunConfigGroup::Context, &["properties"]),
            (RunConfigGroup::Instructions, &["systemInstructions", "additionalInstructions"]),
            (RunConfigGroup::Tools, &["toolFilter"]),
            (RunConfigGroup::Output, &[]),
        ] {
            let taken = serde_json::to_value(run.of_groups(&[group])).unwrap();
            let names: Vec<_> = taken.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, fields, "{group:?}");
        }
        // What no group has: the model's options, and the limit of the run's own agent.
        let expected = AgentRunConfig { chat: ChatOptions::default(), max_iterations: None, ..run.clone() };
        assert_eq!(run.of_groups(&RunConfigGroup::ALL), expected);
    }

    #[test]
    fn what_a_declaration_says_wins_and_only_tightens() {
        let parent = AgentRunConfig::new()
            .with_auto_approval()
            .with_property("a", 1)
            .with_property("b", 1)
            .with_permission_disabled("x")
            .with_tool_filter(ToolFilter::allow(["x", "y"]));
        let mut patch = AgentRunConfigPatch::default();
        assert!(patch.is_empty());
        patch.set_property("b", 2);
        patch.require_permission("x");
        patch.set_tool_filter(ToolFilter::allow(["y", "z"]));
        patch.set_max_iterations(5);
        patch.set_max_iterations(6);
        let run = parent.clone().overlaid_with(&patch);
        assert_eq!(run.properties().get("a"), Some(&1.into()));
        assert_eq!(run.properties().get("b"), Some(&2.into()));
        assert_eq!(run.permission_override("x"), Some(PermissionOverride::Require));
        assert!(run.tool_filter().permits("y") && !run.tool_filter().permits("x") && !run.tool_filter().permits("z"));
        assert_eq!(run.max_iterations(), Some(6));
        assert_eq!(parent.properties().get("b"), Some(&1.into()));
    }
}
