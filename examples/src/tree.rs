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

use crate::text::{columns, columns_of, harmless, preview, wrap};

/// Narrower terminals are written to as if they had this many columns.
const NARROWEST: usize = 24;
/// Where the output has no width of its own.
const USUAL_WIDTH: usize = 80;
/// How much of arguments and results is shown, in characters.
const SHOWN: usize = 72;

/// How many pieces wait until the line that keeps them waiting is broken off.
const PATIENCE: usize = 64;

/// Writes events: one block for each agent, indented by depth, text as it arrives.
///
/// Agents that run side by side do not write into each other's lines: while one is in the middle of a line, what the
/// others do waits for its end. A line is as wide as the terminal and ends between words.
#[derive(Debug)]
pub struct Tree<W> {
    out: W,
    colors: bool,
    /// How many columns a line has.
    width: usize,
    /// What the root has said last, if that is not to be shown in case it is the answer.
    held: Option<String>,
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
    /// The line that is not finished.
    line: Option<Line>,
    /// The beginning of a word whose end has not arrived, and the mark of its line.
    word: Option<(&'static str, String)>,
    /// The tool call that is being written, and how much of its arguments may still be shown.
    call: Option<(CallId, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    mark: &'static str,
    /// The column in which the next character stands.
    column: usize,
    /// The column in which its text begins.
    begin: usize,
    /// Spaces that are written only if a word follows on this line.
    spaces: usize,
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

/// The mark of the lines in which the text of another line goes on.
fn continued(mark: &'static str) -> &'static str {
    if mark == CALL || mark.is_empty() { "  " } else { mark }
}

impl<W: Write> Tree<W> {
    /// Writes to `out`, with colours or without.
    pub fn new(out: W, colors: bool) -> Self {
        Self {
            out,
            colors,
            width: USUAL_WIDTH,
            held: None,
            agents: Vec::new(),
            waiting: VecDeque::new(),
            writing: None,
            last: None,
        }
    }

    /// Breaks lines at this many columns, if that is known.
    #[must_use]
    pub fn with_width(mut self, columns: Option<usize>) -> Self {
        self.width = columns.unwrap_or(USUAL_WIDTH).max(NARROWEST);
        self
    }

    /// Leaves out the root's answer, because it is shown elsewhere on the same screen. What the root says before it calls
    /// a tool is shown.
    #[must_use]
    pub fn without_answer(mut self) -> Self {
        self.held = Some(String::new());
        self
    }

    /// Shows an event.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn show(&mut self, envelope: &EventEnvelope) -> io::Result<()> {
        let at = self.block(&envelope.thread, envelope.agent());
        if envelope.agent().depth == 0 && self.hold(at, envelope.body())? {
            return Ok(());
        }
        for piece in self.pieces(at, envelope.body()) {
            self.put(at, piece)?;
        }
        self.out.flush()
    }

    /// Keeps what the root says until it is known whether it is the answer. Whether this event is one of its pieces.
    fn hold(&mut self, at: usize, body: &EventBody) -> io::Result<bool> {
        let Some(held) = &mut self.held else { return Ok(false) };
        match body {
            EventBody::TextDelta(delta) => {
                held.push_str(&harmless(&delta.delta));
                return Ok(true);
            }
            EventBody::ExecutionFinished(finished) if finished.outcome == ExecutionOutcome::Succeeded => held.clear(),
            EventBody::ModelRequest(_)
            | EventBody::ModelRequestFailed(_)
            | EventBody::ToolCallStart(_)
            | EventBody::ExecutionFinished(_)
                if !held.is_empty() =>
            {
                let text = std::mem::take(held);
                self.put(at, Piece::Text(TEXT, text))?;
                self.put(at, Piece::End)?;
            }
            _ => {}
        }
        Ok(false)
    }

    /// Shows a sentence that belongs to no agent.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        self.pause()?;
        for line in harmless(text).split('\n') {
            for (index, part) in wrap(line, self.width, self.width - 2).iter().enumerate() {
                writeln!(self.out, "{}{part}", if index == 0 { "" } else { "  " })?;
            }
        }
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
        for at in 0..self.agents.len() {
            self.end_text(at)?;
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
            word: None,
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
            // If the root's model fails, the program ends with the reason.
            EventBody::ModelRequestFailed(_) if self.agents.get(at).is_some_and(|block| block.depth == 0) => {
                line("the model failed".to_owned())
            }
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
                (ExecutionOutcome::Suspended, None) => "… waits for permission".to_owned(),
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
            self.writing = self.agents.get(at).and_then(|block| block.line.is_some().then_some(at));
        }
    }

    fn write(&mut self, at: usize, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::End => self.end_text(at),
            Piece::Line(text) => {
                self.end_text(at)?;
                let Line { column, .. } = self.begin_line(at, "")?;
                let text = harmless(&text).replace('\n', " ");
                let room = self.width.saturating_sub(column);
                for (index, part) in wrap(&text, room, room.saturating_sub(2)).iter().enumerate() {
                    if index > 0 {
                        self.end_line(at)?;
                        self.begin_line(at, continued(""))?;
                    }
                    self.paint("2", part)?;
                }
                self.end_line(at)
            }
            Piece::Text(mark, text) => self.write_text(at, mark, &text),
        }
    }

    fn write_text(&mut self, at: usize, mark: &'static str, text: &str) -> io::Result<()> {
        let open = self.line(at).map(|line| line.mark);
        if open.is_some_and(|open| open != mark && open != continued(mark)) {
            self.end_text(at)?;
        }
        for c in text.chars() {
            // Text does not begin with an empty line.
            if c == '\n' && self.line(at).is_none() && self.last != Some(at) && !self.has_word(at) {
                continue;
            }
            match c {
                '\n' => {
                    self.write_word(at)?;
                    self.open_line(at, mark)?;
                    self.end_line(at)?;
                }
                ' ' | '\t' => {
                    self.write_word(at)?;
                    let mut line = self.open_line(at, mark)?;
                    line.spaces += if c == '\t' { 4 } else { 1 };
                    self.set_line(at, Some(line));
                }
                _ => {
                    self.open_line(at, mark)?;
                    let Some(block) = self.agents.get_mut(at) else { continue };
                    let word = &mut block.word.get_or_insert_with(|| (mark, String::new())).1;
                    word.push(c);
                    // Scripts of wide characters put no spaces between words; a line may end behind each.
                    if columns(c) > 1 || word.len() > 4 * self.width {
                        self.write_word(at)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn has_word(&self, at: usize) -> bool {
        self.agents.get(at).is_some_and(|block| block.word.is_some())
    }

    /// Writes the word that is complete now, on the next line if this one has no room for it.
    fn write_word(&mut self, at: usize) -> io::Result<()> {
        let Some((mark, word)) = self.agents.get_mut(at).and_then(|block| block.word.take()) else { return Ok(()) };
        let mut line = self.open_line(at, mark)?;
        if line.column > line.begin && line.column + line.spaces + columns_of(&word) > self.width {
            line = self.next_line(at, line)?;
        }
        write!(self.out, "{:width$}", "", width = line.spaces)?;
        line.column += std::mem::take(&mut line.spaces);
        for c in word.chars() {
            // A word that is longer than a line.
            if line.column > line.begin && line.column + columns(c) > self.width {
                line = self.next_line(at, line)?;
            }
            write!(self.out, "{c}")?;
            line.column += columns(c);
        }
        self.set_line(at, Some(line));
        Ok(())
    }

    fn next_line(&mut self, at: usize, line: Line) -> io::Result<Line> {
        self.end_line(at)?;
        self.begin_line(at, continued(line.mark))
    }

    fn line(&self, at: usize) -> Option<Line> {
        self.agents.get(at).and_then(|block| block.line)
    }

    fn set_line(&mut self, at: usize, line: Option<Line>) {
        if let Some(block) = self.agents.get_mut(at) {
            block.line = line;
        }
    }

    /// Ends a text: nothing of its last word is to come.
    fn end_text(&mut self, at: usize) -> io::Result<()> {
        self.write_word(at)?;
        self.end_line(at)
    }

    fn end_line(&mut self, at: usize) -> io::Result<()> {
        if self.line(at).is_some() {
            self.set_line(at, None);
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// The line that is open, else a new one.
    fn open_line(&mut self, at: usize, mark: &'static str) -> io::Result<Line> {
        match self.line(at) {
            Some(line) => Ok(line),
            None => self.begin_line(at, mark),
        }
    }

    /// Begins a line, and the agent's block if the last line was another agent's.
    fn begin_line(&mut self, at: usize, mark: &'static str) -> io::Result<Line> {
        let Some(block) = self.agents.get(at) else { return Ok(Line { mark, column: 0, begin: 0, spaces: 0 }) };
        // Deep agents keep some room for their text.
        let indent = (block.depth * 4).min(self.width / 2);
        if self.last != Some(at) {
            let heading = format!("[{}]", block.chain);
            write!(self.out, "{:indent$}", "")?;
            self.paint("1", &heading)?;
            writeln!(self.out)?;
            self.last = Some(at);
        }
        write!(self.out, "{:indent$}  {mark}", "")?;
        let column = indent + 2 + mark.chars().count();
        let line = Line { mark, column, begin: column, spaces: 0 };
        self.set_line(at, Some(line));
        Ok(line)
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

#[cfg(test)]
mod tests {
    use hpd_agent::{
        prelude::*,
        testing::{Reply, ScriptedChatClient},
    };
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Helpers;

    #[tool_harness]
    impl Helpers {
        /// Helps.
        #[subagent(agent_id = "tree.helper")]
        fn helper(&self) -> AgentConfig {
            AgentConfig::new("Helper")
        }
    }

    /// What a tree shows of a run.
    async fn shown(replies: impl IntoIterator<Item = Reply>, tree: Tree<Vec<u8>>) -> String {
        let client = ScriptedChatClient::replies(replies);
        let agent = Agent::builder().with_chat_client(client).with_tool_harness::<Helpers>();
        let agent = agent.with_permissions(Permissions::allow_all()).build().await.unwrap();
        let mut run = agent.run("Go.");
        let mut tree = tree;
        while let Some(envelope) = run.next().await {
            tree.show(&envelope).unwrap();
        }
        tree.pause().unwrap();
        String::from_utf8(tree.out).unwrap()
    }

    fn tree(width: usize) -> Tree<Vec<u8>> {
        Tree::new(Vec::new(), false).with_width(Some(width))
    }

    #[tokio::test]
    async fn lines_end_between_words_at_every_width() {
        let text = "All the keepers of the lighthouse at Marrow Point   wrote into their log books.\n\n  - every night";
        for width in [24, 31, 40, 57, 72, 80] {
            for chunks in [1, 7, 40, 97] {
                let replies = [
                    Reply::tool_call("helper", json!({"input": text})).in_chunks(chunks),
                    Reply::text(text).in_chunks(chunks),
                    Reply::text("Done."),
                ];
                let screen = shown(replies, tree(width)).await;
                assert!(screen.lines().all(|line| columns_of(line) <= width), "{width}: {screen}");
                let of_text = screen.lines().filter_map(|line| line.strip_prefix("      │ "));
                let words: Vec<_> = of_text.flat_map(str::split_whitespace).collect();
                assert_eq!(words, text.split_whitespace().collect::<Vec<_>>(), "{width}: {screen}");
                assert!(screen.contains("      │ \n      │   - every night\n"), "{width}: {screen}");
            }
        }
    }

    #[tokio::test]
    async fn words_that_are_longer_than_a_line_and_wide_characters() {
        let screen = shown([Reply::text("x".repeat(50)).in_chunks(9)], tree(24)).await;
        let lines: Vec<_> = screen.lines().filter(|line| line.contains('x')).map(columns_of).collect();
        assert_eq!(lines, [24, 24, 14], "{screen}");
        let screen = shown([Reply::text("灯台の光は海から見える。").in_chunks(5)], tree(24)).await;
        assert!(screen.contains("  │ 灯台の光は海から見え\n  │ る。\n"), "{screen}");
    }

    #[tokio::test]
    async fn the_answer_is_left_out_where_it_is_shown_elsewhere() {
        let replies = || {
            [
                Reply::text("I ask the helper.").and_tool_call("helper", json!({"input": "Help."})),
                Reply::text("The helper's answer."),
                Reply::text("The answer."),
            ]
        };
        let screen = shown(replies(), tree(80)).await;
        assert!(screen.contains("  │ The answer.\n"), "{screen}");
        let screen = shown(replies(), tree(80).without_answer()).await;
        assert!(screen.contains("  │ I ask the helper.\n  → helper {"), "{screen}");
        assert!(screen.contains("      │ The helper's answer.\n"), "{screen}");
        assert!(!screen.contains("The answer."), "{screen}");
        let screen = shown([Reply::text("Half of").cut(), Reply::text("")], tree(80).without_answer()).await;
        assert!(screen.contains("  │ Half of\n  the model failed\n"), "an answer that is not complete: {screen}");
    }
}
