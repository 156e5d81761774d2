//! What `genai`'s errors mean.

use std::{
    error::Error as _,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime},
};

use genai::Error;
use serde_json::Value;

use crate::chat::{ChatError, ChatErrorKind, ClientInfo};

/// Whether anything of the answer has arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Before,
    During,
}

pub(super) struct ErrorMapper {
    info: ClientInfo,
    model: Arc<str>,
}

impl ErrorMapper {
    pub(super) fn new(info: &ClientInfo, model: &str) -> Self {
        Self { info: info.clone(), model: model.into() }
    }

    pub(super) fn error(&self, kind: ChatErrorKind, text: impl Into<Arc<str>>) -> ChatError {
        ChatError::new(&self.info, kind, text).with_model(Arc::clone(&self.model))
    }

    pub(super) fn map(&self, error: Error, phase: Phase) -> ChatError {
        if let Some(status) = error.status() {
            return self.http(status.as_u16(), &error);
        }
        match error {
            // Whether it was an answer with a status, a broken connection or bytes that are no text is in the box.
            Error::WebStream { error, .. } => match error.downcast::<Error>() {
                Ok(inner) => self.map(*inner, phase),
                Err(error) => {
                    let kind = if error.is::<std::string::FromUtf8Error>() || error.is::<std::str::Utf8Error>() {
                        ChatErrorKind::Protocol
                    } else {
                        connection(phase)
                    };
                    self.error(kind, with_causes(&*error))
                }
            },
            Error::ChatResponse { body, .. } => {
                let said = Said::of(&body);
                let status = said.code.as_deref().and_then(|code| code.parse().ok());
                let kind = match classify(status, &said) {
                    ChatErrorKind::RateLimited | ChatErrorKind::Server | ChatErrorKind::Connection
                        if phase == Phase::During =>
                    {
                        ChatErrorKind::Interrupted
                    }
                    kind => kind,
                };
                self.error(kind, said.text)
            }
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                let kind = match &webc_error {
                    genai::webc::Error::Reqwest(_) => connection(phase),
                    _ => ChatErrorKind::Protocol,
                };
                self.error(kind, with_causes(&webc_error))
            }
            Error::RequiresApiKey { .. } | Error::NoAuthResolver { .. } | Error::NoAuthData { .. } => {
                self.error(ChatErrorKind::Authentication, error.to_string())
            }
            Error::StreamParse { serde_error, .. } | Error::SerdeJson(serde_error) => {
                self.error(ChatErrorKind::Protocol, format!("a piece of the answer is no JSON: {serde_error}"))
            }
            Error::JsonValueExt(error) => {
                self.error(ChatErrorKind::Protocol, format!("a piece of the answer lacks a field: {error}"))
            }
            Error::NoChatResponse { .. } | Error::InvalidJsonResponseElement { .. } => {
                self.error(ChatErrorKind::Protocol, error.to_string())
            }
            Error::AdapterNotSupported { .. }
            | Error::MessageRoleNotSupported { .. }
            | Error::MessageContentTypeNotSupported { .. }
            | Error::ChatReqHasNoMessages { .. } => self.error(ChatErrorKind::InvalidRequest, error.to_string()),
            other => self.error(ChatErrorKind::Other, other.to_string()),
        }
    }

    /// An answer with a status that says no.
    fn http(&self, status: u16, error: &Error) -> ChatError {
        let body = match error {
            Error::HttpError { body, .. } => body.as_str(),
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => match webc_error {
                genai::webc::Error::ResponseFailedStatus { body, .. } => body.as_str(),
                _ => "",
            },
            _ => "",
        };
        let json = serde_json::from_str(body).unwrap_or(Value::Null);
        let mut said = Said::of(&json);
        if said.text.is_empty() {
            said.text = shortened(body);
        }
        let text = format!("HTTP status {status}: {}", if said.text.is_empty() { "no text" } else { &said.text });
        let mut mapped = self.error(classify(Some(status), &said), text).with_status(status);
        let header = |name: &str| error.headers()?.get(name)?.to_str().ok();
        let wait = header("retry-after-ms").and_then(|text| text.trim().parse().ok()).and_then(milliseconds);
        let wait = wait.or_else(|| retry_after(header("retry-after")?, SystemTime::now()));
        if let Some(wait) = wait.or_else(|| retry_info(&json)) {
            mapped = mapped.with_retry_after(wait);
        }
        mapped
    }
}

