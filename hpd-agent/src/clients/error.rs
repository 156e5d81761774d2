use std::{fmt, sync::Arc, time::Duration};

use super::ClientFamily;

/// A provider that could not do what it was asked for.
///
/// The text names the family and the provider, says what happened and what to do.
///
/// ```
/// # use hpd_agent::clients::{ClientError, ClientErrorKind, ClientFamily};
/// let error = ClientError::new(ClientFamily::Embeddings, "mine", ClientErrorKind::RateLimited, "429");
/// assert_eq!(error.code(), "rate_limited");
/// assert!(error.is_retryable());
/// assert!(error.to_string().contains("`mine`"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientError {
    family: ClientFamily,
    provider: Arc<str>,
    kind: ClientErrorKind,
    message: Arc<str>,
    retry_after: Option<Duration>,
}

/// What went wrong with a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The provider wants fewer requests (429).
    RateLimited,
    /// The provider failed (5xx, overloaded).
    Server,
    /// No connection, or it broke.
    Connection,
    /// The provider does not accept the credentials.
    Authentication,
    /// The provider does not know the model.
    UnknownModel,
    /// The provider does not have the file.
    NotFound,
    /// The provider refused the request, or the client cannot do what it asks for.
    InvalidRequest,
    /// The answer could not be understood.
    Protocol,
    /// The session is over.
    Closed,
    /// Something else.
    Other,
}

impl ClientErrorKind {
    /// The stable code, for example `rate_limited`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Server => "server_error",
            Self::Connection => "connection_failed",
            Self::Authentication => "authentication_failed",
            Self::UnknownModel => "unknown_model",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::Protocol => "protocol_error",
            Self::Closed => "session_closed",
            Self::Other => "client_error",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::RateLimited => "wait, or raise the limit of the account",
            Self::Server => "the provider has a problem: try again later or use another one",
            Self::Connection => "check that the address is right and the server is up",
            Self::Authentication => "check the API key of this provider",
            Self::UnknownModel => "check the name of the model",
            Self::NotFound => "check the id, or upload the file again",
            Self::InvalidRequest => "the text says what is not accepted",
            Self::Protocol => "check that the address speaks this provider's protocol",
            Self::Closed => "open a new session",
            Self::Other => "see the provider's text",
        }
    }
}

impl ClientError {
    /// An error of a client of `provider`; `message` is what the provider said.
    #[must_use]
    pub fn new(
        family: ClientFamily,
        provider: impl Into<Arc<str>>,
        kind: ClientErrorKind,
        message: impl Into<Arc<str>>,
    ) -> Self {
        Self { family, provider: provider.into(), kind, message: message.into(), retry_after: None }
    }

    /// The same with the time that the provider asks to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Which kind of client it was.
    #[must_use]
    pub fn family(&self) -> ClientFamily {
        self.family
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ClientErrorKind {
        self.kind
    }

    /// The stable code, for example `rate_limited`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What the provider said.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How long the provider asks to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether the same request may succeed when it is made again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ClientErrorKind::RateLimited | ClientErrorKind::Server | ClientErrorKind::Connection)
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, provider, kind, message, .. } = self;
        write!(f, "{family} provider `{provider}`: {message} ({})", kind.advice())
    }
}

impl std::error::Error for ClientError {}
