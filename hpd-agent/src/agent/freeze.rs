//! Freezing: every declaration of a tree of harnesses is evaluated once, checked, and turned into tools.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures_util::FutureExt as _;

use super::{
    BuildProblem,
    blueprint::{FunctionTool, RestOfDeclaration, SubAgentTool, Tool, ToolKind},
    place::Place,
    tools::panic_message,
};
use crate::{
    chat::{Schema, ToolSpec},
    compaction::ForkCompaction,
    declare::{
        Advice, AgentConfig, AgentInvocationModePolicy, CapabilityInfo, CapabilityKind, CarriedHarness, DeniedTool,
        DynamicHarness, ErasedHarness, FileEntry, FunctionInfo, HarnessContext, HarnessKey, HarnessRef, Metadata,
        Origin, SubAgent, SubAgentContextPolicy, SubAgentInfo, SubAgentLifecycle, SubAgentSource, exclusive,
    },
    error::IdError,
    event::RESERVED_METADATA,
    id::{AgentId, ToolName},
    subagent::ChildIdentity,
    tool::{
        DynamicRegistry, Found, RegistryError, check_name,
        schema::{function_schema, subagent_schema},
    },
};

/// Makes an instance of a harness.
pub(crate) type Factory = Arc<dyn Fn() -> Arc<dyn ErasedHarness> + Send + Sync>;

/// What an agent is made of: its configuration and its harnesses.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) agent_id: AgentId,
    pub(crate) config: AgentConfig,
    /// Indices of [`Freezer::harnesses`].
    pub(crate) harnesses: Vec<usize>,
    /// So many of them are from the declaration itself.
    pub(crate) declared: usize,
    pub(crate) at: Place,
    pub(crate) source: DefinitionSource,
}

/// Where a definition comes from, and whether it is there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinitionSource {
    /// The builder.
    Root,
    /// The declaration.
    Supplied,
    /// The agent that carries the declaration's harness.
    Parent { is_there: bool },
    /// The agent store.
    Stored {
        /// The version that was loaded.
        version: Option<u64>,
    },
}

/// A harness whose declarations are evaluated.
pub(crate) struct FrozenHarness {
    /// Kept while others are frozen, so that nothing else gets its key.
    pub(crate) harness: Arc<dyn ErasedHarness>,
    pub(crate) tools: Vec<(Arc<Tool>, Place)>,
    /// The harness of which a declaration asked for it first.
    from: Option<usize>,
}

/// The schema of subagent tools with these policies, of which there are four: shared by all agents of the process.
fn shared_schema(mode: AgentInvocationModePolicy, context: SubAgentContextPolicy) -> Schema {
    static SCHEMAS: [OnceLock<Schema>; 4] = [const { OnceLock::new() }; 4];
    let [fixed, chosen_context, chosen_mode, chosen_both] = &SCHEMAS;
    let kept = match (mode.is_model_choice(), context.is_model_choice()) {
        (false, false) => fixed,
        (false, true) => chosen_context,
        (true, false) => chosen_mode,
        (true, true) => chosen_both,
    };
    kept.get_or_init(|| Schema::from_static(subagent_schema(mode, context))).clone()
}

const DESCRIBE_SUB_AGENT: Advice = Advice {
    attributes: "write a doc comment, `description = \"…\"` or `.with_description(\"…\")`",
    values: "give the `SubAgent` one with `.with_description(\"…\")`",
    file: "write `description: …`",
};

const DESCRIBE_FUNCTION: Advice = Advice {
    attributes: "write a doc comment or `description = \"…\"`",
    values: "give it as the second argument of `DynamicFunction::new` or `DynamicFunction::from_schema`",
    file: "write `description: …`",
};

/// How many harnesses made while another one was evaluated may stand in a row.
const MOST_MAKERS: usize = 64;

