//! Starting an example, and a server that speaks OpenAI's protocol for it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};

/// A document that the examples are given.
pub(crate) const LIGHTHOUSE: &str = include_str!("../../documents/lighthouse.txt");

/// How long a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn lighthouse() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("documents/lighthouse.txt")
}

/// The program of an example. `cargo test` builds it along with the tests.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "build the examples first: cargo build --examples");
    path
}

/// An example without the caller's environment, in which there may be keys.
pub(crate) fn example(name: &str) -> Command {
    let mut command = Command::new(program(name));
    // Lines that are long enough not to be broken in a text that a test looks for.
    command.env_clear().env("COLUMNS", "160");
    command
}

/// The same without a controlling terminal; `None` where there is no program `setsid`.
pub(crate) fn without_terminal(name: &str) -> Option<Command> {
    let found = Command::new("setsid").arg("--version").output().is_ok();
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(program(name)).env_clear().env("COLUMNS", "160");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    found.then_some(command)
}

/// What a program came to, as text.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program with `input` as its standard input.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Ended {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that ends without reading its input is no mistake of the test.
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ended {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// What the server answers a request with.
pub(crate) enum Reply {
    /// A text in pieces, with a pause before each.
    Text(Vec<String>, Duration),
    /// Calls of tools.
    Calls(Vec<(&'static str, Value)>),
    /// An error.
    Status(u16, &'static str),
    /// Nothing, ever.
    Hold,
}

impl Reply {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(vec![text.to_owned()], Duration::ZERO)
    }
}

/// Starts a server on the loopback address and returns its URL. It ends with the test.
pub(crate) fn server(answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            // A client that goes away in the middle is part of what is tested.
            std::thread::spawn(move || serve(stream, &*answer).is_ok());
        }
    });
    url
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Value) -> Reply) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if request.starts_with("GET") {
        return respond(&mut stream, 200, "application/json", &json!({"data": [{"id": "tiny"}]}).to_string());
    }
    let request: Value = serde_json::from_slice(&body)?;
    let mut last = "stop";
    match answer(&request) {
        Reply::Hold => std::thread::sleep(Duration::from_secs(600)),
        Reply::Status(code, text) => {
            let body = json!({"error": {"message": text}}).to_string();
            return respond(&mut stream, code, "application/json", &body);
        }
        Reply::Text(pieces, pause) => {
            head(&mut stream, 200, "text/event-stream")?;
            for piece in pieces {
                std::thread::sleep(pause);
                chunk(&mut stream, &json!({"content": piece}), None)?;
            }
        }
        Reply::Calls(calls) => {
            head(&mut stream, 200, "text/event-stream")?;
            last = "tool_calls";
            for (index, (name, arguments)) in calls.into_iter().enumerate() {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                let call =
                    json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
                chunk(&mut stream, &json!({"tool_calls": [call]}), None)?;
            }
        }
    }
    chunk(&mut stream, &json!({}), Some(last))?;
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}});
    write!(stream, "data: {usage}\n\ndata: [DONE]\n\n")
}

fn head(stream: &mut TcpStream, code: u16, kind: &str) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")
}

fn respond(stream: &mut TcpStream, code: u16, kind: &str, body: &str) -> std::io::Result<()> {
    head(stream, code, kind)?;
    stream.write_all(body.as_bytes())
}

fn chunk(stream: &mut TcpStream, delta: &Value, finish: Option<&str>) -> std::io::Result<()> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    write!(stream, "data: {}\n\n", json!({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}))?;
    stream.flush()
}

/// The last message of a request.
pub(crate) fn last_message(request: &Value) -> &Value {
    request["messages"].as_array().and_then(|messages| messages.last()).unwrap()
}

/// Whether the request is one of the agent whose system prompt has `text` in it.
pub(crate) fn is_of(request: &Value, text: &str) -> bool {
    request["messages"][0]["content"].to_string().contains(text)
}
