//! The static table that a harness type is declared by, and the object-safe view of it.

use std::{any::TypeId, borrow::Cow, fmt, panic::Location, sync::Arc};

use super::{
    AgentConfig, AgentInvocationModePolicy, Arguments, BackgroundNotification, FunctionContext, IntoToolError,
    Metadata, Params, Recursion, SubAgent, SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, ToolError,
    delegation::{Fuel, Reaches},
    identity::HarnessIdentity,
};
use crate::{compaction::ForkCompaction, error::BoxError, future::BoxFuture, id::AgentId, message::ToolOutput};

/// A type whose methods are tools: functions and subagents.
///
/// Implemented by [`#[tool_harness]`](crate::tool_harness) only, on an inherent `impl` block; there is one such block
/// per type.
#[diagnostic::on_unimplemented(
    message = "HPD0070: `{Self}` is not a tool harness",
    label = "needs `#[tool_harness]` on an `impl {Self}` block"
)]
pub trait ToolHarness: Sized + Send + Sync + 'static {
    #[doc(hidden)]
    const TYPE: HarnessType<Self>;
    /// The table of its tools.
    #[doc(hidden)]
    const ENTRIES: &'static [Entry<Self>];
    /// What it reaches by delegations without a bound, within a number of hops.
    #[doc(hidden)]
    type Reach<F: Fuel>: Reaches;
}

/// A harness in the registry. The only thing that a type with `#[tool_harness]` can lack is what the words say.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0072: `{Self}` cannot be a tool harness: it cannot be shared between threads",
    label = "needs `Send`, `Sync` and `'static`",
    note = "calls run at the same time on several threads: use `Mutex`, `RwLock` or an atomic instead of `RefCell` or \
            `Cell`, `Arc` instead of `Rc`, and own what is borrowed"
)]
pub trait RegisteredHarness: ToolHarness {}

#[diagnostic::do_not_recommend]
impl<T: ToolHarness> RegisteredHarness for T {}

/// A harness type that can be named without giving an instance of it.
#[diagnostic::on_unimplemented(
    message = "HPD0071: no instance of `{Self}` can be made without a value",
    label = "needs `Default`",
    note = "derive or implement `Default`, or give the builder an instance with `.with_tool_harness_value(…)`"
)]
pub trait DefaultHarness: Default {}

#[diagnostic::do_not_recommend]
impl<T: Default> DefaultHarness for T {}

/// What there is to say of a [`ToolHarness`] besides its tools.
#[doc(hidden)]
#[derive(Debug)]
pub struct HarnessType<H> {
    pub identity: HarnessIdentity,
    /// How an instance is made where none was given: `T::default` if the type has it.
    pub default: Option<fn() -> H>,
}

/// One method of a harness.
#[doc(hidden)]
pub struct Entry<H: 'static> {
    pub info: CapabilityInfo,
    pub action: Action<H>,
}

impl<H> fmt::Debug for Entry<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("info", &self.info).finish_non_exhaustive()
    }
}

/// What is known about a capability before any of its code has run. Texts are borrowed in the tables of the macro and
/// owned in a declaration that is made at run time.
#[doc(hidden)]
#[derive(Debug)]
pub struct CapabilityInfo {
    /// The method's name, without `r#`; of a declaration made at run time, the name that it is given.
    pub method: Cow<'static, str>,
    /// The explicit `name = "…"`.
    pub name: Option<Cow<'static, str>>,
    /// The explicit `description = "…"`.
    pub description: Option<Cow<'static, str>>,
    /// The doc comment.
    pub doc: Option<Cow<'static, str>>,
    pub origin: Origin,
    pub kind: CapabilityKind,
}

/// Where something is declared; shown as file and line.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In the program.
    Code(&'static Location<'static>),
    /// In a definition file.
    File { path: Arc<str>, line: u32 },
}

impl Origin {
    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> u32 {
        match self {
            Self::Code(at) => at.line(),
            Self::File { line, .. } => *line,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(at) => write!(f, "{}:{}", at.file(), at.line()),
            Self::File { path, line } => write!(f, "{path}:{line}"),
        }
    }
}

#[doc(hidden)]
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it lives in static tables")]
pub enum CapabilityKind {
    Function(FunctionInfo),
    SubAgent(SubAgentInfo),
}

/// What `#[ai_function]` says.
#[doc(hidden)]
#[derive(Debug)]
pub struct FunctionInfo {
    pub params: Params,
    pub requires_permission: bool,
    pub exclusive: bool,
}