/// Freezes a tree of harnesses, each type once.
#[derive(Default)]
pub(crate) struct Freezer {
    instances: HashMap<HarnessKey, Arc<dyn ErasedHarness>>,
    factories: HashMap<HarnessKey, Factory>,
    registry: DynamicRegistry,
    pub(crate) problems: Vec<BuildProblem>,
    /// Index 0 is the root agent.
    pub(crate) definitions: Vec<Definition>,
    pub(crate) harnesses: Vec<FrozenHarness>,
    by_key: HashMap<HarnessKey, usize>,
    /// The harness of which declarations are evaluated.
    current: Option<usize>,
    /// Harnesses that have a place in `harnesses` but are not frozen yet.
    waiting: Vec<(usize, Arc<dyn ErasedHarness>)>,
}

impl Freezer {
    /// Freezes with these instances and factories; where neither has a type, its own default makes one. Names that are
    /// not in the generated registry are looked up in `registry`.
    pub(crate) fn new(
        instances: HashMap<HarnessKey, Arc<dyn ErasedHarness>>,
        factories: HashMap<HarnessKey, Factory>,
        registry: DynamicRegistry,
    ) -> Self {
        Self { instances, factories, registry, ..Self::default() }
    }

    /// The place of a harness that is there. Each has one.
    pub(crate) fn add(&mut self, harness: Arc<dyn ErasedHarness>) -> usize {
        let index = self.harnesses.len();
        if let Some(known) = self.by_key.get(&harness.key()) {
            return *known;
        }
        self.by_key.insert(harness.key(), index);
        self.harnesses.push(FrozenHarness { harness: Arc::clone(&harness), tools: Vec::new(), from: self.current });
        self.waiting.push((index, harness));
        index
    }

    /// The place of a harness that is asked for by its type.
    pub(crate) fn harness(&mut self, wanted: &HarnessRef, at: &Place) -> Option<usize> {
        let key = wanted.key();
        if let Some(index) = self.by_key.get(&key) {
            return Some(*index);
        }
        let given = self.instances.get(&key).cloned();
        let made = given.or_else(|| self.factories.get(&key).map(|make| make())).or_else(|| wanted.make());
        if made.is_none() {
            let harness = wanted.type_name();
            self.problems.push(BuildProblem::NoHarnessInstance { at: at.to_string(), harness });
        }
        made.map(|harness| self.add(harness))
    }

    /// The place of a harness that is asked for by its name.
    pub(crate) fn harness_named(&mut self, name: &str, at: &Place) -> Option<usize> {
        match self.registry.find(name) {
            Ok(found) => self.found(found, at),
            Err(source) => {
                self.problems.push(BuildProblem::UnknownHarness { at: at.to_string(), source });
                None
            }
        }
    }

    fn found(&mut self, found: Found, at: &Place) -> Option<usize> {
        match found {
            Found::Generated(harness) => self.harness(&harness, at),
            Found::Dynamic(harness) => Some(self.add(harness)),
        }
    }

    /// The place of a harness that an entry of a definition file asks for. What is wrong is told of the entry.
    fn entry(&mut self, entry: &FileEntry, method: &Place) -> Option<usize> {
        let source = match self.registry.find(&entry.harness) {
            Ok(found) => return self.found(found, method),
            Err(source) => source,
        };
        let at = method.with_origin(&entry.origin);
        self.problems.push(match (source, &entry.tools) {
            (RegistryError::Unknown { near, .. }, Some(tools)) => {
                let is_given = tools.contains_key(&entry.written);
                let names: Vec<_> = tools.keys().cloned().collect();
                BuildProblem::UnknownTool {
                    at,
                    tool: entry.written.to_string(),
                    harness: is_given.then(|| entry.harness.to_string()),
                    near: if is_given { near } else { self.registry.near(&entry.written, &names) },
                }
            }
            (source, _) => BuildProblem::UnknownHarness { at, source },
        });
        None
    }

    /// The place of a harness that was made at run time and that nobody looks up.
    fn carried(&mut self, harness: Arc<DynamicHarness>) -> Option<usize> {
        match check_name(&harness) {
            Ok(()) if self.is_endless(&harness) => {
                let (at, harness) = (harness.origin().to_string(), harness.name().to_owned());
                self.problems.push(BuildProblem::EndlessHarness { at, harness });
                None
            }
            Ok(()) => Some(self.add(harness)),
            Err(source) => {
                self.problems.push(BuildProblem::HarnessName { source });
                None
            }
        }
    }

