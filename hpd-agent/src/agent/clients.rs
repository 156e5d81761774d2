//! The clients of agents beside their models: a builder is given them or names their providers, `build()` makes those, and
//! each execution finds its clients among them.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    BuildProblem, RunError,
    blueprint::{Blueprint, SubAgentTool, Tool, ToolKind},
    builder::AgentBuilder,
    inner::AgentInner,
    lane::Lane,
    place::Place,
};
use crate::{
    chat::ChatProviderRegistry,
    clients::{
        ClientChoices, ClientProviders, ClientSet, Embeddings, EmbeddingsClient, EmbeddingsConfig, HostedFiles,
        HostedFilesClient, HostedFilesConfig, ImageGeneration, ImageGenerationClient, ImageGenerationConfig, Leased,
        MadeClients, ProviderRegistry, Realtime, RealtimeClient, RealtimeConfig, SpeechToText, SpeechToTextClient,
        SpeechToTextConfig, TextToSpeech, TextToSpeechClient, TextToSpeechConfig, families,
    },
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

impl Providers {
    /// The clients of the providers that are named in what is said of an agent.
    pub(super) fn make(
        &self,
        choices: &ClientChoices,
        agent: &AgentId,
        at: &Place,
        problems: &mut Vec<BuildProblem>,
    ) -> Box<MadeClients> {
        Box::new(self.others.make(choices, |source| {
            problems.push(BuildProblem::ClientProvider { at: at.to_string(), agent: agent.to_string(), source });
        }))
    }

    /// Those of the providers that a declaration names, once for all agents that have the tool.
    pub(super) fn make_declared(&self, tool: &Tool, at: &Place, problems: &mut Vec<BuildProblem>) {
        if let ToolKind::SubAgent(child) = &tool.kind
            && let Some(choices) = child.rest().run_config.overrides().clients()
        {
            child.clients.get_or_init(|| self.make(choices, &child.identity.agent_id, at, problems));
        }
    }
}

impl Blueprint {
    fn says(&self) -> Option<Said<'_>> {
        Some(Said { choices: self.config.clients()?, made: self.clients.as_deref()? })
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
    /// The clients of the agent that a caller runs. A child that is continued has those of the root, as far as it was
    /// `declared` so. `given`: those that an agent brings that was leased.
    pub(super) fn clients(
        &self,
        (root, agent): (&Blueprint, &Blueprint),
        given: Option<&ClientSet>,
        declared: Option<&SubAgentTool>,
        run: Option<&AgentRunConfig>,
    ) -> Result<Option<Arc<ClientSet>>, RunError> {
        let made;
        let of_run = match run.and_then(AgentRunConfig::clients) {
            None => None,
            Some(choices) => {
                let mut failed = None;
                made = self.resolver.recipe.providers.others.make(choices, |source| failed = Some(source));
                if let Some(source) = failed {
                    return Err(RunError::ClientProvider { agent: agent.config.name().to_owned(), source });
                }
                Some(Said { choices, made: &made })
            }
        };
        let of_root = |said: &[Said<'_>]| {
            let all = ClientPolicies::all(ClientInheritance::InheritResolved);
            clients(self.clients.as_ref(), None, &all, said)
        };
        if std::ptr::eq(root, agent) {
            return Ok(of_root(&both(root.says(), of_run)));
        }
        let policies = declared.map_or_else(ClientPolicies::default, |tool| *tool.rest().run_config.clients());
        Ok(clients(of_root(&both(root.says(), None)).as_ref(), given, &policies, &both(agent.says(), of_run)))
    }
}

impl Lane {
    /// The clients of a child of this agent. `given`: those that it brings if it was leased.
    pub(super) fn clients_of_child(
        &self,
        tool: &SubAgentTool,
        child: &Blueprint,
        given: Option<&ClientSet>,
    ) -> Option<Arc<ClientSet>> {
        let policies = tool.rest().run_config.clients();
        clients(self.clients.as_ref(), given, policies, &both(child.says(), tool.says()))
    }
}

macro_rules! setters {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal,
        $with:ident, $set:ident, $with_client:ident, $with_providers:ident;)*) => {
        /// [Clients](crate::clients) beside the model.
        impl AgentBuilder {
            $(#[doc = concat!("The agent's client for ", $words, ", and that of its children as far as they inherit it.")]
            pub fn $with_client(mut self, client: impl $client) -> Self {
                let client: Arc<dyn $client> = Arc::new(client);
                self.clients.$field = Some(Leased::new(client, Arc::default()));
                self
            }

            #[doc = concat!("The client for ", $words, " as a stored choice: provider, model, options.")]
            pub fn $with(self, choice: $config) -> Self {
                self.edit(|config| config.$with(choice))
            }

            #[doc = concat!("The providers by which stored choices of a client for ", $words, " find their clients.")]
            pub fn $with_providers(mut self, providers: ProviderRegistry<$family>) -> Self {
                self.providers.others.$field = providers;
                self
            }
            )*
        }
    };
}
families!(setters);
