//! What a delegation was, as its result keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ModelSelection, StopReason, Usage};
use crate::{filter::ToolFilter, id::AgentId};

/// Which context a call really got: a policy without the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResolvedContext {
    /// Forked from the parent's thread.
    Fork,
    /// Empty, in the parent's session.
    Fresh,
    /// Empty, in a session of its own.
    Isolated,
}

impl ResolvedContext {
    /// The name in events and metadata: `Fork`, `Fresh` or `Isolated`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "Fork",
            Self::Fresh => "Fresh",
            Self::Isolated => "Isolated",
        }
    }
}

/// In which mode a call really ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationMode {
    /// The parent waited.
    #[default]
    #[serde(alias = "Synchronous")]
    Synchronous,
    /// The parent went on.
    #[serde(alias = "Background")]
    Background,
}

impl InvocationMode {
    /// The name in events and schemas: `synchronous` or `background`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Background => "background",
        }
    }
}

/// What became of a delegation, for whoever has to account for it. It stands in the metadata of the tool result, beside
/// the names of the child's thread; models are never shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DelegationReceipt {
    /// The child agent.
    pub agent_id: AgentId,
    /// The running hash of the conversation that the child was given before its task, as 16 hexadecimal digits: equal
    /// for equal conversations. `None`: it was given none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_hash: Option<Arc<str>>,
    /// What the call asked for.
    #[serde(default, skip_serializing_if = "RequestedDelegation::is_nothing")]
    pub requested: RequestedDelegation,
    /// What the child got.
    pub effective: EffectiveDelegation,
    /// What the child was allowed.
    pub rights: DelegationRights,
    /// Why the child's model stopped; `None`: it did not come to an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The tokens of the child itself.
    pub usage: Usage,
    /// The tokens of the child and all its descendants.
    pub subtree_usage: Usage,
}

/// What a call of a subagent tool asked for, as far as it said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestedDelegation {
    /// The context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ResolvedContext>,
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<InvocationMode>,
}

impl RequestedDelegation {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a child got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EffectiveDelegation {
    /// The context.
    pub context: ResolvedContext,
    /// The mode.
    pub mode: InvocationMode,
    /// The model.
    pub model: Arc<ModelSelection>,
    /// How many model calls its turn could take.
    pub max_iterations: u32,
}

/// What a child was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DelegationRights {
    /// The tools that it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Arc<str>>,
    /// What its ancestors were denied.
    #[serde(default, skip_serializing_if = "is_open")]
    pub denials: Arc<ToolFilter>,
    /// The depth of the deepest child in the tree.
    pub max_depth: u32,
}

fn is_open(filter: &Arc<ToolFilter>) -> bool {
    filter.is_open()
}

impl DelegationReceipt {
    /// A receipt of what a child got; what became of it is not known yet.
    pub(crate) fn new(
        agent_id: AgentId,
        seed_hash: Option<u64>,
        requested: RequestedDelegation,
        (effective, rights): (EffectiveDelegation, DelegationRights),
    ) -> Self {
        Self {
            agent_id,
            seed_hash: seed_hash.map(|hash| format!("{hash:016x}").into()),
            requested,
            effective,
            rights,
            stop_reason: None,
            usage: Usage::default(),
            subtree_usage: Usage::default(),
        }
    }
}

impl RequestedDelegation {
    pub(crate) const fn new(context: Option<ResolvedContext>, mode: Option<InvocationMode>) -> Self {
        Self { context, mode }
    }
}

impl EffectiveDelegation {
    pub(crate) const fn new(
        (context, mode): (ResolvedContext, InvocationMode),
        model: Arc<ModelSelection>,
        max_iterations: u32,
    ) -> Self {
        Self { context, mode, model, max_iterations }
    }
}

impl DelegationRights {
    pub(crate) const fn new(tools: Vec<Arc<str>>, denials: Arc<ToolFilter>, max_depth: u32) -> Self {
        Self { tools, denials, max_depth }
    }
}
