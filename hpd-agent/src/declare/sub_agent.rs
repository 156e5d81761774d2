//! The declaration of one subagent as a value.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    AgentConfig, AgentInvocationModePolicy, BackgroundNotification, DynamicHarness, HarnessRef, Origin, Recursion,
    SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, SubAgentRunConfig, ToolHarness,
};
use crate::compaction::ForkCompaction;

/// Values that an author gives to a child's thread; keys that the runtime owns are refused.
pub type Metadata = Map<String, Value>;

/// What can stand in `metadata(key = value)`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0018: `{Self}` cannot be a value of `metadata(…)`",
    label = "does not convert into a `serde_json::Value`",
    note = "use a text, a number, a bool, a list of these, or `serde_json::json!(…)`"
)]
pub trait MetadataValue {
    fn into_value(self) -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Value>> MetadataValue for T {
    fn into_value(self) -> Value {
        self.into()
    }
}

/// Where a child's definition comes from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SubAgentSource {
    /// It stands in the declaration.
    Supplied(AgentConfig),
    /// It is a snapshot of the parent's.
    Parent,
    /// It is loaded from the agent store.
    Stored,
}

impl SubAgentSource {
    /// The name in thread metadata (`subAgentSourceKind`).
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Supplied(_) => "SuppliedAgentConfiguration",
            Self::Parent => "ParentAgentConfiguration",
            Self::Stored => "StoredAgentConfiguration",
        }
    }
}

/// One subagent: a child agent that its parent sees as a tool.
///
/// A value is complete in itself; a [`#[subagent]`](crate::subagent) method that returns one lends it the method's
/// name and doc comment where it says nothing. Nothing is checked here: what is wrong is reported when the agent is
/// built, together with everything else that is wrong.
///
/// ```
/// # use hpd_agent::declare::*;
/// let researcher = SubAgent::from_config("specialist.researcher", AgentConfig::new("Researcher"))
///     .with_name("researcher")
///     .with_description("Researches a question using the approved search tools.")
///     .with_context_policy(SubAgentContextPolicy::Fresh);
/// assert_eq!(researcher.agent_id(), "specialist.researcher");
/// ```
#[derive(Debug, Clone)]
pub struct SubAgent {
    pub(crate) agent_id: Arc<str>,
    pub(crate) source: SubAgentSource,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) policies: SubAgentPolicies,
    pub(crate) run_config: Option<Box<SubAgentRunConfig>>,
    pub(crate) tool_harnesses: Vec<CarriedHarness>,
    pub(crate) denied_tools: Vec<DeniedTool>,
}

/// A harness that a child carries.
#[derive(Debug, Clone)]
pub(crate) enum CarriedHarness {
    Type(HarnessRef),
    Named(Arc<str>),
    Dynamic(Arc<DynamicHarness>),
    Entry(FileEntry),
}

/// An entry of a definition file by which an agent has a harness.
#[derive(Debug, Clone)]
pub(crate) struct FileEntry {
    /// The name that is in the file.
    pub(crate) written: Arc<str>,
    /// The harness that is meant by it.
    pub(crate) harness: Arc<str>,
    pub(crate) origin: Origin,
    /// What the names of tools mean, if it is one.
    pub(crate) tools: Option<Arc<BTreeMap<Arc<str>, Arc<str>>>>,
}

/// A name in a definition file of what an agent shall not have.
#[derive(Debug, Clone)]
pub(crate) struct DeniedTool {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Origin,
}

/// What a declaration says about its policies; `None` where it says nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubAgentPolicies {
    pub(crate) context: Option<SubAgentContextPolicy>,
    pub(crate) invocation_mode: Option<AgentInvocationModePolicy>,
    pub(crate) availability: Option<SubAgentAvailability>,
    pub(crate) recursion: Option<Recursion>,
    pub(crate) lifecycle: Option<SubAgentLifecycle>,
    pub(crate) fork_compaction: Option<Box<ForkCompaction>>,
    pub(crate) background_notification: Option<Box<BackgroundNotification>>,
    pub(crate) metadata: Metadata,
}

