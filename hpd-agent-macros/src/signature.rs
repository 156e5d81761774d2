//! The signature of a method that is a tool: what a model can call, and what it would have to give.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, FnArg, GenericArgument, Pat, PathArguments, ReceiverKind, ReturnType, Signature, Type,
    ext::IdentExt, parse_quote, spanned::Spanned,
};

use crate::{
    args::{self, Value as ArgumentValue},
    attribute::{SUBAGENT, once_each, text, wrong},
    model::{Param, Value},
    names::is_tool_name,
    parse,
    problem::Problem,
    tokens,
};

const ARG_KEYS: &[&str] = &["name", "description", "default"];

/// What no tool can have, whatever its kind.
pub(crate) fn check(sig: &Signature, method: &str, kind: &'static str, errors: &mut Vec<syn::Error>) {
    if let ReturnType::Type(_, ty) = &sig.output
        && let Type::Never(never) = tokens::peeled(ty)
    {
        let problem = if kind == SUBAGENT { Problem::SubAgentNeverReturns } else { Problem::FunctionNeverReturns };
        errors.push(problem.at(never.span()));
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && kind != SUBAGENT
        && let Some(instead) = sized(tokens::peeled(ty))
    {
        errors.push(Problem::UnsizedResult { instead: tokens::readable(&instead) }.at(ty.span()));
    }
    if let Some(receiver) = sig.receiver() {
        let found = match &receiver.kind {
            ReceiverKind::Value => Some(("self", receiver.self_token.span())),
            ReceiverKind::Reference(_, _, Some(token)) => Some(("&mut self", token.span())),
            ReceiverKind::Reference(_, Some(lifetime), None) if lifetime.ident == "static" => {
                Some(("&'static self", lifetime.span()))
            }
            ReceiverKind::Typed(_, ty) => match tokens::peeled(ty) {
                Type::Reference(reference) if reference.mutability.is_none() && !wraps_self(&reference.elem) => None,
                other => Some(("self: …", tokens::anchor_of_type(other))),
            },
            _ => None,
        };
        errors.extend(found.map(|(found, span)| Problem::Receiver { found }.at(span)));
    }
    for input in &sig.inputs {
        if let FnArg::Receiver(receiver) = input {
            errors.extend(
                arg(&receiver.attrs).map(|attr| Problem::ArgOnOther { what: "a receiver".to_owned() }.at(attr.span())),
            );
        }
    }
    let unsafety = match &sig.safety {
        syn::Safety::Unsafe(token) => Some(("unsafe", token.span())),
        _ => None,
    };
    let constness = sig.constness.as_ref().map(|token| ("const", token.span()));
    let abi = sig.abi.as_ref().map(|abi| ("extern", abi.extern_token.span()));
    for (found, span) in [unsafety, constness, abi].into_iter().flatten() {
        errors.push(Problem::Qualifier { method: method.to_owned(), found }.at(span));
    }
    for param in sig.generics.params.iter().filter(|param| !matches!(param, syn::GenericParam::Lifetime(_))) {
        errors.push(Problem::MethodGenerics { method: method.to_owned() }.at(param.span()));
    }
}

/// `Arc<Self>` and the like.
fn wraps_self(ty: &Type) -> bool {
    let is_self = matches!(ty, Type::Path(path) if path.path.is_ident("Self"));
    !is_self && tokens::mention(ty.to_token_stream(), "Self")
}

/// The parameters of an `#[ai_function]`, without the receiver. `conditional` gets what is wrong with two of them that
/// `#[cfg]`s can remove, with the `#[cfg]`s of both.
pub(crate) fn function(
    sig: &Signature,
    errors: &mut Vec<syn::Error>,
    conditional: &mut Vec<(Vec<Attribute>, syn::Error)>,
) -> Vec<Param> {
    let mut params: Vec<Param> = Vec::new();
    for input in &sig.inputs {
        let FnArg::Typed(input) = input else { continue };
        let described = described(&input.attrs, errors);
        let name = match (&described.name, &*input.pat) {
            (Some(name), Pat::Ident(_) | Pat::Wild(_)) => Some((name.value(), name.span())),
            (None, Pat::Ident(pat)) => {
                let name = pat.ident.unraw().to_string();
                if !described.name_is_wrong && !is_tool_name(&name) {
                    errors.push(Problem::ParameterName { text: name.clone(), derived: true }.at(pat.ident.span()));
                }
                Some((name, pat.ident.span()))
            }
            (_, pattern) => {
                errors.push(Problem::PatternParameter.at(pattern.span()));
                None
            }
        };
        if let Some(problem) = param_type(&input.ty) {
            errors.push(problem.at(input.ty.span()));
        }
        if matches!(tokens::peeled(&input.ty), Type::Reference(_)) {
            let what = "a value of the runtime";
            errors.extend(arg(&input.attrs).map(|attr| Problem::ArgOnOther { what: what.to_owned() }.at(attr.span())));
        }
        let Some((name, span)) = name else { continue };
        let cfgs = tokens::cfgs(&input.attrs);
        let mut beside = |other: &Param, problem: Problem| match [&*other.cfgs, &cfgs].concat() {
            both if both.is_empty() => errors.push(problem.at(span)),
            both => conditional.push((both, problem.at(span))),
        };
        // Up to the first one that is there whatever holds: one error says enough.
        for other in until_certain(&params, |other| other.name == name) {
            beside(other, Problem::DuplicateParameter { name: name.clone() });
        }
        if described.default.is_none() && has_to_be_given(&input.ty) {
            for other in until_certain(&params, |other| other.default.is_some()) {
                beside(other, Problem::RequiredAfterDefault { name: name.clone(), before: other.name.clone() });
            }
        }
        params.push(Param {
            name,
            doc: described.doc,
            description: described.description,
            cfgs,
            ty: tokens::elided(&sig.generics, &input.ty),
            span: tokens::anchor_of_type(&input.ty),
            default: described.default,
        });
    }
    params
}

/// The parameters that are meant, from the last one back to one that no `#[cfg]` can remove.
fn until_certain(params: &[Param], is_meant: impl Fn(&Param) -> bool) -> Vec<&Param> {
    let mut found = Vec::new();
    for param in params.iter().rev().filter(|param| is_meant(param)) {
        found.push(param);
        if param.cfgs.is_empty() {
            break;
        }
    }
    found
}

/// The one parameter that a `#[subagent]` may have. There may be several if `#[cfg]`s leave one: `conditional` gets the
/// error of two that are both there, with the `#[cfg]`s of both.
pub(crate) fn sub_agent(
    sig: &Signature,
    errors: &mut Vec<syn::Error>,
    conditional: &mut Vec<(Vec<Attribute>, syn::Error)>,
) -> Vec<Param> {
    let mut params: Vec<Param> = Vec::new();
    for input in &sig.inputs {
        let FnArg::Typed(input) = input else { continue };
        let cfgs = tokens::cfgs(&input.attrs);
        if params.iter().any(|other| other.cfgs.is_empty() && cfgs.is_empty()) {
            errors.push(Problem::SubAgentParameters.at(input.span()));
            break;
        }
        conditional.extend(params.iter().map(|other| {
            let both = [other.cfgs.as_slice(), &cfgs].concat();
            (both, Problem::SubAgentParameters.at(tokens::anchor_of_type(&input.ty)))
        }));
        let what = "the context of a #[subagent]";
        errors.extend(arg(&input.attrs).map(|attr| Problem::ArgOnOther { what: what.to_owned() }.at(attr.span())));
        if matches!(tokens::peeled(&input.ty), Type::ImplTrait(_)) {
            errors.push(Problem::SubAgentParameters.at(input.ty.span()));
            break;
        }
        params.push(Param {
            name: String::new(),
            doc: quote!(""),
            description: None,
            cfgs,
            ty: tokens::elided(&sig.generics, &input.ty),
            span: tokens::anchor_of_type(&input.ty),
            default: None,
        });
    }
    params
}

/// `#[arg]` in a method that is no tool, where nothing else than the macro could read it.
pub(crate) fn plain(attrs: &[Attribute], sig: &Signature, errors: &mut Vec<syn::Error>) {
    if !is_ours_alone(attrs) {
        return;
    }
    let what = format!("`{}` is no #[ai_function], so this", sig.ident);
    for input in &sig.inputs {
        let (FnArg::Typed(syn::PatType { attrs, .. }) | FnArg::Receiver(syn::Receiver { attrs, .. })) = input;
        errors.extend(arg(attrs).map(|attr| Problem::ArgOnOther { what: what.clone() }.at(attr.span())));
    }
}

/// Whether a method that is no tool has no attribute that may read those of its parameters.
pub(crate) fn is_ours_alone(attrs: &[Attribute]) -> bool {
    attrs.iter().all(|attr| INERT.iter().any(|inert| attr.path().is_ident(inert)))
}

/// The attributes that do not read those of parameters.
const INERT: &[&str] = &[
    "allow",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "inline",
    "must_use",
    "track_caller",
    "warn",
];

fn arg(attrs: &[Attribute]) -> Option<&Attribute> {
    attrs.iter().find(|attr| parse::is_arg(&attr.meta))
}

/// What the doc comment and `#[arg(…)]` say about a parameter.
struct Described {
    name: Option<syn::LitStr>,
    name_is_wrong: bool,
    /// An expression of type `&'static str`; empty if there is none.
    doc: TokenStream,
    description: Option<Value>,
    default: Option<Expr>,
}

fn described(attrs: &[Attribute], errors: &mut Vec<syn::Error>) -> Described {
    let doc = parse::docs(attrs).map_or_else(|| quote!(""), |doc| doc.tokens);
    let mut found = Described { name: None, name_is_wrong: false, doc, description: None, default: None };
    let arguments: Vec<_> = attrs
        .iter()
        .filter(|attr| parse::is_arg(&attr.meta))
        .flat_map(|attr| args::of_attribute(attr, "arg", errors))
        .collect();
    for (key, argument) in once_each(arguments, "arg", ARG_KEYS, errors) {
        match (key, &argument.value) {
            ("name", _) => {
                let literal = match &argument.value {
                    ArgumentValue::Expr(expr) => parse::string_literal(expr).cloned(),
                    _ => None,
                };
                match literal {
                    Some(name) if is_tool_name(&name.value()) => found.name = Some(name),
                    Some(name) => {
                        errors.push(Problem::ParameterName { text: name.value(), derived: false }.at(name.span()));
                    }
                    None => errors.push(wrong(&argument, "a string literal, for example `name = \"city\"`")),
                }
                found.name_is_wrong = found.name.is_none();
            }
            ("description", _) => {
                found.description =
                    text(argument, "for example `description = \"The city, in English.\"`", errors, |text| {
                        text.trim().is_empty().then_some(Problem::BlankDescription)
                    });
            }
            (_, ArgumentValue::Flag) => {
                let span = argument.key.span();
                found.default = Some(syn::parse_quote_spanned!(span=> __hpd::own_default()));
            }
            (_, ArgumentValue::Expr(expr)) => found.default = Some((**expr).clone()),
            (_, ArgumentValue::List(group)) => found.default = syn::parse2(group.to_token_stream()).ok(),
            _ => errors.push(wrong(&argument, "nothing, or a value, for example `default = 10`")),
        }
    }
    found
}

/// Whether a type is plainly one that does not accept `null`. Of any other `build()` knows it, which asks the type.
fn has_to_be_given(ty: &Type) -> bool {
    match tokens::peeled(ty) {
        Type::Array(_) => true,
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Path(path) if path.qself.is_none() => {
            let segments = &path.path.segments;
            let of_library = segments.len() == 1
                || segments.first().is_some_and(|first| LIBRARY.iter().any(|name| first.ident == name));
            of_library && segments.last().is_some_and(|last| NEVER_NULL.iter().any(|name| last.ident == name))
        }
        _ => false,
    }
}

const LIBRARY: &[&str] = &["alloc", "core", "std"];
const NEVER_NULL: &[&str] = &[
    "BTreeMap", "BTreeSet", "HashMap", "HashSet", "PathBuf", "String", "Vec", "VecDeque", "bool", "char", "f32", "f64",
    "i128", "i16", "i32", "i64", "i8", "isize", "u128", "u16", "u32", "u64", "u8", "usize",
];

/// Types that no implementation of a trait could make legal, in words of their own.
fn param_type(ty: &Type) -> Option<Problem> {
    match tokens::peeled(ty) {
        Type::ImplTrait(_) => Some(Problem::ImplTraitParameter),
        // What the runtime lends, it lends for one call.
        Type::Reference(reference) if is_static(reference) && is_context(&reference.elem) => Some(lent()),
        // What the runtime lends, or a type that is none of a model's: the compiler knows.
        Type::Reference(reference) if matches!(tokens::peeled(&reference.elem), Type::Path(path) if !path.path.is_ident("str")) => {
            None
        }
        other => {
            let owned = sized(other).unwrap_or_else(|| owned(other));
            let (before, after) = (other.to_token_stream().to_string(), owned.to_token_stream());
            if before == after.to_string() && !matches!(other, Type::TraitObject(_)) {
                None
            } else if tokens::mention(after.clone(), "FunctionContext") {
                Some(lent())
            } else if tokens::mention(after.clone(), "impl") {
                Some(Problem::ImplTraitParameter)
            } else {
                // No model can give one of these, whoever owns it.
                let is_data = !["dyn", "fn"].into_iter().any(|word| tokens::mention(after.clone(), word));
                Some(Problem::BorrowedParameter { instead: is_data.then(|| tokens::readable(&owned)) })
            }
        }
    }
}

fn lent() -> Problem {
    Problem::BorrowedParameter { instead: Some("&FunctionContext".to_owned()) }
}

fn is_static(reference: &syn::TypeReference) -> bool {
    reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static")
}

fn is_context(ty: &Type) -> bool {
    parse::type_name(ty).is_some_and(|name| name == "FunctionContext")
}

/// What to take instead of a list that can only be borrowed. A `str` without its `&` may be a type of the author's.
fn sized(ty: &Type) -> Option<Type> {
    let Type::Slice(slice) = ty else { return None };
    let element = owned(&slice.elem);
    Some(parse_quote!(Vec<#element>))
}

/// The type with everything owned that it borrows.
fn owned(ty: &Type) -> Type {
    match ty {
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => parse_quote!(String),
            other => sized(other).unwrap_or_else(|| owned(other)),
        },
        Type::Path(path) => {
            let mut path = path.clone();
            for segment in &mut path.path.segments {
                let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else { continue };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        *ty = owned(ty);
                    }
                }
            }
            Type::Path(path)
        }
        Type::Tuple(tuple) => {
            let mut tuple = tuple.clone();
            tuple.elems.iter_mut().for_each(|ty| *ty = owned(ty));
            Type::Tuple(tuple)
        }
        Type::Array(array) => {
            let mut array = array.clone();
            *array.elem = owned(&array.elem);
            Type::Array(array)
        }
        Type::Group(group) => owned(&group.elem),
        Type::Paren(paren) => owned(&paren.elem),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_borrows_is_told_what_to_take_instead() {
        for (ty, instead) in [
            (quote!(&str), Some("String")),
            (quote!(&'static str), Some("String")),
            (quote!(&[u32]), Some("Vec<u32>")),
            (quote!(Option<&str>), Some("Option<String>")),
            (quote!(Vec<(&str, u32)>), Some("Vec<(String, u32)>")),
            (
                quote!(std::collections::HashMap<String, &[&str]>),
                Some("std::collections::HashMap<String, Vec<String>>"),
            ),
            (quote!([&str; 2]), Some("[String; 2]")),
            (quote!(str), None),
            (quote!([u8]), Some("Vec<u8>")),
            (quote!(Box<str>), None),
            (quote!(Option<&FunctionContext>), Some("&FunctionContext")),
            (quote!(&'static FunctionContext), Some("&FunctionContext")),
            (quote!(&dyn std::fmt::Debug), Some("")),
            (quote!(dyn Fn()), Some("")),
            (quote!(&FunctionContext), None),
            (quote!(Option<String>), None),
            (quote!(Cow<'static, str>), None),
        ] {
            let found = match param_type(&syn::parse2(ty.clone()).unwrap()) {
                Some(Problem::BorrowedParameter { instead }) => Some(instead.unwrap_or_default()),
                None => None,
                other => panic!("{other:?}"),
            };
            assert_eq!(found.as_deref(), instead, "{ty}");
        }
    }
}
