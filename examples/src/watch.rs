//! A run from its start to its end: events are shown, questions for permission answered, Ctrl-C cancels.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Write},
};

use hpd_agent::{
    agent::{AgentUsage, Run, RunError, RunResult},
    event::{EventBody, EventEnvelope, PermissionRequested},
    id::RequestId,
    permission::{PermissionDecision, Permissions},
};

use crate::{
    interrupt::Interrupts,
    report::{Failure, reports_tokens, write_usage},
    terminal::Terminal,
    text::print,
    tree::Tree,
};

/// What the model and the user are told if nobody can be asked.
const NO_TERMINAL: &str = "there is no terminal to ask at; run the program with --yes to allow it";

/// Who answers questions for permission.
#[derive(Debug)]
pub enum Answerer {
    /// `--yes`: nobody has to be asked.
    Yes,
    /// The person at the terminal.
    Terminal(Terminal),
    /// Nobody: everything that needs permission is denied.
    Nobody,
}

impl Answerer {
    /// The person at the terminal if there is one, unless `yes` allows everything.
    #[must_use]
    pub fn new(yes: bool) -> Self {
        match yes {
            true => Self::Yes,
            false => Terminal::open().map_or(Self::Nobody, Self::Terminal),
        }
    }

    /// The policy that goes with it.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        match self {
            Self::Yes => Permissions::allow_all(),
            // Whoever takes the questions of a run answers them: that is `watch`.
            Self::Terminal(_) | Self::Nobody => Permissions::ask(),
        }
    }
}

/// Where events are shown.
pub trait Screen {
    /// Shows an event.
    ///
    /// # Errors
    ///
    /// Those of the output.
    fn show(&mut self, envelope: &EventEnvelope) -> io::Result<()>;

    /// Shows a sentence that belongs to no agent.
    ///
    /// # Errors
    ///
    /// Those of the output.
    fn note(&mut self, text: &str) -> io::Result<()>;

    /// Finishes what is being written, because a question follows.
    ///
    /// # Errors
    ///
    /// Those of the output.
    fn pause(&mut self) -> io::Result<()>;
}

impl<W: Write> Screen for Tree<W> {
    fn show(&mut self, envelope: &EventEnvelope) -> io::Result<()> {
        Self::show(self, envelope)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        Self::note(self, text)
    }

    fn pause(&mut self) -> io::Result<()> {
        Self::pause(self)
    }
}

/// The event tree on standard error, so that standard output has the answer alone. Where both are the terminal, the tree
/// leaves the answer out.
#[must_use]
pub fn tree_on_stderr() -> Tree<io::BufWriter<io::Stderr>> {
    let colors = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let tree = Tree::new(io::BufWriter::new(io::stderr()), colors).with_width(width());
    if io::stderr().is_terminal() && io::stdout().is_terminal() { tree.without_answer() } else { tree }
}

/// How many columns the terminal has: what it says itself, else `COLUMNS`.
fn width() -> Option<usize> {
    let own = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    own.or_else(|| std::env::var("COLUMNS").ok()?.trim().parse().ok())
}

/// What a run that was watched came to.
#[derive(Debug)]
pub struct Watched {
    /// The answer, or why there is none.
    pub outcome: Result<RunResult, RunError>,
    /// The tokens by agent, also those of a run without an answer.
    pub usage: Vec<AgentUsage>,
    /// How many calls were denied because there was nobody to ask.
    pub denied_unasked: u32,
}

impl Watched {
    /// Prints the answer on standard output and the token usage on standard error.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no answer, if it could not be printed, or if it lacks a part that nobody decided
    /// against: something was denied because nobody could be asked.
    pub fn report(self) -> Result<(), Failure> {
        let mut errors = io::stderr();
        if io::stdout().is_terminal() && errors.is_terminal() {
            writeln!(errors)?;
        }
        let outcome = match self.outcome {
            Ok(result) => print(result.text()).map_err(Failure::from),
            Err(error) => Err(error.into()),
        };
        if reports_tokens(&self.usage) {
            writeln!(errors)?;
            write_usage(&mut errors, &self.usage)?;
        }
        outcome?;
        match self.denied_unasked {
            0 => Ok(()),
            1 => Err(Failure::failed("a call was denied, because there is no terminal to ask at; --yes allows it")),
            calls => Err(Failure::failed(format!(
                "{calls} calls were denied, because there is no terminal to ask at; --yes allows them"
            ))),
        }
    }
}

