//! Subagents from definition files: Markdown with YAML front matter, as Claude Code keeps them in `.claude/agents`, and
//! JSON.
//!
//! ```
//! use hpd_agent::{chat::ChatConfig, definition::DefinitionFiles};
//!
//! let reviewer = "---
//! name: code-reviewer
//! description: Reviews code for quality.
//! tools: Read, Grep
//! model: sonnet
//! ---
//!
//! You are a code reviewer. Report what should be changed, and why.
//! ";
//! let team = DefinitionFiles::new()
//!     .with_markdown("reviewer.md", reviewer)
//!     .with_tool("Read", "files.read")
//!     .with_tool("Grep", "files.search")
//!     .with_model("sonnet", ChatConfig::new("anthropic", "claude-sonnet-4-5"))
//!     .load("team")?;
//! assert_eq!(team.tools().collect::<Vec<_>>(), ["code-reviewer"]);
//! # Ok::<(), hpd_agent::definition::DefinitionError>(())
//! ```
//!
//! What is loaded is a [`DynamicHarness`] with one subagent for each definition. Whether the harnesses are there that it
//! names is checked when an agent is built with it, and told with the file and the line of the entry.

mod error;
mod field;
mod json;
mod markdown;
mod source;
mod value;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

pub use self::error::{DefinitionError, DefinitionProblem};
use self::{
    field::Loaded,
    source::{Format, Source},
};
use crate::{chat::ChatConfig, declare::DynamicHarness};

/// Which definition files are loaded, and what the names in them mean.
///
/// A definition says which tools its agent has by names. Such a name is that of a harness in either registry, unless
/// [`with_tool`](Self::with_tool) says which harness is meant by it.
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is read until `load` is called"]
pub struct DefinitionFiles {
    sources: Vec<Source>,
    models: BTreeMap<Arc<str>, ChatConfig>,
    tools: Arc<BTreeMap<Arc<str>, Arc<str>>>,
    default_harnesses: Vec<Arc<str>>,
}

impl DefinitionFiles {
    /// No files, and names that mean only themselves.
    pub fn new() -> Self {
        Self::default()
    }

    /// All Markdown files below a folder (`*.md`), in the order of their paths, as Claude Code scans `.claude/agents`.
    /// A file without front matter is taken for documentation that is kept beside the definitions.
    ///
    /// Files and folders whose names begin with a dot are not looked at; the folder itself may have such a name. A folder
    /// to which several links lead is read once.
    pub fn with_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(Source::Directory(path.into()));
        self
    }

    /// One file: Markdown if its name ends in `.md`, JSON if it ends in `.json`.
    pub fn with_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(Source::File(path.into()));
        self
    }

    /// The text of a Markdown file; errors call it `name`.
    pub fn with_markdown(self, name: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        self.with_text(name, text, Format::Markdown)
    }

    /// The text of a JSON file; errors call it `name`. Its value is one definition, a list of definitions, or an object
    /// of definitions by name as Claude Code's `--agents` takes it.
    ///
    /// ```
    /// # use hpd_agent::definition::DefinitionFiles;
    /// let text = r#"{"reviewer": {"description": "Reviews code.", "prompt": "You are a code reviewer."}}"#;
    /// let team = DefinitionFiles::new().with_json("agents.json", text).load("team")?;
    /// # assert_eq!(team.tools().collect::<Vec<_>>(), ["reviewer"]);
    /// # Ok::<(), hpd_agent::definition::DefinitionError>(())
    /// ```
    pub fn with_json(self, name: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        self.with_text(name, text, Format::Json)
    }

    fn with_text(mut self, name: impl Into<Arc<str>>, text: impl Into<String>, format: Format) -> Self {
        self.sources.push(Source::Text { name: name.into(), text: text.into(), format });
        self
    }

    /// What `model: name` means: a provider with a model, or [`options`](ChatConfig::inherited) for the parent's client.
    /// `inherit` means the parent's model and cannot be given another meaning; every other name has to be given one.
    pub fn with_model(mut self, name: impl Into<Arc<str>>, chat: ChatConfig) -> Self {
        self.models.insert(name.into(), chat);
        self
    }

    /// The harness that is meant by a name in `tools`. More than one name may mean the same harness.
    pub fn with_tool(mut self, name: impl Into<Arc<str>>, harness: impl Into<Arc<str>>) -> Self {
        Arc::make_mut(&mut self.tools).insert(name.into(), harness.into());
        self
    }

    /// A harness, by name, for each agent whose definition says nothing about `tools`. Without one, such an agent has
    /// no tools: there is nothing that it would inherit.
    pub fn with_default_tool_harness(mut self, name: impl Into<Arc<str>>) -> Self {
        self.default_harnesses.push(name.into());
        self
    }

    /// Reads all files and makes a harness named `name` of them, with one subagent for each definition. Files are read
    /// while it runs: call it before the program serves anybody, or where it may block.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] lists everything that is wrong in all files, not only the first.
    pub fn load(&self, name: impl Into<Arc<str>>) -> Result<DynamicHarness, DefinitionError> {
        let mut problems = Vec::new();
        let mut harness = DynamicHarness::new(name);
        let mut places: BTreeMap<String, String> = BTreeMap::new();
        for text in source::texts(&self.sources, &mut problems) {
            let definitions = match text.format {
                Format::Markdown => Vec::from_iter(markdown::definition(&text, &mut problems)),
                Format::Json => json::definitions(&text, &mut problems),
            };
            for definition in definitions {
                let Some(Loaded { name, sub_agent, origin }) = field::sub_agent(self, definition, &mut problems) else {
                    continue;
                };
                if let Some(first) = places.get(&name) {
                    let (first, second) = (first.clone(), origin.to_string());
                    problems.push(DefinitionProblem::Duplicate { name, first, second });
                    continue;
                }
                places.insert(name.clone(), origin.to_string());
                harness = harness.with_sub_agent_at(name, sub_agent, origin);
            }
        }
        if problems.is_empty() { Ok(harness) } else { Err(DefinitionError::new(problems)) }
    }
}

/// One definition as it is written.
#[derive(Debug)]
struct Definition {
    path: Arc<str>,
    /// The line at which it begins.
    line: u32,
    /// The name that it has by its place: the key in an object of definitions.
    key: Option<String>,
    fields: Vec<Field>,
    /// The text after the front matter; `None` in JSON, where a field has it.
    body: Option<String>,
}

/// One field of a definition.
#[derive(Debug)]
struct Field {
    name: String,
    line: u32,
    value: Value,
    /// The line of each entry, if the value is a list.
    entry_lines: Vec<u32>,
}

/// `path:line`.
fn place(path: &str, line: u32) -> String {
    format!("{path}:{line}")
}

/// A name or value of a file as errors show it.
fn cut(text: &str) -> String {
    cut_at(80, text)
}

/// What a parser says, in which whole texts of the file may stand.
fn cut_reason(text: &str) -> String {
    cut_at(400, text)
}

fn cut_at(most: usize, text: &str) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A path as errors show it.
fn shown(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}
