//! From definitions to blueprints.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    BuildProblem,
    blueprint::{Blueprint, Client, Forest, Tool, ToolKind, ToolTable},
    clients::Providers,
    cycles,
    freeze::{Definition, DefinitionSource, Freezer},
    place::Place,
    schemas::{self, Shown},
};
use crate::{
    chat::{ChatClient, ChatOptions},
    declare::{ClientFamily, ClientInheritance},
    id::AgentId,
};

/// Turns definitions into blueprints, and adds what is wrong with them to the problems. `default_client`: that of the first
/// agent, unless it names a provider.
pub(super) fn compile(
    freezer: &mut Freezer,
    default_client: Option<&Arc<dyn ChatClient>>,
    providers: &Providers,
) -> Forest {
    let definitions = std::mem::take(&mut freezer.definitions);
    check_agent_ids(&definitions, &mut freezer.problems);
    cycles::check(&definitions, &freezer.harnesses, &mut freezer.problems);
    let no_options = Arc::<ChatOptions>::default();
    let mut shown: Vec<Shown<'_>> = Vec::with_capacity(definitions.len());
    let blueprints = definitions
        .into_iter()
        .map(|definition| {
            check_config(&definition, &mut freezer.problems);
            let Definition { agent_id, config, harnesses, declared, at, source } = definition;
            let mut tools: Vec<(Arc<Tool>, &Place)> = Vec::new();
            let mut own_harnesses = Vec::with_capacity(harnesses.len());
            for harness in harnesses.iter().filter_map(|index| freezer.harnesses.get(*index)) {
                own_harnesses.push(Arc::clone(&harness.harness));
                tools.extend(harness.tools.iter().map(|(tool, at)| (Arc::clone(tool), at)));
            }
            check_tool_names(&agent_id, &tools, &mut freezer.problems);
            let client = config.chat().filter(|chat| chat.provider.is_some()).and_then(|chat| {
                let made = providers.chat.client(chat);
                made.map_err(|source| {
                    freezer.problems.push(BuildProblem::ChatProvider { agent: agent_id.to_string(), source });
                })
                .ok()
            });
            let clients =
                config.clients().map(|choices| providers.make(choices, &agent_id, &at, &mut freezer.problems));
            for (tool, at) in &tools {
                providers.make_declared(tool, at, &mut freezer.problems);
            }
            let table = ToolTable::new(tools.iter().map(|(tool, _)| Arc::clone(tool)).collect());
            let root_client = client.as_ref().or(default_client.filter(|_| shown.is_empty()));
            let own = root_client.map(|client| client.info().schema_profile());
            shown.push(Shown { agent: agent_id.clone(), own, tools });
            Blueprint {
                system: config.system_prompt(),
                forked_system: std::sync::OnceLock::new(),
                options: config.chat().map_or_else(|| Arc::clone(&no_options), |chat| Arc::new(chat.options.clone())),
                client: client.map(Client),
                clients,
                tools: table,
                harnesses: own_harnesses,
                declared,
                stored_version: match source {
                    DefinitionSource::Stored { version } => version,
                    _ => None,
                },
                agent_id,
                config,
                settings: std::sync::OnceLock::new(),
            }
        })
        .collect();
    check_own_clients(&shown, &mut freezer.problems);
    schemas::check(&shown, &mut freezer.problems);
    Forest::new(blueprints)
}

/// The first agent needs a model that it does not inherit.
pub(super) fn check_root_client(freezer: &mut Freezer, client: Option<&Arc<dyn ChatClient>>) {
    let Some(root) = freezer.definitions.first() else { return };
    if client.is_none() && root.config.chat().is_none_or(|chat| chat.provider.is_none()) {
        freezer.problems.push(BuildProblem::NoChatClient { agent: root.agent_id.to_string() });
    }
}

/// A child that takes over no model has one of its own.
fn check_own_clients(agents: &[Shown<'_>], problems: &mut Vec<BuildProblem>) {
    let mut seen = HashSet::new();
    for (tool, at) in agents.iter().flat_map(|agent| &agent.tools) {
        if let ToolKind::SubAgent(child) = &tool.kind
            && child.rest().run_config.clients().of(ClientFamily::Chat) == ClientInheritance::UseOwn
            && let Some(of) = agents.get(child.child).filter(|of| of.own.is_none())
            && seen.insert(Arc::as_ptr(tool))
        {
            problems.push(BuildProblem::NoOwnClient { at: at.to_string(), agent: of.agent.to_string() });
        }
    }
}

fn check_agent_ids(definitions: &[Definition], problems: &mut Vec<BuildProblem>) {
    let mut seen: HashMap<&AgentId, &Place> = HashMap::with_capacity(definitions.len());
    for definition in definitions {
        if let Some(first) = seen.insert(&definition.agent_id, &definition.at) {
            problems.push(BuildProblem::DuplicateAgentId {
                id: definition.agent_id.to_string(),
                first: first.to_string(),
                second: definition.at.to_string(),
            });
        }
    }
}

fn check_tool_names(agent: &AgentId, tools: &[(Arc<Tool>, &Place)], problems: &mut Vec<BuildProblem>) {
    let mut seen: HashMap<&str, &Place> = HashMap::with_capacity(tools.len());
    for (tool, at) in tools {
        if let Some(first) = seen.insert(tool.name().as_str(), at) {
            problems.push(BuildProblem::DuplicateTool {
                agent: agent.to_string(),
                tool: tool.name().to_string(),
                first: first.to_string(),
                second: at.to_string(),
            });
        }
    }
}

fn check_config(definition: &Definition, problems: &mut Vec<BuildProblem>) {
    let config = &definition.config;
    let at = || definition.at.to_string();
    for (value, limit) in
        [(config.max_iterations(), "max_iterations"), (config.max_parallel_tool_calls(), "max_parallel_tool_calls")]
    {
        if value == 0 {
            problems.push(BuildProblem::ZeroLimit { at: at(), limit });
        }
    }
    let is_there = definition.source != DefinitionSource::Stored { version: None };
    if is_there && config.name().trim().is_empty() {
        problems.push(BuildProblem::Blank { at: at(), what: "the agent's name" });
    }
    if config.sections().iter().any(|section| section.name().trim().is_empty() || section.text().trim().is_empty()) {
        problems.push(BuildProblem::Blank { at: at(), what: "a section of the system prompt, or its name," });
    }
}
