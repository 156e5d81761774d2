//! Speech to text, and text to speech.

use std::sync::Arc;

use super::{ClientError, Leased, Media, SpeechToText, SpeechToTextConfig, TextToSpeech, TextToSpeechConfig};
use crate::future::BoxFuture;

/// Writes down what is said, by some provider.
///
/// ```
/// # use hpd_agent::{clients::*, future::BoxFuture};
/// /// Hears the same whatever is said.
/// struct Stubborn;
///
/// impl SpeechToTextClient for Stubborn {
///     fn provider(&self) -> &str {
///         "stubborn"
///     }
///     fn transcribe(&self, _: TranscriptionRequest) -> BoxFuture<'_, Result<Transcription, ClientError>> {
///         Box::pin(async { Ok(Transcription::new("Yes.")) })
///     }
/// }
/// ```
pub trait SpeechToTextClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Writes down what is said in a recording.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn transcribe(&self, request: TranscriptionRequest) -> BoxFuture<'_, Result<Transcription, ClientError>>;
}

/// A shared client is a client.
impl<C: SpeechToTextClient + ?Sized> SpeechToTextClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn transcribe(&self, request: TranscriptionRequest) -> BoxFuture<'_, Result<Transcription, ClientError>> {
        (**self).transcribe(request)
    }
}

/// A recording to write down.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TranscriptionRequest {
    /// The recording.
    pub audio: Media,
    /// Model and options.
    pub config: Arc<SpeechToTextConfig>,
}

impl TranscriptionRequest {
    /// A request for this recording.
    #[must_use]
    pub fn new(audio: Media, config: impl Into<Arc<SpeechToTextConfig>>) -> Self {
        Self { audio, config: config.into() }
    }
}

/// What is said in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transcription {
    /// The text.
    pub text: Arc<str>,
    /// Its language, if the provider says it.
    pub language: Option<Arc<str>>,
}

impl Transcription {
    /// This text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), language: None }
    }

    /// The same with its language, for example `de`.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<Arc<str>>) -> Self {
        self.language = Some(language.into());
        self
    }
}

impl Leased<SpeechToText> {
    /// Writes down what is said in a recording.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn transcribe(&self, audio: Media) -> BoxFuture<'_, Result<Transcription, ClientError>> {
        self.client().transcribe(TranscriptionRequest::new(audio, self.shared_config()))
    }
}

/// Says a text, by some provider.
///
/// ```
/// # use hpd_agent::{clients::*, future::BoxFuture};
/// /// Says nothing, in any number of words.
/// struct Mute;
///
/// impl TextToSpeechClient for Mute {
///     fn provider(&self) -> &str {
///         "mute"
///     }
///     fn speak(&self, request: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
///         let silence = vec![0; request.text.len()];
///         Box::pin(async { Ok(Media::new(silence, "audio/l8")) })
///     }
/// }
/// ```
pub trait TextToSpeechClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Says a text.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn speak(&self, request: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>>;
}

/// A shared client is a client.
impl<C: TextToSpeechClient + ?Sized> TextToSpeechClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn speak(&self, request: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
        (**self).speak(request)
    }
}

/// A text to say.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpeechRequest {
    /// The text.
    pub text: Arc<str>,
    /// Model, voice and options.
    pub config: Arc<TextToSpeechConfig>,
}

impl SpeechRequest {
    /// A request for this text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, config: impl Into<Arc<TextToSpeechConfig>>) -> Self {
        Self { text: text.into(), config: config.into() }
    }
}

impl Leased<TextToSpeech> {
    /// Says a text.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn speak(&self, text: impl Into<Arc<str>>) -> BoxFuture<'_, Result<Media, ClientError>> {
        self.client().speak(SpeechRequest::new(text, self.shared_config()))
    }
}
