//! The model that is always there: it needs no network and no key.

mod document;
mod review;
mod summary;

use std::{future::ready, sync::Arc};

use serde_json::{Value, json};

use self::document::Document;
use super::{
    BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo, ModelInfo, ToolChoice, ToolSpec,
};
use crate::message::{Message, Provenance, Role, StopReason, Usage};

/// The largest piece of a streamed answer, in characters.
const PIECE: usize = 24;

const ABOUT: &str = "I am the offline model that is built into this program: no language model, but a set of rules that \
    works without a network. Give me a text of some sentences and I summarize it in its own words, or review it if I \
    am asked for a review; with tools that take an `input` I hand the text to them and put their answers together.";

const NOTHING: &str = "There is no text to work on: the message is empty.";

/// A model that works without a network and without a key, for examples, demonstrations and the first run of a program.
///
/// It is no language model and does not pretend to be one: everything it says is computed from the text in the request,
/// and the same request always gets the same answer. What it does depends on the request:
///
/// - The last message is the user's, a text of some length, and there are tools with one required argument, the string
///   `input` (subagents are such tools): it calls each of them once with the text. [`ToolChoice`] is obeyed. Tools that
///   the system prompt names in backquotes it calls for a short text too.
/// - There are tool results: it puts them together.
/// - The system prompt speaks of reviewing or of issues: it lists what can be improved in the text, with the places:
///   placeholders, open questions, long sentences and paragraphs, passive voice, vague and doubled words, missing
///   headings. Passive and vague words are looked for in English only.
/// - Otherwise: the three most central sentences as bullets.
/// - There is no text to speak of: a sentence that says what it is.
///
/// It takes Markdown and any script, finds the ends of sentences in most of them, and reports token counts as an
/// estimate: one token for four characters. Its provider is `offline`, its model `extractive-1`.
///
/// ```
/// # use std::sync::Arc;
/// # use futures_util::StreamExt;
/// # use hpd_agent::{chat::*, history::History, message::Message};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let client = OfflineChatClient::new();
/// let text = "Parents delegate work. Delegated work runs in a thread of its own. The cat sleeps. \
///             Work that was delegated reports to the parent.";
/// let history = History::from_iter([Arc::new(Message::user(text))]);
/// let request = ChatRequest::new(history).with_system("Summarize the text in three bullets.");
/// let mut answer = String::new();
/// let mut stream = client.stream(request).await?;
/// while let Some(delta) = stream.next().await {
///     if let ChatDelta::Text(text) = delta? {
///         answer.push_str(&text);
///     }
/// }
/// assert_eq!(answer.lines().count(), 3);
/// assert!(!answer.contains("cat"));
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OfflineChatClient {
    info: ClientInfo,
}

impl OfflineChatClient {
    /// The offline model.
    #[must_use]
    pub fn new() -> Self {
        Self { info: ClientInfo::new("offline", "extractive-1") }
    }
}

impl Default for OfflineChatClient {
    fn default() -> Self {
        Self::new()
    }
}

impl ChatClient for OfflineChatClient {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        let deltas = match decide(&request) {
            Action::Say(text) => say(&request, &text),
            Action::Call { tools, input } => call(&request, &tools, &input),
        };
        Box::pin(ready(Ok(ChatStream::from_deltas(deltas))))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        Box::pin(ready(Ok(vec![ModelInfo::new(self.info.model())])))
    }
}

enum Action {
    Say(String),
    Call { tools: Vec<Arc<str>>, input: String },
}

fn decide(request: &ChatRequest) -> Action {
    let Some(last) = request.history.last() else {
        return Action::Say(NOTHING.to_owned());
    };
    match last.role() {
        Role::Tool => return Action::Say(combined(request)),
        Role::Assistant => return Action::Say(ABOUT.to_owned()),
        Role::User if last.provenance() == Provenance::Notice => {
            return Action::Say(format!("This came in meanwhile:\n\n{}", last.text().trim()));
        }
        Role::User => {}
    }
    let text = last.text();
    let document = Document::parse(&text);
    if document.is_empty() {
        return Action::Say(NOTHING.to_owned());
    }
    let tools = callable(request, document.is_long());
    if !tools.is_empty() {
        return Action::Call { tools, input: text.trim().to_owned() };
    }
    match Task::of(&request.system) {
        Some(task) if !document.is_long() => {
            // "Review the draft above": the text may stand in an earlier message.
            let earlier = earlier_text(request).map(|text| task.perform(&Document::parse(&text)));
            Action::Say(earlier.unwrap_or_else(|| task.perform(&document)))
        }
        Some(task) => Action::Say(task.perform(&document)),
        None if document.is_long() => Action::Say(Task::Summarize.perform(&document)),
        None => Action::Say(ABOUT.to_owned()),
    }
}

#[derive(Clone, Copy)]
enum Task {
    Summarize,
    Review,
}

impl Task {
    /// What a system prompt asks for.
    fn of(system: &str) -> Option<Self> {
        let system = system.to_lowercase();
        let asks = |stems: &[&str]| {
            system.split(|c: char| !c.is_alphanumeric()).any(|word| stems.iter().any(|stem| word.starts_with(stem)))
        };
        if asks(&["review", "issue", "critique", "critic", "proofread"]) {
            Some(Self::Review)
        } else if asks(&["summar", "bullet", "condense"]) {
            Some(Self::Summarize)
        } else {
            None
        }
    }

