//! Trying again after failures that pass by themselves.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::StreamExt;

use super::{
    BoxFuture, ChatClient, ChatDelta, ChatError, ChatErrorKind, ChatRequest, ChatStream, ClientInfo, ModelInfo,
};
use crate::id::random_u64;

/// How often and after how long a request is made again.
///
/// The wait before the next try doubles from try to try, up to a ceiling, and is shortened by a random part so that
/// agents which failed together don't come back together. If the provider says how long to wait (`Retry-After`), that
/// is waited instead, and a little random time on top; if it asks for more than
/// [`with_max_retry_after`](Self::with_max_retry_after) allows, the request fails at once.
///
/// ```
/// # use std::time::Duration;
/// # use hpd_agent::chat::RetryPolicy;
/// let patient = RetryPolicy::default().with_max_attempts(8).with_max_backoff(Duration::from_secs(60));
/// assert_eq!(patient.max_attempts(), 8);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    max_attempts: u32,
    initial_backoff: Duration,
    max_backoff: Duration,
    factor: f64,
    jitter: f64,
    max_retry_after: Duration,
}

/// Four tries within about four seconds: enough for a lost connection or an overloaded server that recovers, short
/// enough that somebody who waits at a terminal learns of a real outage. At most 30 s between two tries of a policy with
/// more of them. `Retry-After` is honoured up to 60 s, because the limits of the large providers are per minute.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 4,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
            factor: 2.0,
            jitter: 0.5,
            max_retry_after: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// The default policy.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A policy that never tries again.
    #[must_use]
    pub fn never() -> Self {
        Self::default().with_max_attempts(1)
    }

    /// How many times a request is made at most, the first one included. Default: 4. 0 counts as 1.
    #[must_use]
    pub fn with_max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// The wait before the second try. Default: 500 ms.
    #[must_use]
    pub fn with_initial_backoff(mut self, wait: Duration) -> Self {
        self.initial_backoff = wait;
        self
    }

    /// The longest wait that is not the provider's wish. Default: 30 s.
    #[must_use]
    pub fn with_max_backoff(mut self, wait: Duration) -> Self {
        self.max_backoff = wait;
        self
    }

    /// By how much the wait grows from try to try. Default: 2. Less than 1, and what is no number, counts as 1.
    #[must_use]
    pub fn with_factor(mut self, factor: f64) -> Self {
        self.factor = if factor.is_finite() { factor.max(1.0) } else { 1.0 };
        self
    }

    /// Which part of a wait is random, from 0 (none) to 1 (all of it). Default: 0.5.
    #[must_use]
    pub fn with_jitter(mut self, part: f64) -> Self {
        self.jitter = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// The longest wait that a provider may ask for. Longer: the request fails at once. Default: 60 s.
    #[must_use]
    pub fn with_max_retry_after(mut self, wait: Duration) -> Self {
        self.max_retry_after = wait;
        self
    }

    /// How many times a request is made at most.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// How long to wait after try number `attempt` (from 1) failed with `error`, or `None` if that was the last one.
    /// `random` is a number from 0 to 1.
    fn wait(&self, attempt: u32, error: &ChatError, random: f64) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            let on_top = self.initial_backoff.mul_f64(self.jitter * random);
            return (asked <= self.max_retry_after).then(|| asked.saturating_add(on_top));
        }
        let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
        // Compared as numbers: a duration can't hold what a large exponent makes of it.
        let seconds = self.initial_backoff.as_secs_f64() * self.factor.powi(exponent);
        let full = if seconds < self.max_backoff.as_secs_f64() {
            Duration::try_from_secs_f64(seconds).unwrap_or(self.max_backoff)
        } else {
            self.max_backoff
        };
        Some(full.mul_f64(1.0 - self.jitter * random))
    }
}

/// A client that makes a request again if it failed for a reason that passes by itself: too many requests, a failing
/// server, a connection that could not be made or broke before the answer began ([`ChatError::is_retryable`]).
///
/// What a caller has seen is never unsaid: after the first piece of an answer nothing is repeated, and the failure goes
/// through. Therefore [`stream`](ChatClient::stream) resolves when that first piece has arrived. Token counts alone are
/// no piece of an answer. A stream that ends without [`ChatDelta::Finish`] counts as failed
/// ([`ChatStream::checked`]). Dropping the future ends the wait.
///
/// ```
/// # use std::sync::Arc;
/// # use hpd_agent::{chat::*, testing::{Reply, ScriptedChatClient}};
/// let flaky = ScriptedChatClient::replies([
///     Reply::error(ChatErrorKind::Server, "overloaded"),
///     Reply::text("Here I am again."),
/// ]);
/// let client = Retrying::new(Arc::new(flaky), RetryPolicy::default());
/// assert_eq!(client.info().provider(), "scripted");
/// ```
pub struct Retrying {
    client: Arc<dyn ChatClient>,
    policy: RetryPolicy,
}

