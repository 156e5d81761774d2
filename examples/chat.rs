//! Chat: a conversation over many turns, with streaming.
//!
//! What it shows:
//!
//! - one thread that every turn continues (`agent.thread(session, thread).run(input)`),
//! - the answer on standard output while it arrives; tools, children and questions on standard error,
//! - Ctrl-C while the agent works cancels that run only, and the conversation goes on,
//! - a subagent, for which you are asked unless `--yes` allows it.
//!
//! ```sh
//! cargo run --example chat
//! printf 'Hello.\nWhat did I just say?\n' | cargo run --example chat -- --yes
//! ```

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use hpd_agent::{
    agent::AgentUsage,
    event::{EventBody, EventEnvelope},
    prelude::*,
};
use hpd_agent_examples::{
    interrupt::Interrupts,
    model,
    options::{COMMON_HELP, Options},
    report::{Failure, add_usage, exit, reports_tokens, write_usage},
    terminal::{Lines, Terminal},
    text::{harmless, print},
    tree::Tree,
    watch::{Answerer, Screen, tree_on_stderr, watch},
};

const HELP: &str = "\
A conversation with an agent that has a subagent for long texts.

Usage: chat [OPTIONS]

Every line is a message. These are commands:
  /new    begin a new conversation
  /usage  show the tokens by agent since the start of the program
  /quit   end the program; so does the end of the input (Ctrl-D)

Ctrl-C while the agent works cancels what it does; the conversation goes on.

";

const COMMANDS: &str = "/new, /usage and /quit";

#[derive(Default)]
struct Helpers;

#[tool_harness]
impl Helpers {
    /// Summarizes a long text. Use it for every text of more than a few sentences that the user gives you.
    #[subagent(agent_id = "chat.summarizer", context = Fresh)]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("Summarize the text in at most three bullets.")
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    exit("chat", chat().await)
}

async fn chat() -> Result<(), Failure> {
    let options = Options::from_command_line(0, &[])?;
    if options.help {
        print(&format!("{HELP}{COMMON_HELP}"))?;
        return Ok(());
    }
    let model = model::choose(options.model.as_deref()).await?.or_offline();
    let mut answerer = Answerer::new(options.yes);
    let mut input = Input::new(&answerer);

    let agent = Agent::builder()
        .with_name("Assistant")
        .with_system_instructions("You are a helpful assistant at a terminal. Answer briefly, in plain text.")
        .with_chat_client(model.client)
        .with_chat(options.chat())
        .with_tool_harness::<Helpers>()
        .with_permissions(answerer.permissions())
        .build()
        .await?;

    let mut screen = ChatScreen::new();
    screen.note(&model.announcement)?;
    let mut interrupts = Interrupts::listen();
    let mut usage = Vec::new();
    let mut session = 1;
    let mut failed = false;
    loop {
        let line = tokio::select! {
            line = input.next(&mut answerer) => line.map_err(|error| {
                Failure::failed(format!("the input can't be read: {error}"))
            })?,
            () = interrupts.next() => match input {
                Input::Piped(_) => return Err(Failure::Interrupted),
                Input::Terminal(_) | Input::Answerers => {
                    screen.note("\n/quit or Ctrl-D ends the program")?;
                    continue;
                }
            },
        };
        let Some(line) = line else { break };
        match line.trim() {
            "" => continue,
            "/quit" => break,
            "/new" => {
                session += 1;
                screen.note("a new conversation")?;
                continue;
            }
            "/usage" => {
                show_usage(&usage)?;
                continue;
            }
            command if command.starts_with('/') && !command.contains(char::is_whitespace) => {
                screen.note(&format!("`{command}` is no command; there are {COMMANDS}"))?;
                continue;
            }
            _ => {}
        }
        // The thread is created by the first message and continued by the others.
        let thread = agent.thread(format!("chat-{session}"), "main");
        let watched = watch(thread.run(line), &mut screen, &mut answerer, &mut interrupts).await?;
        add_usage(&mut usage, watched.usage);
        match watched.outcome {
            Ok(result) => screen.complete(result.text())?,
            Err(RunError::Cancelled) => screen.note("cancelled; the conversation goes on")?,
            Err(error) => {
                failed = true;
                screen.note(&format!("error: {error}"))?;
            }
        }
    }
    match (&input, failed) {
        // Whoever is at a terminal has seen it.
        (Input::Piped(_), true) => Err(Failure::failed("not every message was answered")),
        _ => Ok(()),
    }
}

