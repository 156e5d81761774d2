//! What is known of a model's answer besides its content: tokens, the model, why it stopped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// Token counts as the provider reported them; what it did not report is 0.
///
/// ```
/// # use hpd_agent::message::Usage;
/// let sum = Usage::new(10, 5) + Usage::new(1, 2);
/// assert_eq!((sum.input_tokens, sum.output_tokens, sum.total()), (11, 7, 18));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the requests, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answers, reasoning included.
    pub output_tokens: u64,
    /// Of the input, how many came from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Of the input, how many were written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, how many were reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Usage {
    /// Counts of input and output.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cached_input_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 }
    }

    /// Input and output together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The token usage of one agent in a run, however often it was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentUsage {
    /// The agent's name; for a child the name of its tool.
    pub agent_name: Arc<str>,
    /// The agent's id.
    pub agent_id: AgentId,
    /// How many model calls it made.
    pub model_calls: u32,
    /// What they took.
    pub usage: Usage,
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Which model a request goes to: what the journal keeps of every request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelSelection {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model's name.
    pub model: Arc<str>,
    /// How much the model shall think, in the provider's words. `None`: the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Arc<str>>,
    /// The largest number of tokens of the answer. `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said all it wanted to say.
    EndTurn,
    /// It wants tools to be called.
    ToolUse,
    /// It reached the limit of tokens: what it said is cut.
    MaxTokens,
    /// It declined, or a filter of the provider did.
    Refusal,
    /// Something else, in the provider's words.
    Other(Arc<str>),
}
