//! The policies of a subagent declaration: plain data, usable in constant expressions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a child's conversation begins.
///
/// In an attribute the variants are in scope: `#[subagent(context = ModelChoice)]`.
///
/// ```
/// # use hpd_agent::declare::SubAgentContextPolicy;
/// assert_eq!(SubAgentContextPolicy::default(), SubAgentContextPolicy::Fork);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum SubAgentContextPolicy {
    /// In the parent's session, after all that the parent's thread held when the delegating message was written.
    #[default]
    Fork,
    /// In the parent's session, with nothing before the input.
    Fresh,
    /// In a session of its own, with nothing before the input.
    Isolated,
    /// The model chooses between fork and fresh; fresh if it says nothing.
    ModelChoice,
}

impl SubAgentContextPolicy {
    /// The default, where a constant is needed.
    pub const DEFAULT: Self = Self::Fork;

    /// Whether a child's conversation can begin as a fork.
    #[must_use]
    pub const fn can_fork(self) -> bool {
        matches!(self, Self::Fork | Self::ModelChoice)
    }

    /// Whether the model chooses.
    #[must_use]
    pub const fn is_model_choice(self) -> bool {
        matches!(self, Self::ModelChoice)
    }
}

/// Whether the parent waits for a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum AgentInvocationModePolicy {
    /// It waits; the tool result is the child's text.
    #[default]
    SynchronousOnly,
    /// It does not wait; the tool result is a receipt.
    BackgroundOnly,
    /// The model chooses; synchronous if it says nothing.
    ModelChoice,
}

impl AgentInvocationModePolicy {
    /// The default, where a constant is needed.
    pub const DEFAULT: Self = Self::SynchronousOnly;

    /// Whether a child can be in the background.
    #[must_use]
    pub const fn can_be_background(self) -> bool {
        matches!(self, Self::BackgroundOnly | Self::ModelChoice)
    }

    /// Whether the model chooses.
    #[must_use]
    pub const fn is_model_choice(self) -> bool {
        matches!(self, Self::ModelChoice)
    }
}

/// From which depths an agent may call a subagent tool. The root agent has depth 0, its children depth 1.
///
/// The agent's `max_sub_agent_depth` holds besides: this can only be stricter.
///
/// ```
/// # use hpd_agent::declare::SubAgentAvailability;
/// assert!(SubAgentAvailability::default().allows_invocation_from(0));
/// assert!(!SubAgentAvailability::ROOT_ONLY.allows_invocation_from(1));
/// assert!(SubAgentAvailability::through_depth(2).allows_invocation_from(1));
/// assert!(SubAgentAvailability::ANY_ALLOWED_DEPTH.allows_invocation_from(40));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubAgentAvailability(u32);

impl SubAgentAvailability {
    /// Only the root agent may call it: what keeps a harness that a child carries too from calling itself.
    pub const ROOT_ONLY: Self = Self(1);
    /// Every agent may call it whose children stay within `max_sub_agent_depth`.
    pub const ANY_ALLOWED_DEPTH: Self = Self(u32::MAX);

    /// Agents at depths below `depth` may call it, so that the deepest child is at `depth`.
    ///
    /// `depth` is at least 1: 0 would make a tool that nobody can call, and is refused when the declaration is
    /// compiled or, for a value made at run time, when the agent is built.
    #[must_use]
    pub const fn through_depth(depth: u32) -> Self {
        Self(depth)
    }

    /// Whether an agent at `depth` may call the tool.
    #[must_use]
    pub const fn allows_invocation_from(self, depth: u32) -> bool {
        depth < self.0
    }

    /// The depth of the deepest child that this allows; `None` without a bound of its own.
    #[must_use]
    pub const fn deepest_child(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }

    /// Whether anybody can call the tool at all.
    pub(crate) const fn is_callable(self) -> bool {
        self.0 > 0
    }
}

impl Default for SubAgentAvailability {
    fn default() -> Self {
        Self::ROOT_ONLY
    }
}

/// Whether a subagent may be part of a cycle of delegations that has no end of its own.
///
/// Harnesses may lead to each other: a child has a harness whose subagents have harnesses, and so on. If they come back
/// to where they began and every one of them may be called at
/// [any allowed depth](SubAgentAvailability::ANY_ALLOWED_DEPTH), only the ceiling of the tree ends it, and every level
/// can call all of the next. That is nearly always an accident. So it is an error: of the compiler where it can see the
/// cycle, else of `build()`. Where it is what you want, say so at one of the subagents of the cycle.
///
/// In an attribute the variants are in scope: `#[subagent(recursion = Allowed)]`.
///
/// ```
/// # use hpd_agent::prelude::*;
/// #[derive(Default)]
/// struct Planning;
///
/// #[tool_harness]
/// impl Planning {
///     /// Solves a part of a problem, which may have parts in turn.
///     #[subagent(
///         agent_id = "planner",
///         availability = SubAgentAvailability::ANY_ALLOWED_DEPTH,
///         recursion = Recursion::Allowed,
///         tool_harnesses = [Planning],
///     )]
///     fn planner(&self) -> AgentConfig {
///         AgentConfig::new("Planner")
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Recursion {
    /// A cycle needs a bound somewhere.
    #[default]
    Guarded,
    /// A cycle through this subagent needs none: the depth of the tree is bound enough.
    Allowed,
}