impl SubAgent {
    fn new(agent_id: impl Into<Arc<str>>, source: SubAgentSource) -> Self {
        Self {
            agent_id: agent_id.into(),
            source,
            name: None,
            description: None,
            policies: SubAgentPolicies::default(),
            run_config: None,
            tool_harnesses: Vec::new(),
            denied_tools: Vec::new(),
        }
    }

    /// A specialist that is defined here.
    #[must_use]
    pub fn from_config(agent_id: impl Into<Arc<str>>, config: AgentConfig) -> Self {
        Self::new(agent_id, SubAgentSource::Supplied(config))
    }

    /// A child with the configuration that its parent has when the agent is built: name, instructions, model, limits
    /// and harnesses. Harnesses given to the child come after these. Of several agents that carry the declaration's
    /// harness, the parent is the one nearest to the root.
    ///
    /// ```
    /// # use hpd_agent::prelude::*;
    /// #[derive(Default)]
    /// struct Team;
    ///
    /// #[tool_harness]
    /// impl Team {
    ///     /// Does a part of the work that needs no attention of yours.
    ///     #[subagent]
    ///     fn helper(&self) -> SubAgent {
    ///         SubAgent::from_parent("team.helper")
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn from_parent(agent_id: impl Into<Arc<str>>) -> Self {
        Self::new(agent_id, SubAgentSource::Parent)
    }

