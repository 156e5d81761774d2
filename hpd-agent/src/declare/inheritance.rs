//! What a child takes over of its parent's run.

use serde::{Deserialize, Serialize};

use super::AgentRunConfigPatch;
use crate::clients::ClientFamily;

/// A group of run settings that a child takes over or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RunConfigGroup {
    /// Whether calls are asked about, and which tools need permission. Taken over by default.
    Permissions,
    /// How many tool calls run at a time. Taken over by default.
    Execution,
    /// Automatic compaction. Taken over by default.
    Compaction,
    /// The values that functions find in their context. Taken over by default.
    Context,
    /// Instructions given for the run. Not taken over by default.
    Instructions,
    /// The filter of tools given for the run; what it denies holds for children even if this is not taken over. Not
    /// taken over by default.
    Tools,
    /// The form of the answer. Not taken over by default.
    Output,
}

impl RunConfigGroup {
    pub(crate) const ALL: [Self; 7] = [
        Self::Permissions,
        Self::Execution,
        Self::Compaction,
        Self::Context,
        Self::Instructions,
        Self::Tools,
        Self::Output,
    ];
    pub(crate) const DEFAULT: [Self; 4] = [Self::Permissions, Self::Execution, Self::Compaction, Self::Context];
}

/// Whose client of a family a child has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ClientInheritance {
    /// The parent's client and options, as they hold in the parent's run, with what the child says put over them. If the
    /// child names a provider, that one's client.
    InheritResolved,
    /// The child's own, or none.
    UseOwn,
    /// The child's own, and the parent's if the child says nothing of this family.
    FallbackToParent,
}

/// What holds for each family of clients.
///
/// ```
/// # use hpd_agent::declare::{ClientFamily, ClientInheritance, ClientPolicies};
/// let clients = ClientPolicies::default().with(ClientFamily::Embeddings, ClientInheritance::InheritResolved);
/// assert_eq!(clients.of(ClientFamily::Chat), ClientInheritance::InheritResolved);
/// assert_eq!(clients.of(ClientFamily::ImageGeneration), ClientInheritance::UseOwn);
/// assert_eq!(clients.of(ClientFamily::HostedFiles), ClientInheritance::FallbackToParent);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientPolicies {
    chat: ClientInheritance,
    realtime: ClientInheritance,
    speech_to_text: ClientInheritance,
    text_to_speech: ClientInheritance,
    image_generation: ClientInheritance,
    embeddings: ClientInheritance,
    hosted_files: ClientInheritance,
}

impl Default for ClientPolicies {
    /// Chat and speech are inherited; images and embeddings are the child's own; files are the parent's unless the child
    /// says something of them.
    fn default() -> Self {
        Self {
            image_generation: ClientInheritance::UseOwn,
            embeddings: ClientInheritance::UseOwn,
            hosted_files: ClientInheritance::FallbackToParent,
            ..Self::all(ClientInheritance::InheritResolved)
        }
    }
}

impl ClientPolicies {
    /// The same for every family.
    #[must_use]
    pub const fn all(how: ClientInheritance) -> Self {
        Self {
            chat: how,
            realtime: how,
            speech_to_text: how,
            text_to_speech: how,
            image_generation: how,
            embeddings: how,
            hosted_files: how,
        }
    }

    /// The same with another rule for a family.
    #[must_use]
    pub const fn with(mut self, family: ClientFamily, how: ClientInheritance) -> Self {
        match family {
            ClientFamily::Chat => self.chat = how,
            ClientFamily::Realtime => self.realtime = how,
            ClientFamily::SpeechToText => self.speech_to_text = how,
            ClientFamily::TextToSpeech => self.text_to_speech = how,
            ClientFamily::ImageGeneration => self.image_generation = how,
            ClientFamily::Embeddings => self.embeddings = how,
            ClientFamily::HostedFiles => self.hosted_files = how,
        }
        self
    }

    /// The rule for a family.
    #[must_use]
    pub const fn of(&self, family: ClientFamily) -> ClientInheritance {
        match family {
            ClientFamily::Chat => self.chat,
            ClientFamily::Realtime => self.realtime,
            ClientFamily::SpeechToText => self.speech_to_text,
            ClientFamily::TextToSpeech => self.text_to_speech,
            ClientFamily::ImageGeneration => self.image_generation,
            ClientFamily::Embeddings => self.embeddings,
            ClientFamily::HostedFiles => self.hosted_files,
        }
    }
}

