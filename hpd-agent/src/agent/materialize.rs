//! The records of children in the agent store: who owns a definition, and whether it is still the same.

use std::{collections::HashSet, sync::Arc};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    BuildProblem,
    blueprint::{SubAgentTool, Tool, ToolKind},
    canonical,
    freeze::{Definition, DefinitionSource, Freezer, FrozenHarness},
    place::Place,
};
use crate::{
    compaction::ForkCompaction,
    declare::{
        AgentInvocationModePolicy, BackgroundNotification, Metadata, Recursion, SubAgentAvailability,
        SubAgentContextPolicy, SubAgentLifecycle, SubAgentRunConfig,
    },
    id::AgentId,
    store::{AgentRecord, AgentStore, AgentStoreError, ExpectedVersion},
};

/// What has to be written.
#[derive(Debug)]
pub(crate) struct Write {
    record: AgentRecord,
    expected: ExpectedVersion,
    at: Place,
}

impl Freezer {
    /// Compares the definitions of all children with the store, and says which are to be written. What would silently
    /// replace another agent is a problem, unless its id is one of `replaced`.
    pub(crate) async fn compare(&mut self, store: &dyn AgentStore, replaced: &[Arc<str>]) -> Vec<Write> {
        let mut unused: HashSet<&str> = replaced.iter().map(|id| &**id).collect();
        let mut writes = Vec::new();
        for (at, record) in records(&self.definitions, &self.harnesses) {
            let is_replaced = unused.remove(record.id.as_str());
            match store.load(record.id.clone()).await {
                Ok(stored) => match compare(&record, stored.as_ref(), is_replaced) {
                    Ok(None) => {}
                    Ok(Some(expected)) => writes.push(Write { record, expected, at: at.clone() }),
                    Err(mismatch) => self.problems.push(mismatch.problem(at, record.id)),
                },
                Err(source) => self.problems.push(BuildProblem::AgentStore { at: at.to_string(), source }),
            }
        }
        let unused = replaced.iter().filter(|id| unused.contains(&***id));
        self.problems.extend(unused.map(|id| BuildProblem::NothingToReplace { id: id.to_string() }));
        writes
    }
}

/// Writes what has to be written. What another process has written since counts as if it had been there before.
pub(crate) async fn write(writes: Vec<Write>, store: &dyn AgentStore) -> Vec<BuildProblem> {
    let mut problems = Vec::new();
    for Write { record, expected, at } in writes {
        let problem = match store.save(record.clone(), expected).await {
            Ok(_) => continue,
            Err(conflict @ AgentStoreError::Conflict { .. }) => match store.load(record.id.clone()).await {
                Ok(stored) => match compare(&record, stored.as_ref(), false) {
                    Ok(None) => continue,
                    Ok(Some(_)) => BuildProblem::AgentStore { at: at.to_string(), source: conflict },
                    Err(mismatch) => mismatch.problem(&at, record.id),
                },
                Err(source) => BuildProblem::AgentStore { at: at.to_string(), source },
            },
            Err(source) => BuildProblem::AgentStore { at: at.to_string(), source },
        };
        problems.push(problem);
    }
    problems
}

/// What there is instead of what is declared.
enum Mismatch {
    Owner { here: String, stored: Option<Arc<str>> },
    Definition { version: u64, here: String, stored: String },
}

impl Mismatch {
    fn problem(self, at: &Place, id: AgentId) -> BuildProblem {
        let (at, id) = (at.to_string(), id.to_string());
        match self {
            Self::Owner { here, stored } => {
                let stored = stored.map_or_else(|| "nobody: a user made it".to_owned(), |owner| format!("`{owner}`"));
                BuildProblem::AgentOwned { at, id, here, stored }
            }
            Self::Definition { version, here, stored } => BuildProblem::AgentChanged { at, id, version, here, stored },
        }
    }
}

