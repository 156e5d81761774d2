//! Which families there are, and what they have in common.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Choice, EmbeddingsClient, EmbeddingsConfig, HostedFilesClient, HostedFilesConfig, ImageGenerationClient,
    ImageGenerationConfig, RealtimeClient, RealtimeConfig, SpeechToTextClient, SpeechToTextConfig, TextToSpeechClient,
    TextToSpeechConfig,
};

/// A kind of client that an agent can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ClientFamily {
    /// Its model.
    Chat,
    /// Speech in both directions.
    Realtime,
    /// Speech to text.
    SpeechToText,
    /// Text to speech.
    TextToSpeech,
    /// Pictures.
    ImageGeneration,
    /// Embeddings.
    Embeddings,
    /// Files kept by a provider.
    HostedFiles,
}

impl fmt::Display for ClientFamily {
    /// In words: `text-to-speech`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chat => "chat",
            Self::Realtime => "realtime",
            Self::SpeechToText => "speech-to-text",
            Self::TextToSpeech => "text-to-speech",
            Self::ImageGeneration => "image generation",
            Self::Embeddings => "embeddings",
            Self::HostedFiles => "hosted files",
        })
    }
}

/// A family of clients as a type: [`Embeddings`] and its like, each with its trait and its [stored choice](Choice). A
/// [`Leased<Embeddings>`](super::Leased) is a client for embeddings.
pub trait Family: sealed::Family + Send + Sync + 'static {
    /// The trait that its clients implement: `dyn EmbeddingsClient` and its like.
    type Client: ?Sized + Send + Sync + 'static;
    /// What can be stored about a client of the family.
    type Choice: Choice;
    /// Which family it is.
    const FAMILY: ClientFamily;
}

pub(super) mod sealed {
    /// Families are those of this crate.
    pub trait Family {}
    /// So are their choices.
    pub trait Choice {}
}

/// Gives all families but chat, which has ways of its own, to a macro: what is the same for all of them is written once.
macro_rules! families {
    ($macro:ident) => {
        $macro! {
            realtime: Realtime, RealtimeClient, RealtimeConfig, "conversations by voice",
                with_realtime, set_realtime, with_realtime_client, with_realtime_providers;
            speech_to_text: SpeechToText, SpeechToTextClient, SpeechToTextConfig, "speech to text",
                with_speech_to_text, set_speech_to_text, with_speech_to_text_client, with_speech_to_text_providers;
            text_to_speech: TextToSpeech, TextToSpeechClient, TextToSpeechConfig, "text to speech",
                with_text_to_speech, set_text_to_speech, with_text_to_speech_client, with_text_to_speech_providers;
            image_generation: ImageGeneration, ImageGenerationClient, ImageGenerationConfig, "pictures",
                with_image_generation, set_image_generation, with_image_generation_client,
                with_image_generation_providers;
            embeddings: Embeddings, EmbeddingsClient, EmbeddingsConfig, "embeddings",
                with_embeddings, set_embeddings, with_embeddings_client, with_embeddings_providers;
            hosted_files: HostedFiles, HostedFilesClient, HostedFilesConfig, "files that a provider keeps",
                with_hosted_files, set_hosted_files, with_hosted_files_client, with_hosted_files_providers;
        }
    };
}
pub(crate) use families;

macro_rules! implement {
    ($($field:ident: $family:ident, $client:ident, $config:ident, $words:literal, $($method:ident),*;)*) => {$(
        #[doc = concat!("The family of clients for ", $words, ".")]
        #[derive(Debug, Clone, Copy)]
        pub enum $family {}

        impl sealed::Family for $family {}
        impl sealed::Choice for $config {}
        impl Family for $family {
            type Client = dyn $client;
            type Choice = $config;
            const FAMILY: ClientFamily = ClientFamily::$family;
        }
    )*};
}
families!(implement);
