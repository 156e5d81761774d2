use std::{fmt, sync::Arc, time::Duration};

/// A model that could not be asked, or whose answer did not arrive whole.
///
/// The text names the provider and the model, says what happened and what to do.
///
/// ```
/// # use hpd_agent::chat::{ChatError, ChatErrorKind, ClientInfo};
/// let info = ClientInfo::new("openai", "gpt-x");
/// let error = ChatError::new(&info, ChatErrorKind::Authentication, "401 Unauthorized");
/// assert!(error.to_string().contains("openai") && error.to_string().contains("API key"));
/// assert!(!error.is_retryable());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatError {
    provider: Arc<str>,
    model: Arc<str>,
    kind: ChatErrorKind,
    message: Arc<str>,
    status: Option<u16>,
    retry_after: Option<Duration>,
}

/// What went wrong with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChatErrorKind {
    /// The provider wants fewer requests (429).
    RateLimited,
    /// The provider failed (5xx, overloaded).
    Server,
    /// No connection, or it broke before the answer began.
    Connection,
    /// The answer broke off in the middle, or ended without saying that it was complete.
    Interrupted,
    /// The provider does not accept the credentials.
    Authentication,
    /// The provider does not know the model.
    UnknownModel,
    /// The request does not fit into the model's window.
    ContextTooLong,
    /// The provider refused the request.
    InvalidRequest,
    /// The answer could not be understood.
    Protocol,
    /// Something else.
    Other,
}

impl ChatErrorKind {
    /// The stable code, for example `rate_limited`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Server => "server_error",
            Self::Connection => "connection_failed",
            Self::Interrupted => "stream_interrupted",
            Self::Authentication => "authentication_failed",
            Self::UnknownModel => "unknown_model",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::Protocol => "protocol_error",
            Self::Other => "chat_error",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::RateLimited => "wait, or raise the limit of the account",
            Self::Server => "the provider has a problem: try again later or use another model",
            Self::Connection => "check that the address is right and the server is up",
            Self::Interrupted => "the answer is incomplete and was not used: run again",
            Self::Authentication => "check the API key of this provider",
            Self::UnknownModel => "check the name of the model",
            Self::ContextTooLong => "shorten the conversation or use a model with a larger window",
            Self::InvalidRequest => "the provider's text says what it does not accept",
            Self::Protocol => "check that the address speaks this provider's protocol",
            Self::Other => "see the provider's text",
        }
    }
}

impl ChatError {
    /// An error of the client that `info` describes; `message` is what the provider said.
    #[must_use]
    pub fn new(info: &super::ClientInfo, kind: ChatErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            provider: info.provider().into(),
            model: info.model().into(),
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }

    /// The same for another model than the client's own.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = model.into();
        self
    }

    /// The same with the HTTP status of the answer.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with the time that the provider asks to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ChatErrorKind {
        self.kind
    }

    /// The stable code, for example `rate_limited`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model's name.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What the provider said.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The HTTP status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// How long the provider asks to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether the same request may succeed when it is made again: rate limits, failures of the server and of the
    /// connection before the answer began.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ChatErrorKind::RateLimited | ChatErrorKind::Server | ChatErrorKind::Connection)
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, model, kind, message, .. } = self;
        write!(f, "provider `{provider}`, model `{model}`: {message} ({})", kind.advice())
    }
}

impl std::error::Error for ChatError {}
