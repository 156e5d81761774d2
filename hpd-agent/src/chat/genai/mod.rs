//! The providers that the `genai` crate speaks to.

mod errors;
mod provider;
mod stream;
mod wire;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::StreamExt;
use genai::{
    ModelIden, ServiceTarget, WebConfig,
    chat::ChatStreamEvent,
    resolver::{AuthData, Endpoint, ProviderConfig},
};

pub use self::provider::{GenaiConfigError, GenaiProvider};
use self::{
    errors::{ErrorMapper, Phase},
    stream::Converter,
};
use super::{
    BoxFuture, ChatClient, ChatConfig, ChatError, ChatErrorKind, ChatProviderRegistry, ChatRequest, ChatStream,
    ClientInfo, ModelInfo, RetryPolicy, retry::with_retries,
};
use crate::error::BoxError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A client for OpenAI, Anthropic, Gemini, Ollama, DeepSeek, or any server that speaks OpenAI's protocol.
///
/// Key and address come from the environment ([`GenaiProvider`] lists the variables) unless they are given. A missing
/// key is an error of the first request, not of the construction. A request that fails before its answer begins is made
/// again ([`RetryPolicy`]); not so one whose answer breaks off later.
///
/// What is special about it:
///
/// - The future of [`stream`](ChatClient::stream) resolves with the first piece of the answer, because the provider's
///   refusal is only known then.
/// - Signatures of reasoning are marked with the provider's name and are sent back to that provider only, so that a
///   conversation may go on with another one.
/// - Tool calls keep the provider's id on the wire unless it occurred before in the same request or is not accepted
///   everywhere; then [`CallId`](crate::id::CallId)'s text takes its place. Arguments that are no JSON object are sent
///   as an empty one, and characters that no provider accepts in a tool's name as `_`.
/// - [`ChatOptions::effort`](super::ChatOptions::effort) is one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`,
///   `max`, or (for Anthropic and Gemini) a number of tokens; OpenAI's protocol takes any word. Gemini's and Anthropic's
///   thoughts are asked for only with it.
/// - The schemas of tools are sent in the form that the provider takes
///   ([`SchemaProfile`](super::SchemaProfile)). A tool that it does not take
///   is refused by `build()`, and by a request that was made without it.
/// - Ollama knows no tool choice: `Required` counts as `Auto`, a single tool is the only one that is offered, and
///   [`ChatOptions::extra`](super::ChatOptions::extra) is refused.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use hpd_agent::chat::{ChatClient, Retrying, RetryPolicy, genai::*};
/// let claude = GenaiChatClient::new(GenaiProvider::Anthropic, "claude-sonnet-4-5");
/// let local = GenaiChatClient::new(GenaiProvider::OpenAiCompatible, "qwen")
///     .with_base_url("http://127.0.0.1:8080/v1");
/// let client: Arc<dyn ChatClient> = Arc::new(Retrying::new(Arc::new(claude), RetryPolicy::default()));
/// ```
#[derive(Clone)]
pub struct GenaiChatClient {
    info: ClientInfo,
    provider: GenaiProvider,
    strict_tools: bool,
    api_key: Option<Arc<str>>,
    base_url: Option<Arc<str>>,
    idle_timeout: Duration,
    retry: RetryPolicy,
    connection: Arc<OnceLock<Result<genai::Client, String>>>,
}

impl GenaiChatClient {
    /// A client of `provider` for `model`, with key and address from the environment.
    #[must_use]
    pub fn new(provider: GenaiProvider, model: impl Into<Arc<str>>) -> Self {
        Self::from_variables(provider, model, &environment)
    }