    /// Whether a harness is made by itself, or by others that are made by each other, every time anew.
    fn is_endless(&self, harness: &DynamicHarness) -> bool {
        let of = |index: usize| self.harnesses.get(index);
        let mut makers = std::iter::successors(self.current, |index| of(*index)?.from).filter_map(of);
        if self.by_key.contains_key(&harness.key()) {
            return false;
        }
        makers.clone().any(|maker| maker.harness.name() == harness.name()) || makers.nth(MOST_MAKERS).is_some()
    }

    /// Evaluates all that is waiting, and what that asks for in turn.
    pub(crate) async fn run(&mut self, context: &HarnessContext) {
        while let Some((at, harness)) = self.waiting.pop() {
            self.current = Some(at);
            let mut tools = Vec::with_capacity(harness.len());
            for index in 0..harness.len() {
                let place = Place::Method(Arc::clone(&harness), index);
                if let Some(tool) = self.tool(&harness, index, &place, context).await {
                    tools.push((Arc::new(tool), place));
                }
            }
            if let Some(slot) = self.harnesses.get_mut(at) {
                slot.tools = tools;
            }
        }
    }

    async fn tool(
        &mut self,
        harness: &Arc<dyn ErasedHarness>,
        index: usize,
        at: &Place,
        context: &HarnessContext,
    ) -> Option<Tool> {
        let info = harness.info(index)?;
        match &info.kind {
            CapabilityKind::Function(function) => self.function(harness, index, info, function, at),
            CapabilityKind::SubAgent(declared) => {
                let defining = async { Some(harness.define(index, context)?.await) };
                let value = match AssertUnwindSafe(defining).catch_unwind().await {
                    Ok(defined) => defined?,
                    Err(panic) => Err(format!("it panicked: {}", panic_message(&*panic)).into()),
                };
                let value = match value {
                    Ok(value) => value,
                    Err(source) => {
                        self.problems.push(BuildProblem::Definition { at: at.to_string(), source });
                        return None;
                    }
                };
                self.sub_agent(info, declared, value, at)
            }
        }
    }

