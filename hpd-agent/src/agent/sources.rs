//! Where the definitions of children come from: the agent store, the parent, or another declaration of the same tree.
//!
//! After this every definition is complete, and each agent id has one.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use super::{
    BuildProblem, ResolveError,
    blueprint::ToolKind,
    freeze::{Definition, DefinitionSource, Freezer},
};
use crate::{
    declare::{AgentConfig, HarnessContext},
    id::AgentId,
    store::{AgentRecord, AgentStore},
};

impl Freezer {
    /// Completes the definitions that are not supplied by their declarations.
    pub(crate) async fn resolve_sources(&mut self, store: &dyn AgentStore, context: &HarnessContext) {
        let mut loaded = 0;
        // What is loaded has harnesses, which have children that may be stored too.
        while loaded < self.definitions.len() {
            let known = self.definitions.len();
            for index in loaded..known {
                self.load(index, store).await;
            }
            loaded = known;
            self.run(context).await;
        }
        self.share();
        self.take_over();
    }

    /// Loads a stored definition, unless the tree has one of its id already.
    async fn load(&mut self, index: usize, store: &dyn AgentStore) {
        let Some(definition) = self.definitions.get(index) else { return };
        let is_known = |id: &AgentId| self.definitions.iter().take(index).any(|earlier| earlier.agent_id == *id);
        if definition.source != (DefinitionSource::Stored { version: None }) || is_known(&definition.agent_id) {
            return;
        }
        let (id, at) = (definition.agent_id.clone(), definition.at.clone());
        let mut harnesses = definition.harnesses.clone();
        match store.load(id.clone()).await {
            // It may yet turn out to be declared.
            Ok(None) => {}
            Ok(Some(record)) => match config_of(&record) {
                Ok(config) => {
                    self.add_named(&config, &mut harnesses, &at);
                    if let Some(definition) = self.definitions.get_mut(index) {
                        definition.source = DefinitionSource::Stored { version: Some(record.version) };
                        (definition.config, definition.harnesses) = (config, harnesses);
                    }
                }
                Err(reason) => {
                    let version = record.version;
                    let (at, id) = (at.to_string(), id.to_string());
                    self.problems.push(BuildProblem::StoredAgent { at, id, version, reason });
                    self.settle(index);
                }
            },
            Err(source) => {
                self.problems.push(BuildProblem::AgentStore { at: at.to_string(), source });
                self.settle(index);
            }
        }
    }

