//! The clients of agents beside their models: what names a provider is made a client by `build()`, and each execution
//! finds its clients among those that there are.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    BuildProblem, RunError,
    blueprint::{Blueprint, SubAgentTool, Tool, ToolKind},
    inner::AgentInner,
    lane::Lane,
    place::Place,
};
use crate::{
    chat::ChatProviderRegistry,
    clients::{ClientChoices, ClientProviders, ClientSet, MadeClients},
    declare::{AgentRunConfig, ClientInheritance, ClientPolicies},
    id::AgentId,
    subagent::{Said, clients},
};

/// By whom the clients of stored choices are made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Providers {
    pub(super) chat: ChatProviderRegistry,
    pub(super) others: ClientProviders,
}

/// What all runs of an agent find their clients with.
pub(crate) struct OtherClients {
    /// Those that the application gave to the root.
    pub(super) given: Option<Arc<ClientSet>>,
    /// For providers that a run names.
    pub(super) providers: ClientProviders,
}

impl Providers {
    /// The clients of the providers that are named in what is said of an agent.
    pub(super) fn make(
        &self,
        choices: Option<&ClientChoices>,
        agent: &AgentId,
        at: &Place,
        problems: &mut Vec<BuildProblem>,
    ) -> MadeClients {
        let Some(choices) = choices else { return MadeClients::default() };
        self.others.make(choices, |source| {
            problems.push(BuildProblem::ClientProvider { at: at.to_string(), agent: agent.to_string(), source });
        })
    }

    /// Those of the providers that a declaration names, once for all agents that have the tool.
    pub(super) fn make_declared(&self, tool: &Tool, at: &Place, problems: &mut Vec<BuildProblem>) {
        if let ToolKind::SubAgent(child) = &tool.kind
            && let choices @ Some(_) = child.rest().run_config.overrides().clients()
        {
            child.clients.get_or_init(|| Box::new(self.make(choices, &child.identity.agent_id, at, problems)));
        }
    }
}

impl Blueprint {
    fn says(&self) -> Option<Said<'_>> {
        Some(Said { choices: self.config.clients()?, made: &self.clients })
    }
}

impl SubAgentTool {
    fn says(&self) -> Option<Said<'_>> {
        Some(Said { choices: self.rest().run_config.overrides().clients()?, made: self.clients.get()? })
    }
}

/// What is said in two places, the second over the first.
fn both<'a>(first: Option<Said<'a>>, second: Option<Said<'a>>) -> SmallVec<[Said<'a>; 2]> {
    first.into_iter().chain(second).collect()
}

impl AgentInner {
    /// The clients of the agent that a caller runs. A child that is continued has those of the root, as far as its
    /// declaration says so; of several declarations it is the first.
    pub(super) fn clients(
        &self,
        root: &Blueprint,
        agent: &Blueprint,
        run: Option<&AgentRunConfig>,
    ) -> Result<Option<Arc<ClientSet>>, RunError> {
        let OtherClients { given, providers } = &self.clients;
        let choices = run.and_then(AgentRunConfig::clients);
        let mut failed = None;
        let made = choices.map(|choices| providers.make(choices, |source| failed = Some(source))).unwrap_or_default();
        if let Some(source) = failed {
            return Err(RunError::ClientProvider { agent: agent.config.name().to_owned(), source });
        }
        let said = both(agent.says(), choices.map(|choices| Said { choices, made: &made }));
        let all = ClientPolicies::all(ClientInheritance::InheritResolved);
        if std::ptr::eq(root, agent) {
            return Ok(clients(given.as_ref(), &all, &said));
        }
        let of_root = clients(given.as_ref(), &all, &both(root.says(), None));
        let tools = self.blueprints().iter().flat_map(|blueprint| blueprint.tools.iter());
        let declared = tools.filter_map(|tool| match &tool.kind {
            ToolKind::SubAgent(child) => (child.identity.agent_id == agent.agent_id).then(|| child.rest()),
            ToolKind::Function(_) => None,
        });
        let policies = declared.map(|rest| *rest.run_config.clients()).next().unwrap_or_default();
        Ok(clients(of_root.as_ref(), &policies, &said))
    }
}

impl Lane {
    /// The clients of a child of this agent.
    pub(super) fn clients_of_child(&self, tool: &SubAgentTool, child: &Blueprint) -> Option<Arc<ClientSet>> {
        clients(self.clients.as_ref(), tool.rest().run_config.clients(), &both(child.says(), tool.says()))
    }
}
