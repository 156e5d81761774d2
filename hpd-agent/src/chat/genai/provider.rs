use std::{fmt, str::FromStr};

use genai::adapter::AdapterKind;

use crate::chat::SchemaProfile;

/// A provider that [`GenaiChatClient`](super::GenaiChatClient) speaks to. By default its address is the public one.
///
/// | Name | Key | Address | Model for `from_environment` |
/// |---|---|---|---|
/// | `openai` | `OPENAI_API_KEY` | `OPENAI_BASE_URL` | `OPENAI_MODEL` |
/// | `anthropic` | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` | `ANTHROPIC_MODEL` |
/// | `gemini` | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `GOOGLE_GEMINI_BASE_URL` | `GEMINI_MODEL` |
/// | `deepseek` | `DEEPSEEK_API_KEY` | `DEEPSEEK_BASE_URL` | `DEEPSEEK_MODEL` |
/// | `openai-compatible` | `OPENAI_COMPATIBLE_API_KEY`, optional | `OPENAI_COMPATIBLE_BASE_URL` | `OPENAI_COMPATIBLE_MODEL` |
/// | `ollama` | none | `OLLAMA_HOST` (default: `http://localhost:11434`) | `OLLAMA_MODEL` |
///
/// ```
/// # use hpd_agent::chat::genai::GenaiProvider;
/// assert_eq!("anthropic".parse::<GenaiProvider>()?, GenaiProvider::Anthropic);
/// # Ok::<(), hpd_agent::chat::genai::GenaiConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GenaiProvider {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// DeepSeek.
    DeepSeek,
    /// Any server that speaks OpenAI's chat completions, at an address that has to be given.
    OpenAiCompatible,
    /// Ollama, in its own protocol.
    Ollama,
}

impl GenaiProvider {
    /// All of them, in the order in which the environment is searched for keys.
    pub const ALL: [Self; 6] =
        [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::DeepSeek, Self::OpenAiCompatible, Self::Ollama];

    /// The name under which it is registered, for example `openai`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::DeepSeek => "deepseek",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Ollama => "ollama",
        }
    }

    /// The model that is used if none is named. Ollama and servers of one's own have what their owner gave them.
    #[must_use]
    pub const fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5-mini",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Gemini => "gemini-2.5-flash",
            Self::DeepSeek => "deepseek-chat",
            Self::OpenAiCompatible => "default",
            Self::Ollama => "llama3.2",
        }
    }

    /// The environment variable that names the model for
    /// [`from_environment`](super::GenaiChatClient::from_environment).
    #[must_use]
    pub const fn model_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_MODEL",
            Self::Anthropic => "ANTHROPIC_MODEL",
            Self::Gemini => "GEMINI_MODEL",
            Self::DeepSeek => "DEEPSEEK_MODEL",
            Self::OpenAiCompatible => "OPENAI_COMPATIBLE_MODEL",
            Self::Ollama => "OLLAMA_MODEL",
        }
    }

    /// The environment variable that names the address.
    #[must_use]
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Gemini => "GOOGLE_GEMINI_BASE_URL",
            Self::DeepSeek => "DEEPSEEK_BASE_URL",
            Self::OpenAiCompatible => "OPENAI_COMPATIBLE_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// The environment variables that may hold the key; the first one that is set counts.
    #[must_use]
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::DeepSeek => &["DEEPSEEK_API_KEY"],
            Self::OpenAiCompatible => &["OPENAI_COMPATIBLE_API_KEY"],
            Self::Ollama => &[],
        }
    }

    pub(super) const fn needs_key(self) -> bool {
        !matches!(self, Self::OpenAiCompatible | Self::Ollama)
    }

    pub(super) fn api_key(self, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        self.key_variables().iter().find_map(|name| variable(name))
    }

    /// Whether the environment says that this provider is meant.
    pub(super) fn is_configured(self, variable: &dyn Fn(&str) -> Option<String>) -> bool {
        if self.needs_key() { self.api_key(variable).is_some() } else { variable(self.base_url_variable()).is_some() }
    }

    pub(super) const fn adapter(self) -> AdapterKind {
        match self {
            Self::OpenAi | Self::OpenAiCompatible => AdapterKind::OpenAI,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
            Self::DeepSeek => AdapterKind::DeepSeek,
            Self::Ollama => AdapterKind::Ollama,
        }
    }

    pub(super) const fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiCompatible => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::DeepSeek => "https://api.deepseek.com/v1/",
            Self::Ollama => "http://localhost:11434/",
        }
    }

    /// What it takes as a tool's schema. DeepSeek and Ollama have taken over what OpenAI takes without strict mode.
    pub(super) const fn schema_profile(self, strict: bool) -> SchemaProfile {
        match self {
            Self::Anthropic => SchemaProfile::Anthropic,
            Self::Gemini => SchemaProfile::Gemini,
            Self::OpenAi | Self::OpenAiCompatible if strict => SchemaProfile::OpenAiStrict,
            Self::OpenAi | Self::OpenAiCompatible | Self::DeepSeek | Self::Ollama => SchemaProfile::OpenAi,
        }
    }

    /// Whether it knows OpenAI's strict mode for tools.
    pub(super) const fn has_strict_tools(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiCompatible)
    }

    /// Whether it speaks OpenAI's chat completions.
    pub(super) const fn speaks_openai(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiCompatible | Self::DeepSeek)
    }

    /// An address as `genai` needs it: with a scheme, the version of the protocol, and a slash at the end.
    pub(super) fn normalized_url(self, url: &str) -> String {
        let bare = url.trim().trim_end_matches('/');
        let mut url = match self {
            _ if bare.contains("://") => bare.to_owned(),
            Self::Ollama => format!("http://{}", ollama_host(bare)),
            _ => format!("https://{bare}"),
        };
        let version = match self {
            Self::Anthropic if !url.ends_with("/v1") => "/v1/",
            Self::Gemini if !url.ends_with("/v1beta") && !url.ends_with("/v1") => "/v1beta/",
            _ => "/",
        };
        url.push_str(version);
        url
    }
}