    /// A client of the first provider for which the environment has a key (in the order of
    /// [`GenaiProvider::ALL`]; for a server of your own its address counts as the key). The model is that of the
    /// variable [`GenaiProvider::model_variable`], or [`GenaiProvider::default_model`]. `None`: there is no key.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::first_of(&environment)
    }

    fn first_of(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let provider = GenaiProvider::ALL.into_iter().find(|provider| provider.is_configured(variable))?;
        let model = variable(provider.model_variable()).unwrap_or_else(|| provider.default_model().to_owned());
        Some(Self::from_variables(provider, model, variable))
    }

    fn from_variables(
        provider: GenaiProvider,
        model: impl Into<Arc<str>>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let base_url = variable(provider.base_url_variable()).map(|url| provider.normalized_url(&url).into());
        Self {
            info: ClientInfo::new(provider.name(), model).with_schema_profile(provider.schema_profile(false)),
            provider,
            strict_tools: false,
            api_key: provider.api_key(variable).map(Into::into),
            base_url,
            idle_timeout: IDLE_TIMEOUT,
            retry: RetryPolicy::default(),
            connection: Arc::default(),
        }
    }

    /// The same with another policy for requests that fail before the answer begins. Default:
    /// [`RetryPolicy::default`].
    #[must_use]
    pub fn with_retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The same with this key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The same at this address. The version that a provider has in its paths (`/v1`, `/v1beta`) is added for
    /// Anthropic and Gemini if it is not there; for OpenAI's protocol it is part of the address.
    #[must_use]
    pub fn with_base_url(mut self, url: &str) -> Self {
        self.base_url = Some(self.provider.normalized_url(url).into());
        self
    }

    /// The same, but a request fails when the provider says nothing for this long, before or within an answer.
    /// Default: 5 minutes, which leaves models time to think. Connecting has 30 s of its own.
    #[must_use]
    pub fn with_idle_timeout(mut self, time: Duration) -> Self {
        self.idle_timeout = time;
        self
    }

    /// The same with OpenAI's strict mode for all tools: the provider makes every call fit the tool's schema. It takes
    /// fewer schemas ([`SchemaProfile::OpenAiStrict`](super::SchemaProfile::OpenAiStrict)) and wants every argument;
    /// those that may be left out are `null` then, which counts as left out. For [`GenaiProvider::OpenAi`], and for a
    /// server that knows the mode as [`GenaiProvider::OpenAiCompatible`]; with another provider,
    /// [`check_configuration`](Self::check_configuration) and every request fail. Default: off.
    #[must_use]
    pub fn with_strict_tools(mut self) -> Self {
        self.strict_tools = true;
        self.info = self.info.with_schema_profile(self.provider.schema_profile(true));
        self
    }

    /// The same with the number of tokens that fit into a request and its answer.
    #[must_use]
    pub fn with_context_window(mut self, tokens: u32) -> Self {
        self.info = self.info.with_context_window(tokens);
        self
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> GenaiProvider {
        self.provider
    }

    /// Whether key and address are known, as far as the provider needs them, and whether it has what was asked of it.
    ///
    /// # Errors
    ///
    /// [`GenaiConfigError`] names the variable to set, or what the provider does not have.
    pub fn check_configuration(&self) -> Result<(), GenaiConfigError> {
        if self.strict_tools && !self.provider.has_strict_tools() {
            return Err(GenaiConfigError::NoStrictTools { provider: self.provider });
        }
        if self.provider == GenaiProvider::OpenAiCompatible && self.base_url.is_none() {
            return Err(GenaiConfigError::NoBaseUrl { variable: self.provider.base_url_variable() });
        }
        match self.provider.key_variables() {
            [variable, ..] if self.provider.needs_key() && self.api_key.is_none() => {
                Err(GenaiConfigError::NoApiKey { provider: self.provider, variable })
            }
            _ => Ok(()),
        }
    }

    fn connection(&self) -> Result<&genai::Client, ChatError> {
        let made = self.connection.get_or_init(|| {
            let config = WebConfig::default().with_connect_timeout(CONNECT_TIMEOUT);
            genai::Client::builder().with_web_config(config).build().map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|text| ChatError::new(&self.info, ChatErrorKind::Other, text.as_str()))
    }

    fn target(&self, model: &str) -> Result<ServiceTarget, ChatError> {
        self.check_configuration().map_err(|error| {
            let kind = match error {
                GenaiConfigError::NoApiKey { .. } => ChatErrorKind::Authentication,
                _ => ChatErrorKind::InvalidRequest,
            };
            ChatError::new(&self.info, kind, error.to_string())
        })?;
        let model = ModelIden::new(self.provider.adapter(), model.to_owned());
        Ok(ServiceTarget { endpoint: self.endpoint(), auth: self.auth(), model })
    }

    fn endpoint(&self) -> Endpoint {
        match &self.base_url {
            Some(url) => Endpoint::from_owned(Arc::clone(url)),
            None => Endpoint::from_static(self.provider.default_url()),
        }
    }

    fn auth(&self) -> AuthData {
        // A server of one's own usually ignores the key, but the protocol wants one.
        AuthData::from_single(self.api_key.as_deref().unwrap_or("none"))
    }

    async fn start(&self, request: ChatRequest) -> Result<ChatStream, ChatError> {
        let model = request.options.model.clone().unwrap_or_else(|| self.info.model().into());
        let errors = ErrorMapper::new(&self.info, &model);
        let target = self.target(&model)?;
        let profile = self.provider.schema_profile(self.strict_tools);
        let (chat, mut options) = wire::request(self.provider, profile, &request, &model)
            .map_err(|text| errors.error(ChatErrorKind::InvalidRequest, text))?;
        options = options.with_stream_header_timeout(self.idle_timeout).with_stream_read_timeout(self.idle_timeout);
        let connection = self.connection()?;
        // Building a large request takes a moment; what it was built of is not needed any longer.
        drop(request);
        let started = connection.exec_chat_stream(target, chat, Some(&options)).await;
        let mut events = started.map_err(|error| errors.map(error, Phase::Before))?.stream;

        // The first event but `Start` tells whether the provider accepted the request.
        let first = loop {
            match events.next().await {
                Some(Ok(ChatStreamEvent::Start)) => {}
                Some(Ok(event)) => break Some(event),
                Some(Err(error)) => return Err(errors.map(error, Phase::Before)),
                None => break None,
            }
        };
        let mut converter = Converter::new(self.provider);
        let first = first.map(|event| converter.event(event)).unwrap_or_default();
        let rest = events.flat_map(move |event| {
            let deltas = match event {
                Ok(event) => converter.event(event),
                Err(error) => vec![Err(errors.map(error, Phase::During))],
            };
            futures_util::stream::iter(deltas)
        });
        let stream = futures_util::stream::iter(first).chain(rest);
        // The check names the model that was asked, which need not be the client's own.
        Ok(ChatStream::new(stream).checked(&ClientInfo::new(self.info.provider(), model)))
    }
}

impl ChatClient for GenaiChatClient {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        Box::pin(with_retries(&self.retry, &self.info, request, |request| self.start(request)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        Box::pin(async {
            let config = ProviderConfig::from((self.endpoint(), self.auth()));
            let names = self.connection()?.all_model_names(self.provider.adapter(), config).await;
            let errors = ErrorMapper::new(&self.info, self.info.model());
            let names = names.map_err(|error| errors.map(error, Phase::Before))?;
            Ok(names.into_iter().map(ModelInfo::new).collect())
        })
    }
}

/// Never shows the key.
impl fmt::Debug for GenaiChatClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiChatClient")
            .field("provider", &self.provider)
            .field("model", &self.info.model())
            .field("base_url", &self.base_url)
            .field("has_api_key", &self.api_key.is_some())
            .finish_non_exhaustive()
    }
}

