//! What providers accept as the schema of a tool: one profile for each, by which the form on the wire is derived from
//! the canonical schema.
//!
//! A form accepts what the canonical schema accepts. What a provider has no keyword for is said by another one of the
//! same meaning, or, if it only limits a value, in words at the end of the description. All else is refused with its
//! place.
//!
//! What is no schema at all is refused before (`flaws`). What a provider documents stands in the file of its name. Two
//! providers take JSON Schema almost as it is (`plain`); for the dialects of the others `translate` goes through the
//! schema once: `compose` (by `merge`) makes one schema of those that hold together, `forms` says the types, `notes` what
//! remains as words. All of it is paid for from one `budget`.

mod anthropic;
mod budget;
mod compose;
mod error;
mod exclusive;
mod flaws;
mod forms;
mod gemini;
mod keywords;
mod limits;
mod merge;
mod notes;
mod nulls;
mod openai;
mod place;
mod plain;
mod refs;
mod translate;

use std::fmt;

use serde_json::Value;

pub use self::error::SchemaError;
use self::place::Place;
pub(super) use self::{flaws::flaws, nulls::without_nulls};

/// What a provider accepts as the schema of a tool's arguments.
///
/// | Profile | For | Form |
/// |---|---|---|
/// | `OpenAi` | OpenAI without strict mode, DeepSeek, Ollama, and servers that speak OpenAI's protocol | the canonical schema; arrays say what their items are |
/// | `OpenAiStrict` | OpenAI's strict mode | objects are closed and every property is required, the optional ones nullable |
/// | `Anthropic` | Anthropic | the canonical schema |
/// | `Gemini` | Gemini's `parametersJsonSchema` | the keywords that Google lists, others as equal ones or in words |
///
/// A client says in its [`ClientInfo`](super::ClientInfo::with_schema_profile) which one is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaProfile {
    /// OpenAI's function calling without strict mode, and whoever took it over.
    OpenAi,
    /// OpenAI's strict mode, in which the answer is made to fit the schema.
    OpenAiStrict,
    /// Anthropic's tools.
    Anthropic,
    /// Gemini's function declarations.
    Gemini,
}

impl SchemaProfile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// The name, for example `openai-strict`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    pub(super) const fn index(self) -> usize {
        match self {
            Self::OpenAi => 0,
            Self::OpenAiStrict => 1,
            Self::Anthropic => 2,
            Self::Gemini => 3,
        }
    }
}

/// As a sentence calls it.
impl fmt::Display for SchemaProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenAi => "OpenAI",
            Self::OpenAiStrict => "OpenAI's strict mode",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
        })
    }
}

/// Derives the form for a provider.
pub(super) fn derive(canonical: &Value, profile: SchemaProfile) -> Result<Value, Vec<SchemaError>> {
    let malformed: Vec<SchemaError> = flaws(canonical).into_iter().map(|flaw| flaw.of(profile)).collect();
    if !malformed.is_empty() {
        return Err(malformed);
    }
    match profile {
        SchemaProfile::OpenAi => openai::plain(canonical),
        SchemaProfile::OpenAiStrict => openai::strict(canonical),
        SchemaProfile::Anthropic => anthropic::form(canonical),
        SchemaProfile::Gemini => gemini::form(canonical),
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
