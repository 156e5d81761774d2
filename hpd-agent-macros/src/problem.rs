//! Every mistake that the macros report. One variant per kind, so that each has one place for its words. The code of a
//! kind stays what it is; the book has a page for each.

use std::fmt;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Attribute;

use crate::names::{AGENT_ID, TOOL_NAME};

/// A mistake in a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// `#[subagent]` or `#[ai_function]` where no `#[tool_harness]` collects it.
    OutsideHarness { attribute: &'static str },
    /// `#[tool_harness]` on something else than an `impl`.
    NotAnImpl { found: &'static str },
    /// `#[tool_harness]` on an `impl Trait for Type`.
    TraitImpl,
    /// `#[tool_harness]` on an `impl` of something without a name.
    UnnamedType,
    /// A capability attribute on something else than a method.
    NotAMethod { attribute: &'static str },
    /// Two capability attributes on one method.
    TwoAttributes { method: String },
    /// The package does not depend on the runtime crate.
    CrateNotFound,

    /// `#[subagent = …]`.
    AttributeShape { attribute: &'static str },
    /// An argument that does not exist.
    UnknownArgument { attribute: &'static str, key: String, advice: UnknownAdvice, legal: String },
    /// An argument that was given already.
    RepeatedArgument { key: String },
    /// `key =` or `key` without the value that it needs.
    MissingValue { key: String, expected: &'static str },
    /// A value of another kind than the argument takes.
    WrongValue { key: String, expected: &'static str },
    /// A name that is no variant of the policy, but nearly one.
    UnknownVariant { key: String, found: String, variant: Option<&'static str>, legal: &'static [&'static str] },
    /// Something that is no argument at all.
    Malformed { advice: String },
    /// A key of `metadata(…)` that is neither a name nor a string.
    MetadataKey,
    /// A key of metadata that the runtime writes.
    ReservedKey { key: String },
    /// A list with nothing in it.
    EmptyList { key: String },

    /// A text that is no legal agent id.
    AgentId { text: String },
    /// A text that is no legal tool name; `derived` from the method's name.
    ToolName { text: String, derived: bool },
    /// A text that is no legal name of a harness; `derived` from the type's name.
    HarnessName { text: String, derived: bool },
    /// A parameter whose name a model cannot be shown; `derived` from the parameter itself.
    ParameterName { text: String, derived: bool },
    /// A name that another method of the harness has too.
    DuplicateName { name: String },
    /// The other of two with one name.
    FirstName { name: String },
    /// An agent id that another method of the harness has too.
    DuplicateAgentId { id: String },
    /// The other of two with one agent id.
    FirstAgentId { id: String },
    /// A name that another parameter of the function has too.
    DuplicateParameter { name: String },

    /// No doc comment and no `description`.
    MissingDescription { method: String },
    /// A description without a word in it.
    BlankDescription,

    /// `self` or `&mut self`.
    Receiver { found: &'static str },
    /// Type or const parameters on a method.
    MethodGenerics { method: String },
    /// `unsafe fn`, `const fn`, `extern fn`.
    Qualifier { method: String, found: &'static str },
    /// More parameters than a `#[subagent]` method takes, or a strange one.
    SubAgentParameters,

    /// `impl Trait` as the type of a parameter.
    ImplTraitParameter,
    /// A type that borrows, or can only be borrowed: `&str`, `Option<&str>`, `&[T]`, `[T]`.
    BorrowedParameter { instead: Option<String> },
    /// `(a, b): (A, B)`.
    PatternParameter,
    /// A parameter without a default after one that has one.
    RequiredAfterDefault { name: String, before: String },
    /// `#[arg]` on what is no argument of a model.
    ArgOnOther { what: String },
    /// `-> !` of an `#[ai_function]`.
    FunctionNeverReturns,
    /// `-> [T]` of an `#[ai_function]`.
    UnsizedResult { instead: String },
    /// `-> !` of a `#[subagent]`.
    SubAgentNeverReturns,
}

/// What else can be said about an argument that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownAdvice {
    Nothing,
    Nearest(&'static str),
    /// Another attribute has it.
    BelongsTo(&'static str),
    /// It is said in another way.
    Instead(&'static str),
}

impl Problem {
    /// The mistake as an error at `span`.
    pub(crate) fn at(self, span: Span) -> syn::Error {
        syn::Error::new(span, self)
    }

    /// The number in the code.
    const fn number(&self) -> u16 {
        match self {
            Self::OutsideHarness { .. } => 1,
            Self::NotAnImpl { .. } => 2,
            Self::TraitImpl => 3,
            Self::UnnamedType => 4,
            Self::NotAMethod { .. } => 5,
            Self::TwoAttributes { .. } => 6,
            Self::CrateNotFound => 8,
            Self::AttributeShape { .. } => 10,
            Self::UnknownArgument { .. } => 11,
            Self::RepeatedArgument { .. } => 12,
            Self::MissingValue { .. } => 13,
            Self::WrongValue { .. } => 14,
            Self::Malformed { .. } => 15,
            Self::MetadataKey => 16,
            Self::ReservedKey { .. } => 17,
            Self::EmptyList { .. } => 19,
            Self::AgentId { .. } => 20,
            Self::ToolName { .. } => 21,
            Self::HarnessName { .. } => 22,
            Self::ParameterName { .. } => 23,
            Self::DuplicateName { .. } | Self::FirstName { .. } => 24,
            Self::DuplicateAgentId { .. } | Self::FirstAgentId { .. } => 25,
            Self::DuplicateParameter { .. } => 26,
            Self::MissingDescription { .. } => 30,
            Self::BlankDescription => 31,
            Self::Receiver { .. } => 40,
            Self::MethodGenerics { .. } => 41,
            Self::Qualifier { .. } => 42,
            Self::SubAgentParameters => 43,
            Self::SubAgentNeverReturns => 44,
            Self::FunctionNeverReturns | Self::UnsizedResult { .. } => 55,
            Self::ImplTraitParameter => 50,
            Self::BorrowedParameter { .. } => 51,
            Self::PatternParameter => 52,
            Self::RequiredAfterDefault { .. } => 54,
            Self::ArgOnOther { .. } => 56,
            Self::UnknownVariant { .. } => 64,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HPD{:04}: ", self.number())?;
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
            Self::UnnamedType => f.write_str(
                "#[tool_harness] needs an `impl` block of a type that has a name; wrap it: `struct YourType(…);`",
            ),
            Self::NotAMethod { attribute } => {
                write!(f, "#[{attribute}] goes on a method, and this is none; remove the attribute")
            }
            Self::TwoAttributes { method } => write!(
                f,
                "`{method}` has two attributes that make a tool of it; a method is either a #[subagent] or an \
                 #[ai_function]: remove one"
            ),
            Self::CrateNotFound => f.write_str(
                "this package does not depend on `hpd-agent`; add it, or name the crate that re-exports it: \
                 `#[tool_harness(crate = ::facade::hpd_agent)]`",
            ),
            Self::AttributeShape { attribute } => {
                write!(f, "write `#[{attribute}]` or `#[{attribute}(key = value, …)]`")
            }
            Self::UnknownArgument { attribute, key, advice, legal } => {
                write!(f, "#[{attribute}] has no argument `{key}`")?;
                match advice {
                    UnknownAdvice::Nearest(nearest) => write!(f, "; did you mean `{nearest}`? Legal are {legal}"),
                    UnknownAdvice::Instead(instead) => write!(f, "; {instead}. Legal are {legal}"),
                    UnknownAdvice::BelongsTo(other) => write!(f, ", which belongs to #[{other}]; legal are {legal}"),
                    UnknownAdvice::Nothing => write!(f, "; legal are {legal}"),
                }
            }
            Self::RepeatedArgument { key } => write!(f, "`{key}` is given twice; remove one of the two"),
            Self::MissingValue { key, expected } => write!(f, "`{key}` needs a value: {expected}"),
            Self::WrongValue { key, expected } => write!(f, "`{key}` takes something else: {expected}"),
            Self::UnknownVariant { key, found, variant, legal } => {
                write!(f, "`{key}` has no variant `{found}`")?;
                match variant {
                    Some(variant) => write!(f, "; did you mean `{}`? Legal are ", written(variant))?,
                    None => f.write_str("; legal are ")?,
                }
                legal.iter().try_for_each(|variant| write!(f, "`{}`, ", written(variant)))?;
                f.write_str("and constants of your own")
            }
            Self::Malformed { advice } => f.write_str(advice),
            Self::MetadataKey => f.write_str("write `metadata(key = value, …)`; a key is a name or a string literal"),
            Self::ReservedKey { key } => {
                write!(f, "the metadata key {key:?} is set by the runtime: choose another")
            }
            Self::EmptyList { key } => write!(f, "`{key}` is empty; leave it out, or say what belongs in it"),
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
            Self::ParameterName { text, derived } => {
                let advice = if *derived { "; rename it or write `#[arg(name = \"…\")]`" } else { "" };
                write!(
                    f,
                    "the parameter's name {text:?} is not one that every model provider accepts: expected \
                     {TOOL_NAME}{advice}"
                )
            }
            Self::DuplicateName { name } => write!(
                f,
                "this harness has two tools named `{name}`; rename one of the methods or give one `name = \"…\"`"
            ),
            Self::FirstName { name } => write!(f, "the first tool named `{name}` is here"),
            Self::DuplicateAgentId { id } => write!(
                f,
                "this harness defines the agent `{id}` twice; an id stands for one definition: give one of them \
                 another id"
            ),
            Self::FirstAgentId { id } => write!(f, "the first definition of the agent `{id}` is here"),
            Self::DuplicateParameter { name } => {
                write!(f, "this function has two parameters that the model would know as `{name}`; rename one")
            }
            Self::MissingDescription { method } => write!(
                f,
                "`{method}` needs a description, by which a model decides when to use it: write a doc comment \
                 (`/// …`) or `description = \"…\"`"
            ),
            Self::BlankDescription => {
                f.write_str("the description is blank: say what it is for, for the model that chooses it")
            }
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
            Self::Qualifier { method, found } => match *found {
                "unsafe" => {
                    write!(f, "`{method}` is called by a model, which can keep no promise: it must not be `unsafe`")
                }
                found => write!(
                    f,
                    "`{method}` is called by a model, while the program runs: it must not be `{found}`; call such a \
                     function from a plain method"
                ),
            },
            Self::SubAgentParameters => f.write_str(
                "a #[subagent] method takes `&self` or nothing, and optionally `&HarnessContext`; the model's input \
                 goes to the child agent",
            ),
            Self::ImplTraitParameter => {
                f.write_str("`impl Trait` cannot be a parameter here: a model cannot choose a type; name the type")
            }
            Self::BorrowedParameter { instead } => {
                f.write_str(
                    "a parameter of an #[ai_function] owns its value, which is read from the model's JSON; take ",
                )?;
                match instead {
                    Some(instead) => write!(f, "`{instead}`"),
                    None => f.write_str("a type that has `serde::Deserialize` and `schemars::JsonSchema`"),
                }
            }
            Self::PatternParameter => {
                f.write_str("a parameter of an #[ai_function] needs a plain name, which the model is shown")
            }
            Self::RequiredAfterDefault { name, before } => write!(
                f,
                "`{name}` has to be given and stands behind `{before}`, which has a default; put it before, or give \
                 it a default too"
            ),
            Self::SubAgentNeverReturns => f.write_str(
                "a #[subagent] method returns the definition of its child, and this one never returns: return \
                 `AgentConfig` or `SubAgent`",
            ),
            Self::FunctionNeverReturns => f.write_str(
                "an #[ai_function] gives the model a result, and this one never returns: return a value, or nothing",
            ),
            Self::UnsizedResult { instead } => {
                write!(
                    f,
                    "an #[ai_function] returns a value, and this is one only behind a pointer: return `{instead}`"
                )
            }
            Self::ArgOnOther { what } => {
                write!(f, "#[arg] describes an argument of the model, and {what} is none; remove it")
            }
        }
    }
}

/// A variant as it stands in an attribute.
fn written(variant: &str) -> &str {
    if variant == "through_depth" { "through_depth(2)" } else { variant }
}

/// What is wrong, and under which conditions it is there to be wrong.
#[derive(Default)]
pub(crate) struct Report {
    found: Vec<(Vec<Attribute>, Vec<syn::Error>)>,
}

impl Report {
    /// Adds errors that are there whenever the block is.
    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = syn::Error>) {
        self.under(&[], errors.into_iter().collect());
    }

    /// Adds errors in something that these `#[cfg]`s can remove.
    pub(crate) fn under(&mut self, cfgs: &[Attribute], errors: Vec<syn::Error>) {
        if !errors.is_empty() {
            self.found.push((cfgs.to_vec(), errors));
        }
    }

    /// The items that report them, if the block is there. They stand in blocks of their own: beside an error of a
    /// macro in the same module, the compiler keeps silent about names that it does not know.
    pub(crate) fn into_items(self, cfgs: &[Attribute]) -> TokenStream {
        let items = self.found.into_iter().map(|(own, errors)| {
            let errors = errors.into_iter().map(syn::Error::into_compile_error);
            quote!(#(#cfgs)* #(#own)* const _: () = { #(#errors)* };)
        });
        items.collect()
    }
}
