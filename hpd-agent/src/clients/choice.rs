//! What can be stored about a client: provider, model, options.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::family::sealed;

/// A stored choice of a client: provider, model, options; of each no more than was said.
pub trait Choice: sealed::Choice + fmt::Debug + Clone + Default + PartialEq + Send + Sync + 'static {
    /// The registered name of the provider; `None`: a client that the agent has from elsewhere.
    fn provider(&self) -> Option<&Arc<str>>;

    /// This choice with what `other` says put over it: what is said there wins, what is not said there stays. If `other`
    /// names another provider, nothing stays, since models and options are a provider's own.
    ///
    /// ```
    /// # use hpd_agent::clients::{Choice, TextToSpeechConfig};
    /// let choice = TextToSpeechConfig::new("loud").with_model("large").with_voice("bright");
    /// let faster = choice.overlaid_with(&TextToSpeechConfig::default().with_speed(1.5));
    /// assert_eq!(faster, choice.with_speed(1.5));
    /// let other = TextToSpeechConfig::new("quiet");
    /// assert_eq!(faster.overlaid_with(&other), other);
    /// ```
    #[must_use]
    fn overlaid_with(&self, other: &Self) -> Self;
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$option:meta])* $with:ident $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            /// The registered name of the provider. `None`: the client that was given to the agent, or its parent's.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub provider: Option<Arc<str>>,
            $($(#[$option])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
            /// Options that only this provider knows.
            #[serde(skip_serializing_if = "Map::is_empty")]
            pub extra: Map<String, Value>,
        }

        impl $name {
            /// The client that is registered as `provider`. `default()` names none and leaves the client as it is.
            #[must_use]
            pub fn new(provider: impl Into<Arc<str>>) -> Self {
                Self { provider: Some(provider.into()), ..Self::default() }
            }

            $($(#[$option])*
            #[must_use]
            pub fn $with(mut self, $field: impl Into<$type>) -> Self {
                self.$field = Some($field.into());
                self
            })*

            /// An option that only this provider knows.
            #[must_use]
            pub fn with_extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
                self.extra.insert(name.into(), value.into());
                self
            }
        }

        impl Choice for $name {
            fn provider(&self) -> Option<&Arc<str>> {
                self.provider.as_ref()
            }

            fn overlaid_with(&self, other: &Self) -> Self {
                if other.provider.is_some() && other.provider != self.provider {
                    return other.clone();
                }
                let mut extra = self.extra.clone();
                extra.extend(other.extra.clone());
                Self {
                    provider: self.provider.clone(),
                    $($field: other.$field.clone().or_else(|| self.$field.clone()),)*
                    extra,
                }
            }
        }
    )*};
}

choices! {
    /// A stored choice of a client for conversations by voice.
    ///
    /// ```
    /// # use hpd_agent::clients::RealtimeConfig;
    /// let choice = RealtimeConfig::new("mine").with_model("live").with_voice("bright");
    /// assert_eq!(choice.voice.as_deref(), Some("bright"));
    /// ```
    RealtimeConfig {
        /// The model.
        with_model model: Arc<str>,
        /// The voice that answers, in the provider's words.
        with_voice voice: Arc<str>,
    }

    /// A stored choice of a client for speech to text.
    ///
    /// ```
    /// # use hpd_agent::clients::SpeechToTextConfig;
    /// let choice = SpeechToTextConfig::default().with_language("de");
    /// assert_eq!(choice.provider, None);
    /// ```
    SpeechToTextConfig {
        /// The model.
        with_model model: Arc<str>,
        /// The language that is spoken, for example `de`.
        with_language language: Arc<str>,
    }

    /// A stored choice of a client for text to speech.
    ///
    /// ```
    /// # use hpd_agent::clients::TextToSpeechConfig;
    /// let choice = TextToSpeechConfig::new("mine").with_voice("bright").with_speed(1.5);
    /// assert_eq!(serde_json::to_string(&choice)?, r#"{"provider":"mine","voice":"bright","speed":1.5}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    TextToSpeechConfig {
        /// The model.
        with_model model: Arc<str>,
        /// The voice, in the provider's words.
        with_voice voice: Arc<str>,
        /// How fast it speaks; 1 is its usual speed.
        with_speed speed: f64,
        /// What the sound shall be, as a media type: `audio/wav`.
        with_media_type media_type: Arc<str>,
    }

    /// A stored choice of a client for pictures.
    ///
    /// ```
    /// # use hpd_agent::clients::ImageGenerationConfig;
    /// let choice = ImageGenerationConfig::new("mine").with_size("1024x1024").with_extra("style", "ink");
    /// assert_eq!(choice.extra["style"], "ink");
    /// ```
    ImageGenerationConfig {
        /// The model.
        with_model model: Arc<str>,
        /// Width and height, in the provider's words.
        with_size size: Arc<str>,
    }

    /// A stored choice of a client for embeddings.
    ///
    /// ```
    /// # use hpd_agent::clients::EmbeddingsConfig;
    /// let choice = EmbeddingsConfig::new("mine").with_model("small").with_dimensions(256_u32);
    /// assert_eq!(choice.dimensions, Some(256));
    /// ```
    EmbeddingsConfig {
        /// The model.
        with_model model: Arc<str>,
        /// How many numbers a vector has.
        with_dimensions dimensions: u32,
    }

    /// A stored choice of a client for files that a provider keeps.
    ///
    /// ```
    /// # use hpd_agent::clients::HostedFilesConfig;
    /// let choice = HostedFilesConfig::new("mine").with_extra("purpose", "assistants");
    /// assert_eq!(choice.provider.as_deref(), Some("mine"));
    /// ```
    HostedFilesConfig {}
}
