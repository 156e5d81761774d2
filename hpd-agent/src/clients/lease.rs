use std::{fmt, sync::Arc};

use super::Family;

/// A client as a function gets it, with what was chosen for this run of its agent.
///
/// It may be kept: the client is there for as long as anybody holds it, also after the run and the agent are gone, and
/// is dropped when the last one lets go.
///
/// ```
/// # use hpd_agent::{clients::*, prelude::*};
/// async fn read_aloud(text: &str, context: &FunctionContext) -> Result<Option<Media>, ClientError> {
///     let Some(speech) = context.text_to_speech() else { return Ok(None) };
///     assert!(speech.config().speed.is_none_or(|speed| speed > 0.0));
///     speech.speak(text).await.map(Some)
/// }
/// ```
pub struct Leased<F: Family> {
    client: Arc<F::Client>,
    config: Arc<F::Choice>,
}

impl<F: Family> Leased<F> {
    pub(crate) fn new(client: Arc<F::Client>, config: Arc<F::Choice>) -> Self {
        Self { client, config }
    }

    /// The client. What it is asked takes the [configuration](Self::config) with it; the methods of the lease see to
    /// that.
    #[must_use]
    pub fn client(&self) -> &F::Client {
        &self.client
    }

    /// Model and options, as they hold in this run.
    #[must_use]
    pub fn config(&self) -> &F::Choice {
        &self.config
    }

    pub(crate) fn shared_client(&self) -> &Arc<F::Client> {
        &self.client
    }

    pub(crate) fn shared_config(&self) -> Arc<F::Choice> {
        Arc::clone(&self.config)
    }
}

impl<F: Family> Clone for Leased<F> {
    fn clone(&self) -> Self {
        Self { client: Arc::clone(&self.client), config: Arc::clone(&self.config) }
    }
}

impl<F: Family> fmt::Debug for Leased<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").field("config", &self.config).finish_non_exhaustive()
    }
}
