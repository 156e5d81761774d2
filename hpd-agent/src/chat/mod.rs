//! Language models: the client trait, requests, streamed answers, and the registry by which a stored configuration
//! finds its client.
//!
//! A [`ChatClient`] is implemented once per provider and called through `dyn`. The request carries a
//! [`History`], not a copy of it; only an adapter iterates over it.

mod checked;
mod error;
#[cfg(feature = "genai")]
pub mod genai;
mod offline;
mod profile;
mod registry;
mod retry;
mod schema;

use std::{
    future::ready,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    error::{ChatError, ChatErrorKind},
    offline::OfflineChatClient,
    profile::{SchemaError, SchemaProfile},
    registry::{ChatProviderError, ChatProviderRegistry},
    retry::{RetryPolicy, Retrying},
    schema::Schema,
};
pub use crate::future::BoxFuture;
use crate::{
    history::History,
    id::ToolName,
    message::{ModelSelection, StopReason, Usage},
};

/// A language model behind some provider.
///
/// ```
/// use std::sync::Arc;
/// use hpd_agent::{chat::*, message::StopReason};
///
/// /// Answers every request with the same sentence.
/// struct Parrot(ClientInfo);
///
/// impl ChatClient for Parrot {
///     fn info(&self) -> &ClientInfo {
///         &self.0
///     }
///     fn stream(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
///         let deltas = [ChatDelta::Text("Polly".into()), ChatDelta::Finish(StopReason::EndTurn)];
///         Box::pin(async { Ok(ChatStream::from_deltas(deltas)) })
///     }
/// }
///
/// let client: Arc<dyn ChatClient> = Arc::new(Parrot(ClientInfo::new("example", "parrot-1")));
/// assert_eq!(client.info().model(), "parrot-1");
/// ```
pub trait ChatClient: Send + Sync + 'static {
    /// Provider and model.
    fn info(&self) -> &ClientInfo;

    /// Starts an answer. The future resolves when the provider has accepted the request; the stream ends after a
    /// [`ChatDelta::Finish`]. A stream that ends without one was cut and counts as failed.
    ///
    /// # Errors
    ///
    /// [`ChatError`] names the provider, the model and what to do.
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>>;

    /// The models that the provider offers, as far as it says.
    ///
    /// # Errors
    ///
    /// [`ChatError`] if the provider can't be asked.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}

/// A shared client is a client.
impl<C: ChatClient + ?Sized> ChatClient for Arc<C> {
    fn info(&self) -> &ClientInfo {
        (**self).info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        (**self).stream(request)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        (**self).models()
    }
}

/// What a client is: its provider, its default model, the size of its window if known, what it takes as a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    selection: Arc<ModelSelection>,
    context_window: Option<u32>,
    schema_profile: Option<SchemaProfile>,
}

impl ClientInfo {
    /// A client of `provider` that uses `model` unless a request names another one.
    #[must_use]
    pub fn new(provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        let selection =
            ModelSelection { provider: provider.into(), model: model.into(), effort: None, max_tokens: None };
        Self { selection: Arc::new(selection), context_window: None, schema_profile: None }
    }

    /// The same with the number of tokens that fit into a request and its answer.
    #[must_use]
    pub fn with_context_window(mut self, tokens: u32) -> Self {
        self.context_window = Some(tokens);
        self
    }

    /// The same with what the provider takes as a tool's schema. `build()` then refuses tools that it does not take, and
    /// the client sends [`Schema::wire`] of this profile.
    #[must_use]
    pub fn with_schema_profile(mut self, profile: SchemaProfile) -> Self {
        self.schema_profile = Some(profile);
        self
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.selection.provider
    }

    /// The model's name.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.selection.model
    }

    /// How many tokens fit into a request and its answer, if known.
    #[must_use]
    pub fn context_window(&self) -> Option<u32> {
        self.context_window
    }

    /// What the provider takes as a tool's schema; `None`: every schema, as it is.
    #[must_use]
    pub fn schema_profile(&self) -> Option<SchemaProfile> {
        self.schema_profile
    }

    /// What a request with `options` selects.
    pub(crate) fn selection(&self, options: &ChatOptions) -> Arc<ModelSelection> {
        if options.model.is_none() && options.effort.is_none() && options.max_tokens.is_none() {
            return Arc::clone(&self.selection);
        }
        Arc::new(ModelSelection {
            provider: Arc::clone(&self.selection.provider),
            model: options.model.clone().unwrap_or_else(|| Arc::clone(&self.selection.model)),
            effort: options.effort.clone(),
            max_tokens: options.max_tokens,
        })
    }
}

/// One model that a provider offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name by which it is selected.
    pub name: Arc<str>,
}

impl ModelInfo {
    /// A model of this name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into() }
    }
}

/// One request to a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The system prompt, rendered. Empty: none.
    pub system: Arc<str>,
    /// The conversation. Every tool call in it is followed by exactly one result.
    pub history: History,
    /// The tools that the model may call, in a stable order.
    pub tools: ToolSet,
    /// Model, temperature and the like.
    pub options: Arc<ChatOptions>,
}

