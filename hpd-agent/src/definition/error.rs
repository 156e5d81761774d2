use std::fmt;

use super::place;

/// Everything that is wrong with definition files: all of it at once.
#[derive(Debug)]
pub struct DefinitionError {
    problems: Vec<DefinitionProblem>,
}

impl DefinitionError {
    pub(super) fn new(problems: Vec<DefinitionProblem>) -> Self {
        Self { problems }
    }

    /// What is wrong, in the order in which it was found.
    #[must_use]
    pub fn problems(&self) -> &[DefinitionProblem] {
        &self.problems
    }

    /// The stable code of this error: `definitions_failed`. The problems have codes of their own.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "definitions_failed"
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the definitions cannot be loaded: {only}"),
            many => {
                write!(f, "the definitions cannot be loaded, {} things are wrong:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

impl std::error::Error for DefinitionError {}

/// One thing that is wrong with a definition file. `at` names file and line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionProblem {
    /// A file or folder that cannot be read.
    #[error("{path}: cannot be read: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file that is neither Markdown nor JSON by its name.
    #[error("{path}: its name ends neither in `.md` nor in `.json`, so what is in it is not known: rename it")]
    UnknownFormat {
        /// The file.
        path: String,
    },
    /// A file that is too large to be a definition.
    #[error("{path}: has more than {limit} bytes, which is too large for a definition")]
    TooLarge {
        /// The file.
        path: String,
        /// The largest number of bytes.
        limit: u64,
    },
    /// A file that is no text.
    #[error("{at}: is not UTF-8 text from here on: save it as UTF-8")]
    NotUtf8 {
        /// Where the first illegal byte is.
        at: String,
    },
    /// A Markdown file that does not begin with front matter.
    #[error(
        "{path}: has no front matter: the first line of a definition is `---`, then come its fields and another line `---`"
    )]
    NoFrontMatter {
        /// The file.
        path: String,
    },
    /// Front matter without its last line.
    #[error("{at}: the front matter that begins here has no end: write a line `---` after its last field")]
    Unclosed {
        /// Where it begins.
        at: String,
    },
    /// Text that is not in its format.
    #[error("{at}: {reason}{}", advice.map(|advice| format!(" ({advice})")).unwrap_or_default())]
    Syntax {
        /// Where.
        at: String,
        /// What is wrong.
        reason: String,
        /// What usually helps.
        advice: Option<&'static str>,
    },
    /// A field that there is not.
    #[error(
        "{at}: there is no field `{field}`{}",
        near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_else(|| ": remove it".to_owned())
    )]
    UnknownField {
        /// Where.
        at: String,
        /// The field.
        field: String,
        /// The field that was probably meant.
        near: Option<&'static str>,
    },
    /// A field that is there twice, maybe in both of its spellings.
    #[error("{at}: the field `{field}` is here for the second time, first in line {first}: leave one of them out")]
    TwiceInOne {
        /// Where it is for the second time.
        at: String,
        /// The field.
        field: String,
        /// The line where it is first.
        first: u32,
    },
    /// A field that has to be there.
    #[error("{at}: the definition has no {what}")]
    Missing {
        /// Where the definition begins.
        at: String,
        /// What is missing, and how it is given.
        what: &'static str,
    },
    /// A value that a field cannot have.
    #[error("{at}: `{field}` is {found}, but has to be {expected}")]
    WrongValue {
        /// Where.
        at: String,
        /// The field.
        field: String,
        /// What it is.
        found: String,
        /// What it has to be.
        expected: String,
    },
    /// Two fields that say different things.
    #[error("{at}: `{field}` and `{other}` say different things: leave one of them out")]
    Contradiction {
        /// Where.
        at: String,
        /// The field.
        field: &'static str,
        /// The other field.
        other: &'static str,
    },
    /// Something that can be said in such a file, and that is not to be had here.
    #[error("{at}: {what} is not supported: {advice}")]
    NotSupported {
        /// Where.
        at: String,
        /// The field or the value.
        what: String,
        /// Why not, and what to do instead.
        advice: &'static str,
    },
    /// A model that nobody gave a meaning.
    #[error(
        "{at}: no model is known as `{model}` (known: {}): say what it means with `DefinitionFiles::with_model`, or write \
         `model: inherit`",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    UnknownModel {
        /// Where.
        at: String,
        /// The model.
        model: String,
        /// The names that have a meaning.
        known: Vec<String>,
    },
    /// A tool that is denied, of a harness that the agent gets by another name.
    #[error(
        "{at}: `{tool}` is denied, but belongs to the harness `{harness}`, which the agent has by `{other}`: leave out \
         both, or make two harnesses of it"
    )]
    DeniedAndGiven {
        /// Where it is denied.
        at: String,
        /// The tool that is denied.
        tool: String,
        /// The harness that it stands for.
        harness: String,
        /// The name that gives the harness.
        other: String,
    },
    /// A list of denied tools that takes nothing away.
    #[error(
        "{at}: `disallowedTools` takes nothing away: the agent has {has}; name one of these, or leave the field out (of a \
         harness, no single tool can be taken away)"
    )]
    DeniesNothing {
        /// Where the first is denied.
        at: String,
        /// By which names it has harnesses.
        has: String,
    },
    /// Policies of which one makes another meaningless.
    #[error("{at}: {text}{remedy}")]
    Excluded {
        /// Where the policy is.
        at: String,
        /// What is wrong.
        text: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Two definitions of one name.
    #[error("two definitions are named `{name}`: {first} and {second}; give one of them another name")]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first is.
        first: String,
        /// Where the second is.
        second: String,
    },
}

impl DefinitionProblem {
    /// The stable code of this problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable_file",
            Self::UnknownFormat { .. } => "unknown_format",
            Self::TooLarge { .. } => "file_too_large",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::NoFrontMatter { .. } => "no_front_matter",
            Self::Unclosed { .. } => "unclosed_front_matter",
            Self::Syntax { .. } => "syntax",
            Self::UnknownField { .. } => "unknown_field",
            Self::TwiceInOne { .. } => "duplicate_field",
            Self::Missing { .. } => "missing_field",
            Self::WrongValue { .. } => "wrong_value",
            Self::Contradiction { .. } => "contradiction",
            Self::NotSupported { .. } => "not_supported",
            Self::UnknownModel { .. } => "unknown_model",
            Self::DeniedAndGiven { .. } => "denied_and_given",
            Self::DeniesNothing { .. } => "denies_nothing",
            Self::Excluded { .. } => "excluded_policies",
            Self::Duplicate { .. } => "duplicate_definition",
        }
    }

    pub(super) fn syntax(path: &str, line: u32, reason: impl Into<String>) -> Self {
        Self::Syntax { at: place(path, line), reason: reason.into(), advice: None }
    }
}
