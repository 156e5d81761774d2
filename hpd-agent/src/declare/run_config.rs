//! What is said for one run, and what a child takes over of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::ChatOptions;

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
    max_iterations: Option<u32>,
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

    /// What a child takes over of it: the values for functions. What is said about instructions and limits is for
    /// the run's own agent, and the model's options go their own way.
    pub(crate) fn inherited(&self) -> Option<Self> {
        (!self.properties.is_empty()).then(|| Self { properties: self.properties.clone(), ..Self::default() })
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

    /// The largest number of model calls in the turn, if this run says it.
    #[must_use]
    pub fn max_iterations(&self) -> Option<u32> {
        self.max_iterations
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentRunConfigPatch(AgentRunConfig);

/// A group of run settings that a child takes over or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RunConfigGroup {
    /// Approval policy, remembered choices, sandbox. Taken over by default.
    Permissions,
    /// Streaming and limits of execution. Taken over by default.
    Execution,
    /// Automatic compaction. Taken over by default.
    Compaction,
    /// The values that functions find in their context. Taken over by default.
    Context,
    /// Instructions given for the run. Not taken over by default.
    Instructions,
    /// Tools given for the run. Not taken over by default.
    Tools,
    /// The form of the answer. Not taken over by default.
    Output,
}

impl RunConfigGroup {
    const ALL: [Self; 7] = [
        Self::Permissions,
        Self::Execution,
        Self::Compaction,
        Self::Context,
        Self::Instructions,
        Self::Tools,
        Self::Output,
    ];
    const DEFAULT: [Self; 4] = [Self::Permissions, Self::Execution, Self::Compaction, Self::Context];
}

/// What a child takes over of its parent's run.
///
/// ```
/// # use hpd_agent::declare::{RunConfigGroup, SubAgentRunConfig};
/// let run = SubAgentRunConfig::inherit()
///     .include(RunConfigGroup::Instructions)
///     .exclude(RunConfigGroup::Compaction)
///     .override_with(|run| run.set_temperature(0.1));
/// assert!(run.inherits(RunConfigGroup::Instructions));
/// assert!(!run.inherits(RunConfigGroup::Compaction));
/// assert!(!SubAgentRunConfig::isolated().inherits(RunConfigGroup::Permissions));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentRunConfig {
    groups: Vec<RunConfigGroup>,
    inherit_chat: bool,
    overrides: AgentRunConfigPatch,
}

impl Default for SubAgentRunConfig {
    fn default() -> Self {
        Self::inherit()
    }
}

impl SubAgentRunConfig {
    /// The default groups and the parent's chat client.
    #[must_use]
    pub fn inherit() -> Self {
        Self::inherit_only(RunConfigGroup::DEFAULT)
    }

    /// Exactly these groups, and the parent's chat client.
    #[must_use]
    pub fn inherit_only(groups: impl IntoIterator<Item = RunConfigGroup>) -> Self {
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        Self { groups, inherit_chat: true, overrides: AgentRunConfigPatch::default() }
    }

    /// All groups, and the parent's chat client.
    #[must_use]
    pub fn inherit_all() -> Self {
        Self::inherit_only(RunConfigGroup::ALL)
    }

    /// Nothing of the parent's run, not even its client.
    #[must_use]
    pub fn isolated() -> Self {
        Self { inherit_chat: false, ..Self::inherit_only([]) }
    }

    /// One more group.
    #[must_use]
    pub fn include(mut self, group: RunConfigGroup) -> Self {
        if let Err(at) = self.groups.binary_search(&group) {
            self.groups.insert(at, group);
        }
        self
    }

    /// One group less.
    #[must_use]
    pub fn exclude(mut self, group: RunConfigGroup) -> Self {
        self.groups.retain(|included| *included != group);
        self
    }

    /// Settings that win over what is inherited. Runs now, in the order of the calls; what it sets is data from then
    /// on.
    #[must_use]
    pub fn override_with(mut self, edit: impl FnOnce(&mut AgentRunConfigPatch)) -> Self {
        edit(&mut self.overrides);
        self
    }

    /// Whether a group is taken over.
    #[must_use]
    pub fn inherits(&self, group: RunConfigGroup) -> bool {
        self.groups.contains(&group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_a_set() {
        let run = SubAgentRunConfig::inherit().include(RunConfigGroup::Context).include(RunConfigGroup::Output);
        assert_eq!(run.groups.len(), 5);
        assert_eq!(SubAgentRunConfig::inherit_all().groups.len(), 7);
        assert_eq!(SubAgentRunConfig::default(), SubAgentRunConfig::inherit());
    }

    #[test]
    fn overrides_are_data_and_round_trip() {
        let run = SubAgentRunConfig::inherit().override_with(|run| {
            run.set_temperature(0.1);
            run.set_model("m");
        });
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<SubAgentRunConfig>(&json).unwrap(), run);
        assert!(json.contains("0.1"), "{json}");
    }
}
