//! What the arguments of an attribute mean: which there are, and which values they take.

use quote::{ToTokens, quote};
use syn::{Expr, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    args::{self, Argument, Value as ArgumentValue},
    model::{Policy, SubAgent, Value},
    names::{is_agent_id, is_tool_name, nearest},
    parse,
    problem::{Problem, UnknownAdvice},
};

pub(crate) const SUBAGENT: &str = "subagent";
pub(crate) const AI_FUNCTION: &str = "ai_function";

const SUBAGENT_KEYS: &[&str] = &[
    "agent_id",
    "name",
    "description",
    "context",
    "invocation_mode",
    "availability",
    "recursion",
    "lifecycle",
    "fork_compaction",
    "background_notification",
    "tool_harnesses",
    "metadata",
];
const AI_FUNCTION_KEYS: &[&str] = &["name", "description", "requires_permission", "exclusive"];
const TOOL_HARNESS_KEYS: &[&str] = &["name", "crate"];
const KEYS: &[(&str, &[&str])] =
    &[(SUBAGENT, SUBAGENT_KEYS), (AI_FUNCTION, AI_FUNCTION_KEYS), ("tool_harness", TOOL_HARNESS_KEYS)];

/// Words that others use for an argument, where no letters say so.
const SYNONYMS: &[(&str, &str)] = &[
    ("id", "agent_id"),
    ("doc", "description"),
    ("tools", "tool_harnesses"),
    ("mode", "invocation_mode"),
    ("permission", "requires_permission"),
    ("labels", "metadata"),
    ("title", "name"),
];

const CONFIGURED: &str = "the child's own settings belong to the `AgentConfig` that the method returns";
const BOUNDED: &str = "write `availability = through_depth(…)`";
/// What an author of a subagent may look for among its arguments, and what to do instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("model", CONFIGURED),
    ("chat", CONFIGURED),
    ("temperature", CONFIGURED),
    ("instructions", CONFIGURED),
    ("system_instructions", CONFIGURED),
    ("prompt", CONFIGURED),
    ("max_iterations", CONFIGURED),
    ("depth", BOUNDED),
    ("max_depth", BOUNDED),
];

/// Keys of metadata that the runtime writes. The runtime crate has the same list.
const RESERVED_METADATA: [&str; 11] = [
    "kind",
    "defaultAgentId",
    "subAgentName",
    "subAgentSourceKind",
    "parentSessionId",
    "parentThreadId",
    "parentToolCallId",
    "invocationId",
    "contextPolicy",
    "visibility",
    "createdBy",
];

/// What `#[tool_harness(…)]` says.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Value>,
    pub(crate) name_is_wrong: bool,
    pub(crate) krate: Option<syn::Path>,
}

/// Reads the arguments of `#[tool_harness]`.
pub(crate) fn options(tokens: proc_macro2::TokenStream, errors: &mut Vec<syn::Error>) -> Options {
    let mut options = Options::default();
    let arguments = args::of_tokens(tokens, errors);
    for (key, argument) in once_each(arguments, "tool_harness", TOOL_HARNESS_KEYS, errors) {
        match key {
            "name" => {
                options.name = text(argument, "for example `name = \"search\"`", errors, |text| {
                    (!is_agent_id(text)).then(|| Problem::HarnessName { text: text.to_owned(), derived: false })
                });
                options.name_is_wrong = options.name.is_none();
            }
            _ => match &argument.value {
                ArgumentValue::Expr(expr) if parse::path(expr).is_some() => options.krate = parse::path(expr).cloned(),
                _ => errors.push(wrong(&argument, "for example `crate = ::facade::hpd_agent`")),
            },
        }
    }
    options
}

/// What the attribute of a method says.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) name: Option<Value>,
    pub(crate) name_is_wrong: bool,
    pub(crate) description: Option<Value>,
    pub(crate) description_is_wrong: bool,
    /// There is an `agent_id`, legal or not.
    pub(crate) is_identified: bool,
    pub(crate) requires_permission: Option<Expr>,
    pub(crate) exclusive: Option<Expr>,
    pub(crate) sub_agent: SubAgent,
}

