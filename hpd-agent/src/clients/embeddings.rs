//! Texts to vectors.

use std::sync::Arc;

use super::{ClientError, ClientErrorKind, ClientFamily, Embeddings, EmbeddingsConfig, Leased};
use crate::future::BoxFuture;

/// Makes vectors of texts, by some provider. [The module](super) shows one.
pub trait EmbeddingsClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Makes a vector of each text.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn embed(&self, request: EmbeddingsRequest) -> BoxFuture<'_, Result<EmbeddingsAnswer, ClientError>>;
}

/// A shared client is a client.
impl<C: EmbeddingsClient + ?Sized> EmbeddingsClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn embed(&self, request: EmbeddingsRequest) -> BoxFuture<'_, Result<EmbeddingsAnswer, ClientError>> {
        (**self).embed(request)
    }
}

/// Texts to make vectors of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EmbeddingsRequest {
    /// The texts.
    pub texts: Vec<Arc<str>>,
    /// Model and options.
    pub config: Arc<EmbeddingsConfig>,
}

impl EmbeddingsRequest {
    /// A request for these texts.
    #[must_use]
    pub fn new<T: Into<Arc<str>>>(
        texts: impl IntoIterator<Item = T>,
        config: impl Into<Arc<EmbeddingsConfig>>,
    ) -> Self {
        Self { texts: texts.into_iter().map(Into::into).collect(), config: config.into() }
    }
}

/// Vectors of texts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingsAnswer {
    /// One for each text, in their order.
    pub vectors: Vec<Vec<f32>>,
    /// How many tokens the texts were, if the provider says it.
    pub input_tokens: Option<u64>,
}

impl EmbeddingsAnswer {
    /// These vectors.
    #[must_use]
    pub fn new(vectors: Vec<Vec<f32>>) -> Self {
        Self { vectors, input_tokens: None }
    }

    /// The same with the number of tokens of the texts.
    #[must_use]
    pub fn with_input_tokens(mut self, tokens: u64) -> Self {
        self.input_tokens = Some(tokens);
        self
    }
}

impl Leased<Embeddings> {
    /// Makes a vector of each text, in their order.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client, and one of kind [`Protocol`](ClientErrorKind::Protocol) if it did not make as many
    /// vectors as there are texts.
    pub fn embed<T: Into<Arc<str>>>(
        &self,
        texts: impl IntoIterator<Item = T>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ClientError>> {
        let request = EmbeddingsRequest::new(texts, self.shared_config());
        let texts = request.texts.len();
        Box::pin(async move {
            let vectors = self.client().embed(request).await?.vectors;
            if vectors.len() == texts {
                return Ok(vectors);
            }
            let message = format!("it made {} vectors of {texts} texts", vectors.len());
            let provider = self.client().provider();
            Err(ClientError::new(ClientFamily::Embeddings, provider, ClientErrorKind::Protocol, message))
        })
    }
}