/// What a child takes over of its parent's run. Each method gives a new value; the order of the calls counts.
///
/// A child is given copies: nothing that it or its parent changes later reaches the other.
///
/// ```
/// # use hpd_agent::declare::{RunConfigGroup, SubAgentRunConfig};
/// let run = SubAgentRunConfig::inherit()
///     .include(RunConfigGroup::Instructions)
///     .exclude(RunConfigGroup::Compaction)
///     .override_with(|run| run.set_temperature(0.1));
/// assert!(run.inherits(RunConfigGroup::Instructions));
/// assert!(!run.inherits(RunConfigGroup::Compaction));
/// assert!(!SubAgentRunConfig::isolated().inherits(RunConfigGroup::Permissions));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentRunConfig {
    groups: Vec<RunConfigGroup>,
    clients: ClientPolicies,
    #[serde(default, skip_serializing_if = "AgentRunConfigPatch::is_empty")]
    overrides: AgentRunConfigPatch,
}

impl Default for SubAgentRunConfig {
    fn default() -> Self {
        Self::inherit()
    }
}

impl SubAgentRunConfig {
    /// The default groups, and clients by the [default rules](ClientPolicies::default).
    #[must_use]
    pub fn inherit() -> Self {
        Self::inherit_only(RunConfigGroup::DEFAULT)
    }

    /// Exactly these groups, and clients by the default rules: even with no groups the parent's model is inherited.
    #[must_use]
    pub fn inherit_only(groups: impl IntoIterator<Item = RunConfigGroup>) -> Self {
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        Self { groups, clients: ClientPolicies::default(), overrides: AgentRunConfigPatch::default() }
    }

    /// All groups, and clients by the default rules.
    #[must_use]
    pub fn inherit_all() -> Self {
        Self::inherit_only(RunConfigGroup::ALL)
    }

    /// Nothing of the parent's run, not even its model: the child has to name a provider of its own. Denials and limits of
    /// the ancestors hold all the same.
    #[must_use]
    pub fn isolated() -> Self {
        Self { clients: ClientPolicies::all(ClientInheritance::UseOwn), ..Self::inherit_only([]) }
    }

    /// One more group.
    #[must_use]
    pub fn include(mut self, group: RunConfigGroup) -> Self {
        if let Err(at) = self.groups.binary_search(&group) {
            self.groups.insert(at, group);
        }
        self
    }

    /// One group less.
    #[must_use]
    pub fn exclude(mut self, group: RunConfigGroup) -> Self {
        self.groups.retain(|included| *included != group);
        self
    }

    /// Settings that win over what is inherited. Runs now, in the order of the calls; what it sets is data from then
    /// on.
    #[must_use]
    pub fn override_with(mut self, edit: impl FnOnce(&mut AgentRunConfigPatch)) -> Self {
        edit(&mut self.overrides);
        self
    }

    /// Other rules for clients than the default.
    #[must_use]
    pub fn with_clients(mut self, clients: ClientPolicies) -> Self {
        self.clients = clients;
        self
    }

    /// Whether a group is taken over.
    #[must_use]
    pub fn inherits(&self, group: RunConfigGroup) -> bool {
        self.groups.contains(&group)
    }

    /// The groups that are taken over, in order.
    #[must_use]
    pub fn groups(&self) -> &[RunConfigGroup] {
        &self.groups
    }

    /// The rules for clients.
    #[must_use]
    pub fn clients(&self) -> &ClientPolicies {
        &self.clients
    }

    /// What wins over what is inherited.
    #[must_use]
    pub fn overrides(&self) -> &AgentRunConfigPatch {
        &self.overrides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_a_set_and_selections_are_values() {
        let default = SubAgentRunConfig::inherit();
        let run = default.clone().include(RunConfigGroup::Context).include(RunConfigGroup::Output);
        assert_eq!(run.groups().len(), 5);
        assert_eq!(default.groups(), RunConfigGroup::DEFAULT);
        assert_eq!(run.clone().exclude(RunConfigGroup::Output), default);
        assert_eq!(run.groups().len(), 5);
        assert_eq!(SubAgentRunConfig::inherit_all().groups(), RunConfigGroup::ALL);
        assert_eq!(SubAgentRunConfig::default(), SubAgentRunConfig::inherit());
    }

    #[test]
    fn no_groups_are_not_isolation() {
        let none = SubAgentRunConfig::inherit_only([]);
        assert_eq!(*none.clients(), ClientPolicies::default());
        let isolated = SubAgentRunConfig::isolated();
        assert!(isolated.groups().is_empty());
        assert_eq!(isolated.clients().of(ClientFamily::Chat), ClientInheritance::UseOwn);
    }

    #[test]
    fn overrides_are_data_and_round_trip() {
        let run = SubAgentRunConfig::inherit()
            .with_clients(ClientPolicies::default().with(ClientFamily::Chat, ClientInheritance::FallbackToParent))
            .override_with(|run| {
                run.set_temperature(0.1);
                run.set_model("m");
            })
            .override_with(|run| run.set_temperature(0.2));
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<SubAgentRunConfig>(&json).unwrap(), run);
        assert!(json.contains("0.2") && !json.contains("0.1"), "{json}");
    }
}
