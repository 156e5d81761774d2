use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{Choice, ClientFamily, Family};
use crate::error::BoxError;

type Made<F> = Result<Arc<<F as Family>::Client>, BoxError>;
type Factory<F> = Arc<dyn Fn(&<F as Family>::Choice) -> Made<F> + Send + Sync>;

/// Makes the clients of one family of stored choices.
///
/// ```
/// # use std::sync::Arc;
/// # use hpd_agent::{clients::*, future::BoxFuture};
/// # struct Mute;
/// # impl TextToSpeechClient for Mute {
/// #     fn provider(&self) -> &str {
/// #         "mute"
/// #     }
/// #     fn speak(&self, _: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
/// #         Box::pin(async { Ok(Media::new(vec![], "audio/wav")) })
/// #     }
/// # }
/// let mut providers = ProviderRegistry::<TextToSpeech>::new();
/// providers.register("mute", |_| Ok(Arc::new(Mute)));
///
/// assert_eq!(providers.client(&TextToSpeechConfig::new("mute"))?.provider(), "mute");
/// let error = providers.client(&TextToSpeechConfig::new("loud")).err().unwrap();
/// assert_eq!(error.code(), "unknown_provider");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProviderRegistry<F: Family> {
    factories: BTreeMap<Arc<str>, Factory<F>>,
}

impl<F: Family> Default for ProviderRegistry<F> {
    fn default() -> Self {
        Self { factories: BTreeMap::new() }
    }
}

impl<F: Family> Clone for ProviderRegistry<F> {
    fn clone(&self) -> Self {
        Self { factories: self.factories.clone() }
    }
}

impl<F: Family> ProviderRegistry<F> {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers how clients of `provider` are made; replaces what was registered under the name. The factory is given
    /// the choice that names the provider; what else was chosen comes with each request. It may fail with any error,
    /// which becomes an error of `build()`, or of the run that names the provider.
    pub fn register<M>(&mut self, provider: impl Into<Arc<str>>, factory: M) -> &mut Self
    where
        M: Fn(&F::Choice) -> Result<Arc<F::Client>, BoxError> + Send + Sync + 'static,
    {
        self.factories.insert(provider.into(), Arc::new(factory));
        self
    }

    /// The names that are registered, sorted.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(|name| &**name)
    }

    /// Makes the client that `choice` describes.
    ///
    /// # Errors
    ///
    /// [`ProviderError`] if no provider is named, the name is not registered, or the factory fails.
    pub fn client(&self, choice: &F::Choice) -> Result<Arc<F::Client>, ProviderError> {
        let family = F::FAMILY;
        let provider = choice.provider().ok_or(ProviderError::NoProvider { family })?;
        let factory = self.factories.get(provider).ok_or_else(|| ProviderError::Unknown {
            family,
            provider: Arc::clone(provider),
            known: self.providers().map(str::to_owned).collect(),
        })?;
        factory(choice).map_err(|source| ProviderError::Factory { family, provider: Arc::clone(provider), source })
    }
}

impl<F: Family> fmt::Debug for ProviderRegistry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}

/// A stored choice for which there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The choice names no provider.
    #[error("the {family} configuration names no provider: set `provider` to a registered name")]
    NoProvider {
        /// Which kind of client it is about.
        family: ClientFamily,
    },
    /// Nobody registered a provider of this name.
    #[error(
        "{family} provider `{provider}` is not registered (registered: {}): add it with `ProviderRegistry::register`",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    Unknown {
        /// Which kind of client it is about.
        family: ClientFamily,
        /// The name.
        provider: Arc<str>,
        /// The names that are registered.
        known: Vec<String>,
    },
    /// The factory failed.
    #[error("{family} provider `{provider}` could not make a client: {source}")]
    Factory {
        /// Which kind of client it is about.
        family: ClientFamily,
        /// The name.
        provider: Arc<str>,
        /// Why.
        source: BoxError,
    },
}

impl ProviderError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoProvider { .. } => "no_provider",
            Self::Unknown { .. } => "unknown_provider",
            Self::Factory { .. } => "provider_failed",
        }
    }
}
