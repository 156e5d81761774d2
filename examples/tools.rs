//! Tools: functions and a subagent in one harness.
//!
//! What it shows:
//!
//! - `#[ai_function]` on ordinary methods: arguments that the model fills in, one of them optional, with descriptions
//!   from their doc comments; errors of an error type of your own, which the model reads and reacts to,
//! - a function that takes `&FunctionContext` and journals an event of its own with `emit`,
//! - a function that needs permission and runs alone (`requires_permission`, `exclusive`),
//! - a harness with state, given to the agent as a value,
//! - a subagent with tools of its own, which its parent does not see.
//!
//! ```sh
//! cargo run --example tools
//! cargo run --example tools -- --model openai/gpt-5-mini "Which notes are there?"
//! ```
//!
//! Without a model a script plays its part: it calls the tools in a fixed order, whatever you ask. The functions and
//! the subagent are real all the same.

use std::{
    collections::BTreeMap,
    fmt,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use hpd_agent::{
    chat::{ChatClient, ChatRequest},
    message::{Role, ToolResult},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use hpd_agent_examples::{
    interrupt::Interrupts,
    model::{self, Choice},
    options::{COMMON_HELP, Options},
    report::{Failure, exit},
    text::print,
    watch::{Answerer, tree_on_stderr, watch},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const HELP: &str = "\
Lets an agent work with a few notes: functions read and delete them, a subagent edits them.

Usage: tools [OPTIONS] [TASK]

TASK is what the agent is asked; there is one if you give none. Without a model a script plays its part: it calls the
tools in a fixed order, whatever the task.

";

const TASK: &str = "\
Read the note about the lighthouse, let the editor make one short sentence of it, and then delete the note `draft`.";

/// The notes, and what can be done with them.
struct Notes {
    texts: Mutex<BTreeMap<String, String>>,
}

impl Notes {
    fn new() -> Self {
        let notes = [
            ("lighthouse", "The lighthouse was built in 1874, after two ships ran onto the shoal in one winter."),
            ("draft", "Nothing worth keeping."),
        ];
        let texts = notes.into_iter().map(|(title, text)| (title.to_owned(), text.to_owned()));
        Self { texts: Mutex::new(texts.collect()) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
        work(&mut self.texts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn unknown(&self, title: String) -> NoteError {
        NoteError::Unknown { title, titles: self.with(|texts| texts.keys().cloned().collect()) }
    }
}

/// A note as the model sees it: the JSON of this type.
#[derive(Serialize)]
struct Note {
    title: String,
    text: String,
    characters: usize,
}

/// What can be wrong with a request for a note. The model reads the text, so it says what to do next.
#[derive(Debug)]
enum NoteError {
    Unknown { title: String, titles: Vec<String> },
    NotJournaled(String),
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { title, titles } => {
                write!(f, "There is no note `{title}`. The notes are: {}.", titles.join(", "))
            }
            Self::NotJournaled(why) => write!(f, "The note was not read, because the journal failed: {why}."),
        }
    }
}

impl std::error::Error for NoteError {}

#[tool_harness]
impl Notes {
    /// Lists the titles of the notes.
    #[ai_function]
    fn list_notes(
        &self,
        /// Only titles that contain this; all of them if it is left out.
        containing: Option<String>,
    ) -> Vec<String> {
        let wanted = containing.unwrap_or_default().to_lowercase();
        self.with(|texts| texts.keys().filter(|title| title.contains(&wanted)).cloned().collect())
    }

    /// Reads a note.
    #[ai_function]
    async fn read_note(
        &self,
        /// The title, exactly as `list_notes` gives it.
        title: String,
        ctx: &FunctionContext,
    ) -> Result<Note, NoteError> {
        let Some(text) = self.with(|texts| texts.get(&title).cloned()) else { return Err(self.unknown(title)) };
        // An event of the application's own, in the journal of the conversation: when this returns, it is committed.
        let event = json!({"title": title, "reader": ctx.agent_name(), "depth": ctx.depth()});
        ctx.emit("note_read", event).await.map_err(|error| NoteError::NotJournaled(error.to_string()))?;
        Ok(Note { title, characters: text.chars().count(), text })
    }

    /// Deletes a note for good.
    #[ai_function(requires_permission = true, exclusive = true)]
    fn delete_note(
        &self,
        /// The title, exactly as `list_notes` gives it.
        title: String,
    ) -> Result<String, NoteError> {
        match self.with(|texts| texts.remove(&title)) {
            Some(_) => Ok(format!("The note `{title}` is deleted.")),
            None => Err(self.unknown(title)),
        }
    }

    /// Makes one short sentence of a text. Give it the text.
    #[subagent(agent_id = "tools.editor", context = Fresh, tool_harnesses = [Measuring])]
    fn editor(&self) -> AgentConfig {
        AgentConfig::new("Editor").with_system_instructions(
            "You are an editor. Make one sentence of at most ten words of the text, check its length with `measure`, \
             and answer with the sentence only.",
        )
    }
}

/// What the editor has, and the agent that asks the editor has not.
#[derive(Default)]
struct Measuring;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Words,
    Characters,
}

#[tool_harness]
impl Measuring {
    /// Says how long a text is.
    #[ai_function]
    fn measure(
        &self,
        /// The text.
        text: String,
        /// What to count. Words if it is left out.
        unit: Option<Unit>,
    ) -> usize {
        match unit.unwrap_or(Unit::Words) {
            Unit::Words => text.split_whitespace().count(),
            Unit::Characters => text.chars().count(),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    exit("tools", tools().await)
}

async fn tools() -> Result<(), Failure> {
    let options = Options::from_command_line(1, &[])?;
    if options.help {
        print(&format!("{HELP}{COMMON_HELP}"))?;
        return Ok(());
    }
    let task = match options.arguments.first() {
        None => TASK.to_owned(),
        Some(task) => task.to_str().map(str::to_owned).ok_or_else(|| Failure::failed("the task is no UTF-8 text"))?,
    };
    let (client, announcement): (Arc<dyn ChatClient>, _) = match model::choose(options.model.as_deref()).await? {
        Choice::Found(model) => (model.client, model.announcement),
        Choice::Nothing => {
            let text = "model: none was named and no key was found; offline, a script plays the model's part and calls \
                        the tools in a fixed order (--help says how to use a real model)";
            (Arc::new(script()), text.to_owned())
        }
    };
    let mut answerer = Answerer::new(options.yes);

    let agent = Agent::builder()
        .with_name("Librarian")
        .with_system_instructions("You look after the user's notes with your tools. Say briefly what you did.")
        .with_chat_client(client)
        .with_chat(options.chat())
        .with_tool_harness_value(Notes::new())
        .with_permissions(answerer.permissions())
        .build()
        .await?;

    let mut tree = tree_on_stderr();
    tree.note(&announcement)?;
    tree.note(&format!("task: {task}"))?;
    let watched = watch(agent.run(task), &mut tree, &mut answerer, &mut Interrupts::listen()).await?;
    watched.report()
}

/// A model that is none: it says what a model could say, so that the tools can be seen at work.
fn script() -> ScriptedChatClient {
    ScriptedChatClient::route().when(|request| request.system.contains("editor"), editor()).otherwise_fn(librarian)
}

fn editor() -> [Reply; 2] {
    let sentence = "The lighthouse dates from 1874.";
    [Reply::tool_call("measure", json!({"text": sentence, "unit": "words"})), Reply::text(sentence).in_chunks(3)]
}

/// The librarian's next step follows from what has been said so far.
fn librarian(request: &ChatRequest) -> Reply {
    let step = request.history.iter().filter(|message| message.role() == Role::Assistant).count();
    match step {
        // There is no note of this title: the error that comes back lists those that there are.
        0 => Reply::text("Let me look for it.").and_tool_call("read_note", json!({"title": "the lighthouse"})),
        // Two calls in one message run side by side.
        1 => Reply::tool_call("read_note", json!({"title": "lighthouse"}))
            .and_tool_call("list_notes", json!({"containing": "dra"})),
        2 => {
            let text = last_result(request, "read_note").map(|result| result.output.text().to_owned());
            Reply::tool_call("editor", json!({"input": text.unwrap_or_default()}))
        }
        3 => Reply::tool_call("delete_note", json!({"title": "draft"})),
        _ => {
            let said = ["editor", "delete_note"].map(|tool| {
                last_result(request, tool).map_or_else(String::new, |result| format!("- {}\n", result.output.text()))
            });
            Reply::text(format!("This is what came of it:\n{}", said.concat())).in_chunks(6)
        }
    }
}

fn last_result<'a>(request: &'a ChatRequest, tool: &str) -> Option<&'a ToolResult> {
    request.history.iter().flat_map(|message| message.results()).filter(|result| *result.name == *tool).last()
}
