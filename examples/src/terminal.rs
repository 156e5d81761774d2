//! The controlling terminal: the person who started the program, wherever its input and output go.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    sync::mpsc as blocking,
};

use hpd_agent::{
    event::{AgentScope, CallType, PermissionRequested},
    permission::PermissionDecision,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::text::{harmless, preview};

const INPUT: &str = if cfg!(windows) { "CONIN$" } else { "/dev/tty" };
const OUTPUT: &str = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };

/// How much of the arguments a question shows, in characters; all of it on request.
const SHOWN_ARGUMENTS: usize = 300;

/// Lines of a source, read one at a time and only when somebody wants one.
///
/// Waiting for a line can be given up without losing it: the next one who asks gets it.
#[derive(Debug)]
pub struct Lines {
    demand: blocking::Sender<()>,
    lines: mpsc::UnboundedReceiver<io::Result<Option<String>>>,
    demanded: bool,
}

impl Lines {
    /// The lines of `source`.
    pub fn of(source: impl Read + Send + 'static) -> Self {
        let (demand, demands) = blocking::channel();
        let (sender, lines) = mpsc::unbounded_channel();
        // A thread of its own: a read that nobody waits for any more must not keep the program from ending.
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            while demands.recv().is_ok() {
                if sender.send(read_line(&mut source)).is_err() {
                    return;
                }
            }
        });
        Self { demand, lines, demanded: false }
    }

    /// The next line without its end; `None` at the end of the source (Ctrl-D on a terminal).
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        if !self.demanded {
            self.demanded = self.demand.send(()).is_ok();
        }
        let line = self.lines.recv().await;
        self.demanded = false;
        line.unwrap_or(Ok(None))
    }
}

fn read_line(source: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if source.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The controlling terminal.
#[derive(Debug)]
pub struct Terminal {
    lines: Lines,
    out: File,
}

impl Terminal {
    /// Opens it; `None` if the process has none.
    #[must_use]
    pub fn open() -> Option<Self> {
        let input = File::open(INPUT).ok()?;
        let out = OpenOptions::new().write(true).open(OUTPUT).ok()?;
        Some(Self { lines: Lines::of(input), out })
    }

    /// Shows a text and reads a line; `None` for Ctrl-D.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub async fn prompt(&mut self, text: &str) -> io::Result<Option<String>> {
        self.say(text)?;
        self.lines.next().await
    }

    /// Shows a text.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(harmless(text).as_bytes())?;
        self.out.flush()
    }

    /// Asks whether a tool may be used. An empty line and Ctrl-D mean no.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub async fn ask(&mut self, question: &PermissionRequested, agent: &AgentScope) -> io::Result<PermissionDecision> {
        let kind = match question.call_type {
            CallType::SubAgent => "the subagent",
            _ => "the tool",
        };
        let tool = &question.function_name;
        let arguments = readable(&question.arguments);
        let shown = preview(&arguments, SHOWN_ARGUMENTS);
        let text = format!(
            "\n{} wants to use {kind} `{tool}`: {}\n  {shown}\n",
            agent.agent_chain.join(" › "),
            preview(&question.description, SHOWN_ARGUMENTS),
        );
        self.say(&text)?;
        loop {
            let answer = self.prompt("Allow it? [y]es, [N]o, [a]lways, ne[v]er, [s]how all of it: ").await?;
            let Some(answer) = answer else {
                self.say("\n")?;
                return Ok(refusal());
            };
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(PermissionDecision::allow()),
                "a" | "always" => return Ok(PermissionDecision::allow().always()),
                "" | "n" | "no" => return Ok(refusal()),
                "v" | "never" => return Ok(refusal().always()),
                "s" | "show" => {
                    let text = format!("{}\n{arguments}\n", question.description);
                    self.say(&text)?;
                }
                _ => self.say("Please answer with one of these letters.\n")?,
            }
        }
    }
}

/// Arguments for people: one line for each, texts without quotes and escapes. What is no object stays as it is.
fn readable(arguments: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let lines = arguments.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn refusal() -> PermissionDecision {
    PermissionDecision::deny("the user said no")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_nobody_waited_for_is_not_lost() {
        let mut lines = Lines::of(&b"one\r\ntwo\nthree"[..]);
        assert_eq!(lines.next().await.unwrap().as_deref(), Some("one"));
        {
            let given_up = lines.next();
            tokio::select! { biased; () = std::future::ready(()) => {}, _ = given_up => panic!("it was not polled") }
        }
        assert_eq!(lines.next().await.unwrap().as_deref(), Some("two"));
        assert_eq!(lines.next().await.unwrap().as_deref(), Some("three"));
        assert_eq!(lines.next().await.unwrap(), None);
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