impl Declared {
    /// Reads the arguments of `#[subagent]` or `#[ai_function]`.
    pub(crate) fn read(attribute: &syn::Attribute, name: &'static str, errors: &mut Vec<syn::Error>) -> Self {
        let keys = if name == SUBAGENT { SUBAGENT_KEYS } else { AI_FUNCTION_KEYS };
        let arguments = args::of_attribute(attribute, name, errors);
        let mut declared = Self::default();
        for (key, argument) in once_each(arguments, name, keys, errors) {
            declared.argument(key, argument, errors);
        }
        declared
    }

    fn argument(&mut self, key: &'static str, argument: Argument, errors: &mut Vec<syn::Error>) {
        match key {
            "name" => {
                self.name = text(argument, "for example `name = \"search\"`", errors, |text| {
                    (!is_tool_name(text)).then(|| Problem::ToolName { text: text.to_owned(), derived: false })
                });
                self.name_is_wrong = self.name.is_none();
            }
            "description" => {
                self.description =
                    text(argument, "for example `description = \"Searches the library.\"`", errors, |text| {
                        text.trim().is_empty().then_some(Problem::BlankDescription)
                    });
                self.description_is_wrong = self.description.is_none();
            }
            "agent_id" => {
                self.is_identified = true;
                self.sub_agent.agent_id =
                    text(argument, "for example `agent_id = \"team.reviewer\"`", errors, |text| {
                        (!is_agent_id(text)).then(|| Problem::AgentId { text: text.to_owned() })
                    });
            }
            "requires_permission" => self.requires_permission = flag(argument, errors),
            "exclusive" => self.exclusive = flag(argument, errors),
            "tool_harnesses" => self.tool_harnesses(&argument, errors),
            "metadata" => self.metadata(&argument, errors),
            _ => self.policy(key, argument, errors),
        }
    }

    fn tool_harnesses(&mut self, argument: &Argument, errors: &mut Vec<syn::Error>) {
        let ArgumentValue::List(group) = &argument.value else {
            errors.push(wrong(argument, "a list of types, for example `tool_harnesses = [SearchTools]`"));
            return;
        };
        let types = syn::punctuated::Punctuated::<Type, syn::Token![,]>::parse_terminated;
        match syn::parse::Parser::parse2(types, group.stream()) {
            Ok(types) if types.is_empty() => {
                errors.push(Problem::EmptyList { key: argument.key() }.at(group.span()));
            }
            Ok(types) => {
                let (types, open): (Vec<_>, Vec<_>) =
                    types.into_iter().partition(|ty| !crate::tokens::leaves_open(ty.to_token_stream()));
                let expected = "types that are spelled out: nothing says what `_` stands for here";
                let wrong = |ty: &Type| Problem::WrongValue { key: argument.key(), expected }.at(ty.span());
                errors.extend(open.iter().map(wrong));
                let mut texts: Vec<String> = Vec::with_capacity(types.len());
                for ty in &types {
                    let text = ty.to_token_stream().to_string();
                    if texts.contains(&text) {
                        errors.push(Problem::RepeatedArgument { key: crate::tokens::readable(ty) }.at(ty.span()));
                    }
                    texts.push(text);
                }
                self.sub_agent.tool_harnesses = types;
            }
            Err(error) => {
                let expected = "types, for example `tool_harnesses = [SearchTools]`";
                errors.push(Problem::WrongValue { key: argument.key(), expected }.at(error.span()));
            }
        }
    }

    fn metadata(&mut self, argument: &Argument, errors: &mut Vec<syn::Error>) {
        let ArgumentValue::Parenthesized(group) = &argument.value else {
            errors.push(wrong(argument, "for example `metadata(team = \"writing\")`"));
            return;
        };
        if group.stream().is_empty() {
            errors.push(Problem::EmptyList { key: argument.key() }.at(group.span()));
        }
        let pairs = args::metadata(group, errors);
        for (at, (key, _)) in pairs.iter().enumerate() {
            if RESERVED_METADATA.contains(&&*key.value()) {
                errors.push(Problem::ReservedKey { key: key.value() }.at(key.span()));
            }
            if pairs.iter().take(at).any(|(other, _)| other.value() == key.value()) {
                errors.push(Problem::RepeatedArgument { key: key.value() }.at(key.span()));
            }
        }
        self.sub_agent.metadata = pairs;
    }

