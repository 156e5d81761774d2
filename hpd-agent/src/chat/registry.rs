use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{ChatClient, ChatConfig};
use crate::error::BoxError;

type Factory = Arc<dyn Fn(&ChatConfig) -> Result<Arc<dyn ChatClient>, BoxError> + Send + Sync>;

/// Makes clients of stored configurations: provider, model, options.
///
/// ```
/// # use std::sync::Arc;
/// # use hpd_agent::{chat::*, testing::ScriptedChatClient};
/// let mut providers = ChatProviderRegistry::new();
/// providers.register("offline", |config| {
///     let model = config.options.model.as_deref().unwrap_or("default");
///     Ok(Arc::new(ScriptedChatClient::texts([model])) as Arc<dyn ChatClient>)
/// });
/// assert!(providers.client(&ChatConfig::new("offline", "m")).is_ok());
/// let error = providers.client(&ChatConfig::new("ofline", "m")).err().map(|e| e.to_string());
/// assert!(error.is_some_and(|text| text.contains("`ofline`") && text.contains("offline")));
/// ```
#[derive(Clone, Default)]
pub struct ChatProviderRegistry {
    factories: BTreeMap<Arc<str>, Factory>,
}

impl ChatProviderRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers how clients of `provider` are made; replaces what was registered under the name. The factory may
    /// fail with any error, which becomes an error of `build()`.
    pub fn register<F>(&mut self, provider: impl Into<Arc<str>>, factory: F) -> &mut Self
    where
        F: Fn(&ChatConfig) -> Result<Arc<dyn ChatClient>, BoxError> + Send + Sync + 'static,
    {
        self.factories.insert(provider.into(), Arc::new(factory));
        self
    }

    /// The names that are registered, sorted.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(|name| &**name)
    }

    /// Makes the client that `config` describes.
    ///
    /// # Errors
    ///
    /// [`ChatProviderError`] if no provider is named, the name is not registered, or the factory fails.
    pub fn client(&self, config: &ChatConfig) -> Result<Arc<dyn ChatClient>, ChatProviderError> {
        let provider = config.provider.as_ref().ok_or(ChatProviderError::NoProvider)?;
        let factory = self.factories.get(provider).ok_or_else(|| ChatProviderError::Unknown {
            provider: Arc::clone(provider),
            known: self.providers().map(str::to_owned).collect(),
        })?;
        factory(config).map_err(|source| ChatProviderError::Factory { provider: Arc::clone(provider), source })
    }
}

impl fmt::Debug for ChatProviderRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}

/// A stored configuration for which there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatProviderError {
    /// The configuration names no provider.
    #[error("the chat configuration names no provider: set `provider` to a registered name")]
    NoProvider,
    /// Nobody registered a provider of this name.
    #[error(
        "chat provider `{provider}` is not registered (registered: {}): add it with `ChatProviderRegistry::register`",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    Unknown {
        /// The name.
        provider: Arc<str>,
        /// The names that are registered.
        known: Vec<String>,
    },
    /// The factory failed.
    #[error("chat provider `{provider}` could not make a client: {source}")]
    Factory {
        /// The name.
        provider: Arc<str>,
        /// Why.
        source: BoxError,
    },
}

impl ChatProviderError {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoProvider => "no_provider",
            Self::Unknown { .. } => "unknown_provider",
            Self::Factory { .. } => "provider_failed",
        }
    }
}