/// What `#[subagent]` says; `None` where it says nothing.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct SubAgentInfo {
    pub agent_id: Option<&'static str>,
    pub context: Option<SubAgentContextPolicy>,
    pub invocation_mode: Option<AgentInvocationModePolicy>,
    pub availability: Option<SubAgentAvailability>,
    pub recursion: Option<Recursion>,
    pub lifecycle: Option<SubAgentLifecycle>,
    pub fork_compaction: Option<ForkCompaction>,
    pub background_notification: Option<BackgroundNotification>,
    pub tool_harnesses: &'static [HarnessRef],
    pub metadata: Option<fn() -> Metadata>,
}

/// The code behind a function. It takes the arguments parsed, so that no function has to parse them itself.
#[doc(hidden)]
pub type FunctionAction<H> =
    for<'h> fn(&'h H, Arguments<'h>, &'h FunctionContext) -> BoxFuture<'h, Result<ToolOutput, ToolError>>;

/// The code behind a subagent's definition.
#[doc(hidden)]
pub type SubAgentAction<H> = for<'h> fn(&'h H, &'h HarnessContext) -> BoxFuture<'h, Result<SubAgent, BoxError>>;

/// The code behind a capability.
#[doc(hidden)]
pub enum Action<H: 'static> {
    Function(FunctionAction<H>),
    SubAgent(SubAgentAction<H>),
}

impl<H> Clone for Action<H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Action<H> {}

/// What a `#[subagent]` method may ask about the agent that is being built.
///
/// ```
/// # use hpd_agent::prelude::*;
/// #[derive(Default)]
/// struct Tools;
///
/// #[tool_harness]
/// impl Tools {
///     /// Reviews a draft.
///     #[subagent(agent_id = "reviewer")]
///     fn reviewer(&self, context: &HarnessContext) -> AgentConfig {
///         AgentConfig::new(format!("Reviewer of {}", context.agent_name()))
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct HarnessContext {
    agent_id: AgentId,
    agent_name: Arc<str>,
}

impl HarnessContext {
    pub(crate) fn new(agent_id: AgentId, agent_name: Arc<str>) -> Self {
        Self { agent_id, agent_name }
    }

    /// The id of the root agent that is being built.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.agent_id
    }

    /// The name of the root agent that is being built.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        &self.agent_name
    }
}

/// What tells one harness from another while an agent is built.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HarnessKey {
    /// A type: all its instances count as one harness.
    Type(TypeId),
    /// A harness made at run time: where it is kept, which is its own as long as somebody holds it.
    Value(usize),
}

/// A harness type, named in a declaration.
#[derive(Clone, Copy)]
pub struct HarnessRef {
    type_id: fn() -> TypeId,
    /// Lazy like the rest: a harness may name itself or one that names it, and its table is a constant.
    name: fn() -> &'static str,
    type_name: fn() -> &'static str,
    make: fn() -> Option<Arc<dyn ErasedHarness>>,
}

impl HarnessRef {
    /// The harness type `T`.
    #[must_use]
    pub const fn of<T: ToolHarness>() -> Self {
        fn make<T: ToolHarness>() -> Option<Arc<dyn ErasedHarness>> {
            T::TYPE.default.map(|make| Arc::new(make()) as Arc<dyn ErasedHarness>)
        }
        fn name<T: ToolHarness>() -> &'static str {
            T::TYPE.identity.name
        }
        Self { type_id: TypeId::of::<T>, name: name::<T>, type_name: std::any::type_name::<T>, make: make::<T> }
    }

    /// The name under which the harness is declared.
    #[must_use]
    pub fn name(&self) -> &'static str {
        (self.name)()
    }

    pub(crate) fn key(&self) -> HarnessKey {
        HarnessKey::Type((self.type_id)())
    }

    pub(crate) fn type_name(&self) -> &'static str {
        (self.type_name)()
    }

    /// A new instance, if the type can make one by itself.
    pub(crate) fn make(&self) -> Option<Arc<dyn ErasedHarness>> {
        (self.make)()
    }
}

impl fmt::Debug for HarnessRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

/// A harness without its type: what the runtime works with. Implemented for every [`ToolHarness`], and for the harnesses
/// that are made at run time.
#[doc(hidden)]
#[allow(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait ErasedHarness: Send + Sync + 'static {
    /// The declared name.
    fn name(&self) -> &str;
    /// The package and the name: the owner of its definitions.
    fn package(&self) -> &str;
    /// The type behind it; `None` if it was made at run time.
    fn identity(&self) -> Option<&'static HarnessIdentity>;
    fn key(&self) -> HarnessKey;
    fn len(&self) -> usize;
    fn info(&self, index: usize) -> Option<&CapabilityInfo>;
    fn define<'h>(
        &'h self,
        index: usize,
        context: &'h HarnessContext,
    ) -> Option<BoxFuture<'h, Result<SubAgent, BoxError>>>;
    fn call<'h>(
        &'h self,
        index: usize,
        arguments: &'h str,
        context: &'h FunctionContext,
    ) -> Option<BoxFuture<'h, Result<ToolOutput, ToolError>>>;
}

