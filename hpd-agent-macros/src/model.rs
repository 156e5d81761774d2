//! What a harness declares, checked and owned: the input of the expansion.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Expr, Generics, Ident, LitStr, Type};

/// One `#[tool_harness]`.
pub(crate) struct Harness {
    /// `#[cfg]`s of the block.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) generics: Generics,
    pub(crate) ty: Type,
    /// The lints that the author allows in the block.
    pub(crate) allowed: Vec<Attribute>,
    /// An expression of type `&'static str`.
    pub(crate) name: Value,
    pub(crate) capabilities: Vec<Capability>,
    /// Those with a mistake that is reported already, as far as they were understood.
    pub(crate) wrong: Vec<Capability>,
}

/// One method that is a tool.
pub(crate) struct Capability {
    /// Its place in the block, for the names of its constants.
    pub(crate) index: usize,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) method: Ident,
    /// The method's name, without `r#`.
    pub(crate) method_name: String,
    pub(crate) name: Option<Value>,
    pub(crate) description: Option<Value>,
    /// The doc comment, an expression of type `&'static str`; empty if there is none.
    pub(crate) doc: TokenStream,
    /// Where the doc comment is what only the compiler can know to be no description.
    pub(crate) open_doc: Option<Span>,
    pub(crate) has_receiver: bool,
    pub(crate) is_async: bool,
    /// Where the return type is, or the method's name if it has none.
    pub(crate) output: Span,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Function(Box<Function>),
    SubAgent(Box<SubAgent>),
}

/// What `#[ai_function]` says.
pub(crate) struct Function {
    pub(crate) params: Vec<Param>,
    pub(crate) requires_permission: Option<Expr>,
    pub(crate) exclusive: Option<Expr>,
}

/// A parameter; its type decides what it is.
pub(crate) struct Param {
    pub(crate) name: String,
    /// The doc comment, an expression of type `&'static str`; empty if there is none.
    pub(crate) doc: TokenStream,
    /// What is said instead of the doc comment.
    pub(crate) description: Option<Value>,
    pub(crate) cfgs: Vec<Attribute>,
    /// Lifetimes of the method are replaced by `'_`.
    pub(crate) ty: TokenStream,
    pub(crate) span: Span,
    /// What it is if the model does not give it.
    pub(crate) default: Option<Expr>,
}

/// What `#[subagent]` says.
#[derive(Default)]
pub(crate) struct SubAgent {
    pub(crate) agent_id: Option<Value>,
    pub(crate) policies: Vec<(Policy, Expr)>,
    /// Names that are no policies, or not yet.
    pub(crate) unfinished: Vec<(Policy, Expr)>,
    pub(crate) tool_harnesses: Vec<Type>,
    pub(crate) metadata: Vec<(LitStr, Expr)>,
    /// One, or several of which `#[cfg]`s leave one.
    pub(crate) contexts: Vec<Param>,
}

/// A text that is a constant.
pub(crate) enum Value {
    /// A literal, checked already.
    Literal(LitStr),
    /// Anything else, for the compiler to evaluate and to check.
    Constant(Expr),
}

/// A policy of a subagent: a constant expression that the compiler evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Context,
    InvocationMode,
    Availability,
    Recursion,
    Lifecycle,
    ForkCompaction,
    BackgroundNotification,
}

impl Policy {
    pub(crate) const ALL: [Self; 7] = [
        Self::Context,
        Self::InvocationMode,
        Self::Availability,
        Self::Recursion,
        Self::Lifecycle,
        Self::ForkCompaction,
        Self::BackgroundNotification,
    ];

    /// The argument, which is the field of the descriptor too.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::InvocationMode => "invocation_mode",
            Self::Availability => "availability",
            Self::Recursion => "recursion",
            Self::Lifecycle => "lifecycle",
            Self::ForkCompaction => "fork_compaction",
            Self::BackgroundNotification => "background_notification",
        }
    }

    /// The type of the value.
    pub(crate) const fn type_name(self) -> &'static str {
        match self {
            Self::Context => "SubAgentContextPolicy",
            Self::InvocationMode => "AgentInvocationModePolicy",
            Self::Availability => "SubAgentAvailability",
            Self::Recursion => "Recursion",
            Self::Lifecycle => "SubAgentLifecycle",
            Self::ForkCompaction => "ForkCompaction",
            Self::BackgroundNotification => "BackgroundNotification",
        }
    }

    /// An example of a value, for messages.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Context => "for example `context = ModelChoice`",
            Self::InvocationMode => "for example `invocation_mode = ModelChoice`",
            Self::Availability => "for example `availability = through_depth(2)`",
            Self::Recursion => "for example `recursion = Allowed`",
            Self::Lifecycle => "for example `lifecycle = Continuable`",
            Self::ForkCompaction => "for example `fork_compaction = Disable`",
            Self::BackgroundNotification => "for example `background_notification = None`",
        }
    }

    /// What a value can be, by the names that are in scope in it.
    pub(crate) const fn variants(self) -> &'static [&'static str] {
        match self {
            Self::Context => &["Fork", "Fresh", "Isolated", "ModelChoice"],
            Self::InvocationMode => &["SynchronousOnly", "BackgroundOnly", "ModelChoice"],
            Self::Availability => &["ROOT_ONLY", "ANY_ALLOWED_DEPTH", "through_depth"],
            Self::Recursion => &["Guarded", "Allowed"],
            Self::Lifecycle => &["OneShot", "Continuable"],
            Self::ForkCompaction => &["Inherit", "Apply", "Disable"],
            Self::BackgroundNotification => &["None", "OnFinalState", "Strategy"],
        }
    }

    /// The variant that a value names by itself. It means that variant wherever it stands: inside of a value the
    /// variants are in scope before all else. One with fields is none by itself.
    pub(crate) fn plain_variant(self, expr: &Expr) -> Option<&Ident> {
        let Expr::Path(path) = expr else { return None };
        let ident = path.path.get_ident().filter(|_| path.attrs.is_empty())?;
        let is_plain =
            self != Self::Availability && !matches!(ident.to_string().as_str(), "Apply" | "OnFinalState" | "Strategy");
        (is_plain && self.variants().iter().any(|variant| ident == variant)).then_some(ident)
    }

    /// What is imported around a value, so that these names are in scope: the type, or a module of the same names.
    pub(crate) const fn scope(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            _ => self.type_name(),
        }
    }

    /// The check that the value goes through, in the runtime crate.
    pub(crate) const fn check(self) -> Option<&'static str> {
        match self {
            Self::Availability => Some("availability"),
            _ => None,
        }
    }
}