    fn function(
        &mut self,
        harness: &Arc<dyn ErasedHarness>,
        index: usize,
        info: &CapabilityInfo,
        function: &FunctionInfo,
        at: &Place,
    ) -> Option<Tool> {
        let name = self.check(at, ToolName::new(info.name.as_ref().unwrap_or(&info.method).as_ref()));
        let description = self.description(info.description.as_deref().or(info.doc.as_deref()), true, at);
        // Defaults are code of the author's.
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| match function.params.problems() {
            problems if problems.is_empty() => Ok(function_schema(&function.params)),
            problems => Err(problems),
        }));
        let made = made
            .unwrap_or_else(|panic| Err(vec![format!("a default or a schema panicked: {}", panic_message(&*panic))]));
        let wrong = |reason| BuildProblem::InvalidParameters { at: at.to_string(), reason };
        let schema = made.map_err(|reasons| self.problems.extend(reasons.into_iter().map(wrong))).ok()?;
        let kind = ToolKind::Function(FunctionTool {
            harness: Arc::clone(harness),
            index,
            requires_permission: function.requires_permission,
            exclusive: function.exclusive,
        });
        Some(Tool { spec: ToolSpec::new(name?, description?, schema), kind })
    }

    fn sub_agent(
        &mut self,
        info: &CapabilityInfo,
        declared: &SubAgentInfo,
        value: SubAgent,
        at: &Place,
    ) -> Option<Tool> {
        let SubAgent { agent_id, source, name, description, policies, run_config, tool_harnesses, denied_tools } =
            value;
        let source_kind = source.kind();

        self.agree(at, "agent_id", declared.agent_id, Some(&*agent_id));
        self.agree(at, "name", info.name.as_deref(), name.as_deref());
        self.agree(at, "description", info.description.as_deref(), description.as_deref());
        let context = self.agree(at, "context", declared.context, policies.context).unwrap_or_default();
        let mode =
            self.agree(at, "invocation_mode", declared.invocation_mode, policies.invocation_mode).unwrap_or_default();
        let availability =
            self.agree(at, "availability", declared.availability, policies.availability).unwrap_or_default();
        let recursion = self.agree(at, "recursion", declared.recursion, policies.recursion).unwrap_or_default();
        let lifecycle = self.agree(at, "lifecycle", declared.lifecycle, policies.lifecycle).unwrap_or_default();
        let compaction = policies.fork_compaction.map(|compaction| *compaction);
        let compaction = self.agree(at, "fork_compaction", declared.fork_compaction.clone(), compaction);
        let notification = policies.background_notification.map(|notification| *notification);
        let notification =
            self.agree(at, "background_notification", declared.background_notification.clone(), notification);
        if !availability.is_callable() {
            self.problems.push(BuildProblem::ZeroLimit { at: at.to_string(), limit: "availability" });
        }

        let compactible = compaction.as_ref().map(|compaction| exclusive::fork_compaction(compaction, context));
        let notified = notification.as_ref().map(|_| exclusive::background_notification(mode));
        for excluded in [compactible, notified].into_iter().flatten().filter_map(Result::err) {
            let remedy = excluded.remedy.to(at.written());
            self.problems.push(BuildProblem::Excluded { at: at.to_string(), text: excluded.what, remedy });
        }

        self.unsupported_unless(at, lifecycle == SubAgentLifecycle::OneShot, "lifecycle", &lifecycle);
        let none_applied = !matches!(compaction, Some(ForkCompaction::Apply(_)));
        self.unsupported_unless(at, none_applied, "fork_compaction", &compaction);

        let method_name = || Arc::<str>::from(&*info.method);
        let tool_name = info.name.as_deref().map(Arc::from).or(name).unwrap_or_else(method_name);
        let tool_name = self.check(at, ToolName::new(tool_name));
        let description = info.description.as_deref().map(Arc::from).or(description);
        let description = description.or_else(|| info.doc.as_deref().map(Arc::from));
        let description = self.description(description, false, at);
        let agent_id = self.check(at, AgentId::new(agent_id));
        let metadata = self.metadata(at, declared.metadata.map(|make| make()), policies.metadata);

        // The macro has seen those that are written alike.
        let mut keys = HashSet::new();
        for twice in declared.tool_harnesses.iter().filter(|harness| !keys.insert(harness.key())) {
            let (at, harness) = (at.to_string(), twice.name().to_owned());
            self.problems.push(BuildProblem::DuplicateHarness { at, harness });
        }
        let mut harnesses = Vec::new();
        let declared = declared.tool_harnesses.iter().copied().map(CarriedHarness::Type);
        for wanted in declared.chain(tool_harnesses) {
            let place = match wanted {
                CarriedHarness::Type(harness) => self.harness(&harness, at),
                CarriedHarness::Named(name) => self.harness_named(&name, at),
                CarriedHarness::Dynamic(harness) => self.carried(harness),
                CarriedHarness::Entry(entry) => self.entry(&entry, at),
            };
            harnesses.extend(place.filter(|index| !harnesses.contains(index)));
        }
        let (agent_id, tool_name) = (agent_id?, tool_name?);
        // Of the others nothing is known yet.
        let (config, source) = match source {
            SubAgentSource::Supplied(config) => (config, DefinitionSource::Supplied),
            SubAgentSource::Parent => (AgentConfig::new(""), DefinitionSource::Parent { is_there: false }),
            SubAgentSource::Stored => (AgentConfig::new(""), DefinitionSource::Stored { version: None }),
        };
        let declared = harnesses.len();
        self.add_named(&config, &mut harnesses, at);
        self.refuse_denied(&denied_tools, &harnesses, at);
        let child = self.definitions.len();
        let (agent_id, at) = (agent_id.clone(), at.clone());
        self.definitions.push(Definition { agent_id: agent_id.clone(), config, harnesses, declared, at, source });
        let identity = ChildIdentity::new(tool_name.clone(), agent_id, source_kind, metadata);
        let rest = RestOfDeclaration {
            recursion,
            lifecycle,
            fork_compaction: compaction.unwrap_or_default(),
            background_notification: notification.unwrap_or_default(),
            run_config: run_config.map(|run_config| *run_config).unwrap_or_default(),
        };
        let kind = ToolKind::SubAgent(SubAgentTool::new(identity, (context, mode, availability), child, rest));
        Some(Tool { spec: ToolSpec::new(tool_name, description?, shared_schema(mode, context)), kind })
    }

    /// The harnesses that a configuration names, each once.
    pub(crate) fn add_named(&mut self, config: &AgentConfig, harnesses: &mut Vec<usize>, at: &Place) {
        let names: Vec<Arc<str>> = config.tool_harnesses().map(Arc::from).collect();
        for name in names {
            harnesses.extend(self.harness_named(&name, at).filter(|index| !harnesses.contains(index)));
        }
    }

    /// An agent has all tools of its harnesses, also one that was denied by its own name.
    fn refuse_denied(&mut self, denied: &[DeniedTool], harnesses: &[usize], at: &Place) {
        let denied: HashMap<&str, &Origin> = denied.iter().map(|tool| (&*tool.name, &tool.origin)).collect();
        if denied.is_empty() {
            return;
        }
        for harness in harnesses.iter().filter_map(|index| Some(&self.harnesses.get(*index)?.harness)) {
            let tools = (0..harness.len()).filter_map(|index| harness.info(index));
            for tool in tools.map(|info| info.name.as_ref().unwrap_or(&info.method)) {
                if let Some(origin) = denied.get(&**tool) {
                    let (at, tool, harness) = (at.with_origin(origin), tool.to_string(), harness.name().to_owned());
                    self.problems.push(BuildProblem::DeniedTool { at, tool, harness });
                }
            }
        }
    }

    fn unsupported_unless(&mut self, at: &Place, supported: bool, argument: &'static str, value: &dyn fmt::Debug) {
        if !supported {
            self.problems.push(BuildProblem::NotSupported {
                at: at.to_string(),
                argument,
                value: format!("{value:?}"),
                advice: "leave it out",
            });
        }
    }

    /// What an attribute and a value say together.
    fn agree<A, B>(&mut self, at: &Place, argument: &'static str, attribute: Option<A>, value: Option<B>) -> Option<B>
    where
        A: fmt::Debug + PartialEq<B> + Into<B>,
        B: fmt::Debug,
    {
        match (attribute, value) {
            (Some(attribute), Some(value)) if attribute != value => {
                self.problems.push(BuildProblem::Contradiction {
                    at: at.to_string(),
                    argument,
                    attribute: format!("{attribute:?}"),
                    value: format!("{value:?}"),
                });
                None
            }
            (Some(attribute), _) => Some(attribute.into()),
            (None, value) => value,
        }
    }

    fn check<T>(&mut self, at: &Place, id: Result<T, IdError>) -> Option<T> {
        id.map_err(|source| self.problems.push(BuildProblem::InvalidId { at: at.to_string(), source })).ok()
    }

    fn description<D: AsRef<str> + Into<Arc<str>>>(
        &mut self,
        description: Option<D>,
        is_function: bool,
        at: &Place,
    ) -> Option<Arc<str>> {
        let description = description.filter(|text| !text.as_ref().trim().is_empty());
        if description.is_none() {
            let advice = if is_function { &DESCRIBE_FUNCTION } else { &DESCRIBE_SUB_AGENT };
            let advice = advice.to(at.written());
            self.problems.push(BuildProblem::MissingDescription { at: at.to_string(), advice });
        }
        description.map(Into::into)
    }

    fn metadata(&mut self, at: &Place, attribute: Option<Metadata>, value: Metadata) -> Metadata {
        let mut all = attribute.unwrap_or_default();
        for (key, value) in value {
            match all.get(&key) {
                Some(declared) if *declared != value => self.problems.push(BuildProblem::Contradiction {
                    at: at.to_string(),
                    argument: "metadata",
                    attribute: format!("{key}: {declared}"),
                    value: format!("{key}: {value}"),
                }),
                _ => {
                    all.insert(key, value);
                }
            }
        }
        for key in all.keys().filter(|key| RESERVED_METADATA.contains(&key.as_str())) {
            self.problems.push(BuildProblem::ReservedMetadata { at: at.to_string(), key: key.clone() });
        }
        all
    }
}
