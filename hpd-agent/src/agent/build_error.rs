use std::fmt;

use crate::{
    chat::{ChatProviderError, SchemaError},
    clients::ProviderError,
    declare::WITHOUT_LIMIT,
    error::{BoxError, IdError},
    store::AgentStoreError,
    tool::RegistryError,
};

/// Everything that is wrong with an agent that was to be built: all of it at once.
#[derive(Debug)]
pub struct BuildError {
    problems: Vec<BuildProblem>,
}

impl BuildError {
    pub(crate) fn new(problems: Vec<BuildProblem>) -> Self {
        Self { problems }
    }

    /// What is wrong, in the order in which it was found.
    #[must_use]
    pub fn problems(&self) -> &[BuildProblem] {
        &self.problems
    }

    /// The stable code of this error: `build_failed`. The problems have codes of their own.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "build_failed"
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the agent cannot be built: {only}"),
            many => {
                write!(f, "the agent cannot be built, {} things are wrong:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// One thing that is wrong with an agent. `at` names the place: a tool of a harness with the line at which it is
/// declared, in the program or in a definition file, or the builder. What to do is told in the words of that place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildProblem {
    /// No model.
    #[error(
        "agent `{agent}` has no model: give it one with `.with_chat_client(…)`, or name a registered provider with `AgentConfig::with_chat`"
    )]
    NoChatClient {
        /// The agent.
        agent: String,
    },
    /// A stored choice of a model for which there is no client.
    #[error("agent `{agent}`: {source}")]
    ChatProvider {
        /// The agent.
        agent: String,
        /// Why.
        source: ChatProviderError,
    },
    /// A stored choice of another client for which there is none.
    #[error("{at}: agent `{agent}`: {source}")]
    ClientProvider {
        /// Where the agent is declared.
        at: String,
        /// The agent.
        agent: String,
        /// Why.
        source: ProviderError,
    },
    /// A child that shall have a model of its own and names none.
    #[error(
        "{at}: agent `{agent}` takes over no model, and names no provider of its own: name a registered one with \
         `AgentConfig::with_chat`, or let it have its parent's with `SubAgentRunConfig::with_clients`"
    )]
    NoOwnClient {
        /// Where it is declared.
        at: String,
        /// The agent.
        agent: String,
    },
    /// A text that is no legal id or name.
    #[error("{at}: {source}")]
    InvalidId {
        /// Where.
        at: String,
        /// Which rule it breaks.
        source: IdError,
    },
    /// A tool without a description.
    #[error("{at}: the tool has no description: {advice}")]
    MissingDescription {
        /// Where.
        at: String,
        /// What to do.
        advice: &'static str,
    },
    /// A tool with arguments that the agent's provider cannot be told of.
    #[error("{at}: the model of agent `{agent}` does not take the tool `{tool}`: {source}")]
    Schema {
        /// Where the tool is declared.
        at: String,
        /// An agent that has the tool and a client that does not take it.
        agent: String,
        /// The tool.
        tool: String,
        /// What in its schema, where, and what to do.
        source: SchemaError,
    },
    /// An agent without an id of its own whose threads outlive the process.
    #[error(
        "agent `{agent}` has no id, but a durable session store: give it one with `.with_agent_id(\"…\")`, so that a new name does not make it another agent"
    )]
    MissingAgentId {
        /// The agent's name.
        agent: String,
    },
    /// Two tools of one agent have one name.
    #[error("agent `{agent}` has two tools named `{tool}`: {first} and {second}; give one of them another name")]
    DuplicateTool {
        /// The agent.
        agent: String,
        /// The name.
        tool: String,
        /// Where the first is declared.
        first: String,
        /// Where the second is declared.
        second: String,
    },
    /// One harness was given twice.
    #[error("{at}: the harness `{harness}` is given twice: leave one out")]
    DuplicateHarness {
        /// Where.
        at: String,
        /// The harness.
        harness: String,
    },
    /// Two declarations define one agent.
    #[error("agent id `{id}` is defined twice: by {first} and by {second}; give one of them another id")]
    DuplicateAgentId {
        /// The id.
        id: String,
        /// Where the first is declared.
        first: String,
        /// Where the second is declared.
        second: String,
    },
    /// Parameters of a function that was declared at run time, or what only the type of a method's parameter knows.
    #[error("{at}: {reason}")]
    InvalidParameters {
        /// Where.
        at: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A harness made at run time that cannot have its name.
    #[error("{source}")]
    HarnessName {
        /// Why.
        source: RegistryError,
    },
    /// A harness made at run time that makes itself anew, without end.
    #[error(
        "{at}: harness `{harness}` is made by one of its own subagents, each time anew and without end: keep it in an \
         `Arc` and give that to the subagent, or name it there with `with_tool_harness_named`"
    )]
    EndlessHarness {
        /// Where the harness is made.
        at: String,
        /// Its name.
        harness: String,
    },
    /// A harness name that no registry knows.
    #[error("{at}: {source}")]
    UnknownHarness {
        /// Where it is asked for.
        at: String,
        /// Why.
        source: RegistryError,
    },
    /// A tool in a definition file by which no harness is meant.
    #[error("{at}: {}", unknown_tool(tool, harness.as_deref(), near.as_deref()))]
    UnknownTool {
        /// The entry of the file.
        at: String,
        /// The tool.
        tool: String,
        /// The harness that is said to be meant by it.
        harness: Option<String>,
        /// The name that it was probably meant to be.
        near: Option<String>,
    },
    /// A tool that a definition file denies, of a harness that the agent has.
    #[error(
        "{at}: `{tool}` is denied, but is a tool of the harness `{harness}`, which the agent has with all of its tools: \
         deny the harness, or make two harnesses of it"
    )]
    DeniedTool {
        /// The entry of the file.
        at: String,
        /// The tool.
        tool: String,
        /// Its harness.
        harness: String,
    },
    /// A harness type of which no instance can be made.
    #[error(
        "{at}: no instance of harness `{harness}` can be made: implement `Default` for it, or give the builder one with `.with_tool_harness_value(…)` or `.with_tool_harness_factory(…)`"
    )]
    NoHarnessInstance {
        /// Where it is asked for.
        at: String,
        /// The type.
        harness: &'static str,
    },
    /// A child that is to be loaded from the agent store, which does not have it.
    #[error(
        "{at}: there is no definition of agent `{id}` in the agent store: save one with `AgentStore::save`, give the \
         builder the store that has it with `.with_agent_store(…)`, or define the agent here with `SubAgent::from_config`"
    )]
    StoredAgentNotFound {
        /// Where it is asked for.
        at: String,
        /// The id.
        id: String,
    },
    /// A stored definition that is no configuration of an agent.
    #[error("{at}: version {version} of agent `{id}` in the agent store is no `AgentConfig` as JSON: {reason}")]
    StoredAgent {
        /// Where it is asked for.
        at: String,
        /// The id.
        id: String,
        /// The version.
        version: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Two declarations ask for one stored agent and give it different harnesses.
    #[error(
        "{at}: agent `{id}` is also asked for by {first}, with other harnesses: give it the same ones in both places, or \
         name them in its definition"
    )]
    HarnessesOfStored {
        /// The second place.
        at: String,
        /// The id.
        id: String,
        /// The first place.
        first: String,
    },
    /// A definition in the agent store that belongs to somebody else.
    #[error(
        "{at}: agent `{id}` is defined here by `{here}`, and in the agent store by {stored}: choose another id, ask for \
         the stored one with `SubAgent::from_agent_id`, or replace it with `.replace_definition(\"{id}\")`"
    )]
    AgentOwned {
        /// Where it is declared.
        at: String,
        /// The id.
        id: String,
        /// The owner that declares it here (`package:Harness.method`).
        here: String,
        /// The owner in the store.
        stored: String,
    },
    /// A definition that is another one than the store's.
    #[error(
        "{at}: agent `{id}` is another one than version {version} in the agent store (fingerprint {here}, there \
         {stored}): if that is intended, keep the new version with `.replace_definition(\"{id}\")`"
    )]
    AgentChanged {
        /// Where it is declared.
        at: String,
        /// The id.
        id: String,
        /// The version in the store.
        version: u64,
        /// The fingerprint of the declaration.
        here: String,
        /// The fingerprint in the store.
        stored: String,
    },
    /// A definition that was to be replaced and that no declaration gives.
    #[error(
        "no declaration defines agent `{id}`, which `.replace_definition(…)` names: correct the id, or leave it out"
    )]
    NothingToReplace {
        /// The id.
        id: String,
    },
    /// The agent store failed.
    #[error("{at}: {source}")]
    AgentStore {
        /// For which declaration it was asked.
        at: String,
        /// Why.
        source: AgentStoreError,
    },
    /// A method or a closure that failed to give its definition.
    #[error("{at}: the definition failed: {source}")]
    Definition {
        /// Where.
        at: String,
        /// Its error.
        source: BoxError,
    },
    /// An attribute argument and the returned value say different things.
    #[error(
        "{at}: the attribute says `{argument} = {attribute}`, the returned value says `{value}`: leave one of them out"
    )]
    Contradiction {
        /// Where.
        at: String,
        /// The argument.
        argument: &'static str,
        /// What the attribute says.
        attribute: String,
        /// What the value says.
        value: String,
    },
    /// Two policies that exclude each other.
    #[error("{at}: {text}{remedy}")]
    Excluded {
        /// Where.
        at: String,
        /// What is wrong.
        text: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Agents that can delegate to each other for ever, as far as their declarations say.
    #[error("{at}: {WITHOUT_LIMIT}{cycle}{remedy}")]
    UnboundedDelegation {
        /// Where the first delegation of the cycle is declared.
        at: String,
        /// The cycle: `A.reviewer → B.editor → A`.
        cycle: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Something that this version cannot do yet.
    #[error("{at}: `{argument} = {value}` is not supported by this version: {advice}")]
    NotSupported {
        /// Where.
        at: String,
        /// The argument.
        argument: &'static str,
        /// What it says.
        value: String,
        /// What to do.
        advice: &'static str,
    },
    /// A metadata key that the runtime sets itself.
    #[error("{at}: the metadata key `{key}` is set by the runtime: choose another name")]
    ReservedMetadata {
        /// Where.
        at: String,
        /// The key.
        key: String,
    },
    /// A limit that would let nothing happen.
    #[error("{at}: `{limit}` is 0, so that nothing could ever run: it is at least 1")]
    ZeroLimit {
        /// Where.
        at: String,
        /// The limit.
        limit: &'static str,
    },
    /// A section of the system prompt, or the agent's name, without text.
    #[error("{at}: {what} is blank")]
    Blank {
        /// Where.
        at: String,
        /// What is blank.
        what: &'static str,
    },
}

/// What is wrong with a name in `tools`, and what to do.
fn unknown_tool(tool: &str, harness: Option<&str>, near: Option<&str>) -> String {
    let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    match harness {
        None => format!(
            "there is no tool `{tool}`{near}; say with `DefinitionFiles::with_tool` which harness is meant by it, or name \
             a harness"
        ),
        Some(harness) => format!(
            "the tool `{tool}` means the harness `{harness}`, which is not there{near}; give \
             `DefinitionFiles::with_tool` the name of another, or add it with `DynamicRegistry::add` before agents are \
             built"
        ),
    }
}

impl BuildProblem {
    /// The stable code of this problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoChatClient { .. } => "no_chat_client",
            Self::ChatProvider { source, .. } => source.code(),
            Self::ClientProvider { source, .. } => source.code(),
            Self::NoOwnClient { .. } => "no_own_client",
            Self::InvalidId { .. } => "invalid_id",
            Self::MissingDescription { .. } => "missing_description",
            Self::Schema { source, .. } => source.code(),
            Self::MissingAgentId { .. } => "missing_agent_id",
            Self::DuplicateTool { .. } => "duplicate_tool",
            Self::DuplicateHarness { .. } => "duplicate_harness",
            Self::DuplicateAgentId { .. } => "duplicate_agent_id",
            Self::InvalidParameters { .. } => "invalid_parameters",
            Self::HarnessName { source } => source.code(),
            Self::EndlessHarness { .. } => "endless_harness",
            Self::UnknownHarness { .. } => "unknown_harness",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::DeniedTool { .. } => "denied_tool",
            Self::NoHarnessInstance { .. } => "no_harness_instance",
            Self::StoredAgentNotFound { .. } => "agent_not_found",
            Self::StoredAgent { .. } => "stored_agent_unreadable",
            Self::HarnessesOfStored { .. } => "stored_agent_harnesses",
            Self::AgentOwned { .. } => "agent_owned",
            Self::AgentChanged { .. } => "agent_changed",
            Self::NothingToReplace { .. } => "nothing_to_replace",
            Self::AgentStore { source, .. } => source.code(),
            Self::Definition { .. } => "definition_failed",
            Self::Contradiction { .. } => "contradiction",
            Self::Excluded { .. } => "excluded_policies",
            Self::UnboundedDelegation { .. } => "unbounded_delegation",
            Self::NotSupported { .. } => "not_supported",
            Self::ReservedMetadata { .. } => "reserved_metadata",
            Self::ZeroLimit { .. } => "zero_limit",
            Self::Blank { .. } => "blank_text",
        }
    }
}