/// With which expectation a record is to be written; `None`: it is there.
fn compare(
    record: &AgentRecord,
    stored: Option<&AgentRecord>,
    is_replaced: bool,
) -> Result<Option<ExpectedVersion>, Mismatch> {
    let Some(stored) = stored else { return Ok(Some(ExpectedVersion::Absent)) };
    let (is_owner, is_same) = (stored.owner == record.owner, stored.fingerprint == record.fingerprint);
    let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    match (is_owner, is_same) {
        (true, true) => Ok(None),
        _ if is_replaced => Ok(Some(ExpectedVersion::Exactly(stored.version))),
        (false, _) => Err(Mismatch::Owner { here: text(&record.owner), stored: stored.owner.clone() }),
        (true, false) => Err(Mismatch::Definition {
            version: stored.version,
            here: text(&record.fingerprint),
            stored: text(&stored.fingerprint),
        }),
    }
}

/// The records of all children that are defined here, those first that are declared first.
fn records<'f>(
    definitions: &'f [Definition],
    harnesses: &'f [FrozenHarness],
) -> impl Iterator<Item = (&'f Place, AgentRecord)> {
    let mut tools: Vec<Option<(&Tool, &SubAgentTool)>> = vec![None; definitions.len()];
    for (tool, _) in harnesses.iter().flat_map(|harness| &harness.tools) {
        if let ToolKind::SubAgent(child) = &tool.kind
            && let Some(slot) = tools.get_mut(child.child)
        {
            *slot = Some((tool, child));
        }
    }
    definitions.iter().zip(tools).filter_map(move |(definition, tool)| {
        let is_ours =
            matches!(definition.source, DefinitionSource::Supplied | DefinitionSource::Parent { is_there: true });
        let (tool, child) = tool.filter(|_| is_ours)?;
        let names = definition.harnesses.iter().filter_map(|index| harnesses.get(*index));
        let names = names.map(|frozen| Arc::from(frozen.harness.name())).collect();
        let text = canonical::text(&definition.config.clone().with_tool_harnesses(names));
        let record = AgentRecord::new(definition.agent_id.clone(), text.as_str())
            .owned_by(definition.at.owner(), fingerprint(&text))
            .declared_as(child.identity.source_kind, Declaration::of(tool, child));
        Some((&definition.at, record))
    })
}

/// SHA-256, as 64 upper-case digits.
fn fingerprint(text: &str) -> String {
    let mut digits = String::with_capacity(64);
    // Not with `write!`: formatting each byte takes several times as long as hashing them all.
    let halves = Sha256::digest(text.as_bytes()).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.extend(halves.filter_map(|half| char::from_digit(half.into(), 16)).map(|digit| digit.to_ascii_uppercase()));
    digits
}

/// What is kept beside a definition: it may change, and the agent stays the same. What is not said is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'t> {
    name: &'t str,
    description: &'t str,
    context_policy: SubAgentContextPolicy,
    invocation_mode: AgentInvocationModePolicy,
    availability: SubAgentAvailability,
    #[serde(flatten)]
    rest: Option<Rest<'t>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'t Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rest<'t> {
    recursion: Recursion,
    lifecycle: SubAgentLifecycle,
    fork_compaction: &'t ForkCompaction,
    background_notification: &'t BackgroundNotification,
    run_config: &'t SubAgentRunConfig,
}

impl Declaration<'_> {
    fn of(tool: &Tool, child: &SubAgentTool) -> String {
        let rest = child.said().map(|rest| Rest {
            recursion: rest.recursion,
            lifecycle: rest.lifecycle,
            fork_compaction: &rest.fork_compaction,
            background_notification: &rest.background_notification,
            run_config: &rest.run_config,
        });
        let declaration = Declaration {
            name: tool.name().as_str(),
            description: tool.spec.description(),
            context_policy: child.context,
            invocation_mode: child.mode,
            availability: child.availability,
            rest,
            metadata: &child.identity.metadata,
        };
        // Plain data with names as keys, which cannot fail.
        serde_json::to_string(&declaration).unwrap_or_default()
    }
}
