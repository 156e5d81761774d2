//! How a conversation is made smaller: the specification. This version keeps it with a declaration and cannot apply it
//! yet: an agent with a child that asks for it is not built.

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, TurnId};

/// What is compacted, what stays, how, and whether for good.
///
/// ```
/// # use hpd_agent::compaction::*;
/// let specification = CompactionSpecification::new(CompactionPoint::CurrentHead, CompactionStrategy::removal())
///     .with_preservation(CompactionPreservation::PreviousTurns { turns: 3 })
///     .with_commit_mode(CompactionCommitMode::Hard);
/// assert_eq!(specification.commit_mode, CompactionCommitMode::Hard);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompactionSpecification {
    /// Up to where.
    pub point: CompactionPoint,
    /// What before the point stays as it is.
    #[serde(default)]
    pub preservation: CompactionPreservation,
    /// How the rest is made smaller.
    pub strategy: CompactionStrategy,
    /// Whether the log keeps what was compacted.
    #[serde(default)]
    pub commit_mode: CompactionCommitMode,
}

impl CompactionSpecification {
    /// Compacts all before `point`, preserves nothing, keeps the log.
    #[must_use]
    pub fn new(point: CompactionPoint, strategy: CompactionStrategy) -> Self {
        Self {
            point,
            preservation: CompactionPreservation::default(),
            strategy,
            commit_mode: CompactionCommitMode::default(),
        }
    }

    /// The same, with something preserved.
    #[must_use]
    pub fn with_preservation(mut self, preservation: CompactionPreservation) -> Self {
        self.preservation = preservation;
        self
    }

    /// The same, with another commit mode.
    #[must_use]
    pub fn with_commit_mode(mut self, mode: CompactionCommitMode) -> Self {
        self.commit_mode = mode;
        self
    }
}

/// Up to where a conversation is compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum CompactionPoint {
    /// All of it.
    CurrentHead,
    /// What stands before the turn of this message.
    Message {
        /// The message.
        message_id: MessageId,
        /// The generation in which the caller saw it; another one is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_generation: Option<u64>,
    },
    /// What stands before this turn.
    Turn {
        /// The turn.
        turn_id: TurnId,
        /// The generation in which the caller saw it; another one is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_generation: Option<u64>,
    },
}

/// What before the point stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum CompactionPreservation {
    /// Nothing.
    #[default]
    None,
    /// The last turns, whole.
    PreviousTurns {
        /// How many.
        turns: u32,
    },
    /// The last messages of the user.
    PreviousUserMessages {
        /// How many.
        limit: UserMessageLimit,
    },
}

/// How many of the user's messages stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum UserMessageLimit {
    /// So many.
    Count {
        /// The number of messages.
        count: u32,
    },
    /// As many as fit, at least one.
    TokenBudget {
        /// The number of tokens.
        tokens: u32,
    },
}

/// How the rest is made smaller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum CompactionStrategy {
    /// It is left out.
    #[non_exhaustive]
    Removal,
    /// A model's summary takes its place.
    #[non_exhaustive]
    Summarizing {
        /// What the summarizing model is told besides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
}

impl CompactionStrategy {
    /// It is left out.
    #[must_use]
    pub const fn removal() -> Self {
        Self::Removal
    }

    /// A summary by the agent's own model takes its place.
    #[must_use]
    pub const fn summarizing() -> Self {
        Self::Summarizing { instructions: None }
    }
}

/// Whether the log keeps what was compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCommitMode {
    /// It does: only what the model sees changes.
    #[default]
    Soft,
    /// A new generation of the thread begins.
    Hard,
}

/// What happens to a forked child's conversation before the child starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", content = "specification")]
pub enum ForkCompaction {
    /// What the agent's configuration says.
    #[default]
    #[serde(rename = "inherit")]
    Inherit,
    /// Exactly this.
    #[serde(rename = "enabled")]
    Apply(CompactionSpecification),
    /// Nothing.
    #[serde(rename = "disabled")]
    Disable,
}
