//! What an agent is: its name, instructions, model and limits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    chat::{ChatConfig, ChatOptions},
    clients::{
        ClientChoices, EmbeddingsConfig, HostedFilesConfig, ImageGenerationConfig, RealtimeConfig, SpeechToTextConfig,
        TextToSpeechConfig, families,
    },
};

/// How many model calls a turn may take if nothing else is said.
pub const DEFAULT_MAX_ITERATIONS: u32 = 10;
/// The depth of the deepest child if nothing else is said.
pub const DEFAULT_MAX_SUB_AGENT_DEPTH: u32 = 4;
/// How many tool calls of one message run at a time if nothing else is said.
pub const DEFAULT_MAX_PARALLEL_TOOL_CALLS: u32 = 10;

/// The serializable definition of an agent: as JSON in an agent store,
/// `{"name": "Summarizer", "systemInstructions": "…", "toolharnesses": ["search"]}`. A field that there is not is an error,
/// so that a slip of the pen is not an agent without instructions.
///
/// ```
/// # use hpd_agent::declare::AgentConfig;
/// let config = AgentConfig::new("Summarizer")
///     .with_system_instructions("Summarize the user's request in three concise bullets.")
///     .with_max_iterations(3);
/// assert_eq!(config.name(), "Summarizer");
/// assert_eq!(config.max_sub_agent_depth(), 4);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentConfig {
    name: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_instructions: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sections: Vec<PromptSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat: Option<Box<ChatConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clients: Option<Box<ClientChoices>>,
    #[serde(default, rename = "toolharnesses", skip_serializing_if = "Vec::is_empty")]
    tool_harnesses: Vec<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_sub_agent_depth: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_parallel_tool_calls: Option<u32>,
}

/// A named section of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptSection {
    name: Arc<str>,
    text: Arc<str>,
}

impl PromptSection {
    /// The section's name; unique within an agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The section's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl AgentConfig {
    /// An agent of this name, without instructions.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            system_instructions: None,
            sections: Vec::new(),
            chat: None,
            clients: None,
            tool_harnesses: Vec::new(),
            max_iterations: None,
            max_sub_agent_depth: None,
            max_parallel_tool_calls: None,
        }
    }

    /// What the agent is told about its task: the first section of its system prompt.
    #[must_use]
    pub fn with_system_instructions(mut self, instructions: impl Into<Arc<str>>) -> Self {
        self.system_instructions = Some(instructions.into());
        self
    }

    /// A further section of the system prompt, after the instructions and the sections before it. A section of the
    /// same name is replaced in its place.
    #[must_use]
    pub fn with_section(mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let section = PromptSection { name: name.into(), text: text.into() };
        match self.sections.iter_mut().find(|old| old.name == section.name) {
            Some(old) => *old = section,
            None => self.sections.push(section),
        }
        self
    }

    /// The model: a registered provider, or options for the inherited client.
    #[must_use]
    pub fn with_chat(mut self, chat: ChatConfig) -> Self {
        self.chat = Some(Box::new(chat));
        self
    }

    /// Options for the client of the agent or of its parent.
    #[must_use]
    pub fn with_chat_options(self, options: ChatOptions) -> Self {
        self.with_chat(ChatConfig::inherited(options))
    }

    /// A harness that the agent has, by its registered name.
    #[must_use]
    pub fn with_tool_harness_named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.tool_harnesses.push(name.into());
        self
    }

    /// Exactly these harnesses.
    pub(crate) fn with_tool_harnesses(mut self, names: Vec<Arc<str>>) -> Self {
        self.tool_harnesses = names;
        self
    }

    /// The largest number of model calls in one turn, at least 1. Default: 10.
    #[must_use]
    pub fn with_max_iterations(mut self, calls: u32) -> Self {
        self.max_iterations = Some(calls);
        self
    }

    /// The depth of the deepest child in the tree below this agent; 0 forbids delegation. A child can only lower what
    /// its ancestors allow. Default: 4.
    #[must_use]
    pub fn with_max_sub_agent_depth(mut self, depth: u32) -> Self {
        self.max_sub_agent_depth = Some(depth);
        self
    }

    /// How many tool calls of one message run at a time, at least 1. Default: 10.
    #[must_use]
    pub fn with_max_parallel_tool_calls(mut self, calls: u32) -> Self {
        self.max_parallel_tool_calls = Some(calls);
        self
    }

    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn set_name(&mut self, name: Arc<str>) {
        self.name = name;
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// What the agent is told about its task.
    #[must_use]
    pub fn system_instructions(&self) -> Option<&str> {
        self.system_instructions.as_deref()
    }

    /// The further sections of its system prompt.
    #[must_use]
    pub fn sections(&self) -> &[PromptSection] {
        &self.sections
    }

    /// Its model, if it says anything about it.
    #[must_use]
    pub fn chat(&self) -> Option<&ChatConfig> {
        self.chat.as_deref()
    }

    /// Its other clients, if it says anything about them.
    pub(crate) fn clients(&self) -> Option<&ClientChoices> {
        self.clients.as_deref()
    }

    /// The names of the harnesses that it has.
    pub fn tool_harnesses(&self) -> impl Iterator<Item = &str> {
        self.tool_harnesses.iter().map(|name| &**name)
    }

    /// The largest number of model calls in one turn.
    #[must_use]
    pub fn max_iterations(&self) -> u32 {
        self.max_iterations.unwrap_or(DEFAULT_MAX_ITERATIONS)
    }

    /// The depth of the deepest child below this agent.
    #[must_use]
    pub fn max_sub_agent_depth(&self) -> u32 {
        self.max_sub_agent_depth.unwrap_or(DEFAULT_MAX_SUB_AGENT_DEPTH)
    }

    /// How many tool calls of one message run at a time.
    #[must_use]
    pub fn max_parallel_tool_calls(&self) -> u32 {
        self.max_parallel_tool_calls.unwrap_or(DEFAULT_MAX_PARALLEL_TOOL_CALLS)
    }

    /// The system prompt: the instructions and the sections, a blank line between them; shared when it is the
    /// instructions alone.
    pub(crate) fn system_prompt(&self) -> Arc<str> {
        match (&self.system_instructions, self.sections.is_empty()) {
            (Some(instructions), true) => Arc::clone(instructions),
            (instructions, _) => {
                let texts: Vec<&str> =
                    instructions.as_deref().into_iter().chain(self.sections.iter().map(PromptSection::text)).collect();
                texts.join("\n\n").into()
            }
        }
    }
}