impl Recursion {
    /// Whether a subagent with this availability is one that a cycle may not be made of alone.
    pub(crate) const fn is_unbounded(self, availability: SubAgentAvailability) -> bool {
        matches!(self, Self::Guarded) && availability.deepest_child().is_none()
    }
}

/// What becomes of a child when its first answer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum SubAgentLifecycle {
    /// Its work is done. Its conversation stays and can be continued by its session and thread.
    #[default]
    OneShot,
    /// It stays and can be spoken to by its parent.
    Continuable,
}

/// When a background child's end is told to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BackgroundNotification {
    /// Never.
    None,
    /// When it has ended in one of these ways.
    OnFinalState {
        /// Tell of an answer.
        completed: bool,
        /// Tell of a failure.
        faulted: bool,
        /// Tell of a cancellation.
        cancelled: bool,
    },
    /// As a named strategy decides.
    Strategy {
        /// The strategy's name.
        name: String,
        /// What the strategy is given.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        parameters: Map<String, Value>,
        /// What holds if there is no strategy of this name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Box<BackgroundNotification>>,
    },
}

impl Default for BackgroundNotification {
    fn default() -> Self {
        Self::OnFinalState { completed: true, faulted: true, cancelled: false }
    }
}

/// What is wrong with policies that exclude each other. The same words where the compiler finds it and where `build`
/// does.
pub(crate) mod exclusive {
    use super::{AgentInvocationModePolicy, SubAgentContextPolicy};
    use crate::{compaction::ForkCompaction, declare::Advice};

    /// What is wrong, and what to do.
    #[derive(Debug)]
    pub(crate) struct Excluded {
        pub(crate) what: &'static str,
        pub(crate) remedy: Advice,
    }

    /// A forked conversation is made shorter, and none is ever forked.
    pub(crate) const fn fork_compaction(
        compaction: &ForkCompaction,
        context: SubAgentContextPolicy,
    ) -> Result<(), Excluded> {
        if matches!(compaction, ForkCompaction::Inherit) || context.can_fork() {
            return Ok(());
        }
        Err(Excluded {
            what: "HPD0060: `fork_compaction` is for conversations that are forked, and with this `context` none is: ",
            remedy: Advice {
                attributes: "leave it out, or say `context = Fork` or `context = ModelChoice`",
                values: "leave it out, or say `.with_context_policy(…)` with `Fork` or `ModelChoice`",
                file: "leave it out, or write `context: Fork` or `context: ModelChoice`",
            },
        })
    }

    /// The end of a child in the background is told, and none is ever there.
    pub(crate) const fn background_notification(mode: AgentInvocationModePolicy) -> Result<(), Excluded> {
        if mode.can_be_background() {
            return Ok(());
        }
        Err(Excluded {
            what: "HPD0061: `background_notification` is for children in the background, and with this \
                   `invocation_mode` none is: ",
            remedy: Advice {
                attributes: "leave it out, or say `invocation_mode = BackgroundOnly` or `invocation_mode = ModelChoice`",
                values: "leave it out, or say `.with_invocation_mode(…)` with `BackgroundOnly` or `ModelChoice`",
                file: "leave it out, or write `invocation_mode: BackgroundOnly` or `invocation_mode: ModelChoice`",
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_only_is_through_depth_one() {
        assert_eq!(SubAgentAvailability::ROOT_ONLY, SubAgentAvailability::through_depth(1));
        assert!(!SubAgentAvailability::through_depth(0).is_callable());
        assert_eq!(SubAgentAvailability::through_depth(3).deepest_child(), Some(3));
        assert_eq!(SubAgentAvailability::ANY_ALLOWED_DEPTH.deepest_child(), None);
    }

    #[test]
    fn constants_are_the_defaults() {
        assert_eq!(SubAgentContextPolicy::DEFAULT, SubAgentContextPolicy::default());
        assert_eq!(AgentInvocationModePolicy::DEFAULT, AgentInvocationModePolicy::default());
    }

    #[test]
    fn policies_that_exclude_each_other() {
        use crate::compaction::ForkCompaction::{Disable, Inherit};
        use AgentInvocationModePolicy as Mode;
        use SubAgentContextPolicy as Context;
        for (context, can_fork) in
            [(Context::Fork, true), (Context::Fresh, false), (Context::Isolated, false), (Context::ModelChoice, true)]
        {
            assert_eq!(exclusive::fork_compaction(&Disable, context).is_ok(), can_fork);
            assert!(exclusive::fork_compaction(&Inherit, context).is_ok());
        }
        for (mode, can) in [(Mode::SynchronousOnly, false), (Mode::BackgroundOnly, true), (Mode::ModelChoice, true)] {
            assert_eq!(exclusive::background_notification(mode).is_ok(), can);
        }
    }
}
