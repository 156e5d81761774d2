//! Conversations by voice: a session is events in both directions.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{ClientError, Leased, Realtime, RealtimeConfig};
use crate::future::BoxFuture;

/// Opens conversations by voice, with some provider.
///
/// ```
/// use futures_util::{StreamExt, stream};
/// use hpd_agent::{clients::*, future::BoxFuture};
///
/// /// Says "Hello." and then nothing, whatever it hears.
/// struct Doorman;
///
/// impl RealtimeClient for Doorman {
///     fn provider(&self) -> &str {
///         "doorman"
///     }
///     fn open(&self, _: RealtimeRequest) -> BoxFuture<'_, Result<RealtimeSession, ClientError>> {
///         let said = [RealtimeEvent::Text("Hello.".into()), RealtimeEvent::TurnEnded];
///         Box::pin(async { Ok(RealtimeSession::new(Deaf, stream::iter(said.map(Ok)))) })
///     }
/// }
///
/// struct Deaf;
///
/// impl RealtimeSink for Deaf {
///     fn send(&self, _: RealtimeInput) -> BoxFuture<'_, Result<(), ClientError>> {
///         Box::pin(async { Ok(()) })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let mut session = Doorman.open(RealtimeRequest::new("Be kind.", RealtimeConfig::default())).await?;
/// session.send(RealtimeInput::Text("Good evening.".into())).await?;
/// assert_eq!(session.next().await, Some(Ok(RealtimeEvent::Text("Hello.".into()))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RealtimeClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Opens a session.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn open(&self, request: RealtimeRequest) -> BoxFuture<'_, Result<RealtimeSession, ClientError>>;
}

/// A shared client is a client.
impl<C: RealtimeClient + ?Sized> RealtimeClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn open(&self, request: RealtimeRequest) -> BoxFuture<'_, Result<RealtimeSession, ClientError>> {
        (**self).open(request)
    }
}

/// A session to open.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RealtimeRequest {
    /// What the voice is told about its task; may be empty.
    pub instructions: Arc<str>,
    /// Model, voice and options.
    pub config: Arc<RealtimeConfig>,
}

impl RealtimeRequest {
    /// A session with these instructions.
    #[must_use]
    pub fn new(instructions: impl Into<Arc<str>>, config: impl Into<Arc<RealtimeConfig>>) -> Self {
        Self { instructions: instructions.into(), config: config.into() }
    }
}

/// What is said to the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RealtimeInput {
    /// More sound, in the form that the session takes.
    Audio(Arc<[u8]>),
    /// Something written.
    Text(Arc<str>),
    /// The speaker has finished: it is for the provider to answer.
    EndOfTurn,
    /// The answer is not wanted any more.
    Interrupt,
}

/// What the provider says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RealtimeEvent {
    /// More sound of the answer.
    Audio(Arc<[u8]>),
    /// More text of the answer.
    Text(Arc<str>),
    /// What the speaker was understood to say.
    Heard(Arc<str>),
    /// The speaker has begun to speak: what is being played should stop.
    SpeechStarted,
    /// The answer is complete.
    TurnEnded,
}

/// The way to the provider, implemented with a [`RealtimeClient`].
pub trait RealtimeSink: Send + Sync + 'static {
    /// Says something.
    ///
    /// # Errors
    ///
    /// [`ClientError`], of kind [`Closed`](super::ClientErrorKind::Closed) if the session is over.
    fn send(&self, input: RealtimeInput) -> BoxFuture<'_, Result<(), ClientError>>;
}

/// An open session: events come as from any stream, which ends with the session; what is said goes by
/// [`send`](Self::send), or from another task by a [`sender`](Self::sender). Dropping all of it closes the session.
pub struct RealtimeSession {
    sink: Arc<dyn RealtimeSink>,
    events: Pin<Box<dyn Stream<Item = Result<RealtimeEvent, ClientError>> + Send>>,
    /// The client lives at least as long as its session.
    client: Option<Arc<dyn RealtimeClient>>,
}

impl RealtimeSession {
    /// A session of both directions.
    #[must_use]
    pub fn new(
        sink: impl RealtimeSink,
        events: impl Stream<Item = Result<RealtimeEvent, ClientError>> + Send + 'static,
    ) -> Self {
        Self { sink: Arc::new(sink), events: Box::pin(events), client: None }
    }

    /// Says something.
    ///
    /// # Errors
    ///
    /// [`ClientError`], of kind [`Closed`](super::ClientErrorKind::Closed) if the session is over.
    pub fn send(&self, input: RealtimeInput) -> BoxFuture<'_, Result<(), ClientError>> {
        self.sink.send(input)
    }

    /// The way to the provider, for another task.
    #[must_use]
    pub fn sender(&self) -> Arc<dyn RealtimeSink> {
        Arc::clone(&self.sink)
    }
}

impl fmt::Debug for RealtimeSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provider = self.client.as_ref().map(|client| client.provider());
        f.debug_struct("RealtimeSession").field("provider", &provider).finish_non_exhaustive()
    }
}

impl Stream for RealtimeSession {
    type Item = Result<RealtimeEvent, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(cx)
    }
}

impl Leased<Realtime> {
    /// Opens a session, which keeps the client for as long as it is open.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn open(&self, instructions: impl Into<Arc<str>>) -> BoxFuture<'_, Result<RealtimeSession, ClientError>> {
        let request = RealtimeRequest::new(instructions, self.shared_config());
        Box::pin(async move {
            let session = self.client().open(request).await?;
            Ok(RealtimeSession { client: Some(Arc::clone(self.shared_client())), ..session })
        })
    }
}