/// Registers all providers of [`GenaiProvider`] under their names. Making a client of a configuration fails if no key
/// (or address) for it is in the environment then. Without a model the provider's default is used.
///
/// ```
/// # use hpd_agent::chat::{ChatProviderRegistry, genai::register_genai};
/// let mut providers = ChatProviderRegistry::new();
/// register_genai(&mut providers);
/// let names: Vec<_> = providers.providers().collect();
/// assert_eq!(names, ["anthropic", "deepseek", "gemini", "ollama", "openai", "openai-compatible"]);
/// ```
pub fn register_genai(registry: &mut ChatProviderRegistry) {
    for provider in GenaiProvider::ALL {
        registry.register(provider.name(), move |config: &ChatConfig| {
            let model = config.options.model.clone().unwrap_or_else(|| provider.default_model().into());
            let client = GenaiChatClient::new(provider, model);
            client.check_configuration().map_err(BoxError::from)?;
            Ok(Arc::new(client) as Arc<dyn ChatClient>)
        });
    }
}

fn environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::SchemaProfile;

    fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn the_first_provider_with_a_key_is_taken() {
        let client = GenaiChatClient::first_of(&variables(&[("GEMINI_API_KEY", "g"), ("ANTHROPIC_API_KEY", "a")]));
        assert_eq!(client.unwrap().provider(), GenaiProvider::Anthropic);
        let pairs = [("OLLAMA_HOST", "127.0.0.1:11434"), ("OLLAMA_MODEL", "qwen3")];
        let client = GenaiChatClient::first_of(&variables(&pairs)).unwrap();
        assert_eq!((client.provider(), client.info().model()), (GenaiProvider::Ollama, "qwen3"));
        assert_eq!(client.base_url.as_deref(), Some("http://127.0.0.1:11434/"));
        assert!(GenaiChatClient::first_of(&variables(&[])).is_none());
    }

    #[test]
    fn what_is_missing_is_named() {
        let client = |provider| GenaiChatClient::from_variables(provider, "m", &variables(&[]));
        let error = client(GenaiProvider::OpenAi).check_configuration().unwrap_err();
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
        let error = client(GenaiProvider::OpenAiCompatible).check_configuration().unwrap_err();
        assert!(error.to_string().contains("OPENAI_COMPATIBLE_BASE_URL"), "{error}");
        assert!(client(GenaiProvider::Ollama).check_configuration().is_ok());
        let complete = client(GenaiProvider::OpenAiCompatible).with_base_url("http://127.0.0.1:1/v1");
        assert!(complete.check_configuration().is_ok());
    }

    #[test]
    fn strict_tools_are_openais() {
        for provider in GenaiProvider::ALL {
            let client = GenaiChatClient::from_variables(provider, "m", &variables(&[])).with_api_key("k");
            let client = client.with_base_url("http://127.0.0.1:1");
            assert_ne!(client.info().schema_profile(), Some(SchemaProfile::OpenAiStrict));
            let strict = client.with_strict_tools().check_configuration();
            match provider {
                GenaiProvider::OpenAi | GenaiProvider::OpenAiCompatible => assert!(strict.is_ok()),
                _ => assert_eq!(strict.unwrap_err().code(), "no_strict_tools"),
            }
        }
    }

    #[tokio::test]
    async fn a_missing_key_is_an_error_of_the_request() {
        let client = GenaiChatClient::from_variables(GenaiProvider::OpenAi, "m", &variables(&[]));
        let error = client.stream(ChatRequest::new(crate::history::History::new())).await.unwrap_err();
        assert_eq!(error.kind(), ChatErrorKind::Authentication);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_a_connection_error() {
        let client = GenaiChatClient::from_variables(GenaiProvider::OpenAiCompatible, "m", &variables(&[]));
        // Port 1 of the loop-back interface: nobody listens there.
        let client = client.with_base_url("http://127.0.0.1:1/v1");
        let history = crate::history::History::from_iter([Arc::new(crate::message::Message::user("hi"))]);
        let error = client.stream(ChatRequest::new(history)).await.unwrap_err();
        assert_eq!(error.kind(), ChatErrorKind::Connection, "{error}");
        assert!(error.is_retryable());
    }

    #[test]
    fn debug_shows_no_key() {
        let client = GenaiChatClient::new(GenaiProvider::OpenAi, "m").with_api_key("sk-secret");
        assert!(!format!("{client:?}").contains("secret"));
    }
}
