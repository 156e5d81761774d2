//! Clients beside the model: embeddings, speech, pictures, files, and conversations by voice.
//!
//! Each [`ClientFamily`] but chat has a trait here, which you implement for a provider; none is built in. An agent is
//! given a client by its builder, or names a provider in its configuration, which is looked up in the
//! [`ProviderRegistry`] of the family. A function asks its context for the client and gets it [`Leased`], with what was
//! chosen for this run. What a child has of its parent's is said by
//! [`SubAgentRunConfig::with_clients`](crate::declare::SubAgentRunConfig::with_clients).
//!
//! ```
//! use hpd_agent::{clients::*, error::BoxError, future::BoxFuture, prelude::*};
//! # use hpd_agent::testing::{Reply, ScriptedChatClient};
//!
//! /// Knows of a text how long it is.
//! struct Lengths;
//!
//! impl EmbeddingsClient for Lengths {
//!     fn provider(&self) -> &str {
//!         "lengths"
//!     }
//!     fn embed(&self, request: EmbeddingsRequest) -> BoxFuture<'_, Result<EmbeddingsAnswer, ClientError>> {
//!         let vectors = request.texts.iter().map(|text| vec![text.len() as f32]).collect();
//!         Box::pin(async { Ok(EmbeddingsAnswer::new(vectors)) })
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Notes;
//!
//! #[tool_harness]
//! impl Notes {
//!     /// Says what the vector of a text is.
//!     #[ai_function]
//!     async fn vector(&self, text: String, context: &FunctionContext) -> Result<Vec<f32>, BoxError> {
//!         let embeddings = context.embeddings().ok_or("There are no embeddings here.")?;
//!         Ok(embeddings.embed([text]).await?.into_iter().flatten().collect())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! # let model = ScriptedChatClient::replies([
//! #     Reply::tool_call("vector", serde_json::json!({"text": "four"})),
//! #     Reply::text("It is [4.0]."),
//! # ]);
//! let agent = Agent::builder()
//!     .with_chat_client(model)
//!     .with_embeddings_client(Lengths)
//!     .with_tool_harness::<Notes>()
//!     .build()
//!     .await?;
//! assert_eq!(agent.run("Embed `four`.").await?.text(), "It is [4.0].");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod embeddings;
mod error;
mod family;
mod files;
mod images;
mod lease;
mod realtime;
mod registry;
mod set;
mod speech;

use std::{fmt, sync::Arc};

pub use self::{
    choice::{
        Choice, EmbeddingsConfig, HostedFilesConfig, ImageGenerationConfig, RealtimeConfig, SpeechToTextConfig,
        TextToSpeechConfig,
    },
    embeddings::{EmbeddingsAnswer, EmbeddingsClient, EmbeddingsRequest},
    error::{ClientError, ClientErrorKind},
    family::{ClientFamily, Embeddings, Family, HostedFiles, ImageGeneration, Realtime, SpeechToText, TextToSpeech},
    files::{FileRequest, FileUpload, HostedFile, HostedFilesClient},
    images::{ImageGenerationClient, ImageRequest},
    lease::Leased,
    realtime::{RealtimeClient, RealtimeEvent, RealtimeInput, RealtimeRequest, RealtimeSession, RealtimeSink},
    registry::{ProviderError, ProviderRegistry},
    speech::{SpeechRequest, SpeechToTextClient, TextToSpeechClient, Transcription, TranscriptionRequest},
};
pub(crate) use self::{
    family::families,
    set::{ClientChoices, ClientProviders, ClientSet, MadeClients},
};

/// Bytes of a media type: sound, a picture, a file. Cheap to clone.
///
/// ```
/// # use hpd_agent::clients::Media;
/// let sound = Media::new(vec![0, 1, 2], "audio/wav");
/// assert_eq!((sound.bytes().len(), sound.media_type()), (3, "audio/wav"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Media {
    bytes: Arc<[u8]>,
    media_type: Arc<str>,
}

impl Media {
    /// Bytes and what they are, for example `audio/wav`.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>, media_type: impl Into<Arc<str>>) -> Self {
        Self { bytes: bytes.into(), media_type: media_type.into() }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What they are.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({} bytes of {})", self.bytes.len(), self.media_type)
    }
}
