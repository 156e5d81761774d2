//! From what was written to what it means. Pure: all errors of a block come out together, and a method with an error
//! is left out of the result, so that no second error follows from the first.

use quote::{ToTokens, quote};
use syn::{Expr, FnArg, Pat, ReceiverKind, Signature, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    args::{self, Argument, Value as ArgumentValue},
    model::{Capability, Function, Harness, Kind, Param, Policy, SubAgent, Value},
    parse::{self, HarnessItem, Member, Method},
    problem::{Problem, is_agent_id, is_tool_name, nearest},
    tokens,
};

const SUBAGENT: &str = "subagent";
const AI_FUNCTION: &str = "ai_function";
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

/// What `#[tool_harness(…)]` says.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Value>,
    pub(crate) krate: Option<syn::Path>,
}

/// Reads the arguments of `#[tool_harness]`.
pub(crate) fn options(tokens: proc_macro2::TokenStream, errors: &mut Vec<syn::Error>) -> Options {
    let mut options = Options::default();
    let arguments = args::of_tokens(tokens, errors);
    for (key, argument) in once_each(arguments, "tool_harness", TOOL_HARNESS_KEYS, errors) {
        match key {
            "name" => options.name = harness_name(argument, errors),
            _ => match argument.value {
                ArgumentValue::Expr(expr) if matches!(*expr, Expr::Path(_)) => {
                    options.krate = syn::parse2(expr.into_token_stream()).ok();
                }
                _ => errors.push(wrong(&argument, "for example `crate = ::facade::hpd_agent`")),
            },
        }
    }
    options
}

fn harness_name(argument: Argument, errors: &mut Vec<syn::Error>) -> Option<Value> {
    text(argument, "for example `name = \"search\"`", errors, |text| {
        (!is_agent_id(text)).then(|| Problem::HarnessName { text: text.to_owned(), derived: false })
    })
}

/// Reads a block.
pub(crate) fn harness(item: &HarnessItem, name: Option<Value>, errors: &mut Vec<syn::Error>) -> Option<Harness> {
    let capabilities = capabilities(&item.members, errors);
    duplicates(&capabilities, errors);
    let Some(type_name) = parse::type_name(&item.ty) else {
        errors.push(Problem::UnnamedType.at(item.ty.span()));
        return None;
    };
    let name = name.unwrap_or_else(|| {
        let text = type_name.unraw().to_string();
        if !is_agent_id(&text) {
            errors.push(Problem::HarnessName { text: text.clone(), derived: true }.at(type_name.span()));
        }
        Value::Literal(syn::LitStr::new(&text, type_name.span()))
    });
    Some(Harness {
        cfgs: tokens::cfgs(&item.attrs),
        generics: item.generics.clone(),
        ty: item.ty.clone(),
        name,
        capabilities,
    })
}

fn capabilities(members: &[Member], errors: &mut Vec<syn::Error>) -> Vec<Capability> {
    let mut found = Vec::new();
    for (index, member) in members.iter().enumerate() {
        match member {
            Member::Method(method) => {
                let before = errors.len();
                let capability = capability(index, method, errors);
                found.extend(capability.filter(|_| errors.len() == before));
            }
            Member::Other(tokens) => errors
                .extend(tokens::misplaced(tokens).map(|(attribute, span)| Problem::NotAMethod { attribute }.at(span))),
        }
    }
    found
}

fn capability(index: usize, method: &Method, errors: &mut Vec<syn::Error>) -> Option<Capability> {
    let mut attributes = method.attrs.iter().filter_map(|attr| Some((attr, parse::capability(attr)?)));
    let (attribute, name) = attributes.next()?;
    let ident = &method.sig.ident;
    let method_name = ident.unraw().to_string();
    if let Some((second, _)) = attributes.next() {
        errors.push(Problem::TwoAttributes { method: method_name.clone() }.at(second.path().span()));
    }
    signature(&method.sig, &method_name, errors);
    let keys = if name == SUBAGENT { SUBAGENT_KEYS } else { AI_FUNCTION_KEYS };
    let arguments = args::of_attribute(attribute, name, errors);
    let mut builder = Builder::default();
    for (key, argument) in once_each(arguments, name, keys, errors) {
        builder.argument(key, argument, errors);
    }
    let doc = parse::docs(&method.attrs).filter(|doc| !doc.blank);
    if doc.is_none() && builder.description.is_none() && !builder.description_is_wrong {
        errors.push(Problem::MissingDescription { method: method_name.clone() }.at(ident.span()));
    }
    if builder.name.is_none() && !builder.name_is_wrong && !is_tool_name(&method_name) {
        errors.push(Problem::ToolName { text: method_name.clone(), derived: true }.at(ident.span()));
    }
    let kind = if name == AI_FUNCTION {
        Kind::Function(Box::new(Function {
            params: function_params(&method.sig, errors),
            requires_permission: builder.requires_permission,
            exclusive: builder.exclusive,
        }))
    } else {
        builder.sub_agent.context = sub_agent_param(&method.sig, errors);
        Kind::SubAgent(Box::new(builder.sub_agent))
    };
    Some(Capability {
        index,
        cfgs: tokens::cfgs(&method.attrs),
        method: ident.clone(),
        method_name,
        name: builder.name,
        description: builder.description,
        doc: text_of(doc),
        has_receiver: method.sig.receiver().is_some(),
        is_async: method.sig.asyncness.is_some(),
        output: match &method.sig.output {
            syn::ReturnType::Type(_, ty) => tokens::anchor_of_type(ty),
            syn::ReturnType::Default => ident.span(),
        },
        kind,
    })
}

