//! What a run and all its descendants may take.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::message::Usage;

/// What a run and all its descendants may take together. What is not said is not limited.
///
/// It is given to a run; children share what is left of it. A declaration can give its child a budget of its own
/// ([`SubAgentRunConfig::override_with`](super::SubAgentRunConfig::override_with)): then both hold.
///
/// ```
/// # use std::time::Duration;
/// # use hpd_agent::declare::{AgentRunConfig, Budget};
/// let budget = Budget::new().with_max_children(5).with_max_tokens(200_000).with_wall_time(Duration::from_secs(600));
/// let run = AgentRunConfig::new().with_budget(budget);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_live_children: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_children: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "wallTimeMs", with = "millis")]
    wall_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "idleTimeMs", with = "millis")]
    idle_time: Option<Duration>,
}

impl Budget {
    /// No limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The depth of the deepest child in the whole tree, below what the agents' own configurations say. The root has
    /// depth 0.
    #[must_use]
    pub fn with_max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }

    /// How many children may run at a time. A call that would start one more is refused; the model is told why.
    #[must_use]
    pub fn with_max_live_children(mut self, children: u32) -> Self {
        self.max_live_children = Some(children);
        self
    }

    /// How many children may ever be started. A call that would start one more is refused; the model is told why.
    #[must_use]
    pub fn with_max_children(mut self, children: u32) -> Self {
        self.max_children = Some(children);
        self
    }

    /// How many tokens the model calls may take, of input and output together, as the providers report them. No call
    /// begins once they are used up; the one that uses them up ends.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// What the model calls may cost, in the currency of the [`PriceTable`]. No call begins once it is used up, and none
    /// of a model that has no price.
    #[must_use]
    pub fn with_max_cost(mut self, cost: f64) -> Self {
        self.max_cost = Some(cost);
        self
    }

    /// How long the run may take, from its beginning.
    #[must_use]
    pub fn with_wall_time(mut self, time: Duration) -> Self {
        self.wall_time = Some(time);
        self
    }

    /// How long nothing at all may happen: no piece of an answer, no result of a tool, no event of a function, in the run
    /// and all its descendants.
    #[must_use]
    pub fn with_idle_time(mut self, time: Duration) -> Self {
        self.idle_time = Some(time);
        self
    }

    /// The limit of a kind, as a number; times in milliseconds.
    #[must_use]
    pub fn limit(&self, limit: BudgetLimit) -> Option<f64> {
        let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1_000.0);
        match limit {
            BudgetLimit::Depth => self.max_depth.map(f64::from),
            BudgetLimit::LiveChildren => self.max_live_children.map(f64::from),
            BudgetLimit::Children => self.max_children.map(f64::from),
            #[expect(clippy::cast_precision_loss, reason = "nobody counts so many tokens")]
            BudgetLimit::Tokens => self.max_tokens.map(|tokens| tokens as f64),
            BudgetLimit::Cost => self.max_cost,
            BudgetLimit::WallTime => millis(self.wall_time),
            BudgetLimit::IdleTime => millis(self.idle_time),
        }
    }

    pub(crate) fn max_depth(&self) -> Option<u32> {
        self.max_depth
    }

    pub(crate) fn max_live_children(&self) -> Option<u32> {
        self.max_live_children
    }

    pub(crate) fn max_children(&self) -> Option<u32> {
        self.max_children
    }

    pub(crate) fn max_tokens(&self) -> Option<u64> {
        self.max_tokens
    }

    pub(crate) fn max_cost(&self) -> Option<f64> {
        self.max_cost
    }

    pub(crate) fn wall_time(&self) -> Option<Duration> {
        self.wall_time
    }

    pub(crate) fn idle_time(&self) -> Option<Duration> {
        self.idle_time
    }
}

/// What a [`Budget`] limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BudgetLimit {
    /// The depth of children.
    Depth,
    /// Children at a time.
    LiveChildren,
    /// Children ever started.
    Children,
    /// Tokens of model calls.
    Tokens,
    /// Cost of model calls.
    Cost,
    /// Time since the beginning.
    WallTime,
    /// Time in which nothing happens.
    IdleTime,
}

impl BudgetLimit {
    /// So much of it, in words.
    pub(crate) fn of(self, allowed: f64) -> String {
        match self {
            Self::Children if (allowed - 1.0).abs() < f64::EPSILON => "1 child".to_owned(),
            Self::LiveChildren if (allowed - 1.0).abs() < f64::EPSILON => "1 child at a time".to_owned(),
            Self::Depth => format!("a depth of {allowed}"),
            Self::Cost => format!("a cost of {allowed}"),
            _ => format!("{allowed} {self}"),
        }
    }
}

impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "depth",
            Self::LiveChildren => "children at a time",
            Self::Children => "children",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::WallTime => "milliseconds since the beginning",
            Self::IdleTime => "milliseconds without any activity",
        })
    }
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

/// What a million tokens of a model cost, in a currency of yours.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Input that the provider had in its cache; the same as other input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Output, reasoning included.
    pub output: f64,
}

impl Price {
    /// So much for a million tokens of input and of output.
    #[must_use]
    pub const fn new(input: f64, output: f64) -> Self {
        Self { input, cached_input: None, output }
    }

    /// So much for a million tokens of input from the provider's cache.
    #[must_use]
    pub const fn with_cached_input(mut self, cached_input: f64) -> Self {
        self.cached_input = Some(cached_input);
        self
    }

    /// What these tokens cost.
    ///
    /// ```
    /// # use hpd_agent::{declare::Price, message::Usage};
    /// assert_eq!(Price::new(3.0, 15.0).of(Usage::new(1_000_000, 500_000)), 3.0 + 7.5);
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nobody counts so many tokens")]
    pub fn of(&self, usage: Usage) -> f64 {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let input = fresh as f64 * self.input + cached as f64 * self.cached_input.unwrap_or(self.input);
        (input + usage.output_tokens as f64 * self.output) / 1_000_000.0
    }
}

/// The prices of models, by the names under which clients report them.
///
/// ```
/// # use hpd_agent::declare::{Price, PriceTable};
/// let prices = PriceTable::new().with("small-model", Price::new(0.25, 1.25)).with("large-model", Price::new(3.0, 15.0));
/// assert!(prices.of("large-model").is_some() && prices.of("unknown").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable(BTreeMap<Arc<str>, Price>);

impl PriceTable {
    /// No prices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the price of a model.
    #[must_use]
    pub fn with(mut self, model: impl Into<Arc<str>>, price: Price) -> Self {
        self.0.insert(model.into(), price);
        self
    }

    /// The price of a model.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }
}