/// `OLLAMA_HOST` is also what the server listens to: every interface counts as this machine, and host or port may be
/// missing.
fn ollama_host(text: &str) -> String {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (text, "11434"),
    };
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    format!("{host}:{port}")
}

impl fmt::Display for GenaiProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GenaiProvider {
    type Err = GenaiConfigError;

    fn from_str(name: &str) -> Result<Self, GenaiConfigError> {
        let found = Self::ALL.into_iter().find(|provider| provider.name() == name);
        found.ok_or_else(|| GenaiConfigError::UnknownProvider { name: name.to_owned() })
    }
}

/// Something that a client needs and does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenaiConfigError {
    /// There is no provider of this name.
    #[error("`{name}` is no provider: expected openai, anthropic, gemini, deepseek, openai-compatible or ollama")]
    UnknownProvider {
        /// The name.
        name: String,
    },
    /// The provider wants a key.
    #[error("provider `{provider}` needs an API key: set {variable} or use `with_api_key`")]
    NoApiKey {
        /// The provider.
        provider: GenaiProvider,
        /// The environment variable that would give it.
        variable: &'static str,
    },
    /// Strict tools were asked of a provider that has none.
    #[error(
        "provider `{provider}` has no strict mode for tools: leave `with_strict_tools` to openai and openai-compatible"
    )]
    NoStrictTools {
        /// The provider.
        provider: GenaiProvider,
    },
    /// There is no address.
    #[error("provider `openai-compatible` needs an address: set {variable} or use `with_base_url`")]
    NoBaseUrl {
        /// The environment variable that would give it.
        variable: &'static str,
    },
}

impl GenaiConfigError {
    /// The stable code, for example `no_api_key`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::NoApiKey { .. } => "no_api_key",
            Self::NoStrictTools { .. } => "no_strict_tools",
            Self::NoBaseUrl { .. } => "no_base_url",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for provider in GenaiProvider::ALL {
            assert_eq!(provider.to_string().parse(), Ok(provider));
        }
        assert!("openia".parse::<GenaiProvider>().is_err());
    }

    #[test]
    fn addresses_get_scheme_version_and_slash() {
        let url = |provider: GenaiProvider, url| provider.normalized_url(url);
        assert_eq!(url(GenaiProvider::Anthropic, "http://h:1/anthropic"), "http://h:1/anthropic/v1/");
        assert_eq!(url(GenaiProvider::Anthropic, "https://h/v1/"), "https://h/v1/");
        assert_eq!(url(GenaiProvider::Gemini, "http://h"), "http://h/v1beta/");
        assert_eq!(url(GenaiProvider::Gemini, "http://h/v1beta"), "http://h/v1beta/");
        assert_eq!(url(GenaiProvider::OpenAiCompatible, "http://h/v1"), "http://h/v1/");
        assert_eq!(url(GenaiProvider::OpenAi, "gateway.example/v1"), "https://gateway.example/v1/");
        assert_eq!(url(GenaiProvider::Ollama, "http://gpu:80/"), "http://gpu:80/");
        assert_eq!(url(GenaiProvider::Ollama, "gpu"), "http://gpu:11434/");
        for every in ["127.0.0.1:11434", "0.0.0.0", ":11434", "[::]:11434"] {
            assert_eq!(url(GenaiProvider::Ollama, every), "http://127.0.0.1:11434/");
        }
    }
}