    /// What is wrong with it has been said.
    fn settle(&mut self, index: usize) {
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.source = DefinitionSource::Stored { version: Some(0) };
            definition.config = AgentConfig::new(definition.agent_id.as_str());
        }
    }

    /// Lets the tools that ask for a stored agent lead to the one definition of its id.
    fn share(&mut self) {
        let mut first: HashMap<AgentId, usize> = HashMap::new();
        let is_stored = |definition: &Definition| matches!(definition.source, DefinitionSource::Stored { .. });
        // A declaration says more than the store, wherever it stands.
        for wanted in [false, true] {
            for (index, definition) in self.definitions.iter().enumerate() {
                if is_stored(definition) == wanted {
                    first.entry(definition.agent_id.clone()).or_insert(index);
                }
            }
        }
        let mut instead: HashMap<usize, usize> = HashMap::new();
        for (index, definition) in self.definitions.iter().enumerate() {
            let Some(&own) = first.get(&definition.agent_id).filter(|own| **own != index && is_stored(definition))
            else {
                if definition.source == (DefinitionSource::Stored { version: None }) {
                    self.problems.push(BuildProblem::StoredAgentNotFound {
                        at: definition.at.to_string(),
                        id: definition.agent_id.to_string(),
                    });
                }
                continue;
            };
            instead.insert(index, own);
            if let Some(shared) = self.definitions.get(own)
                && !says_the_same(definition, shared)
            {
                self.problems.push(BuildProblem::HarnessesOfStored {
                    at: definition.at.to_string(),
                    id: definition.agent_id.to_string(),
                    first: shared.at.to_string(),
                });
            }
        }
        self.renumber(&instead);
    }

    /// Leaves out the definitions that have others `instead`.
    fn renumber(&mut self, instead: &HashMap<usize, usize>) {
        if instead.is_empty() {
            return;
        }
        let mut kept = 0;
        let mut places: Vec<usize> = Vec::with_capacity(self.definitions.len());
        for index in 0..self.definitions.len() {
            places.push(kept);
            kept += usize::from(!instead.contains_key(&index));
        }
        let mut index = 0;
        self.definitions.retain(|_| {
            index += 1;
            !instead.contains_key(&(index - 1))
        });
        for (tool, _) in self.harnesses.iter_mut().flat_map(|harness| &mut harness.tools) {
            // Nobody else has it before the blueprints are made.
            if let Some(ToolKind::SubAgent(tool)) = Arc::get_mut(tool).map(|tool| &mut tool.kind) {
                let own = instead.get(&tool.child).unwrap_or(&tool.child);
                tool.child = places.get(*own).copied().unwrap_or(*own);
            }
        }
    }

    /// Gives the children that want it the definition of their parent: of two that carry the same harness, of the one
    /// that is nearer to the root, or was declared earlier. That is once for each agent id, so a harness that a child
    /// has of its parent does not define it anew.
    fn take_over(&mut self) {
        let mut waiting = VecDeque::from([0]);
        let mut seen = HashSet::from([0]);
        while let Some(parent) = waiting.pop_front() {
            for child in self.children(parent) {
                self.inherit(child, parent);
                if seen.insert(child) {
                    waiting.push_back(child);
                }
            }
        }
    }

    /// Gives declared children the definitions that the store has of them, without comparing and without writing: what a
    /// child of its parent's configuration is was decided when its owner's agent was built.
    pub(crate) async fn take_recorded(&mut self, store: &dyn AgentStore) -> Result<(), ResolveError> {
        for index in 0..self.definitions.len() {
            let Some(definition) = self.definitions.get(index) else { continue };
            if !matches!(definition.source, DefinitionSource::Supplied | DefinitionSource::Parent { .. }) {
                continue;
            }
            let (id, at) = (definition.agent_id.clone(), definition.at.clone());
            let Some(record) = store.load(id.clone()).await? else { continue };
            let here = at.owner();
            if record.owner.as_deref() != Some(&*here) {
                let stored = record.owner.as_deref().unwrap_or("nobody").to_owned();
                return Err(ResolveError::Owned { id, here, stored });
            }
            // Of the others the declaration says the same as the record.
            if definition.source != DefinitionSource::Supplied
                && let Ok(config) = config_of(&record)
            {
                let mut harnesses = Vec::new();
                self.add_named(&config, &mut harnesses, &at);
                if let Some(definition) = self.definitions.get_mut(index) {
                    (definition.config, definition.harnesses) = (config, harnesses);
                }
            }
        }
        Ok(())
    }

    fn children(&self, parent: usize) -> Vec<usize> {
        let harnesses = self.definitions.get(parent).map_or(&[][..], |definition| &definition.harnesses);
        let tools = harnesses.iter().filter_map(|index| self.harnesses.get(*index)).flat_map(|harness| &harness.tools);
        let child = |tool: &ToolKind| match tool {
            ToolKind::SubAgent(tool) => Some(tool.child),
            ToolKind::Function(_) => None,
        };
        tools.filter_map(|(tool, _)| child(&tool.kind)).collect()
    }

    fn inherit(&mut self, child: usize, parent: usize) {
        let Some(from) = self.definitions.get(parent) else { return };
        let (config, inherited) = (from.config.clone(), from.harnesses.clone());
        if let Some(definition) = self.definitions.get_mut(child)
            && definition.source == (DefinitionSource::Parent { is_there: false })
        {
            definition.source = DefinitionSource::Parent { is_there: true };
            definition.config = config;
            let own = std::mem::replace(&mut definition.harnesses, inherited);
            for harness in own {
                if !definition.harnesses.contains(&harness) {
                    definition.harnesses.push(harness);
                }
            }
        }
    }
}

/// Whether a declaration that asks for a stored agent gives it the harnesses that the first one does; none, if the first
/// one is its definition.
fn says_the_same(definition: &Definition, shared: &Definition) -> bool {
    let declared = |definition: &Definition| -> HashSet<usize> {
        definition.harnesses.iter().take(definition.declared).copied().collect()
    };
    match shared.source {
        DefinitionSource::Stored { .. } => declared(definition) == declared(shared),
        _ => definition.declared == 0,
    }
}

/// The configuration that a record holds.
pub(crate) fn config_of(record: &AgentRecord) -> Result<AgentConfig, String> {
    serde_json::from_str(&record.definition).map_err(|error| error.to_string())
}