fn connection(phase: Phase) -> ChatErrorKind {
    match phase {
        Phase::Before => ChatErrorKind::Connection,
        Phase::During => ChatErrorKind::Interrupted,
    }
}

/// An error with what caused it: the outermost text of a failed connection does not say why.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    // `genai` keeps the cause out of reach of `source` in one case.
    if let Some(genai::webc::Error::Reqwest(inner)) = error.downcast_ref::<genai::webc::Error>() {
        cause = inner.source();
    }
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    shortened(&text)
}

fn shortened(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut head: String = chars.by_ref().take(600).collect();
    if chars.next().is_some() {
        head.push('…');
    }
    head
}

/// What an error's JSON says, in the shapes of the providers.
#[derive(Default)]
struct Said {
    text: String,
    /// Type, code and status, all of them, in lower case.
    kinds: String,
    code: Option<String>,
}

impl Said {
    fn of(json: &Value) -> Self {
        // Gemini's errors may come as a list of one.
        let json = json.get(0).unwrap_or(json);
        let error = match json.get("error") {
            // Ollama's error is a text.
            Some(Value::String(text)) => return Self { text: shortened(text), ..Self::default() },
            Some(error) => error,
            None => json,
        };
        if let Value::String(text) = error {
            return Self { text: shortened(text), ..Self::default() };
        }
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let text = field("message").map(|text| shortened(&text));
        let text = text.or_else(|| (!error.is_null()).then(|| shortened(&error.to_string())));
        let code = field("code");
        let kinds = [field("type"), code.clone(), field("status")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        Self { text: text.unwrap_or_default(), kinds: kinds.to_lowercase(), code }
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let text = self.text.to_lowercase();
        words.iter().any(|word| text.contains(word) || self.kinds.contains(word))
    }
}

const TOO_LONG: [&str; 11] = [
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context window",
    "maximum context",
    "available context size",
    "prompt is too long",
    "input is too long",
    "input token count",
    "request_too_large",
    "reduce the length of the messages",
];

fn classify(status: Option<u16>, said: &Said) -> ChatErrorKind {
    match status {
        Some(400 | 413 | 422) | None if said.mentions(&TOO_LONG) => ChatErrorKind::ContextTooLong,
        // No money is no reason to come back in a minute.
        Some(429) if said.mentions(&["insufficient_quota"]) => ChatErrorKind::Other,
        Some(429) => ChatErrorKind::RateLimited,
        Some(401 | 403) => ChatErrorKind::Authentication,
        Some(400) if said.mentions(&["api_key_invalid", "api key not valid"]) => ChatErrorKind::Authentication,
        Some(400 | 404) if said.mentions(&["model_not_found", "invalid model"]) => ChatErrorKind::UnknownModel,
        Some(404) if said.mentions(&["model"]) => ChatErrorKind::UnknownModel,
        // Nobody who speaks the protocol says this without naming what was not found.
        Some(404 | 405) => ChatErrorKind::Protocol,
        Some(408) => ChatErrorKind::Connection,
        Some(409 | 425 | 500..) => ChatErrorKind::Server,
        Some(400..) => ChatErrorKind::InvalidRequest,
        _ if said.mentions(&["overloaded", "server_error", "api_error", "unavailable", "internal"]) => {
            ChatErrorKind::Server
        }
        _ if said.mentions(&["rate_limit", "resource_exhausted"]) => ChatErrorKind::RateLimited,
        _ if said.mentions(&["authentication", "permission"]) => ChatErrorKind::Authentication,
        _ if said.mentions(&["not_found"]) => ChatErrorKind::UnknownModel,
        _ if said.mentions(&["invalid_request", "invalid_argument"]) => ChatErrorKind::InvalidRequest,
        _ => ChatErrorKind::Other,
    }
}

fn milliseconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number / 1_000.0).ok()
}