impl fmt::Debug for dyn ErasedHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<H: ToolHarness> ErasedHarness for H {
    fn name(&self) -> &str {
        H::TYPE.identity.name
    }

    fn package(&self) -> &str {
        H::TYPE.identity.package
    }

    fn identity(&self) -> Option<&'static HarnessIdentity> {
        Some(&H::TYPE.identity)
    }

    fn key(&self) -> HarnessKey {
        HarnessKey::Type(TypeId::of::<H>())
    }

    fn len(&self) -> usize {
        H::ENTRIES.len()
    }

    fn info(&self, index: usize) -> Option<&CapabilityInfo> {
        H::ENTRIES.get(index).map(|entry| &entry.info)
    }

    fn define<'h>(
        &'h self,
        index: usize,
        context: &'h HarnessContext,
    ) -> Option<BoxFuture<'h, Result<SubAgent, BoxError>>> {
        match H::ENTRIES.get(index)?.action {
            Action::SubAgent(define) => Some(define(self, context)),
            Action::Function(_) => None,
        }
    }

    fn call<'h>(
        &'h self,
        index: usize,
        arguments: &'h str,
        context: &'h FunctionContext,
    ) -> Option<BoxFuture<'h, Result<ToolOutput, ToolError>>> {
        let entry = H::ENTRIES.get(index)?;
        match (&entry.action, &entry.info.kind) {
            (Action::Function(call), CapabilityKind::Function(info)) => {
                Some(match Arguments::for_params(arguments, &info.params) {
                    Ok(arguments) => call(self, arguments, context),
                    Err(error) => Box::pin(std::future::ready(Err(error))),
                })
            }
            _ => None,
        }
    }
}

/// What a `#[subagent]` method may return: an [`AgentConfig`], a [`SubAgent`], or a `Result` of either.
#[diagnostic::on_unimplemented(
    message = "HPD0044: a #[subagent] method cannot return `{Self}`",
    label = "expected `AgentConfig`, `SubAgent`, or a `Result` of either"
)]
pub trait IntoSubAgent {
    #[doc(hidden)]
    fn into_sub_agent(self, agent_id: Option<&'static str>) -> Result<SubAgent, BoxError>;
}

impl IntoSubAgent for AgentConfig {
    fn into_sub_agent(self, agent_id: Option<&'static str>) -> Result<SubAgent, BoxError> {
        // Without an id the macro demands `IntoIdentifiedSubAgent`, which this type is not.
        Ok(SubAgent::from_config(agent_id.unwrap_or_default(), self))
    }
}

impl IntoSubAgent for SubAgent {
    fn into_sub_agent(self, _: Option<&'static str>) -> Result<SubAgent, BoxError> {
        Ok(self)
    }
}

impl<T: IntoSubAgent, E: IntoToolError> IntoSubAgent for Result<T, E> {
    fn into_sub_agent(self, agent_id: Option<&'static str>) -> Result<SubAgent, BoxError> {
        self.map_err(IntoToolError::into_error)?.into_sub_agent(agent_id)
    }
}

/// What a `#[subagent]` method without `agent_id` may return: a [`SubAgent`] or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "HPD0045: a #[subagent] without `agent_id` cannot return `{Self}`",
    label = "no agent id comes with this",
    note = "write `#[subagent(agent_id = \"…\")]`, or return a `SubAgent` or a `Result` of one"
)]
pub trait IntoIdentifiedSubAgent: IntoSubAgent {}

impl IntoIdentifiedSubAgent for SubAgent {}
impl<T: IntoIdentifiedSubAgent, E: IntoToolError> IntoIdentifiedSubAgent for Result<T, E> {}

/// What a `#[subagent]` method may take besides `&self`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0043: `{Self}` cannot be a parameter of a #[subagent] method",
    label = "only `&HarnessContext` can"
)]
pub trait HarnessParam<'h> {
    fn from_harness_context(context: &'h HarnessContext) -> Self;
}

impl<'h> HarnessParam<'h> for &'h HarnessContext {
    fn from_harness_context(context: &'h HarnessContext) -> Self {
        context
    }
}