macro_rules! choices {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal,
        $with:ident, $set:ident, $with_client:ident, $with_providers:ident;)*) => {
        impl AgentConfig {
            $(#[doc = concat!("The client for ", $words, ": a registered provider, or options for the one that it has anyway.")]
            #[must_use]
            pub fn $with(mut self, choice: $config) -> Self {
                self.clients.get_or_insert_default().$field = Some(choice);
                self
            }

            #[doc = concat!("Its client for ", $words, ", if it says anything about it.")]
            #[must_use]
            pub fn $field(&self) -> Option<&$config> {
                self.clients()?.$field.as_ref()
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
    fn sections_follow_the_instructions_and_replace_their_namesakes() {
        let config = AgentConfig::new("a")
            .with_section("style", "Short.")
            .with_system_instructions("Do it.")
            .with_section("tools", "Use them.")
            .with_section("style", "Very short.");
        assert_eq!(&*config.system_prompt(), "Do it.\n\nVery short.\n\nUse them.");
        assert_eq!(&*AgentConfig::new("a").system_prompt(), "");
    }

    #[test]
    fn a_config_round_trips_and_leaves_defaults_out() {
        let json = serde_json::to_string(&AgentConfig::new("a")).unwrap();
        assert_eq!(json, r#"{"name":"a"}"#);
        let config = AgentConfig::new("a")
            .with_chat(ChatConfig::new("openai", "m"))
            .with_embeddings(EmbeddingsConfig::new("mine"))
            .with_max_sub_agent_depth(0)
            .with_tool_harness_named("SearchTools");
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<AgentConfig>(&json).unwrap(), config);
        assert!(json.contains(r#""clients":{"embeddings":{"provider":"mine"}}"#), "{json}");
        assert!(json.contains(r#""toolharnesses":["SearchTools"]"#), "{json}");
    }
}
