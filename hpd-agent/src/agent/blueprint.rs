//! Blueprints: compiled agents, built once and shared by every run of them.

use std::sync::{Arc, LazyLock, OnceLock};

use crate::{
    chat::{ChatClient, ChatOptions, ToolSet, ToolSpec},
    clients::MadeClients,
    compaction::ForkCompaction,
    declare::{
        AgentConfig, AgentInvocationModePolicy, AgentRunConfig, BackgroundNotification, ErasedHarness, Recursion,
        SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, SubAgentRunConfig,
    },
    event::{CallType, ExecutionSettings, ThreadHeader},
    id::{AgentId, ToolName},
    permission::SubAgentView,
    subagent::{ChildIdentity, forked_system},
};

/// Everything about an agent that does not change from run to run.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(crate) agent_id: AgentId,
    pub(crate) config: AgentConfig,
    pub(crate) system: Arc<str>,
    /// The same in the thread of a forked child, once there was one.
    pub(crate) forked_system: OnceLock<Arc<str>>,
    pub(crate) options: Arc<ChatOptions>,
    /// Its own client; `None`: the one of the agent that runs it.
    pub(crate) client: Option<Client>,
    /// The clients of the other providers that its configuration names, if it says anything of clients.
    pub(crate) clients: Option<Box<MadeClients>>,
    pub(crate) tools: ToolTable,
    /// The harnesses that its tools are from.
    pub(crate) harnesses: Vec<Arc<dyn ErasedHarness>>,
    /// So many of them are not named by its configuration, but by whoever declared it.
    pub(crate) declared: usize,
    /// For one from the agent store: the version.
    pub(crate) stored_version: Option<u64>,
    /// The settings of an execution without anything special, once there was one.
    pub(crate) settings: OnceLock<Arc<ExecutionSettings>>,
}

impl Blueprint {
    /// The system prompt: the agent's own, with what a run says put over it; and behind it, for the thread of a forked
    /// child, what its task is.
    pub(crate) fn system_for(&self, run: Option<&AgentRunConfig>, forked: bool) -> Arc<str> {
        let run = run.filter(|run| run.system_instructions().or(run.additional_instructions()).is_some());
        let Some(run) = run else {
            let in_fork = || Arc::clone(self.forked_system.get_or_init(|| forked_system(&self.system)));
            return if forked { in_fork() } else { Arc::clone(&self.system) };
        };
        let system = run.system_instructions().map_or_else(|| Arc::clone(&self.system), Arc::from);
        let system = match run.additional_instructions() {
            None => system,
            Some(more) if system.is_empty() => more.into(),
            Some(more) => format!("{system}\n\n{more}").into(),
        };
        if forked { forked_system(&system) } else { system }
    }
}

/// The blueprints of a tree of agents. The tools of one lead to others of the same forest.
#[derive(Debug)]
pub(crate) struct Forest {
    /// Index 0 is the agent that the tree was built for.
    blueprints: Vec<Blueprint>,
}

impl Forest {
    pub(crate) fn new(blueprints: Vec<Blueprint>) -> Self {
        Self { blueprints }
    }

    /// The blueprint at an index that a tool or a lane was given by the builder.
    pub(crate) fn get(&self, index: usize) -> Option<&Blueprint> {
        self.blueprints.get(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Blueprint> {
        self.blueprints.iter()
    }

    /// The declaration of the child that a thread was begun for, if it is one of this forest.
    pub(crate) fn declaration(&self, thread: &ThreadHeader) -> Option<&SubAgentTool> {
        let name = thread.origin.as_ref()?.sub_agent_name.as_str();
        let declared = self.blueprints.iter().filter_map(|blueprint| match &blueprint.tools.get(name)?.kind {
            ToolKind::SubAgent(tool) => Some(tool),
            ToolKind::Function(_) => None,
        });
        declared.into_iter().find(|tool| tool.identity.agent_id == thread.default_agent_id)
    }

    /// The index of the blueprint of an agent.
    pub(crate) fn find(&self, agent: &AgentId) -> Option<usize> {
        self.blueprints.iter().position(|blueprint| blueprint.agent_id == *agent)
    }
}

/// A client that can be printed.
#[derive(Clone)]
pub(crate) struct Client(pub(crate) Arc<dyn ChatClient>);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.0.info(), f)
    }
}

/// One tool of an agent.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) spec: ToolSpec,
    pub(crate) kind: ToolKind,
}

#[derive(Debug)]
pub(crate) enum ToolKind {
    Function(FunctionTool),
    SubAgent(SubAgentTool),
}

#[derive(Debug)]
pub(crate) struct FunctionTool {
    pub(crate) harness: Arc<dyn ErasedHarness>,
    pub(crate) index: usize,
    pub(crate) requires_permission: bool,
    /// No other tool of the message runs beside it.
    pub(crate) exclusive: bool,
}