    fn policy(&mut self, key: &'static str, argument: Argument, errors: &mut Vec<syn::Error>) {
        let Some(policy) = Policy::ALL.into_iter().find(|policy| policy.key() == key) else { return };
        let ArgumentValue::Expr(expr) = argument.value else {
            errors.push(wrong(&argument, policy.example()));
            return;
        };
        if let Some(Unknown { found, span, variant }) = unknown(&expr, policy) {
            let legal = policy.variants();
            errors.push(Problem::UnknownVariant { key: key.to_owned(), found, variant, legal }.at(span));
            self.sub_agent.unfinished.push((policy, *expr));
        } else if let Some(literal) = parse::literal(&expr) {
            let expected = policy.example();
            errors.push(Problem::WrongValue { key: key.to_owned(), expected }.at(literal.span()));
        } else {
            self.sub_agent.policies.push((policy, *expr));
        }
    }
}

/// The names that are called in the value of a policy.
const TAKE_A_VALUE: &[&str] = &["through_depth", "Apply"];

/// A name in the place of a variant that is none.
struct Unknown {
    found: String,
    span: proc_macro2::Span,
    /// The variant that was probably meant.
    variant: Option<&'static str>,
}

/// The name that a value consists of, if nobody else can know it either: `Fork`, `through_depth(2)`, `"fork"`. What
/// looks like a constant or a function of the user's own is for the compiler to look up.
fn unknown(expr: &Expr, policy: Policy) -> Option<Unknown> {
    let of = |ident: &syn::Ident| {
        let found = ident.unraw().to_string();
        let is_unknown = !policy.variants().contains(&&*found) && found.contains(char::is_lowercase);
        is_unknown.then(|| Unknown { variant: meant(&found, policy), found, span: ident.span() })
    };
    match expr {
        Expr::Path(path) => of(path.path.get_ident()?),
        Expr::Struct(literal) => of(literal.path.get_ident()?),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => of(path.path.get_ident()?).filter(|unknown| {
                let names = [Some(&*unknown.found), unknown.variant];
                names.into_iter().flatten().any(|name| TAKE_A_VALUE.contains(&name))
            }),
            _ => None,
        },
        Expr::Group(group) => unknown(&group.expr, policy),
        Expr::Paren(paren) => unknown(&paren.expr, policy),
        other => {
            let text = parse::string_literal(other)?;
            let variant = Some(meant(&text.value(), policy)?);
            Some(Unknown { found: text.value(), span: text.span(), variant })
        }
    }
}

/// The variant that was probably meant.
fn meant(found: &str, policy: Policy) -> Option<&'static str> {
    let variants = policy.variants();
    let squeezed: String = found.chars().filter(|c| c.is_alphanumeric()).collect();
    let same = |variant: &&&str| variant.replace('_', "").eq_ignore_ascii_case(&squeezed);
    variants.iter().find(same).copied().or_else(|| nearest(found, variants))
}