fn show_usage(usage: &[AgentUsage]) -> Result<(), Failure> {
    if reports_tokens(usage) {
        write_usage(&mut io::stderr(), usage)?;
    } else {
        writeln!(io::stderr(), "no model has reported any tokens yet")?;
    }
    Ok(())
}

/// Where messages come from.
enum Input {
    /// Standard input is no terminal.
    Piped(Lines),
    /// The terminal, which nobody else reads.
    Terminal(Terminal),
    /// The terminal at which questions for permission are asked: only one may read it.
    Answerers,
}

impl Input {
    fn new(answerer: &Answerer) -> Self {
        match answerer {
            _ if !io::stdin().is_terminal() => Self::Piped(Lines::of(io::stdin())),
            Answerer::Terminal(_) => Self::Answerers,
            _ => Terminal::open().map_or_else(|| Self::Piped(Lines::of(io::stdin())), Self::Terminal),
        }
    }

    async fn next(&mut self, answerer: &mut Answerer) -> io::Result<Option<String>> {
        const PROMPT: &str = "\nyou> ";
        match (self, answerer) {
            (Self::Piped(lines), _) => lines.next().await,
            (Self::Terminal(terminal), _) | (Self::Answerers, Answerer::Terminal(terminal)) => {
                terminal.prompt(PROMPT).await
            }
            (Self::Answerers, _) => Ok(None),
        }
    }
}

/// The assistant's text on standard output, everything else that matters on standard error.
struct ChatScreen {
    tree: Tree<io::BufWriter<io::Stderr>>,
    out: io::Stdout,
    /// The text is in the middle of a line.
    within_line: bool,
    /// Pieces of the text are missing.
    missed: bool,
}

impl ChatScreen {
    fn new() -> Self {
        Self { tree: tree_on_stderr(), out: io::stdout(), within_line: false, missed: false }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.out.is_terminal() {
            self.out.write_all(harmless(text).as_bytes())?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        self.within_line = !text.ends_with('\n');
        self.out.flush()
    }

    /// The turn is over: shows the whole answer if pieces of it did not arrive.
    fn complete(&mut self, answer: &str) -> io::Result<()> {
        self.pause()?;
        if std::mem::take(&mut self.missed) {
            self.note("pieces of the answer were missed; this is all of it:")?;
            self.write(answer)?;
        }
        self.pause()
    }
}

impl Screen for ChatScreen {
    fn show(&mut self, envelope: &EventEnvelope) -> io::Result<()> {
        let root = envelope.agent().depth == 0;
        match envelope.body() {
            EventBody::TextDelta(delta) if root => {
                self.tree.pause()?;
                self.write(&delta.delta)
            }
            EventBody::EventsMissed(_) => {
                self.missed = true;
                Ok(())
            }
            // In a conversation it goes without saying that a model is asked and answers.
            EventBody::ModelRequest(_)
            | EventBody::ModelResponse(_)
            | EventBody::ModelRequestFailed(_)
            | EventBody::ReasoningDelta(_)
            | EventBody::ExecutionFinished(_)
                if root =>
            {
                Ok(())
            }
            _ => {
                if self.within_line {
                    self.write("\n")?;
                }
                self.tree.show(envelope)
            }
        }
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.pause()?;
        self.tree.note(text)
    }

    fn pause(&mut self) -> io::Result<()> {
        if self.within_line {
            self.write("\n")?;
        }
        self.tree.pause()
    }
}