impl Retrying {
    /// Wraps a client.
    #[must_use]
    pub fn new(client: impl ChatClient, policy: RetryPolicy) -> Self {
        Self { client: Arc::new(client), policy }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
    }
}

/// Makes a request with `start` until it succeeds, fails for good, or the policy has no tries left.
pub(super) async fn with_retries<F>(
    policy: &RetryPolicy,
    info: &ClientInfo,
    request: ChatRequest,
    start: impl Fn(ChatRequest) -> F,
) -> Result<ChatStream, ChatError>
where
    F: Future<Output = Result<ChatStream, ChatError>>,
{
    let mut attempt = 1;
    loop {
        let Failure { error, retryable } = match first_piece(start(request.clone()).await, info).await {
            Ok(stream) => return Ok(stream),
            Err(failure) => failure,
        };
        let wait = if retryable { policy.wait(attempt, &error, random_part()) } else { None };
        let Some(wait) = wait else {
            return Err(error);
        };
        let (provider, model, code) = (error.provider(), error.model(), error.code());
        tracing::warn!(provider, model, code, attempt, ?wait, "model request failed, trying again");
        tokio::time::sleep(wait).await;
        attempt += 1;
    }
}

/// Waits for the first piece of an answer: until then a failure can be made up for.
async fn first_piece(stream: Result<ChatStream, ChatError>, info: &ClientInfo) -> Result<ChatStream, Failure> {
    let mut stream = stream.map_err(Failure::new)?.checked(info);
    let mut seen = VecDeque::new();
    loop {
        match stream.next().await {
            Some(Ok(ChatDelta::Usage(usage))) => seen.push_back(Ok(ChatDelta::Usage(usage))),
            Some(Ok(delta)) => {
                seen.push_back(Ok(delta));
                return Ok(ChatStream::new(futures_util::stream::iter(seen).chain(stream)));
            }
            Some(Err(error)) => return Err(Failure::before_the_answer(error)),
            None => return Ok(ChatStream::new(futures_util::stream::iter(seen))),
        }
    }
}

/// An error and whether it may pass.
struct Failure {
    error: ChatError,
    retryable: bool,
}

impl Failure {
    fn new(error: ChatError) -> Self {
        let retryable = error.is_retryable();
        Self { error, retryable }
    }

    /// A stream that broke although nobody had seen anything of it is as good as a lost connection.
    fn before_the_answer(error: ChatError) -> Self {
        let retryable = error.is_retryable() || error.kind() == ChatErrorKind::Interrupted;
        Self { error, retryable }
    }
}

impl ChatClient for Retrying {
    fn info(&self) -> &ClientInfo {
        self.client.info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        Box::pin(with_retries(&self.policy, self.client.info(), request, |request| self.client.stream(request)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        self.client.models()
    }
}

impl std::fmt::Debug for Retrying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retrying").field("info", self.client.info()).field("policy", &self.policy).finish()
    }
}