    /// A child whose definition is in the agent store of the agent that is built: the current version of it, an
    /// [`AgentConfig`] as JSON. If the same tree declares an agent of this id, it is that one.
    /// [`build`](crate::agent::AgentBuilder::build) fails when there is neither.
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, id::AgentId, store::{*, memory::MemoryAgentStore}, testing::ScriptedChatClient};
    /// # use std::sync::Arc;
    /// #[derive(Default)]
    /// struct Team;
    ///
    /// #[tool_harness]
    /// impl Team {
    ///     /// Answers as the user has asked it to.
    ///     #[subagent]
    ///     fn assistant(&self) -> SubAgent {
    ///         SubAgent::from_agent_id("user.assistant")
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let config = AgentConfig::new("Assistant").with_system_instructions("Rhyme.");
    /// let record = AgentRecord::new(AgentId::new("user.assistant")?, serde_json::to_string(&config)?);
    /// let store = Arc::new(MemoryAgentStore::new());
    /// store.save(record, ExpectedVersion::Absent).await?;
    /// let agent = Agent::builder()
    ///     .with_chat_client(ScriptedChatClient::texts(["Hello."]))
    ///     .with_agent_store(store)
    ///     .with_tool_harness::<Team>()
    ///     .build()
    ///     .await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_agent_id(agent_id: impl Into<Arc<str>>) -> Self {
        Self::new(agent_id, SubAgentSource::Stored)
    }

    /// The tool's name. Default: the method's.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What the tool does, for the parent's model. Default: the method's doc comment.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// How the child's conversation begins. Default: fork.
    #[must_use]
    pub fn with_context_policy(mut self, policy: SubAgentContextPolicy) -> Self {
        self.policies.context = Some(policy);
        self
    }

    /// Whether the parent waits. Default: it does.
    ///
    /// Not yet: a call that asks for the background starts no child; its result is a receipt with the status
    /// `background_unavailable`.
    #[must_use]
    pub fn with_invocation_mode(mut self, policy: AgentInvocationModePolicy) -> Self {
        self.policies.invocation_mode = Some(policy);
        self
    }

    /// From which depths the tool may be called. Default: from the root only.
    #[must_use]
    pub fn with_availability(mut self, availability: SubAgentAvailability) -> Self {
        self.policies.availability = Some(availability);
        self
    }

    /// Whether the subagent may be part of a cycle of delegations without a bound. Default: it may not.
    #[must_use]
    pub fn with_recursion(mut self, recursion: Recursion) -> Self {
        self.policies.recursion = Some(recursion);
        self
    }

    /// What becomes of the child after its first answer. Default: one shot.
    ///
    /// Not yet: [`build`](crate::agent::AgentBuilder::build) refuses everything but the default in this version.
    #[must_use]
    pub fn with_lifecycle(mut self, lifecycle: SubAgentLifecycle) -> Self {
        self.policies.lifecycle = Some(lifecycle);
        self
    }

    /// What happens to a forked conversation before the child starts.
    ///
    /// Not yet: [`build`](crate::agent::AgentBuilder::build) refuses [`ForkCompaction::Apply`] in this version.
    #[must_use]
    pub fn with_fork_compaction(mut self, compaction: ForkCompaction) -> Self {
        self.policies.fork_compaction = Some(Box::new(compaction));
        self
    }

    /// When the end of a background child is told to the parent.
    ///
    /// Not yet: there are no background children in this version.
    #[must_use]
    pub fn with_background_notification(mut self, notification: BackgroundNotification) -> Self {
        self.policies.background_notification = Some(Box::new(notification));
        self
    }

    /// What the child takes over of the parent's run. Default: [`SubAgentRunConfig::inherit`].
    #[must_use]
    pub fn with_run_config(mut self, run_config: SubAgentRunConfig) -> Self {
        self.run_config = Some(Box::new(run_config));
        self
    }

    /// One value of the child thread's metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.policies.metadata.insert(key.into(), value.into());
        self
    }

    /// A harness that the child has. The parent does not see it.
    #[must_use]
    pub fn with_tool_harness<T: ToolHarness>(mut self) -> Self {
        self.tool_harnesses.push(CarriedHarness::Type(HarnessRef::of::<T>()));
        self
    }

    /// A harness that the child has, by the name under which it is registered: in the generated registry, or else in the
    /// dynamic one that the agent is built with.
    #[must_use]
    pub fn with_tool_harness_named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.tool_harnesses.push(CarriedHarness::Named(name.into()));
        self
    }

    /// A harness that the child has, and that was made at run time.
    #[must_use]
    pub fn with_dynamic_harness(mut self, harness: impl Into<Arc<DynamicHarness>>) -> Self {
        self.tool_harnesses.push(CarriedHarness::Dynamic(harness.into()));
        self
    }

    /// A harness that an entry of a definition file asks for.
    #[cfg_attr(not(feature = "definition-files"), allow(dead_code, reason = "nothing else reads files"))]
    pub(crate) fn with_file_entry(mut self, entry: FileEntry) -> Self {
        self.tool_harnesses.push(CarriedHarness::Entry(entry));
        self
    }

    /// What a definition file denies the child.
    #[cfg_attr(not(feature = "definition-files"), allow(dead_code, reason = "nothing else reads files"))]
    pub(crate) fn with_denied_tools(mut self, denied: Vec<DeniedTool>) -> Self {
        self.denied_tools = denied;
        self
    }

    /// The child's agent id, as given.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// Where the child's definition comes from.
    #[must_use]
    pub fn source(&self) -> &SubAgentSource {
        &self.source
    }

    /// The tool's name, if given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The tool's description, if given.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// How the child's conversation begins.
    #[must_use]
    pub fn context_policy(&self) -> SubAgentContextPolicy {
        self.policies.context.unwrap_or_default()
    }

    /// From which depths the tool may be called.
    #[must_use]
    pub fn availability(&self) -> SubAgentAvailability {
        self.policies.availability.unwrap_or_default()
    }

    /// Whether the parent waits.
    #[must_use]
    pub fn invocation_mode(&self) -> AgentInvocationModePolicy {
        self.policies.invocation_mode.unwrap_or_default()
    }
}
