//! Every mistake that the macros report. One variant per kind, so that each has one place for its words.

use std::fmt;

use proc_macro2::Span;

/// A mistake in a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// `#[subagent]` or `#[ai_function]` where no `#[tool_harness]` collects it.
    OutsideHarness { attribute: &'static str },
    /// `#[tool_harness]` on something else than an inherent impl.
    NotAnImpl { found: &'static str },
    /// `#[tool_harness]` on an `impl Trait for Type`.
    TraitImpl,
    /// `#[tool_harness]` on an `impl` of something without a name.
    UnnamedType,
    /// A capability attribute on something else than a method.
    NotAMethod { attribute: &'static str },
    /// Two capability attributes on one method.
    TwoAttributes { method: String },
    /// `#[subagent = …]`.
    AttributeShape { attribute: &'static str },
    /// An argument that does not exist.
    UnknownArgument { attribute: &'static str, key: String, nearest: Option<&'static str>, legal: String },
    /// An argument that was given already.
    RepeatedArgument { key: String },
    /// `key =` or `key` without the value that it needs.
    MissingValue { key: String, expected: &'static str },
    /// A value of another kind than the argument takes.
    WrongValue { key: String, expected: &'static str },
    /// A text that is no legal agent id.
    AgentId { text: String },
    /// A text that is no legal tool name; `derived` from the method's name.
    ToolName { text: String, derived: bool },
    /// A text that is no legal name of a harness; `derived` from the type's name.
    HarnessName { text: String, derived: bool },
    /// A parameter whose name a model cannot be shown.
    ParameterName { text: String },
    /// No doc comment and no `description`.
    MissingDescription { method: String },
    /// A description without a word in it.
    BlankDescription,
    /// A name that another method of the harness has too.
    DuplicateName { name: String },
    /// The other of two with one name.
    FirstUse { name: String },
    /// `self` or `&mut self`.
    Receiver { found: &'static str },
    /// Type or const parameters on a method.
    MethodGenerics { method: String },
    /// `impl Trait` as the type of a parameter.
    ImplTraitParameter,
    /// `&str`, `&[T]`.
    BorrowedParameter { instead: String },
    /// `(a, b): (A, B)`.
    PatternParameter,
    /// `#[cfg]` on a parameter.
    CfgOnParameter,
    /// More parameters than a `#[subagent]` method takes.
    SubAgentParameters,
    /// `unsafe fn`.
    UnsafeMethod { method: String },
    /// A key of `metadata(…)` that is neither a name nor a string.
    MetadataKey,
    /// The package does not depend on the runtime crate.
    CrateNotFound,
}

impl Problem {
    /// The mistake as an error at `span`.
    pub(crate) fn at(self, span: Span) -> syn::Error {
        syn::Error::new(span, self)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideHarness { attribute } => write!(
                f,
                "#[{attribute}] works only on a method of an `impl` block that is marked #[tool_harness]; put \
                 #[tool_harness] on the block, or remove this attribute"
            ),
            Self::NotAnImpl { found } => {
                write!(f, "#[tool_harness] goes on an inherent `impl` block of a type, not on {found}")
            }
            Self::TraitImpl => f.write_str(
                "#[tool_harness] goes on an inherent `impl` block, not on the implementation of a trait; move the \
                 methods to `impl YourType { … }`",
            ),
            Self::UnnamedType => f.write_str("#[tool_harness] needs an `impl` block of a type that has a name"),
            Self::NotAMethod { attribute } => {
                write!(f, "#[{attribute}] goes on a method, and this is none")
            }
            Self::TwoAttributes { method } => write!(
                f,
                "`{method}` has two attributes that make a tool of it; a method is either a #[subagent] or an \
                 #[ai_function]"
            ),
            Self::AttributeShape { attribute } => {
                write!(f, "write `#[{attribute}]` or `#[{attribute}(key = value, …)]`")
            }
            Self::UnknownArgument { attribute, key, nearest, legal } => {
                write!(f, "#[{attribute}] has no argument `{key}`")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`? Legal are {legal}"),
                    None => write!(f, "; legal are {legal}"),
                }
            }
            Self::RepeatedArgument { key } => write!(f, "`{key}` is given twice; remove one of the two"),
            Self::MissingValue { key, expected } => write!(f, "`{key}` needs a value: {expected}"),
            Self::WrongValue { key, expected } => write!(f, "`{key}` takes something else: {expected}"),
            Self::AgentId { text } => write!(f, "the agent id {text:?} is not legal: expected {AGENT_ID}"),
            Self::ToolName { text, derived: false } => {
                write!(f, "the tool name {text:?} is not legal: expected {TOOL_NAME}")
            }
            Self::ToolName { text, derived: true } => write!(
                f,
                "the method's name {text:?} is no legal tool name: expected {TOOL_NAME}; rename the method or write \
                 `name = \"…\"`"
            ),
            Self::HarnessName { text, derived: false } => {
                write!(f, "the harness name {text:?} is not legal: expected {AGENT_ID}")
            }
            Self::HarnessName { text, derived: true } => write!(
                f,
                "the type's name {text:?} is no legal harness name: expected {AGENT_ID}; write \
                 `#[tool_harness(name = \"…\")]`"
            ),
            Self::ParameterName { text } => write!(
                f,
                "the parameter's name {text:?} is not one that every model provider accepts: expected {TOOL_NAME}"
            ),
            Self::MissingDescription { method } => write!(
                f,
                "`{method}` needs a description, by which a model decides when to use it: write a doc comment \
                 (`/// …`) or `description = \"…\"`"
            ),
            Self::BlankDescription => {
                f.write_str("the description is blank: say what the tool does, for the model that chooses it")
            }
            Self::DuplicateName { name } => write!(
                f,
                "this harness has two tools named `{name}`; rename one of the methods or give one `name = \"…\"`"
            ),
            Self::FirstUse { name } => write!(f, "the first tool named `{name}` is here"),
            Self::Receiver { found } => write!(
                f,
                "a tool takes `&self` or nothing, not `{found}`: a harness is shared by all calls; keep what changes \
                 behind a `Mutex` or an atomic"
            ),
            Self::MethodGenerics { method } => write!(
                f,
                "`{method}` is called by a model, which cannot choose types: remove its type and const parameters, or \
                 put them on the `impl` block"
            ),
            Self::ImplTraitParameter => {
                f.write_str("`impl Trait` cannot be a parameter here: a model cannot choose a type; name the type")
            }
            Self::BorrowedParameter { instead } => write!(
                f,
                "a parameter of an #[ai_function] owns its value, which is read from the model's JSON; take `{instead}`"
            ),
            Self::PatternParameter => {
                f.write_str("a parameter of an #[ai_function] needs a plain name, which the model is shown")
            }
            Self::CfgOnParameter => {
                f.write_str("#[cfg] on a parameter is not supported here; write two methods, each with its own #[cfg]")
            }
            Self::SubAgentParameters => f.write_str(
                "a #[subagent] method takes `&self` or nothing, and optionally `&HarnessContext`; the model's input \
                 goes to the child agent",
            ),
            Self::UnsafeMethod { method } => {
                write!(f, "`{method}` is called by a model, which can keep no promise: it must not be `unsafe`")
            }
            Self::MetadataKey => f.write_str("write `metadata(key = value, …)`; a key is a name or a string literal"),
            Self::CrateNotFound => f.write_str(
                "this package does not depend on `hpd-agent`; add it, or name the crate that re-exports it: \
                 `#[tool_harness(crate = ::facade::hpd_agent)]`",
            ),
        }
    }
}

/// What an agent id has to look like. The runtime crate has the same words.
pub(crate) const AGENT_ID: &str = "1 to 128 characters from A-Z a-z 0-9 . _ / -, the first one a letter or digit";
/// What a tool name has to look like. The runtime crate has the same words.
pub(crate) const TOOL_NAME: &str = "1 to 64 characters from A-Z a-z 0-9 _ -";

/// Whether `text` is a legal agent id.
pub(crate) fn is_agent_id(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
}

/// Whether `text` is a legal tool name.
pub(crate) fn is_tool_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// All errors that were found, as one.
pub(crate) fn combined(errors: Vec<syn::Error>) -> Option<syn::Error> {
    errors.into_iter().reduce(|mut all, error| {
        all.combine(error);
        all
    })
}

/// The legal word that `wrong` was probably meant to be.
pub(crate) fn nearest(wrong: &str, legal: &[&'static str]) -> Option<&'static str> {
    let wrong = wrong.trim_start_matches("r#").to_lowercase();
    let (best, word) = legal.iter().map(|word| (distance(&wrong, word), *word)).min()?;
    if best <= 2.max(word.len() / 4) {
        return Some(word);
    }
    // `harnesses` for `tool_harnesses`, `context_policy` for `context`, `depth` for nothing.
    let related = |word: &&&'static str| wrong.len() > 3 && (word.contains(&*wrong) || wrong.contains(**word));
    legal.iter().filter(related).max_by_key(|word| word.len()).copied()
}

/// How many letters have to be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(other.chars()) {
            let above = *cell;
            left = (diagonal + usize::from(a != b)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let legal = ["agent_id", "name", "context", "invocation_mode", "availability", "tool_harnesses"];
        for (wrong, right) in [
            ("agentid", Some("agent_id")),
            ("agent_ids", Some("agent_id")),
            ("contxt", Some("context")),
            ("context_policy", Some("context")),
            ("harnesses", Some("tool_harnesses")),
            ("mode", Some("invocation_mode")),
            ("Name", Some("name")),
            ("temperature", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, &legal), right, "{wrong}");
        }
    }

    #[test]
    fn edit_distance() {
        for (one, other, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn ids_and_names() {
        assert!(is_agent_id("specialist.reviewer/v2") && is_agent_id(&"a".repeat(128)));
        for wrong in ["", "-a", ".a", "has space", "é", &"a".repeat(129)] {
            assert!(!is_agent_id(wrong), "{wrong}");
        }
        assert!(is_tool_name("get_weather-2") && is_tool_name(&"a".repeat(64)));
        for wrong in ["", "a.b", "has space", "größe", &"a".repeat(65)] {
            assert!(!is_tool_name(wrong), "{wrong}");
        }
    }
}
