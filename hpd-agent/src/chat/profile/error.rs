use super::{Place, SchemaProfile};

/// Something in a tool's schema for which a provider's profile has no form.
///
/// `path` is the place as one would write it, `place.near`, with `[]` for the items of an array and `*` for the values
/// of a map; `pointer` is the JSON pointer into the canonical schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not that of an object, or says at its root what a provider refuses there.
    #[error(
        "{profile} wants a schema with `\"type\": \"object\"` at its root, and this one {problem}: declare the \
         arguments as named properties of one object"
    )]
    Root {
        /// The profile.
        profile: SchemaProfile,
        /// What is wrong with the root.
        problem: String,
    },
    /// A construct that the provider does not know, and that nothing it knows says as well.
    #[error("{profile} cannot be told of {construct}, at `{path}` ({pointer}): {advice}")]
    Unsupported {
        /// The profile.
        profile: SchemaProfile,
        /// Where, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What it is.
        construct: String,
        /// What to do.
        advice: &'static str,
    },
    /// A type that contains itself, in a place where the provider wants an end of it.
    #[error(
        "{profile} cannot be told of `{definition}`, which contains itself at `{path}` ({pointer}): make a field on \
         the way there optional (in a Rust type with `Option` or `#[serde(default)]`), or take a flat list with references"
    )]
    Recursive {
        /// The profile.
        profile: SchemaProfile,
        /// Where, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// The name of the definition.
        definition: String,
    },
    /// A `$ref` to something that is not there, or not among the schema's own definitions.
    #[error(
        "`$ref: {reference}` at `{path}` ({pointer}) leads to no definition: refer to one of the same schema, \
         `#/$defs/NAME`"
    )]
    Reference {
        /// The profile.
        profile: SchemaProfile,
        /// Where, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// The reference.
        reference: String,
    },
    /// Something that means nothing in JSON schema, whoever is sent it.
    #[error("the schema has {problem}, at `{path}` ({pointer}): {advice}")]
    Malformed {
        /// The profile.
        profile: SchemaProfile,
        /// Where, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What it is.
        problem: String,
        /// What to do.
        advice: &'static str,
    },
    /// A schema that is too much work: it says a lot by referring to the same definitions over and over.
    #[error(
        "the form of the schema for {profile} {problem}, at `{path}` ({pointer}): definitions are copied where something \
         stands beside a `$ref`, or in an `allOf`; refer to them by the `$ref` alone, or make the arguments simpler"
    )]
    TooComplex {
        /// The profile.
        profile: SchemaProfile,
        /// Where it was given up, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What is too much.
        problem: &'static str,
    },
    /// A property's name that the provider refuses.
    #[error(
        "{profile} refuses the name of the property `{path}`: {advice}; give it another (in a Rust type with \
         `#[serde(rename = \"…\")]`)"
    )]
    PropertyName {
        /// The profile.
        profile: SchemaProfile,
        /// The name.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What names are made of.
        advice: &'static str,
    },
    /// A schema beyond the provider's limits.
    #[error("{profile} takes at most {limit} {what}, and `{path}` brings it to {count}: make the arguments simpler")]
    TooLarge {
        /// The profile.
        profile: SchemaProfile,
        /// Where the limit is exceeded, readable.
        path: String,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
}

impl SchemaError {
    pub(super) fn root(profile: SchemaProfile, problem: impl Into<String>) -> Self {
        Self::Root { profile, problem: problem.into() }
    }

    pub(super) fn unsupported(
        profile: SchemaProfile,
        at: &Place,
        construct: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Self::Unsupported { profile, path: at.path(), pointer: at.pointer(), construct: construct.into(), advice }
    }

    /// The stable code, for example `schema_unsupported`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Root { .. } => "schema_root",
            Self::Unsupported { .. } => "schema_unsupported",
            Self::Recursive { .. } => "schema_recursive",
            Self::Reference { .. } => "schema_reference",
            Self::Malformed { .. } => "schema_malformed",
            Self::TooComplex { .. } => "schema_too_complex",
            Self::PropertyName { .. } => "schema_property_name",
            Self::TooLarge { .. } => "schema_too_large",
        }
    }

    /// The profile that has no form for it.
    #[must_use]
    pub const fn profile(&self) -> SchemaProfile {
        match self {
            Self::Root { profile, .. }
            | Self::Unsupported { profile, .. }
            | Self::Recursive { profile, .. }
            | Self::Reference { profile, .. }
            | Self::Malformed { profile, .. }
            | Self::TooComplex { profile, .. }
            | Self::PropertyName { profile, .. }
            | Self::TooLarge { profile, .. } => *profile,
        }
    }

    /// The place as a JSON pointer into the canonical schema; empty for its root.
    #[must_use]
    pub fn pointer(&self) -> &str {
        match self {
            Self::Root { .. } => "",
            Self::Unsupported { pointer, .. }
            | Self::Recursive { pointer, .. }
            | Self::Reference { pointer, .. }
            | Self::Malformed { pointer, .. }
            | Self::TooComplex { pointer, .. }
            | Self::PropertyName { pointer, .. }
            | Self::TooLarge { pointer, .. } => pointer,
        }
    }
}