/// The arguments that have been understood so far.
#[derive(Default)]
struct Builder {
    name: Option<Value>,
    name_is_wrong: bool,
    description: Option<Value>,
    description_is_wrong: bool,
    requires_permission: Option<Expr>,
    exclusive: Option<Expr>,
    sub_agent: SubAgent,
}

impl Builder {
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
                self.sub_agent.agent_id =
                    text(argument, "for example `agent_id = \"team.reviewer\"`", errors, |text| {
                        (!is_agent_id(text)).then(|| Problem::AgentId { text: text.to_owned() })
                    });
            }
            "requires_permission" => self.requires_permission = flag(argument, errors),
            "exclusive" => self.exclusive = flag(argument, errors),
            "tool_harnesses" => self.tool_harnesses(argument, errors),
            "metadata" => match &argument.value {
                ArgumentValue::Parenthesized(group) => {
                    let pairs = args::metadata(group, errors);
                    for (at, (key, _)) in pairs.iter().enumerate() {
                        if pairs.iter().take(at).any(|(other, _)| other.value() == key.value()) {
                            errors.push(Problem::RepeatedArgument { key: key.value() }.at(key.span()));
                        }
                    }
                    self.sub_agent.metadata = pairs;
                }
                _ => errors.push(wrong(&argument, "for example `metadata(team = \"writing\")`")),
            },
            _ => self.policy(key, argument, errors),
        }
    }

    fn tool_harnesses(&mut self, argument: Argument, errors: &mut Vec<syn::Error>) {
        let ArgumentValue::List(group) = &argument.value else {
            errors.push(wrong(&argument, "a list of types, for example `tool_harnesses = [SearchTools]`"));
            return;
        };
        let types = syn::punctuated::Punctuated::<Type, syn::Token![,]>::parse_terminated;
        match syn::parse::Parser::parse2(types, group.stream()) {
            Ok(types) => self.sub_agent.tool_harnesses = types.into_iter().collect(),
            Err(error) => {
                let expected = "types, for example `tool_harnesses = [SearchTools]`";
                errors.push(Problem::WrongValue { key: argument.key(), expected }.at(error.span()));
            }
        }
    }

    fn policy(&mut self, key: &'static str, argument: Argument, errors: &mut Vec<syn::Error>) {
        let Some(policy) = Policy::ALL.into_iter().find(|policy| policy.key() == key) else { return };
        match argument.value {
            ArgumentValue::Expr(expr) => self.sub_agent.policies.push((policy, *expr)),
            _ => errors.push(wrong(&argument, policy.example())),
        }
    }
}