impl ChatRequest {
    /// A request without a system prompt, tools or options.
    #[must_use]
    pub fn new(history: History) -> Self {
        Self { system: Arc::from(""), history, tools: ToolSet::default(), options: Arc::default() }
    }

    /// The same with a system prompt.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<Arc<str>>) -> Self {
        self.system = system.into();
        self
    }

    /// The same with tools.
    #[must_use]
    pub fn with_tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// The same with options.
    #[must_use]
    pub fn with_options(mut self, options: impl Into<Arc<ChatOptions>>) -> Self {
        self.options = options.into();
        self
    }
}

/// The tools of a request: shared, never copied.
#[derive(Debug, Clone, Default)]
pub struct ToolSet(Arc<[ToolSpec]>);

impl ToolSet {
    /// The tools, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[ToolSpec] {
        &self.0
    }
}

impl FromIterator<ToolSpec> for ToolSet {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(tools: I) -> Self {
        Self(tools.into_iter().collect())
    }
}

impl std::ops::Deref for ToolSet {
    type Target = [ToolSpec];
    fn deref(&self) -> &[ToolSpec] {
        &self.0
    }
}

/// One tool as a model is told of it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    name: ToolName,
    description: Arc<str>,
    schema: Schema,
}

impl ToolSpec {
    /// A tool. `schema` is the JSON schema of its arguments, an object.
    #[must_use]
    pub fn new(name: ToolName, description: impl Into<Arc<str>>, schema: Schema) -> Self {
        Self { name, description: description.into(), schema }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What it does, for the model.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of its arguments.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// What a request may say about the model and the way it answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Another model than the client's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// 0 for the most likely answer; the provider's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The largest number of tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much the model shall think, in the provider's words (`low`, `medium`, `high` are common).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Arc<str>>,
    /// Whether the model may, must or must not call tools.
    #[serde(skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// Options that only this provider knows, sent as they are.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ChatOptions {
    /// These options with what `other` says put over them.
    #[must_use]
    pub fn overlaid_with(&self, other: &Self) -> Self {
        let mut extra = self.extra.clone();
        extra.extend(other.extra.clone());
        Self {
            model: other.model.clone().or_else(|| self.model.clone()),
            temperature: other.temperature.or(self.temperature),
            max_tokens: other.max_tokens.or(self.max_tokens),
            effort: other.effort.clone().or_else(|| self.effort.clone()),
            tool_choice: if other.tool_choice.is_auto() { self.tool_choice.clone() } else { other.tool_choice.clone() },
            extra,
        }
    }
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must call one.
    Required,
    /// It must not.
    None,
    /// It must call this one.
    Tool(ToolName),
}

impl ToolChoice {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// A stored choice of a client: what [`ChatProviderRegistry`] makes a client of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChatConfig {
    /// The registered name of the provider. `None`: the client of the agent (or of the parent) with these options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// Model, temperature and the like.
    #[serde(flatten)]
    pub options: ChatOptions,
}

impl ChatConfig {
    /// The client that is registered as `provider`, with `model`.
    #[must_use]
    pub fn new(provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        let options = ChatOptions { model: Some(model.into()), ..ChatOptions::default() };
        Self { provider: Some(provider.into()), options }
    }

    /// The client of the agent (or of the parent), with these options.
    #[must_use]
    pub fn inherited(options: ChatOptions) -> Self {
        Self { provider: None, options }
    }
}

/// One piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatDelta {
    /// More text.
    Text(Arc<str>),
    /// More reasoning.
    Reasoning(Arc<str>),
    /// The provider's proof for the reasoning so far; ends that block of reasoning.
    ReasoningSignature(Arc<str>),
    /// A tool call begins.
    ToolCallStart {
        /// The position among the calls of this answer, from 0; later pieces refer to it.
        index: u32,
        /// The provider's id, if it gives one.
        id: Option<Arc<str>>,
        /// The tool's name.
        name: Arc<str>,
    },
    /// More of a tool call's arguments (JSON text).
    ToolCallArguments {
        /// The call's position.
        index: u32,
        /// The next piece of the text.
        text: Arc<str>,
    },
    /// Token counts. A later one replaces an earlier one.
    Usage(Usage),
    /// The answer is complete. Nothing but usage may follow.
    Finish(StopReason),
}

/// A streamed answer.
pub struct ChatStream(Pin<Box<dyn Stream<Item = Result<ChatDelta, ChatError>> + Send>>);

impl ChatStream {
    /// Wraps any stream.
    #[must_use]
    pub fn new(stream: impl Stream<Item = Result<ChatDelta, ChatError>> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// An answer that is there already.
    #[must_use]
    pub fn from_deltas<I>(deltas: I) -> Self
    where
        I: IntoIterator<Item = ChatDelta>,
        I::IntoIter: Send + 'static,
    {
        Self::new(futures_util::stream::iter(deltas.into_iter().map(Ok)))
    }
}

impl std::fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatStream").finish_non_exhaustive()
    }
}

impl Stream for ChatStream {
    type Item = Result<ChatDelta, ChatError>;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}
