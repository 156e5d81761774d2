//! The events of a run and its descendants as an indented text that grows while they happen.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use hpd_agent::{
    event::{AgentScope, CallType, EventBody, EventEnvelope, ExecutionOutcome, PermissionChoice, PermissionOutcome},
    id::{CallId, ThreadKey},
    message::Message,
};

use crate::text::{harmless, preview};

/// The column behind which a text goes on in the next line.
const WIDTH: usize = 100;
/// How much of arguments and results is shown, in characters.
const SHOWN: usize = 72;

/// How many pieces wait until the line that keeps them waiting is broken off.
const PATIENCE: usize = 64;

/// Writes events: one block for each agent, indented by depth, text as it arrives.
///
/// Agents that run side by side do not write into each other's lines: while one is in the middle of a line, what the
/// others do waits for its end.
#[derive(Debug)]
pub struct Tree<W> {
    out: W,
    colors: bool,
    agents: Vec<Block>,
    /// What has to wait for the end of another agent's line.
    waiting: VecDeque<(usize, Piece)>,
    /// Whose line is not finished.
    writing: Option<usize>,
    /// Whose block was written last.
    last: Option<usize>,
}

/// What is written of one agent.
#[derive(Debug)]
struct Block {
    thread: ThreadKey,
    /// The names from the root to the agent.
    chain: String,
    depth: usize,
    /// The mark and the column of the line that is not finished.
    line: Option<(&'static str, usize)>,
    /// The last line ended only because it was full: its text goes on.
    full: bool,
    /// The tool call that is being written, and how much of its arguments may still be shown.
    call: Option<(CallId, usize)>,
}

#[derive(Debug)]
enum Piece {
    /// A line of its own.
    Line(String),
    /// More of a text whose lines begin with a mark.
    Text(&'static str, String),
    /// The text is complete.
    End,
}

const TEXT: &str = "│ ";
const REASONING: &str = "┊ ";
const CALL: &str = "→ ";

impl<W: Write> Tree<W> {
    /// Writes to `out`, with colours or without.
    pub fn new(out: W, colors: bool) -> Self {
        Self { out, colors, agents: Vec::new(), waiting: VecDeque::new(), writing: None, last: None }
    }

    /// Shows an event.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn show(&mut self, envelope: &EventEnvelope) -> io::Result<()> {
        let at = self.block(&envelope.thread, envelope.agent());
        for piece in self.pieces(at, envelope.body()) {
            self.put(at, piece)?;
        }
        self.out.flush()
    }

    /// Shows a sentence that belongs to no agent.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        self.pause()?;
        writeln!(self.out, "{}", harmless(text))?;
        self.out.flush()
    }