/// A random number from 0 to 1.
fn random_part() -> f64 {
    // 32 bits are exact in an `f64` and more than enough for a jitter.
    f64::from((random_u64() >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::{
        history::History,
        message::{Message, Usage},
        testing::{Reply, ScriptedChatClient},
    };

    fn request() -> ChatRequest {
        ChatRequest::new(History::from_iter([Arc::new(Message::user("hi"))]))
    }

    /// What came of one request: the text or the error, how many tries it took, and how long.
    async fn run(policy: RetryPolicy, replies: Vec<Reply>) -> (Result<String, ChatError>, usize, Duration) {
        let script = ScriptedChatClient::replies(replies);
        let client = Retrying::new(Arc::new(script.clone()), policy);
        let start = Instant::now();
        let result = async {
            let mut stream = client.stream(request()).await?;
            let mut all = String::new();
            while let Some(delta) = stream.next().await {
                if let ChatDelta::Text(text) = delta? {
                    all.push_str(&text);
                }
            }
            Ok(all)
        };
        (result.await, script.requests().len(), start.elapsed())
    }

    fn steady() -> RetryPolicy {
        RetryPolicy::default().with_jitter(0.0)
    }

    fn server() -> Reply {
        Reply::error(ChatErrorKind::Server, "overloaded")
    }

    #[tokio::test(start_paused = true)]
    async fn waits_longer_from_try_to_try_and_then_succeeds() {
        let (result, tries, time) = run(steady(), vec![server(), server(), server(), Reply::text("ok")]).await;
        assert_eq!(result.unwrap(), "ok");
        assert_eq!(tries, 4);
        assert_eq!(time.as_millis(), 500 + 1_000 + 2_000);
    }

    #[tokio::test(start_paused = true)]
    async fn gives_up_with_the_last_error() {
        let last = Reply::error(ChatErrorKind::RateLimited, "the last one");
        let (result, tries, _) = run(steady(), vec![server(), server(), server(), last, Reply::text("unused")]).await;
        assert!(result.unwrap_err().to_string().contains("the last one"));
        assert_eq!(tries, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_is_not_tried_again() {
        for kind in [ChatErrorKind::Authentication, ChatErrorKind::InvalidRequest, ChatErrorKind::ContextTooLong] {
            let (result, tries, time) = run(steady(), vec![Reply::error(kind, "no"), Reply::text("unused")]).await;
            assert_eq!(result.unwrap_err().kind(), kind);
            assert_eq!((tries, time), (1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn honours_retry_after() {
        let asked = Duration::from_secs(7);
        let busy = Reply::error(ChatErrorKind::RateLimited, "slow down").with_retry_after(asked);
        let (result, tries, time) = run(RetryPolicy::default(), vec![busy, Reply::text("ok")]).await;
        assert_eq!(result.unwrap(), "ok");
        assert_eq!(tries, 2);
        assert!(time >= asked && time <= asked + Duration::from_millis(251), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_cap_fails_at_once() {
        let busy = Reply::error(ChatErrorKind::RateLimited, "tomorrow").with_retry_after(Duration::from_secs(61));
        let (result, tries, time) = run(steady(), vec![busy, Reply::text("unused")]).await;
        assert_eq!(result.unwrap_err().retry_after(), Some(Duration::from_secs(61)));
        assert_eq!((tries, time), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_fails_before_its_first_piece_is_tried_again() {
        let usage_only = Reply::empty().with_usage(Usage::new(3, 0)).cut();
        let broken = Reply::empty().and_error(ChatErrorKind::Connection, "reset");
        let (result, tries, _) = run(steady(), vec![usage_only, broken, Reply::text("ok")]).await;
        assert_eq!(result.unwrap(), "ok");
        assert_eq!(tries, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_repeated_after_the_first_piece() {
        let cut = Reply::text("half an ans").cut();
        let (result, tries, _) = run(steady(), vec![cut, Reply::text("unused")]).await;
        assert_eq!(result.unwrap_err().kind(), ChatErrorKind::Interrupted);
        assert_eq!(tries, 1);
        let failed = Reply::reasoning("hm").and_error(ChatErrorKind::Server, "oops");
        let (result, tries, _) = run(steady(), vec![failed, Reply::text("unused")]).await;
        assert_eq!(result.unwrap_err().kind(), ChatErrorKind::Server);
        assert_eq!(tries, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn token_counts_before_the_answer_are_kept() {
        let script = ScriptedChatClient::replies([Reply::text("ok").with_usage(Usage::new(3, 1))]);
        let client = Retrying::new(Arc::new(script), steady());
        let deltas: Vec<_> = client.stream(request()).await.unwrap().collect().await;
        assert!(deltas.iter().any(|delta| matches!(delta, Ok(ChatDelta::Usage(usage)) if usage.total() == 4)));
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_future_ends_the_wait() {
        let script = ScriptedChatClient::replies([server(), Reply::text("unused")]);
        let client = Retrying::new(Arc::new(script.clone()), steady());
        let cancelled = tokio::time::timeout(Duration::from_millis(100), client.stream(request())).await;
        assert!(cancelled.is_err());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(script.requests().len(), 1);
    }

    #[test]
    fn waits_stay_within_their_bounds() {
        let error = ChatError::new(&ClientInfo::new("p", "m"), ChatErrorKind::Server, "x");
        let policy = RetryPolicy::default().with_max_attempts(u32::MAX);
        for attempt in [1, 2, 3, 10, 1_000, u32::MAX - 1] {
            let longest = policy.wait(attempt, &error, 0.0).unwrap();
            let shortest = policy.wait(attempt, &error, 1.0).unwrap();
            assert!(longest <= Duration::from_secs(30), "{attempt}: {longest:?}");
            assert_eq!(shortest, longest / 2);
        }
        assert_eq!(RetryPolicy::never().wait(1, &error, 0.0), None);
        let odd = policy.with_factor(f64::NAN).with_jitter(7.0).with_max_attempts(0);
        assert_eq!(odd.max_attempts(), 1);
        assert!((0.0..=1.0).contains(&random_part()));
    }
}
