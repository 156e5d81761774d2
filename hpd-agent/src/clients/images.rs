//! Pictures of what a text describes.

use std::sync::Arc;

use super::{ClientError, ImageGeneration, ImageGenerationConfig, Leased, Media};
use crate::future::BoxFuture;

/// Makes pictures, by some provider.
///
/// ```
/// # use hpd_agent::{clients::*, future::BoxFuture};
/// /// Draws squares.
/// struct Squares;
///
/// impl ImageGenerationClient for Squares {
///     fn provider(&self) -> &str {
///         "squares"
///     }
///     fn generate(&self, request: ImageRequest) -> BoxFuture<'_, Result<Vec<Media>, ClientError>> {
///         let square = Media::new(*br#"<svg><rect width="1" height="1"/></svg>"#, "image/svg+xml");
///         Box::pin(async move { Ok((0..request.count).map(|_| square.clone()).collect()) })
///     }
/// }
/// ```
pub trait ImageGenerationClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Makes pictures of what the prompt describes.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn generate(&self, request: ImageRequest) -> BoxFuture<'_, Result<Vec<Media>, ClientError>>;
}

/// A shared client is a client.
impl<C: ImageGenerationClient + ?Sized> ImageGenerationClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn generate(&self, request: ImageRequest) -> BoxFuture<'_, Result<Vec<Media>, ClientError>> {
        (**self).generate(request)
    }
}

/// Pictures to make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImageRequest {
    /// What they show.
    pub prompt: Arc<str>,
    /// How many.
    pub count: u32,
    /// Model, size and options.
    pub config: Arc<ImageGenerationConfig>,
}

impl ImageRequest {
    /// A request for one picture.
    #[must_use]
    pub fn new(prompt: impl Into<Arc<str>>, config: impl Into<Arc<ImageGenerationConfig>>) -> Self {
        Self { prompt: prompt.into(), count: 1, config: config.into() }
    }

    /// The same for several.
    #[must_use]
    pub fn with_count(mut self, count: u32) -> Self {
        self.count = count;
        self
    }
}

impl Leased<ImageGeneration> {
    /// Makes one picture of what the prompt describes; for more, give the [client](Self::client) an [`ImageRequest`].
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn generate(&self, prompt: impl Into<Arc<str>>) -> BoxFuture<'_, Result<Vec<Media>, ClientError>> {
        self.client().generate(ImageRequest::new(prompt, self.shared_config()))
    }
}