/// The header `Retry-After`: seconds, or a date.
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // `Sun, 06 Nov 1994 08:49:37 GMT`
    let mut words = text.split_whitespace().skip(1);
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1;
    let date = humantime::parse_rfc3339(&format!("{year}-{month:02}-{day:0>2}T{time}Z")).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Gemini says in the body how long to wait: `"retryDelay": "34s"`.
fn retry_info(json: &Value) -> Option<Duration> {
    let json = json.get(0).unwrap_or(json);
    let details = json.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(status: u16, body: &Value) -> ChatErrorKind {
        classify(Some(status), &Said::of(body))
    }

    #[test]
    fn statuses_and_texts_of_the_providers() {
        let openai = |code: &str, text: &str| json!({"error": {"message": text, "type": "x", "code": code}});
        let too_long = openai("context_length_exceeded", "This model's maximum context length is 8192 tokens.");
        assert_eq!(kind(400, &too_long), ChatErrorKind::ContextTooLong);
        let anthropic = |kind: &str, text: &str| json!({"type": "error", "error": {"type": kind, "message": text}});
        let too_long = anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
        assert_eq!(kind(400, &too_long), ChatErrorKind::ContextTooLong);
        assert_eq!(kind(413, &anthropic("request_too_large", "…")), ChatErrorKind::ContextTooLong);
        let gemini = |status: &str, text: &str| json!([{"error": {"code": 400, "status": status, "message": text}}]);
        let too_long = gemini("INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number");
        assert_eq!(kind(400, &too_long), ChatErrorKind::ContextTooLong);
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request"}});
        assert_eq!(kind(400, &llama), ChatErrorKind::ContextTooLong);

        assert_eq!(kind(400, &gemini("INVALID_ARGUMENT", "API key not valid.")), ChatErrorKind::Authentication);
        assert_eq!(kind(401, &openai("invalid_api_key", "no")), ChatErrorKind::Authentication);
        assert_eq!(kind(404, &anthropic("not_found_error", "model: claude-x")), ChatErrorKind::UnknownModel);
        assert_eq!(kind(404, &json!({"error": "model \"x\" not found"})), ChatErrorKind::UnknownModel);
        assert_eq!(kind(404, &Value::Null), ChatErrorKind::Protocol);
        assert_eq!(kind(429, &openai("rate_limit_exceeded", "slow")), ChatErrorKind::RateLimited);
        assert_eq!(kind(429, &openai("insufficient_quota", "pay")), ChatErrorKind::Other);
        assert_eq!(kind(400, &openai("x", "bad tool")), ChatErrorKind::InvalidRequest);
        assert_eq!(kind(503, &Value::Null), ChatErrorKind::Server);
        assert_eq!(kind(529, &anthropic("overloaded_error", "Overloaded")), ChatErrorKind::Server);
    }

    #[test]
    fn errors_within_a_stream_have_no_status() {
        let said = |kind: &str| Said::of(&json!({"type": "error", "error": {"type": kind, "message": "m"}}));
        assert_eq!(classify(None, &said("overloaded_error")), ChatErrorKind::Server);
        assert_eq!(classify(None, &said("rate_limit_error")), ChatErrorKind::RateLimited);
        assert_eq!(classify(None, &said("invalid_request_error")), ChatErrorKind::InvalidRequest);
        assert_eq!(classify(None, &said("odd")), ChatErrorKind::Other);
    }

    #[test]
    fn retry_after_in_all_its_forms() {
        let now = humantime::parse_rfc3339("1994-11-06T08:49:30Z").unwrap();
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("0.5", now), Some(Duration::from_millis(500)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sun, 6 Nov 1994 08:00:00 GMT", now), Some(Duration::ZERO));
        for bad in ["", "soon", "-1", "Sun, 06 Foo 1994 08:49:37 GMT", "NaN"] {
            assert_eq!(retry_after(bad, now), None, "{bad}");
        }
        let body = json!({"error": {"details": [{"@type": "a"}, {"@type": "RetryInfo", "retryDelay": "34.5s"}]}});
        assert_eq!(retry_info(&body), Some(Duration::from_millis(34_500)));
        assert_eq!(retry_info(&Value::Null), None);
    }

    #[test]
    fn long_texts_are_shortened() {
        assert_eq!(shortened(&"ä".repeat(2_000)).chars().count(), 601);
    }
}
