//! The clients beside its model that an agent has in a run: one rule for all families.

use std::sync::Arc;

use super::inherit::takes_over;
use crate::{
    clients::{Choice, ClientChoices, ClientFamily, ClientSet, Family, Leased, MadeClients, families},
    declare::ClientPolicies,
};

/// What is said of clients in one place, with the clients of the providers that are named there.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) choices: &'a ClientChoices,
    pub(crate) made: &'a MadeClients,
}

/// The clients of an agent. `above`: those of its parent, or those that the application gave to the root. `said`: by its
/// configuration, then by its run. `given`: those that it brings itself, which win over what is above. `None`: it has none;
/// nothing is allocated for an agent that has those of its parent.
pub(crate) fn clients(
    above: Option<&Arc<ClientSet>>,
    given: Option<&ClientSet>,
    policies: &ClientPolicies,
    said: &[Said<'_>],
) -> Option<Arc<ClientSet>> {
    if said.is_empty() && given.is_none() && above.is_none_or(|above| takes_over_all(above, policies)) {
        return above.cloned();
    }
    let set = resolved(above.map(|above| &**above), given, policies, said);
    (!set.is_empty()).then(|| Arc::new(set))
}

macro_rules! resolve {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal, $($method:ident),*;)*) => {
        /// Whether a child that says nothing has all that its parent has.
        fn takes_over_all(above: &ClientSet, policies: &ClientPolicies) -> bool {
            true $(&& (above.$field.is_none() || takes_over(policies.of(ClientFamily::$family), false)))*
        }

        fn resolved(
            above: Option<&ClientSet>,
            given: Option<&ClientSet>,
            policies: &ClientPolicies,
            said: &[Said<'_>],
        ) -> ClientSet {
            ClientSet {
                $($field: {
                    let said = said.iter().filter_map(|said| Some((said.choices.$field.as_ref()?, &said.made.$field)));
                    let takes_over = takes_over(policies.of(ClientFamily::$family), said.clone().next().is_some());
                    let above = above.and_then(|above| above.$field.as_ref()).filter(|_| takes_over);
                    client(given.and_then(|given| given.$field.as_ref()).or(above), said)
                },)*
            }
        }
    };
}
families!(resolve);

/// A client of one family: what is taken over, and over it what is said, each with the client that is made for it.
fn client<'a, F: Family>(
    taken_over: Option<&Leased<F>>,
    said: impl Iterator<Item = (&'a F::Choice, &'a Option<Arc<F::Client>>)>,
) -> Option<Leased<F>> {
    let mut client = taken_over.map(|taken| taken.shared_client());
    let mut choice = taken_over.map(|taken| taken.shared_config());
    for (says, made) in said {
        client = made.as_ref().or(client);
        choice = Some(choice.map_or_else(|| Arc::new(says.clone()), |choice| Arc::new(choice.overlaid_with(says))));
    }
    Some(Leased::new(Arc::clone(client?), choice.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clients::{ClientError, HostedFilesConfig, Media, SpeechRequest, TextToSpeechClient, TextToSpeechConfig},
        declare::ClientInheritance,
        future::BoxFuture,
    };

    struct Mute;

    impl TextToSpeechClient for Mute {
        fn provider(&self) -> &str {
            "mute"
        }
        fn speak(&self, _: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
            Box::pin(async { Ok(Media::new(vec![], "audio/wav")) })
        }
    }

    #[test]
    fn a_child_that_says_nothing_shares_what_its_parent_has() {
        let client: Arc<dyn TextToSpeechClient> = Arc::new(Mute);
        let voice = Arc::new(TextToSpeechConfig::default().with_voice("v"));
        let above = ClientSet { text_to_speech: Some(Leased::new(client, voice)), ..ClientSet::default() };
        let above = Some(Arc::new(above));
        // That images are its own matters only where there are some.
        let policies = ClientPolicies::default();
        let shared = clients(above.as_ref(), None, &policies, &[]);
        assert!(shared.zip(above.clone()).is_some_and(|(shared, above)| Arc::ptr_eq(&shared, &above)));

        let (choices, made) = (ClientChoices::default(), MadeClients::default());
        let says_of_files = ClientChoices { hosted_files: Some(HostedFilesConfig::default()), ..choices };
        let says_of_files = Said { choices: &says_of_files, made: &made };
        let set = clients(above.as_ref(), None, &policies, &[says_of_files]).unwrap();
        let speech = set.text_to_speech.as_ref().unwrap();
        assert!(std::ptr::eq(speech.config(), above.as_ref().unwrap().text_to_speech.as_ref().unwrap().config()));
        assert!(set.hosted_files.is_none());

        let own = ClientPolicies::all(ClientInheritance::UseOwn);
        assert!(clients(above.as_ref(), None, &own, &[]).is_none());
        assert!(clients(None, None, &policies, &[says_of_files]).is_none());

        // What an agent brings it has, whatever it takes over.
        let client: Arc<dyn TextToSpeechClient> = Arc::new(Mute);
        let brought = Leased::new(Arc::clone(&client), Arc::default());
        let brought = ClientSet { text_to_speech: Some(brought), ..ClientSet::default() };
        for policies in [policies, own] {
            let set = clients(above.as_ref(), Some(&brought), &policies, &[]).unwrap();
            assert!(Arc::ptr_eq(set.text_to_speech.as_ref().unwrap().shared_client(), &client));
        }
    }
}
