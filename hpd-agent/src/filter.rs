//! Which tools an agent may have.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

/// Which tools an agent may have in a run. It is no matter of taste: what it leaves out is neither shown nor run.
///
/// What is denied is denied to all descendants too, whatever they declare. What is merely not on an allow-list is not:
/// a child has the tools of its own harnesses.
///
/// ```
/// # use hpd_agent::declare::ToolFilter;
/// assert!(!ToolFilter::allow(["search"]).permits("delete"));
/// assert!(ToolFilter::allow(["search"]).permits_descendants("delete"));
/// assert!(!ToolFilter::deny(["delete"]).permits_descendants("delete"));
/// assert!(!ToolFilter::deny_all_except(["search"]).permits_descendants("delete"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<BTreeSet<Arc<str>>>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    deny: BTreeSet<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny_all_except: Option<BTreeSet<Arc<str>>>,
}

fn names<N: Into<Arc<str>>>(names: impl IntoIterator<Item = N>) -> BTreeSet<Arc<str>> {
    names.into_iter().map(Into::into).collect()
}

impl ToolFilter {
    /// Every tool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only these tools; children have those of their own harnesses besides.
    #[must_use]
    pub fn allow<N: Into<Arc<str>>>(tools: impl IntoIterator<Item = N>) -> Self {
        Self { allow: Some(names(tools)), ..Self::default() }
    }

    /// Every tool but these, for the agent and all its descendants.
    #[must_use]
    pub fn deny<N: Into<Arc<str>>>(tools: impl IntoIterator<Item = N>) -> Self {
        Self { deny: names(tools), ..Self::default() }
    }

    /// None but these tools, for the agent and all its descendants.
    #[must_use]
    pub fn deny_all_except<N: Into<Arc<str>>>(tools: impl IntoIterator<Item = N>) -> Self {
        Self { deny_all_except: Some(names(tools)), ..Self::default() }
    }

    /// What both permit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = |one: Option<BTreeSet<Arc<str>>>, other: Option<BTreeSet<Arc<str>>>| match (one, other) {
            (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
            (one, other) => one.or(other),
        };
        Self {
            allow: both(self.allow, other.allow),
            deny: self.deny.into_iter().chain(other.deny).collect(),
            deny_all_except: both(self.deny_all_except, other.deny_all_except),
        }
    }

    /// What of it holds for descendants.
    #[must_use]
    pub fn denials(&self) -> Self {
        Self { allow: None, ..self.clone() }
    }

    /// Whether it permits every tool.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the agent itself may have a tool.
    #[must_use]
    pub fn permits(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allowed| allowed.contains(tool)) && self.permits_descendants(tool)
    }

    /// Whether descendants of the agent may have a tool of their own harnesses.
    #[must_use]
    pub fn permits_descendants(&self, tool: &str) -> bool {
        !self.deny.contains(tool) && self.deny_all_except.as_ref().is_none_or(|kept| kept.contains(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_only_get_tighter() {
        let filter = ToolFilter::allow(["a", "b"]).and(ToolFilter::allow(["b", "c"]));
        assert!(filter.permits("b") && !filter.permits("a") && !filter.permits("c"));
        assert!(filter.permits_descendants("x"));
        let filter = filter.and(ToolFilter::deny(["b"]));
        assert!(!filter.permits("b") && !filter.denials().permits("b") && filter.denials().permits("a"));
        let filter = ToolFilter::deny_all_except(["a", "b"]).and(ToolFilter::deny_all_except(["b"]));
        assert!(filter.permits("b") && !filter.permits("a") && !filter.permits("x"));
        assert_eq!(filter.denials(), filter);
        assert!(ToolFilter::new().is_open() && !ToolFilter::allow::<&str>([]).is_open());
        assert!(!ToolFilter::allow::<&str>([]).permits("a"), "an empty list is a list");
        let json = serde_json::to_string(&filter).unwrap();
        assert_eq!(json, r#"{"denyAllExcept":["b"]}"#);
        assert_eq!(serde_json::from_str::<ToolFilter>(&json).unwrap(), filter);
    }
}
