//! A model that answers from a script.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::StreamExt;

use super::reply::{Failure, Piece, Played, Reply, Wait};
use crate::{
    chat::{ChatClient, ChatError, ChatErrorKind, ChatRequest, ChatStream, ClientInfo, ModelInfo},
    future::BoxFuture,
    message::Role,
};

type Predicate = Arc<dyn Fn(&ChatRequest) -> bool + Send + Sync>;
type Answerer = Arc<dyn Fn(&ChatRequest) -> Reply + Send + Sync>;

/// A model that answers from a script: a list of replies, a function, or several lists that are chosen by the request.
/// It remembers the requests. Clones share script and memory, so keep one to look at and give the other away.
///
/// When a script has run out, the request fails with a [`ChatError`] that says so and shows the request.
///
/// ```
/// # use std::sync::Arc;
/// # use futures_util::StreamExt;
/// # use hpd_agent::{chat::*, history::History, message::Message, testing::ScriptedChatClient};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let client = ScriptedChatClient::texts(["Hello!"]);
/// let history = History::from_iter([Arc::new(Message::user("Hi."))]);
/// let mut answer = client.stream(ChatRequest::new(history)).await?;
/// assert_eq!(answer.next().await, Some(Ok(ChatDelta::Text("Hello!".into()))));
/// client.assert_exhausted();
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedChatClient {
    info: ClientInfo,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    requests: Vec<ChatRequest>,
    routes: Vec<Route>,
}

struct Route {
    /// For error texts.
    name: Arc<str>,
    when: Predicate,
    source: Source,
}

enum Source {
    Script(VecDeque<Reply>),
    Function(Answerer),
}

impl ScriptedChatClient {
    /// Answers with these texts, one after the other.
    #[must_use]
    pub fn texts<T: Into<Arc<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::replies(texts.into_iter().map(|text| Reply::text(text)))
    }

    /// Answers with these replies, one after the other.
    #[must_use]
    pub fn replies<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::route().otherwise(replies)
    }

    /// Answers with what `answer` makes of the request.
    #[must_use]
    pub fn from_fn(answer: impl Fn(&ChatRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::route().otherwise_fn(answer)
    }

    /// Answers from the first script whose condition the request meets: for a parent and children that share a client
    /// and may ask in any order.
    ///
    /// ```
    /// # use hpd_agent::testing::ScriptedChatClient;
    /// let client = ScriptedChatClient::route()
    ///     .when_system_contains("Summarizer", ["Three bullets."])
    ///     .when(|request| request.tools.is_empty(), ["No tools here."])
    ///     .otherwise(["The parent's answer."]);
    /// assert_eq!(client.remaining(), 3);
    /// ```
    pub fn route() -> ScriptRoutes {
        ScriptRoutes { routes: Vec::new() }
    }

    /// The same under another provider and model than `scripted`.
    #[must_use]
    pub fn with_info(mut self, info: ClientInfo) -> Self {
        self.info = info;
        self
    }

    /// The requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.lock().requests.clone()
    }

    /// How many scripted replies nobody asked for yet. Functions count as none.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.lock().routes.iter().map(Route::remaining).sum()
    }

    /// Fails the test if scripted replies are left.
    ///
    /// # Panics
    ///
    /// If any are left; the text names the scripts.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let shared = self.lock();
        let left = shared.routes.iter().filter(|route| route.remaining() > 0);
        let left: Vec<_> = left.map(|route| format!("{} of {}", route.remaining(), route.name)).collect();
        assert!(left.is_empty(), "scripted replies that nobody asked for: {}", left.join(", "));
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply to a request and the prefix of its call ids.
    fn next(&self, request: &ChatRequest) -> Result<(Reply, String), ChatError> {
        let mut shared = self.lock();
        shared.requests.push(request.clone());
        let number = shared.requests.len();
        let taken = match shared.routes.iter_mut().find(|route| (route.when)(request)) {
            Some(Route { name, source: Source::Script(replies), .. }) => {
                Ok(replies.pop_front().ok_or_else(|| format!("{name} is exhausted")))
            }
            Some(Route { source: Source::Function(answer), .. }) => Err(Arc::clone(answer)),
            None => Ok(Err("no script is meant for this request".to_owned())),
        };
        // A function may look at this client: it is called without the lock.
        drop(shared);
        let reply = match taken {
            Ok(reply) => reply,
            Err(answer) => Ok(answer(request)),
        };
        let reply = reply.map_err(|problem| {
            let text = format!("{problem}: request {number}, {}", describe(request));
            ChatError::new(&self.info, ChatErrorKind::Other, text)
        })?;
        Ok((reply, format!("scripted-{number}")))
    }

    fn error(&self, failure: &Failure) -> ChatError {
        let mut error = ChatError::new(&self.info, failure.kind, Arc::clone(&failure.message));
        if let Some(wait) = failure.retry_after {
            error = error.with_retry_after(wait);
        }
        if let Some(status) = failure.status {
            error = error.with_status(status);
        }
        error
    }
}