    /// Finishes all lines, so that something else can be written.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn pause(&mut self) -> io::Result<()> {
        self.interrupt()?;
        while !self.waiting.is_empty() {
            self.write_what_can_be_written()?;
            self.interrupt()?;
        }
        self.last = None;
        self.out.flush()
    }

    fn block(&mut self, thread: &ThreadKey, agent: &AgentScope) -> usize {
        if let Some(at) = self.agents.iter().position(|block| block.thread == *thread) {
            return at;
        }
        self.agents.push(Block {
            thread: thread.clone(),
            chain: harmless(&agent.agent_chain.join(" › ")),
            depth: usize::try_from(agent.depth).unwrap_or_default(),
            line: None,
            full: false,
            call: None,
        });
        self.agents.len() - 1
    }

    /// What is written of an event.
    fn pieces(&mut self, at: usize, body: &EventBody) -> Vec<Piece> {
        let line = |text: String| vec![Piece::End, Piece::Line(text)];
        match body {
            EventBody::TextDelta(delta) => vec![Piece::Text(TEXT, harmless(&delta.delta))],
            EventBody::ReasoningDelta(delta) => vec![Piece::Text(REASONING, harmless(&delta.delta))],
            EventBody::ToolCallStart(call) => {
                self.set_call(at, Some((call.call_id, SHOWN)));
                vec![Piece::End, Piece::Text(CALL, format!("{} ", preview(&call.name, SHOWN)))]
            }
            EventBody::ToolCallArgs(arguments) => {
                let text = self.shown_arguments(at, arguments.call_id, &arguments.delta);
                if text.is_empty() { Vec::new() } else { vec![Piece::Text(CALL, text)] }
            }
            EventBody::ToolCallEnd(_) => {
                self.set_call(at, None);
                vec![Piece::End]
            }
            EventBody::ModelRequest(request) => {
                let again = if request.iteration == 1 { "" } else { " again" };
                line(format!("asks {}/{}{again}", request.selection.provider, request.selection.model))
            }
            EventBody::ModelResponse(_) => vec![Piece::End],
            EventBody::ModelRequestFailed(failed) => line(format!("the model failed: {}", failed.error.message)),
            EventBody::ToolExecutionStarted(started) => line(format!("runs `{}`", started.name)),
            EventBody::ToolCallResult(result) => result_lines(&result.message),
            EventBody::PermissionRequest(question) => {
                let kind = if question.call_type == CallType::SubAgent { "subagent" } else { "tool" };
                line(format!("? needs permission for the {kind} `{}`", question.function_name))
            }
            EventBody::PermissionResponse(answer) => {
                let always = if answer.choice == PermissionChoice::Ask { "" } else { " for the whole session" };
                let outcome = match answer.outcome {
                    PermissionOutcome::Approved => "allowed",
                    PermissionOutcome::Denied | PermissionOutcome::NobodyToAsk => "denied",
                    PermissionOutcome::TimedOut => "denied, because nobody answered in time",
                    PermissionOutcome::Cancelled => "not answered, because the run was cancelled",
                    _ => "answered",
                };
                let reason = match (&answer.reason, answer.outcome) {
                    (Some(reason), PermissionOutcome::Denied | PermissionOutcome::NobodyToAsk) => {
                        format!(": {reason}")
                    }
                    _ => String::new(),
                };
                line(format!("? `{}` is {outcome}{always}{reason}", answer.function_name))
            }
            EventBody::SubAgentInvocationStarted(started) => {
                let invocation = &started.invocation;
                line(format!(
                    "↓ delegates to `{}` (agent {}, context {}, {})",
                    invocation.role_name,
                    invocation.child_agent_id,
                    invocation.context_policy.as_str(),
                    invocation.mode.as_str()
                ))
            }
            EventBody::SubAgentInvocationCompleted(ended) => {
                line(format!("↑ `{}` has answered", ended.invocation.role_name))
            }
            EventBody::SubAgentInvocationFailed(ended) => {
                line(format!("↑ `{}` has failed: {}", ended.invocation.role_name, ended.message))
            }
            EventBody::SubAgentInvocationCancelled(ended) => {
                line(format!("↑ `{}` was cancelled", ended.invocation.role_name))
            }
            EventBody::ExecutionFinished(finished) => line(match (&finished.outcome, &finished.error) {
                // The error itself has been shown where it happened, or ends the program.
                (_, Some(error)) => format!("✗ failed ({})", error.code),
                (ExecutionOutcome::Succeeded, None) => "✓ done".to_owned(),
                (ExecutionOutcome::Failed, None) => "✗ failed".to_owned(),
                (ExecutionOutcome::Cancelled, None) => "✗ cancelled".to_owned(),
            }),
            EventBody::Custom(custom) => {
                line(format!("• {} {}", custom.name, preview(&custom.value.to_string(), SHOWN)))
            }
            EventBody::EventsMissed(missed) => line(format!("({} live events were missed)", missed.count)),
            // What is left says nothing that a person who watches would miss.
            _ => Vec::new(),
        }
    }

    fn set_call(&mut self, at: usize, call: Option<(CallId, usize)>) {
        if let Some(block) = self.agents.get_mut(at) {
            block.call = call;
        }
    }

    /// As much of the arguments of the call that is being written as may still be shown.
    fn shown_arguments(&mut self, at: usize, id: CallId, delta: &str) -> String {
        let Some((call, left)) = self.agents.get_mut(at).and_then(|block| block.call.as_mut()) else {
            return String::new();
        };
        if *call != id || *left == 0 {
            return String::new();
        }
        let delta = harmless(delta).replace(['\n', '\t'], " ");
        let length = delta.chars().count();
        if length < *left {
            *left -= length;
            return delta;
        }
        let shown: String = delta.chars().take(*left).chain(['…']).collect();
        *left = 0;
        shown
    }

    /// Writes a piece, or keeps it until the line of another agent is complete.
    fn put(&mut self, at: usize, piece: Piece) -> io::Result<()> {
        self.waiting.push_back((at, piece));
        if self.waiting.len() > PATIENCE {
            self.interrupt()?;
        }
        self.write_what_can_be_written()
    }

    /// Ends the line that is being written, so that the others get their turn.
    fn interrupt(&mut self) -> io::Result<()> {
        match self.writing.take() {
            Some(at) => self.end_line(at),
            None => Ok(()),
        }
    }

    /// In the order in which it came, but nobody writes into another agent's line.
    fn write_what_can_be_written(&mut self) -> io::Result<()> {
        loop {
            let next = match self.writing {
                None => 0,
                Some(writing) => match self.waiting.iter().position(|(at, _)| *at == writing) {
                    Some(position) => position,
                    None => return Ok(()),
                },
            };
            let Some((at, piece)) = self.waiting.remove(next) else { return Ok(()) };
            self.write(at, piece)?;
            self.writing = self.agents.get(at).and_then(|block| (block.line.is_some() || block.full).then_some(at));
        }
    }

    fn write(&mut self, at: usize, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::End => self.end_line(at),
            Piece::Line(text) => {
                self.end_line(at)?;
                self.begin_line(at, "")?;
                let text = harmless(&text).replace('\n', " ");
                self.paint("2", &text)?;
                self.end_line(at)
            }
            Piece::Text(mark, text) => self.write_text(at, mark, &text),
        }
    }

    fn write_text(&mut self, at: usize, mark: &'static str, text: &str) -> io::Result<()> {
        if self.line(at).is_some_and(|(open, _)| open != mark) {
            self.end_line(at)?;
        }
        for c in text.chars() {
            let column = match self.line(at) {
                Some((_, column)) => column,
                // Text does not begin with an empty line.
                None if c == '\n' && self.last != Some(at) => continue,
                None => self.begin_line(at, mark)?,
            };
            let full = c == ' ' && column >= WIDTH;
            if c == '\n' || full {
                self.end_line(at)?;
                self.set_full(at, full);
                continue;
            }
            write!(self.out, "{c}")?;
            self.set_line(at, Some((mark, column + 1)));
        }
        Ok(())
    }

    fn line(&self, at: usize) -> Option<(&'static str, usize)> {
        self.agents.get(at).and_then(|block| block.line)
    }

    fn set_line(&mut self, at: usize, line: Option<(&'static str, usize)>) {
        if let Some(block) = self.agents.get_mut(at) {
            block.line = line;
        }
    }

    fn set_full(&mut self, at: usize, full: bool) {
        if let Some(block) = self.agents.get_mut(at) {
            block.full = full;
        }
    }

    fn end_line(&mut self, at: usize) -> io::Result<()> {
        self.set_full(at, false);
        if self.line(at).is_some() {
            self.set_line(at, None);
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Begins a line, and the agent's block if the last line was another agent's. Returns the column.
    fn begin_line(&mut self, at: usize, mark: &'static str) -> io::Result<usize> {
        let Some(block) = self.agents.get(at) else { return Ok(0) };
        let indent = block.depth * 4;
        if self.last != Some(at) {
            let heading = format!("[{}]", block.chain);
            write!(self.out, "{:indent$}", "")?;
            self.paint("1", &heading)?;
            writeln!(self.out)?;
            self.last = Some(at);
        }
        write!(self.out, "{:indent$}  {mark}", "")?;
        let column = indent + 2 + mark.chars().count();
        self.set_line(at, Some((mark, column)));
        self.set_full(at, false);
        Ok(column)
    }

    fn paint(&mut self, code: &str, text: &str) -> io::Result<()> {
        if self.colors { write!(self.out, "\u{1b}[{code}m{text}\u{1b}[0m") } else { write!(self.out, "{text}") }
    }
}

fn result_lines(message: &Message) -> Vec<Piece> {
    let results = message.results().map(|result| {
        let text = preview(result.output.text(), SHOWN);
        let failed = if result.output.is_error() { " (an error)" } else { "" };
        Piece::Line(format!("← {}{failed}: {text}", result.name))
    });
    std::iter::once(Piece::End).chain(results).collect()
}