/// Refuses what has no key of this attribute, and what has been given already.
fn once_each(
    arguments: Vec<Argument>,
    attribute: &'static str,
    legal: &'static [&'static str],
    errors: &mut Vec<syn::Error>,
) -> Vec<(&'static str, Argument)> {
    let mut found: Vec<(&'static str, Argument)> = Vec::new();
    for argument in arguments {
        let key = argument.key();
        let Some(known) = legal.iter().copied().find(|legal| **legal == key) else {
            let nearest = nearest(&key, legal);
            let legal = legal.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            errors.push(Problem::UnknownArgument { attribute, key, nearest, legal }.at(argument.key.span()));
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
fn text(
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

fn wrong(argument: &Argument, expected: &'static str) -> syn::Error {
    let key = argument.key();
    match argument.value {
        ArgumentValue::Flag => Problem::MissingValue { key, expected },
        _ => Problem::WrongValue { key, expected },
    }
    .at(argument.span())
}

fn signature(sig: &Signature, method: &str, errors: &mut Vec<syn::Error>) {
    if let Some(receiver) = sig.receiver() {
        let found = match &receiver.kind {
            ReceiverKind::Value => Some(("self", receiver.self_token.span())),
            ReceiverKind::Reference(_, _, Some(token)) => Some(("&mut self", token.span())),
            ReceiverKind::Typed(_, ty) => match &**ty {
                Type::Reference(reference) if reference.mutability.is_none() => None,
                other => Some(("self: …", tokens::anchor_of_type(other))),
            },
            _ => None,
        };
        errors.extend(found.map(|(found, span)| Problem::Receiver { found }.at(span)));
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        errors.push(Problem::UnsafeMethod { method: method.to_owned() }.at(token.span()));
    }
    let mut choices = sig.generics.params.iter().filter(|param| !matches!(param, syn::GenericParam::Lifetime(_)));
    if let Some(param) = choices.next() {
        errors.push(Problem::MethodGenerics { method: method.to_owned() }.at(param.span()));
    }
}

fn function_params(sig: &Signature, errors: &mut Vec<syn::Error>) -> Vec<Param> {
    let mut params = Vec::new();
    for input in &sig.inputs {
        let FnArg::Typed(input) = input else { continue };
        if let Some(cfg) = tokens::cfgs(&input.attrs).first() {
            errors.push(Problem::CfgOnParameter.at(cfg.span()));
        }
        let Pat::Ident(pat) = &*input.pat else {
            errors.push(Problem::PatternParameter.at(input.pat.span()));
            continue;
        };
        let name = pat.ident.unraw().to_string();
        if !is_tool_name(&name) {
            errors.push(Problem::ParameterName { text: name.clone() }.at(pat.ident.span()));
        }
        if let Some(problem) = param_type(&input.ty) {
            errors.push(problem.at(input.ty.span()));
            continue;
        }
        let doc = text_of(parse::docs(&input.attrs));
        params.push(Param {
            name,
            doc,
            ty: tokens::elided(&sig.generics, &input.ty),
            span: tokens::anchor_of_type(&input.ty),
        });
    }
    params
}

/// An expression of type `&'static str`.
fn text_of(doc: Option<parse::Doc>) -> proc_macro2::TokenStream {
    doc.map_or_else(|| quote!(""), |doc| doc.tokens)
}

/// Types that no implementation of a trait could make legal, in words of their own.
fn param_type(ty: &Type) -> Option<Problem> {
    match ty {
        Type::ImplTrait(_) => Some(Problem::ImplTraitParameter),
        Type::Group(group) => param_type(&group.elem),
        Type::Paren(paren) => param_type(&paren.elem),
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => {
                Some(Problem::BorrowedParameter { instead: "String".to_owned() })
            }
            Type::Slice(slice) => {
                let element = slice.elem.to_token_stream();
                Some(Problem::BorrowedParameter { instead: format!("Vec<{element}>") })
            }
            _ => None,
        },
        _ => None,
    }
}

fn sub_agent_param(sig: &Signature, errors: &mut Vec<syn::Error>) -> Option<Param> {
    let mut inputs = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(input),
        FnArg::Receiver(_) => None,
    });
    let input = inputs.next()?;
    if let Some(second) = inputs.next() {
        errors.push(Problem::SubAgentParameters.at(second.span()));
        return None;
    }
    if let Some(cfg) = tokens::cfgs(&input.attrs).first() {
        errors.push(Problem::CfgOnParameter.at(cfg.span()));
    }
    if matches!(&*input.ty, Type::ImplTrait(_)) {
        errors.push(Problem::SubAgentParameters.at(input.ty.span()));
        return None;
    }
    let ty = tokens::elided(&sig.generics, &input.ty);
    Some(Param { name: String::new(), doc: text_of(None), ty, span: tokens::anchor_of_type(&input.ty) })
}

/// Both places of a name that two tools have. A name that is a constant is looked at when the agent is built.
fn duplicates(capabilities: &[Capability], errors: &mut Vec<syn::Error>) {
    let name = |capability: &Capability| match &capability.name {
        None => Some((capability.method_name.clone(), capability.method.span())),
        Some(Value::Literal(text)) => Some((text.value(), text.span())),
        Some(Value::Constant(_)) => None,
    };
    // Two methods under different `#[cfg]`s are seldom there together.
    let mut seen: Vec<(String, proc_macro2::Span)> = Vec::new();
    for capability in capabilities.iter().filter(|capability| capability.cfgs.is_empty()) {
        let Some((name, span)) = name(capability) else { continue };
        match seen.iter().find(|(other, _)| *other == name) {
            Some((_, first)) => {
                let mut error = Problem::DuplicateName { name: name.clone() }.at(span);
                error.combine(Problem::FirstUse { name }.at(*first));
                errors.push(error);
            }
            None => seen.push((name, span)),
        }
    }
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