impl ChatClient for ScriptedChatClient {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        Box::pin(async move {
            let (reply, call_ids) = self.next(&request)?;
            for wait in &reply.before {
                match wait {
                    Wait::Time(time) => tokio::time::sleep(*time).await,
                    Wait::Hold(hold) => hold.pass().await,
                    Wait::Forever => std::future::pending().await,
                }
            }
            match reply.play(&call_ids) {
                Played::Fails(failure) => Err(self.error(&failure)),
                Played::Streams(pieces) => {
                    let client = self.clone();
                    let stream = futures_util::stream::iter(pieces).filter_map(move |piece| {
                        let item = match piece {
                            Piece::Delta(delta) => Ok(Ok(delta)),
                            Piece::Error(failure) => Ok(Err(client.error(&failure))),
                            Piece::Pause(time) => Err(time),
                        };
                        async move {
                            match item {
                                Ok(item) => Some(item),
                                Err(time) => {
                                    tokio::time::sleep(time).await;
                                    None
                                }
                            }
                        }
                    });
                    Ok(ChatStream::new(stream))
                }
            }
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        Box::pin(async { Ok(vec![ModelInfo::new(self.info.model())]) })
    }
}

impl std::fmt::Debug for ScriptedChatClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let requests = self.lock().requests.len();
        f.debug_struct("ScriptedChatClient").field("requests", &requests).field("remaining", &self.remaining()).finish()
    }
}

impl Route {
    fn remaining(&self) -> usize {
        match &self.source {
            Source::Script(replies) => replies.len(),
            Source::Function(_) => 0,
        }
    }
}

/// Scripts and their conditions, on the way to a [`ScriptedChatClient`]; see [`ScriptedChatClient::route`].
#[must_use = "finish it with `otherwise` or `build`"]
pub struct ScriptRoutes {
    routes: Vec<Route>,
}

impl ScriptRoutes {
    /// These replies, in order, for requests that `predicate` accepts.
    pub fn when<R: Into<Reply>>(
        self,
        predicate: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        let name = format!("script {}", self.routes.len() + 1);
        self.with(name, Arc::new(predicate), script(replies))
    }

    /// These replies, in order, for requests whose system prompt contains `text`.
    pub fn when_system_contains<R: Into<Reply>>(
        self,
        text: impl Into<String>,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        let text = text.into();
        let name = format!("the script for the system prompt with {text:?}");
        self.with(name, Arc::new(move |request: &ChatRequest| request.system.contains(&text)), script(replies))
    }

    /// These replies, in order, for all other requests.
    #[must_use]
    pub fn otherwise<R: Into<Reply>>(self, replies: impl IntoIterator<Item = R>) -> ScriptedChatClient {
        let name = if self.routes.is_empty() { "the script" } else { "the script for other requests" };
        self.with(name.to_owned(), Arc::new(|_: &ChatRequest| true), script(replies)).build()
    }

    /// What `answer` makes of a request, for all other requests.
    #[must_use]
    pub fn otherwise_fn(self, answer: impl Fn(&ChatRequest) -> Reply + Send + Sync + 'static) -> ScriptedChatClient {
        let source = Source::Function(Arc::new(answer));
        self.with("the function".to_owned(), Arc::new(|_: &ChatRequest| true), source).build()
    }

    /// The client; a request that meets no condition fails.
    #[must_use]
    pub fn build(self) -> ScriptedChatClient {
        let shared = Shared { requests: Vec::new(), routes: self.routes };
        ScriptedChatClient { info: ClientInfo::new("scripted", "scripted"), shared: Arc::new(Mutex::new(shared)) }
    }

    fn with(mut self, name: String, when: Predicate, source: Source) -> Self {
        self.routes.push(Route { name: name.into(), when, source });
        self
    }
}

fn script<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Source {
    Source::Script(replies.into_iter().map(Into::into).collect())
}

