//! Whether the models of a tree of agents take the schemas of their tools.

use std::{collections::HashSet, sync::Arc};

use super::{
    BuildProblem,
    blueprint::{Tool, ToolKind},
    place::Place,
};
use crate::{chat::SchemaProfile, id::AgentId};

/// What of an agent matters for it.
pub(super) struct Shown<'f> {
    pub(super) agent: AgentId,
    /// The profile of its own client; `None`: it has the client of whoever calls it.
    pub(super) own: Option<Option<SchemaProfile>>,
    pub(super) tools: Vec<(Arc<Tool>, &'f Place)>,
}

/// Reports every tool that a model of the tree is shown and does not take. The first agent is the root.
pub(super) fn check(agents: &[Shown<'_>], problems: &mut Vec<BuildProblem>) {
    if !agents.iter().any(|agent| matches!(agent.own, Some(Some(_)))) {
        return;
    }
    let mut reached = HashSet::new();
    let mut reported = HashSet::new();
    let mut open = vec![(0, None)];
    while let Some((index, inherited)) = open.pop() {
        let Some(agent) = agents.get(index) else { continue };
        let profile = agent.own.unwrap_or(inherited);
        // Agents that carry one harness share its children, whatever clients they have.
        if !reached.insert((index, profile)) {
            continue;
        }
        for (tool, at) in &agent.tools {
            if let ToolKind::SubAgent(child) = &tool.kind {
                open.push((child.child, profile));
            }
            let Some(profile) = profile else { continue };
            let Err(found) = tool.spec.schema().wire(profile) else { continue };
            if reported.insert((Arc::as_ptr(tool), profile)) {
                problems.extend(found.iter().map(|source| BuildProblem::Schema {
                    at: at.to_string(),
                    agent: agent.agent.to_string(),
                    tool: tool.name().to_string(),
                    source: source.clone(),
                }));
            }
        }
    }
}