    fn perform(self, document: &Document) -> String {
        match self {
            Self::Summarize => summary::summarize(document, 3),
            Self::Review => review::review(document),
        }
    }
}

/// The last earlier text of some length that a user wrote.
fn earlier_text(request: &ChatRequest) -> Option<String> {
    let users = request.history.iter().rev().skip(1).filter(|message| message.role() == Role::User);
    let texts = users.map(|message| message.text().into_owned());
    texts.into_iter().find(|text| Document::parse(text).is_long())
}

/// The tools to be called, in order. Without a choice of the caller's, those for a short text are only the ones that the
/// system prompt names.
fn callable(request: &ChatRequest, long: bool) -> Vec<Arc<str>> {
    let takes_input = |tool: &&ToolSpec| {
        let schema = tool.schema().value();
        let string = schema.pointer("/properties/input/type") == Some(&Value::from("string"));
        string && schema.get("required") == Some(&json!(["input"]))
    };
    let wanted = |tool: &&ToolSpec| match &request.options.tool_choice {
        ToolChoice::Auto => long || request.system.contains(&format!("`{}`", tool.name())),
        ToolChoice::Required => true,
        ToolChoice::None => false,
        ToolChoice::Tool(name) => tool.name() == name,
    };
    let tools = request.tools.iter().filter(takes_input).filter(wanted);
    tools.map(|tool| tool.name().shared()).collect()
}

/// All results since the user's last message.
fn combined(request: &ChatRequest) -> String {
    let asked = request.history.iter().rposition(|message| message.role() == Role::User);
    let since = request.history.iter().skip(asked.map_or(0, |index| index + 1));
    let mut sections = Vec::new();
    for result in since.flat_map(|message| message.results()) {
        let text = result.output.text().trim();
        sections.push(match (result.output.is_error(), text.is_empty()) {
            (true, _) => format!("## {}\n\nThis part is missing, the tool failed: {text}", result.name),
            (false, true) => format!("## {}\n\nThe tool had nothing to say.", result.name),
            (false, false) => format!("## {}\n\n{text}", result.name),
        });
    }
    sections.join("\n\n")
}

fn say(request: &ChatRequest, text: &str) -> Vec<ChatDelta> {
    let limit = request.options.max_tokens.map_or(usize::MAX, |tokens| (tokens as usize).saturating_mul(4));
    let mut chars = text.chars();
    let said: String = chars.by_ref().take(limit).collect();
    let reason = if chars.next().is_some() { StopReason::MaxTokens } else { StopReason::EndTurn };
    let mut deltas: Vec<_> = pieces(&said).map(ChatDelta::Text).collect();
    deltas.push(ChatDelta::Usage(estimate(request, said.chars().count())));
    deltas.push(ChatDelta::Finish(reason));
    deltas
}

fn call(request: &ChatRequest, tools: &[Arc<str>], input: &str) -> Vec<ChatDelta> {
    let arguments = json!({"input": input}).to_string();
    let turn = request.history.len();
    let mut deltas = Vec::new();
    for (index, name) in (0u32..).zip(tools) {
        let id = format!("call_{turn}_{index}").into();
        deltas.push(ChatDelta::ToolCallStart { index, id: Some(id), name: Arc::clone(name) });
        deltas.extend(pieces(&arguments).map(|text| ChatDelta::ToolCallArguments { index, text }));
    }
    let size = arguments.chars().count().saturating_mul(tools.len());
    deltas.push(ChatDelta::Usage(estimate(request, size)));
    deltas.push(ChatDelta::Finish(StopReason::ToolUse));
    deltas
}

/// A text in pieces as a model would stream it: some words each; large texts in larger pieces.
fn pieces(text: &str) -> impl Iterator<Item = Arc<str>> + use<> {
    let size = PIECE.max(text.len() / 200);
    let mut pieces: Vec<Arc<str>> = Vec::new();
    let mut piece = String::with_capacity(size * 2);
    let mut length = 0;
    for c in text.chars() {
        piece.push(c);
        length += 1;
        if (length >= size && c.is_whitespace()) || length >= size * 2 {
            pieces.push(piece.as_str().into());
            piece.clear();
            length = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece.into());
    }
    pieces.into_iter()
}

/// One token for four characters.
fn estimate(request: &ChatRequest, output: usize) -> Usage {
    let of_message = |message: &Arc<Message>| {
        let calls: usize = message.calls().map(|call| call.arguments.chars().count()).sum();
        let results: usize = message.results().map(|result| result.output.text().chars().count()).sum();
        message.text().chars().count() + calls + results
    };
    let of_tool = |tool: &ToolSpec| tool.description().chars().count() + tool.schema().text().chars().count();
    let messages: usize = request.history.iter().map(of_message).sum();
    let tools: usize = request.tools.iter().map(of_tool).sum();
    let tokens = |chars: usize| chars.div_ceil(4) as u64;
    Usage::new(tokens(request.system.chars().count() + messages + tools), tokens(output))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