#[derive(Debug)]
pub(crate) struct SubAgentTool {
    pub(crate) identity: ChildIdentity,
    pub(crate) context: SubAgentContextPolicy,
    pub(crate) mode: AgentInvocationModePolicy,
    pub(crate) availability: SubAgentAvailability,
    /// The child's blueprint.
    pub(crate) child: usize,
    /// The clients of the providers that the declaration names, if it does.
    pub(crate) clients: OnceLock<Box<MadeClients>>,
    /// What a call does not need to know; most declarations say nothing of it.
    rest: Option<Box<RestOfDeclaration>>,
}

/// The part of a subagent's declaration that is kept to be shown.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RestOfDeclaration {
    pub(crate) recursion: Recursion,
    pub(crate) lifecycle: SubAgentLifecycle,
    pub(crate) fork_compaction: ForkCompaction,
    pub(crate) background_notification: BackgroundNotification,
    pub(crate) run_config: SubAgentRunConfig,
}

impl RestOfDeclaration {
    /// What holds where nothing is said.
    fn nothing() -> &'static Self {
        static NOTHING: LazyLock<RestOfDeclaration> = LazyLock::new(RestOfDeclaration::default);
        &NOTHING
    }
}

impl SubAgentTool {
    pub(crate) fn agent_id(&self) -> &AgentId {
        &self.identity.agent_id
    }

    pub(crate) fn new(
        identity: ChildIdentity,
        (context, mode, availability): (SubAgentContextPolicy, AgentInvocationModePolicy, SubAgentAvailability),
        child: usize,
        rest: RestOfDeclaration,
    ) -> Self {
        let rest = (rest != *RestOfDeclaration::nothing()).then(|| Box::new(rest));
        Self { identity, context, mode, availability, child, clients: OnceLock::new(), rest }
    }

    /// The same if the declaration says any of it.
    pub(crate) fn said(&self) -> Option<&RestOfDeclaration> {
        self.rest.as_deref()
    }

    pub(crate) fn rest(&self) -> &RestOfDeclaration {
        self.rest.as_deref().unwrap_or_else(|| RestOfDeclaration::nothing())
    }

    /// The declaration, as a permission policy sees it.
    pub(crate) fn view(&self) -> SubAgentView<'_> {
        SubAgentView {
            agent_id: &self.identity.agent_id,
            context_policy: self.context,
            invocation_mode: self.mode,
            availability: self.availability,
        }
    }
}

impl Tool {
    pub(crate) fn name(&self) -> &ToolName {
        self.spec.name()
    }

    pub(crate) fn call_type(&self) -> CallType {
        match self.kind {
            ToolKind::Function(_) => CallType::Function,
            ToolKind::SubAgent(_) => CallType::SubAgent,
        }
    }

    /// Whether an agent at `depth` is shown it.
    fn is_visible(&self, depth: u32, ceiling: u32) -> bool {
        match &self.kind {
            ToolKind::Function(_) => true,
            ToolKind::SubAgent(tool) => depth < ceiling && tool.availability.allows_invocation_from(depth),
        }
    }
}

/// The tools of an agent: found by name, and shown to its model as far as its depth allows.
#[derive(Debug, Default)]
pub(crate) struct ToolTable {
    /// In the order of declaration, which is the order that the model sees.
    tools: Box<[Arc<Tool>]>,
    /// The same, sorted by name.
    by_name: Box<[u32]>,
    /// What is shown at depths below the ceiling.
    by_depth: [OnceLock<ToolSet>; 4],
    /// What is shown where no child may be made.
    functions: OnceLock<ToolSet>,
}

impl ToolTable {
    /// A table of tools with different names.
    pub(crate) fn new(tools: Vec<Arc<Tool>>) -> Self {
        let mut sorted: Vec<(u32, &ToolName)> = (0..).zip(tools.iter().map(|tool| tool.name())).collect();
        sorted.sort_unstable_by_key(|(_, name)| *name);
        let by_name = sorted.into_iter().map(|(index, _)| index).collect();
        Self { by_name, tools: tools.into(), by_depth: Default::default(), functions: OnceLock::new() }
    }

    /// All of them, in the order of declaration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|tool| &**tool)
    }

    fn at(&self, index: u32) -> Option<&Arc<Tool>> {
        self.tools.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        let found = self.by_name.binary_search_by(|index| {
            self.at(*index).map_or(std::cmp::Ordering::Less, |tool| tool.name().as_str().cmp(name))
        });
        self.at(*self.by_name.get(found.ok()?)?)
    }

    /// The tools that the model of an agent at `depth` is shown. `ceiling`: the depth of the deepest child.
    pub(crate) fn visible(&self, depth: u32, ceiling: u32) -> ToolSet {
        let make = || self.tools.iter().filter(|t| t.is_visible(depth, ceiling)).map(|t| t.spec.clone()).collect();
        let kept = match usize::try_from(depth) {
            _ if depth >= ceiling => Some(&self.functions),
            Ok(depth) => self.by_depth.get(depth),
            Err(_) => None,
        };
        kept.map_or_else(make, |kept| kept.get_or_init(make).clone())
    }
}
