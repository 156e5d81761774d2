//! Files that a provider keeps.

use std::sync::Arc;

use super::{ClientError, HostedFiles, HostedFilesConfig, Leased, Media};
use crate::future::BoxFuture;

/// Keeps files, at some provider.
///
/// ```
/// # use std::{collections::HashMap, sync::{Arc, Mutex}};
/// # use hpd_agent::{clients::*, future::BoxFuture};
/// /// Keeps them in memory, by their names.
/// #[derive(Default)]
/// struct Shelf(Mutex<HashMap<Arc<str>, Media>>);
///
/// impl Shelf {
///     fn with<T>(&self, id: &str, act: impl FnOnce(&mut HashMap<Arc<str>, Media>) -> Option<T>) -> Result<T, ClientError> {
///         let mut files = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
///         act(&mut files).ok_or_else(|| {
///             let text = format!("there is no file `{id}`");
///             ClientError::new(ClientFamily::HostedFiles, "shelf", ClientErrorKind::NotFound, text)
///         })
///     }
/// }
///
/// impl HostedFilesClient for Shelf {
///     fn provider(&self) -> &str {
///         "shelf"
///     }
///     fn upload(&self, upload: FileUpload) -> BoxFuture<'_, Result<HostedFile, ClientError>> {
///         let FileUpload { name, content, .. } = upload;
///         let kept = self.with(&name, |files| {
///             files.insert(name.clone(), content);
///             Some(HostedFile::new(name.clone(), name.clone()))
///         });
///         Box::pin(async { kept })
///     }
///     fn download(&self, file: FileRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
///         let found = self.with(&file.id, |files| files.get(&file.id).cloned());
///         Box::pin(async { found })
///     }
///     fn delete(&self, file: FileRequest) -> BoxFuture<'_, Result<(), ClientError>> {
///         let gone = self.with(&file.id, |files| files.remove(&file.id)).map(drop);
///         Box::pin(async { gone })
///     }
/// }
/// ```
pub trait HostedFilesClient: Send + Sync + 'static {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// Gives the provider a file to keep.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names the provider and what to do.
    fn upload(&self, upload: FileUpload) -> BoxFuture<'_, Result<HostedFile, ClientError>>;

    /// What is in a file.
    ///
    /// # Errors
    ///
    /// [`ClientError`], of kind [`NotFound`](super::ClientErrorKind::NotFound) if there is no such file.
    fn download(&self, file: FileRequest) -> BoxFuture<'_, Result<Media, ClientError>>;

    /// Deletes a file.
    ///
    /// # Errors
    ///
    /// [`ClientError`], of kind [`NotFound`](super::ClientErrorKind::NotFound) if there is no such file.
    fn delete(&self, file: FileRequest) -> BoxFuture<'_, Result<(), ClientError>>;
}

/// A shared client is a client.
impl<C: HostedFilesClient + ?Sized> HostedFilesClient for Arc<C> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn upload(&self, upload: FileUpload) -> BoxFuture<'_, Result<HostedFile, ClientError>> {
        (**self).upload(upload)
    }

    fn download(&self, file: FileRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
        (**self).download(file)
    }

    fn delete(&self, file: FileRequest) -> BoxFuture<'_, Result<(), ClientError>> {
        (**self).delete(file)
    }
}

/// A file to keep.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileUpload {
    /// Its name.
    pub name: Arc<str>,
    /// What is in it.
    pub content: Media,
    /// Options.
    pub config: Arc<HostedFilesConfig>,
}

impl FileUpload {
    /// A file to keep.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, content: Media, config: impl Into<Arc<HostedFilesConfig>>) -> Self {
        Self { name: name.into(), content, config: config.into() }
    }
}

/// A file that the provider keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileRequest {
    /// The id that the provider gave it.
    pub id: Arc<str>,
    /// Options.
    pub config: Arc<HostedFilesConfig>,
}

impl FileRequest {
    /// The file of this id.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, config: impl Into<Arc<HostedFilesConfig>>) -> Self {
        Self { id: id.into(), config: config.into() }
    }
}

/// A file as its provider knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostedFile {
    /// The id that the provider gave it.
    pub id: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl HostedFile {
    /// A file of this id and name.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), name: name.into() }
    }
}

impl Leased<HostedFiles> {
    /// Gives the provider a file to keep.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn upload(&self, name: impl Into<Arc<str>>, content: Media) -> BoxFuture<'_, Result<HostedFile, ClientError>> {
        self.client().upload(FileUpload::new(name, content, self.shared_config()))
    }

    /// What is in the file of this id.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn download(&self, id: impl Into<Arc<str>>) -> BoxFuture<'_, Result<Media, ClientError>> {
        self.client().download(FileRequest::new(id, self.shared_config()))
    }

    /// Deletes the file of this id.
    ///
    /// # Errors
    ///
    /// [`ClientError`] of the client.
    pub fn delete(&self, id: impl Into<Arc<str>>) -> BoxFuture<'_, Result<(), ClientError>> {
        self.client().delete(FileRequest::new(id, self.shared_config()))
    }
}
