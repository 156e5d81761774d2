//! What an execution begins with and what it leaves behind, as data: nothing has to be guessed after a restart.

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    filter::ToolFilter,
    id::AgentId,
    message::{AgentUsage, Usage},
};

/// Agent, limits and settings of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExecutionSettings {
    /// The agent.
    pub agent_id: AgentId,
    /// The provider of its model; clients are found again by name.
    pub provider: Arc<str>,
    /// The run configuration, resolved: the parent's as far as it is inherited, and what this run says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_config: Option<Arc<RunConfigText>>,
    /// What an ancestor was denied, for its run or for good.
    #[serde(default, skip_serializing_if = "is_open")]
    pub denials: Arc<ToolFilter>,
    /// The limits of this execution.
    pub budget: ExecutionBudget,
}

fn is_open(filter: &Arc<ToolFilter>) -> bool {
    filter.is_open()
}

/// A run configuration as JSON. Compared by its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunConfigText(Map<String, Value>);

impl RunConfigText {
    /// Any configuration that is written as a JSON object; `None` if it is not.
    pub(crate) fn of<T: Serialize>(config: &T) -> Option<Self> {
        match serde_json::to_value(config) {
            Ok(Value::Object(map)) => Some(Self(map)),
            _ => None,
        }
    }

    /// The configuration, as it was.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_value(Value::Object(self.0.clone()))
    }

    /// The JSON object.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// The limits of an execution, as far as they are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExecutionBudget {
    /// How many model calls the turn may take.
    pub max_iterations: u32,
    /// The depth of the deepest child in the whole tree.
    pub max_sub_agent_depth: u32,
}

/// How an execution or a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExecutionOutcome {
    /// With an answer.
    Succeeded,
    /// With an error.
    Failed,
    /// It was asked to stop.
    Cancelled,
    /// It waits for an answer to a question for permission; another execution goes on with the turn.
    Suspended,
}

/// What a turn had taken when it began to wait: the execution that goes on with it counts on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TurnTaken {
    /// The tokens of the agent itself.
    pub usage: Usage,
    /// The tokens of its descendants.
    pub usage_below: Usage,
    /// What was spent of the run's own budget, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// The tokens of every agent of the tree, if this is the root's turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_agent: Vec<AgentUsage>,
}

/// What was spent of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Spent {
    /// Children that were started.
    pub children: u32,
    /// Tokens of model calls.
    pub tokens: u64,
    /// Their cost.
    pub cost: f64,
    /// Milliseconds of work; the time in which the turn waited does not count.
    pub wall_time_ms: u64,
}