/// Refuses what has no key of this attribute, and what has been given already.
pub(crate) fn once_each(
    arguments: Vec<Argument>,
    attribute: &'static str,
    legal: &'static [&'static str],
    errors: &mut Vec<syn::Error>,
) -> Vec<(&'static str, Argument)> {
    let mut found: Vec<(&'static str, Argument)> = Vec::new();
    for argument in arguments {
        let key = argument.key();
        let Some(known) = legal.iter().copied().find(|legal| **legal == key) else {
            let advice = if let Some((other, _)) = KEYS.iter().find(|(_, keys)| keys.contains(&&*key)) {
                UnknownAdvice::BelongsTo(other)
            } else if let Some((_, instead)) = ELSEWHERE.iter().find(|(word, _)| legal == SUBAGENT_KEYS && *word == key)
            {
                UnknownAdvice::Instead(instead)
            } else if let Some(meant) = SYNONYMS.iter().find_map(|(word, meant)| (*word == key).then_some(*meant))
                && legal.contains(&meant)
            {
                UnknownAdvice::Nearest(meant)
            } else if let Some(nearest) = nearest(&key, legal) {
                UnknownAdvice::Nearest(nearest)
            } else {
                UnknownAdvice::Nothing
            };
            let legal = legal.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            errors.push(Problem::UnknownArgument { attribute, key, advice, legal }.at(argument.key.span()));
            continue;
        };
        if found.iter().any(|(other, _)| *other == known) {
            errors.push(Problem::RepeatedArgument { key }.at(argument.key.span()));
            continue;
        }
        found.push((known, argument));
    }
    found
}

/// A text: a literal, which `check` looks at, or a constant, which the compiler will look at.
pub(crate) fn text(
    argument: Argument,
    expected: &'static str,
    errors: &mut Vec<syn::Error>,
    check: impl FnOnce(&str) -> Option<Problem>,
) -> Option<Value> {
    let ArgumentValue::Expr(expr) = argument.value else {
        errors.push(wrong(&argument, expected));
        return None;
    };
    match parse::literal(&expr) {
        None => Some(Value::Constant(*expr)),
        Some(syn::Lit::Str(literal)) => match check(&literal.value()) {
            None => Some(Value::Literal(literal.clone())),
            Some(problem) => {
                errors.push(problem.at(literal.span()));
                None
            }
        },
        Some(other) => {
            errors.push(Problem::WrongValue { key: argument.key.unraw().to_string(), expected }.at(other.span()));
            None
        }
    }
}

/// `key` or `key = true`.
fn flag(argument: Argument, errors: &mut Vec<syn::Error>) -> Option<Expr> {
    match argument.value {
        ArgumentValue::Flag => Some(syn::parse_quote!(true)),
        ArgumentValue::Expr(expr) if matches!(parse::literal(&expr), None | Some(syn::Lit::Bool(_))) => Some(*expr),
        _ => {
            errors.push(wrong(&argument, "nothing, or `= true` or `= false`"));
            None
        }
    }
}

/// The error of a value of another kind, or of none.
pub(crate) fn wrong(argument: &Argument, expected: &'static str) -> syn::Error {
    let key = argument.key();
    match argument.value {
        ArgumentValue::Flag => Problem::MissingValue { key, expected },
        _ => Problem::WrongValue { key, expected },
    }
    .at(argument.span())
}

/// A constant expression of the type `&'static str`.
impl ToTokens for Value {
    fn to_tokens(&self, out: &mut proc_macro2::TokenStream) {
        out.extend(match self {
            Self::Literal(text) => quote!(#text),
            Self::Constant(expr) => quote!(#expr),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_variant_is_a_mistake_unless_it_may_be_the_users_own() {
        for (value, policy, expected) in [
            ("fork", Policy::Context, Some(Some("Fork"))),
            ("model_choice", Policy::Context, Some(Some("ModelChoice"))),
            ("ModelChoise", Policy::Context, Some(Some("ModelChoice"))),
            ("\"fresh\"", Policy::Context, Some(Some("Fresh"))),
            ("Background", Policy::InvocationMode, Some(Some("BackgroundOnly"))),
            ("OneShoot", Policy::Lifecycle, Some(Some("OneShot"))),
            ("ThroughDepth(2)", Policy::Availability, Some(Some("through_depth"))),
            ("AnyAllowedDepth", Policy::Availability, Some(Some("ANY_ALLOWED_DEPTH"))),
            ("Always", Policy::Availability, Some(None)),
            ("through_depth(2)", Policy::Context, Some(None)),
            ("Fork", Policy::Context, None),
            ("FORK", Policy::Context, None),
            ("MY_POLICY", Policy::Context, None),
            ("fresh()", Policy::Context, None),
            ("my::policy", Policy::Context, None),
            ("through_depth(2)", Policy::Availability, None),
        ] {
            let expr = syn::parse_str(value).unwrap();
            assert_eq!(unknown(&expr, policy).map(|unknown| unknown.variant), expected, "{value}");
        }
    }
}
