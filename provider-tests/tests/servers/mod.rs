//! Servers that tests start and end, and what they read of an answer.

#![allow(dead_code, reason = "not every test program uses everything of it")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use hpd_agent::{
    chat::{ChatClient, ChatDelta, ChatError, ChatRequest, Schema, ToolSet, ToolSpec},
    history::History,
    id::{CallId, MessageId, ToolName},
    message::{Message, Part, Reasoning, Role, StopReason, ToolCall, ToolOutput, ToolResult, Usage},
};
use serde_json::Value;

/// A server in a process of its own on a free port of the loop-back interface; it ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts the program that the environment variable names; `arguments` makes its arguments of the port. Waits until
    /// `ready` answers with 200.
    pub(crate) fn start(variable: &str, arguments: impl Fn(u16) -> Vec<String>, ready: &str) -> Self {
        let program = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: run `eval \"$(scripts/setup-test-servers.sh)\"` first, then the tests again")
        });
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let process = Command::new(&program)
            .args(arguments(port))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{variable}={program} can't be started: {error}"));
        let mut server = Self { process, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !matches!(server.try_call("GET", ready, ""), Ok((200, _))) {
            assert!(server.process.try_wait().unwrap().is_none(), "{program} ended at its start");
            assert!(Instant::now() < deadline, "{program} does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Asks something of the server's own; JSON in, JSON out.
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.try_call(method, path, &body).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    fn try_call(&self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok((status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What stands between a client and a server, and keeps the requests as they are on the wire.
pub(crate) struct Tap {
    port: u16,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    /// Passes everything on to `server`, both ways.
    pub(crate) fn before(server: &Server) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sent, behind) = (Arc::<Mutex<Vec<u8>>>::default(), server.port);
        let kept = Arc::clone(&sent);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, behind)).unwrap();
                let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || pass_on(client, server, &kept));
            }
        });
        Self { port, sent }
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The body of the only request so far; it is forgotten.
    pub(crate) fn take_body(&self) -> Value {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap());
        let text = String::from_utf8(sent).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no request: {text}"));
        serde_json::from_str(body).unwrap_or_else(|error| panic!("not one JSON body ({error}): {text}"))
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = client.read(&mut piece) {
        kept.lock().unwrap().extend(&piece[..length]);
        if server.write_all(&piece[..length]).is_err() {
            break;
        }
    }
}

/// An answer, put together.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<(Option<Arc<str>>, Arc<str>, String)>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<StopReason>,
    /// How many pieces of text and arguments there were.
    pub(crate) pieces: usize,
    pub(crate) error: Option<ChatError>,
    parts: Vec<Part>,
}

impl Answer {
    /// The message that a runtime would make of it, and the ids of its calls.
    pub(crate) fn message(&self) -> (Message, Vec<CallId>) {
        let id = MessageId::generate();
        let mut parts = self.parts.clone();
        if !self.text.is_empty() {
            parts.push(Part::Text(self.text.as_str().into()));
        }
        let mut ids = Vec::new();
        for (index, (provider_id, name, arguments)) in self.calls.iter().enumerate() {
            let call = ToolCall::new(CallId::new(id, index as u32), Arc::clone(name), arguments.as_str());
            ids.push(call.id);
            parts.push(Part::ToolCall(match provider_id {
                Some(provider_id) => call.with_provider_id(Arc::clone(provider_id)),
                None => call,
            }));
        }
        (Message::of(id, Role::Assistant, parts), ids)
    }
}

/// Asks, and reads to the end. The error is that of the request or that of the stream.
pub(crate) async fn ask(client: &dyn ChatClient, request: ChatRequest) -> Answer {
    let mut answer = Answer::default();
    let mut stream = match client.stream(request).await {
        Ok(stream) => stream,
        Err(error) => {
            answer.error = Some(error);
            return answer;
        }
    };
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(ChatDelta::Text(text)) => {
                answer.pieces += 1;
                answer.text.push_str(&text);
            }
            Ok(ChatDelta::Reasoning(text)) => answer.reasoning.push_str(&text),
            Ok(ChatDelta::ReasoningSignature(signature)) => {
                answer.parts.push(Part::Reasoning(Reasoning::new(answer.reasoning.as_str()).with_signature(signature)));
            }
            Ok(ChatDelta::ToolCallStart { id, name, .. }) => answer.calls.push((id, name, String::new())),
            Ok(ChatDelta::ToolCallArguments { index, text }) => {
                answer.pieces += 1;
                answer.calls[index as usize].2.push_str(&text);
            }
            Ok(ChatDelta::Usage(usage)) => answer.usage = Some(usage),
            Ok(ChatDelta::Finish(reason)) => answer.stop = Some(reason),
            Ok(other) => panic!("an unknown delta: {other:?}"),
            Err(error) => answer.error = Some(error),
        }
    }
    answer
}

/// A request of these messages with one tool.
pub(crate) fn request(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let name = ToolName::new("get_weather").unwrap();
    let tool = ToolSpec::new(name, "Gets the weather of a city.", Schema::from_static(schema));
    let history: History = messages.into_iter().map(Arc::new).collect();
    ChatRequest::new(history).with_system("Be brief.").with_tools(ToolSet::from_iter([tool]))
}

/// The message that answers a call.
pub(crate) fn result(call_id: CallId, output: ToolOutput) -> Message {
    let result = ToolResult::new(call_id, "get_weather", output);
    Message::of(MessageId::generate(), Role::Tool, [Part::ToolResult(result)])
}