/// Runs an agent to its end.
///
/// # Errors
///
/// [`Failure`] if the events can't be shown; the run is cancelled then. What the run came to is in [`Watched`].
pub async fn watch(
    mut run: Run,
    screen: &mut impl Screen,
    answerer: &mut Answerer,
    interrupts: &mut Interrupts,
) -> Result<Watched, Failure> {
    let handle = run.handle();
    // As long as this is kept, there is somebody who can be asked.
    let questions = run.permission_requests();
    let mut later = VecDeque::new();
    let mut cancelled = false;
    let mut denied_unasked = 0;
    loop {
        let envelope = match later.pop_front() {
            Some(envelope) => envelope,
            None => tokio::select! {
                envelope = run.next() => match envelope {
                    Some(envelope) => envelope,
                    None => break,
                },
                () = interrupts.next() => {
                    interrupted(&run, screen, &mut cancelled)?;
                    continue;
                }
            },
        };
        screen.show(&envelope)?;
        let EventBody::PermissionRequest(question) = envelope.body() else { continue };
        if cancelled || is_answered(&later, question.permission_id) {
            continue;
        }
        let decision = match answerer {
            Answerer::Yes => Some(PermissionDecision::allow()),
            Answerer::Nobody => {
                denied_unasked += 1;
                Some(PermissionDecision::deny(NO_TERMINAL))
            }
            Answerer::Terminal(terminal) => {
                screen.pause()?;
                let ask = terminal.ask(question, envelope.agent());
                let decision = tokio::select! {
                    decision = ask => decision.map(Some),
                    over = wait_for_end(&mut run, question, &mut later) => {
                        over.map(|()| None)
                    }
                    () = interrupts.next() => {
                        interrupted(&run, screen, &mut cancelled)?;
                        Ok(None)
                    }
                };
                let decision = decision.unwrap_or_else(|error| {
                    Some(PermissionDecision::deny(format!("the terminal can't be read: {error}")))
                });
                if decision.is_none() && !cancelled {
                    // It stands in the middle of a line.
                    terminal.say("\n")?;
                }
                decision
            }
        };
        if let Some(decision) = decision {
            run.respond(question.permission_id, decision);
        }
    }
    drop(questions);
    screen.pause()?;
    let outcome = run.await;
    let usage = match &outcome {
        Ok(result) => result.usage_by_agent().to_vec(),
        Err(_) => handle.usage_by_agent(),
    };
    Ok(Watched { outcome, usage, denied_unasked })
}

/// The first Ctrl-C asks the run to stop; the second one does not wait for that.
fn interrupted(run: &Run, screen: &mut impl Screen, cancelled: &mut bool) -> io::Result<()> {
    if *cancelled {
        std::process::exit(130);
    }
    *cancelled = true;
    run.cancel();
    screen.note("\nCtrl-C: the run is being cancelled")
}

/// Keeps events for later until the question has been closed by something else than an answer: its time is over.
async fn wait_for_end(
    run: &mut Run,
    question: &PermissionRequested,
    later: &mut VecDeque<EventEnvelope>,
) -> io::Result<()> {
    while let Some(envelope) = run.next().await {
        later.push_back(envelope);
        if is_answered(later, question.permission_id) {
            break;
        }
    }
    Ok(())
}

fn is_answered(events: &VecDeque<EventEnvelope>, id: RequestId) -> bool {
    events
        .iter()
        .any(|envelope| matches!(envelope.body(), EventBody::PermissionResponse(answer) if answer.permission_id == id))
}
