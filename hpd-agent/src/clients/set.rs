//! What is there once for each family: choices, providers, clients.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::family::{Embeddings, HostedFiles, ImageGeneration, Realtime, SpeechToText, TextToSpeech};
use super::{
    Choice, ClientFamily, EmbeddingsClient, EmbeddingsConfig, Family, HostedFilesClient, HostedFilesConfig,
    ImageGenerationClient, ImageGenerationConfig, Leased, ProviderError, ProviderRegistry, RealtimeClient,
    RealtimeConfig, SpeechToTextClient, SpeechToTextConfig, TextToSpeechClient, TextToSpeechConfig, families,
};

macro_rules! sets {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal, $($method:ident),*;)*) => {
        /// What an agent or a run says of its clients.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
        pub(crate) struct ClientChoices {
            $(#[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) $field: Option<$config>,)*
        }

        impl ClientChoices {
            /// These with what `other` says put over them.
            pub(crate) fn overlaid_with(&self, other: &Self) -> Self {
                Self { $($field: overlaid(self.$field.as_ref(), other.$field.as_ref()),)* }
            }
        }

        /// The clients of the providers that choices name.
        #[derive(Clone, Default)]
        pub(crate) struct MadeClients {
            $(pub(crate) $field: Option<Arc<dyn $client>>,)*
        }

        impl fmt::Debug for MadeClients {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set()$(.entries(self.$field.as_ref().map(|_| ClientFamily::$family)))*.finish()
            }
        }

        /// By whom such clients are made.
        #[derive(Debug, Clone, Default)]
        pub(crate) struct ClientProviders {
            $(pub(crate) $field: ProviderRegistry<$family>,)*
        }

        impl ClientProviders {
            /// Makes a client for each choice that names a provider. What cannot be made is told, and left out.
            pub(crate) fn make(&self, choices: &ClientChoices, mut failed: impl FnMut(ProviderError)) -> MadeClients {
                MadeClients { $($field: made(&self.$field, choices.$field.as_ref(), &mut failed),)* }
            }
        }

        /// The clients that an agent has in a run, with what holds for them.
        #[derive(Debug, Clone, Default)]
        pub(crate) struct ClientSet {
            $(pub(crate) $field: Option<Leased<$family>>,)*
        }

        impl ClientSet {
            pub(crate) fn is_empty(&self) -> bool {
                true $(&& self.$field.is_none())*
            }

            /// The families of which there is one.
            pub(crate) fn families(&self) -> impl Iterator<Item = ClientFamily> {
                let found = [$(self.$field.as_ref().map(|_| ClientFamily::$family)),*];
                found.into_iter().flatten()
            }
        }
    };
}
families!(sets);

fn overlaid<C: Choice>(under: Option<&C>, over: Option<&C>) -> Option<C> {
    match (under, over) {
        (Some(under), Some(over)) => Some(under.overlaid_with(over)),
        (one, other) => other.or(one).cloned(),
    }
}

fn made<F: Family>(
    providers: &ProviderRegistry<F>,
    choice: Option<&F::Choice>,
    failed: &mut impl FnMut(ProviderError),
) -> Option<Arc<F::Client>> {
    let choice = choice.filter(|choice| choice.provider().is_some())?;
    providers.client(choice).map_err(failed).ok()
}