/// Enough of a request to find it in a test: the system prompt and the last message, both shortened.
fn describe(request: &ChatRequest) -> String {
    let short = |text: &str| {
        let mut chars = text.chars();
        let head: String = chars.by_ref().take(60).collect();
        if chars.next().is_some() { format!("{head:?}…") } else { format!("{head:?}") }
    };
    let last = request.history.last().map(|message| match message.role() {
        Role::Tool => {
            let result = message.results().next();
            result.map_or_else(String::new, |result| {
                format!("last message: result of `{}` {}", result.name, short(result.output.text()))
            })
        }
        role => format!("last message: {role:?} {}", short(&message.text())),
    });
    format!("system prompt {}, {}", short(&request.system), last.unwrap_or_else(|| "no messages".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        chat::ChatDelta,
        history::History,
        message::{Message, StopReason, Usage},
        testing::Hold,
    };

    fn request(text: &str) -> ChatRequest {
        ChatRequest::new(History::from_iter([Arc::new(Message::user(text))]))
    }

    async fn deltas(client: &ScriptedChatClient) -> Vec<Result<ChatDelta, ChatError>> {
        client.stream(request("q")).await.unwrap().collect().await
    }

    #[tokio::test]
    async fn plays_replies_in_order_and_then_says_that_it_is_exhausted() {
        let client = ScriptedChatClient::texts(["one", "two"]);
        assert_eq!(client.remaining(), 2);
        for text in ["one", "two"] {
            let all = deltas(&client).await;
            assert_eq!(all, [Ok(ChatDelta::Text(text.into())), Ok(ChatDelta::Finish(StopReason::EndTurn))]);
        }
        client.assert_exhausted();
        let error = client.stream(request("once more")).await.unwrap_err().to_string();
        assert!(error.contains("exhausted") && error.contains("request 3") && error.contains("once more"), "{error}");
        assert_eq!(client.requests().len(), 3);
        assert_eq!(client.requests()[2].history.last().unwrap().text(), "once more");
    }

    #[tokio::test]
    async fn streams_all_kinds_of_content_in_pieces() {
        let reply = Reply::reasoning("hmm")
            .and_signature("sig")
            .and_text("abcd")
            .and_tool_call("t", json!({"a": 1}))
            .and_raw_tool_call("u", "{\"x")
            .with_call_id("mine")
            .with_usage(Usage::new(5, 6))
            .in_chunks(2);
        let client = ScriptedChatClient::replies([reply]);
        let all: Vec<_> = deltas(&client).await.into_iter().map(Result::unwrap).collect();
        let arguments = |index, text: &str| ChatDelta::ToolCallArguments { index, text: text.into() };
        let start =
            |index, id: &str, name: &str| ChatDelta::ToolCallStart { index, id: Some(id.into()), name: name.into() };
        assert_eq!(
            all,
            [
                ChatDelta::Reasoning("hm".into()),
                ChatDelta::Reasoning("m".into()),
                ChatDelta::ReasoningSignature("sig".into()),
                ChatDelta::Text("ab".into()),
                ChatDelta::Text("cd".into()),
                start(0, "scripted-1-0", "t"),
                arguments(0, "{\"a\""),
                arguments(0, ":1}"),
                start(1, "mine", "u"),
                arguments(1, "{\""),
                arguments(1, "x"),
                ChatDelta::Usage(Usage::new(5, 6)),
                ChatDelta::Finish(StopReason::ToolUse),
            ]
        );
    }

    #[tokio::test]
    async fn a_function_sees_the_request_and_may_use_the_client() {
        let client = ScriptedChatClient::from_fn(|request| Reply::text(request.history.last().unwrap().text()));
        let all: Vec<_> = client.stream(request("echo")).await.unwrap().collect().await;
        assert_eq!(all[0], Ok(ChatDelta::Text("echo".into())));
        assert_eq!(client.remaining(), 0);
    }

    #[tokio::test]
    async fn routes_by_the_request() {
        let client = ScriptedChatClient::route()
            .when_system_contains("Summarizer", ["s1", "s2"])
            .when(|request| request.history.len() > 5, ["long"])
            .build();
        let summarize = || request("q").with_system("You are the Summarizer.");
        for expected in ["s1", "s2"] {
            let first = client.stream(summarize()).await.unwrap().next().await;
            assert_eq!(first, Some(Ok(ChatDelta::Text(expected.into()))));
        }
        let error = client.stream(summarize()).await.unwrap_err().to_string();
        assert!(error.contains("Summarizer") && error.contains("exhausted"), "{error}");
        let error = client.stream(request("q")).await.unwrap_err().to_string();
        assert!(error.contains("no script"), "{error}");
        assert_eq!(client.remaining(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn delays_pauses_and_holds() {
        let hold = Hold::new();
        let client = ScriptedChatClient::replies([
            Reply::text("a").delayed(Duration::from_secs(3)).and_pause(Duration::from_secs(4)),
            Reply::text("b").held_by(&hold),
            Reply::pending(),
        ]);
        let start = Instant::now();
        assert_eq!(deltas(&client).await.len(), 2);
        assert_eq!(start.elapsed().as_secs(), 7);

        let other = client.clone();
        let held = tokio::spawn(async move { deltas(&other).await.len() });
        hold.reached(1).await;
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!(!held.is_finished());
        hold.release();
        assert_eq!(held.await.unwrap(), 2);

        let never = tokio::time::timeout(Duration::from_secs(1_000), deltas(&client)).await;
        assert!(never.is_err());
    }

    #[tokio::test]
    async fn errors_and_cuts() {
        let client = ScriptedChatClient::replies([
            Reply::error(ChatErrorKind::RateLimited, "slow").with_retry_after(Duration::from_secs(2)).with_status(429),
            Reply::text("half").cut(),
            Reply::text("half").and_error(ChatErrorKind::Server, "broke"),
        ]);
        let error = client.stream(request("q")).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ChatErrorKind::RateLimited, Some(429)));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert_eq!(deltas(&client).await, [Ok(ChatDelta::Text("half".into()))]);
        let all = deltas(&client).await;
        assert_eq!(all[1].as_ref().unwrap_err().kind(), ChatErrorKind::Server);
    }

    #[test]
    #[should_panic(expected = "2 of the script")]
    fn assert_exhausted_names_what_is_left() {
        ScriptedChatClient::texts(["a", "b"]).assert_exhausted();
    }
}
