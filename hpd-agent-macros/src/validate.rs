//! From what was written to what it means. Pure: all errors of a block come out together, and a method with an error
//! is left out of the result, so that no second error follows from the first.

use proc_macro2::Span;
use quote::quote;
use syn::{Attribute, Meta, ext::IdentExt, parse_quote, spanned::Spanned};

use crate::{
    attribute::{AI_FUNCTION, Declared, Options},
    conditional,
    model::{Capability, Function, Harness, Kind, Value},
    names::{is_agent_id, is_tool_name},
    parse::{self, HarnessItem, Member, Method},
    problem::{Problem, Report},
    signature, tokens,
};

/// Reads a block.
pub(crate) fn harness(item: &HarnessItem, options: Options, report: &mut Report) -> Option<Harness> {
    let (capabilities, wrong) = capabilities(&item.members, report);
    let Some(type_name) = parse::type_name(&item.ty) else {
        report.extend([Problem::UnnamedType.at(item.ty.span())]);
        return None;
    };
    let name = options.name.unwrap_or_else(|| {
        let text = type_name.unraw().to_string();
        if !is_agent_id(&text) && !options.name_is_wrong {
            report.extend([Problem::HarnessName { text: text.clone(), derived: true }.at(type_name.span())]);
        }
        Value::Literal(syn::LitStr::new(&text, type_name.span()))
    });
    Some(Harness {
        cfgs: tokens::cfgs(&item.attrs),
        generics: item.generics.clone(),
        ty: item.ty.clone(),
        allowed: allowed(item),
        name,
        capabilities,
        wrong,
    })
}

/// The lints that the author allows on the block and its methods, whose types and values stand in the table too; and the
/// use of a tool that is deprecated.
fn allowed(item: &HarnessItem) -> Vec<Attribute> {
    let of_methods = item.members.iter().flat_map(|member| match member {
        Member::Method(method) => method.attrs.as_slice(),
        Member::Other(_) => &[],
    });
    let attrs = item.attrs.iter().chain(&item.inner_attrs).chain(of_methods);
    let allowance = |meta: &Meta| match meta {
        Meta::List(list) if list.path.is_ident("allow") || list.path.is_ident("expect") => {
            let lints = &list.tokens;
            Some(parse_quote!(allow(#lints)))
        }
        meta if meta.path().is_ident("deprecated") => Some(parse_quote!(allow(deprecated, reason = "generated"))),
        _ => None,
    };
    let allowed = attrs.filter_map(|attr| conditional::changed(&attr.meta, &allowance));
    allowed.map(|allowed| parse_quote!(#[#allowed])).collect()
}

/// The tools of the block that are declared without a mistake, and the others.
fn capabilities(members: &[Member], report: &mut Report) -> (Vec<Capability>, Vec<Capability>) {
    let mut all = Vec::new();
    let mut certain = Vec::new();
    for (index, member) in members.iter().enumerate() {
        match member {
            Member::Method(method) => match conditional::cases(method) {
                Ok(cases) => {
                    // Of two methods with one name the compiler speaks, and takes the first one for both.
                    let is_taken = certain.contains(&&method.sig.ident);
                    all.extend(cases.iter().filter_map(|method| read(index, method, is_taken, report)));
                    if tokens::cfgs(&method.attrs).is_empty() {
                        certain.push(&method.sig.ident);
                    }
                    plain(method, report);
                }
                Err(error) => report.under(&tokens::cfgs(&method.attrs), vec![error]),
            },
            Member::Other(tokens) => report
                .extend(tokens::misplaced(tokens).map(|(attribute, span)| Problem::NotAMethod { attribute }.at(span))),
        }
    }
    duplicates(&all, report);
    let (right, wrong): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, is_right)| *is_right);
    let capabilities = |found: Vec<(Found, bool)>| found.into_iter().map(|(found, _)| found.capability).collect();
    (capabilities(right), capabilities(wrong))
}

/// A capability, and whether it can be a tool.
fn read(index: usize, method: &Method, is_taken: bool, report: &mut Report) -> Option<(Found, bool)> {
    let (mut errors, mut conditional) = (Vec::new(), Vec::new());
    let found = capability(index, method, &mut errors, &mut conditional)?;
    let is_right = errors.is_empty() && !is_taken;
    let cfgs = &found.capability.cfgs;
    report.under(cfgs, errors);
    for (own, error) in conditional {
        report.under(&[cfgs.as_slice(), &own].concat(), vec![error]);
    }
    Some((found, is_right))
}

/// What a method that is no tool must not have.
fn plain(method: &Method, report: &mut Report) {
    if !method.is_tool() {
        let mut errors = Vec::new();
        signature::plain(&method.attrs, &method.sig, &mut errors);
        report.under(&tokens::cfgs(&method.attrs), errors);
    }
}

/// A capability, and what of it is known to be unique in a harness.
struct Found {
    capability: Capability,
    name: Option<(String, Span)>,
    agent_id: Option<(String, Span)>,
}

fn capability(
    index: usize,
    method: &Method,
    errors: &mut Vec<syn::Error>,
    conditional: &mut Vec<(Vec<Attribute>, syn::Error)>,
) -> Option<Found> {
    let mut attributes = method.attrs.iter().filter_map(|attr| Some((attr, parse::capability(&attr.meta)?)));
    let (attribute, kind) = attributes.next()?;
    let ident = &method.sig.ident;
    let method_name = ident.unraw().to_string();
    for (further, _) in attributes {
        errors.push(Problem::TwoAttributes { method: method_name.clone() }.at(further.path().span()));
    }
    signature::check(&method.sig, &method_name, kind, errors);
    let mut declared = Declared::read(attribute, kind, errors);
    let doc = parse::docs(&method.attrs).filter(|doc| !doc.blank);
    // A method without `agent_id` returns a whole `SubAgent`, which may have a description.
    let needs_description = kind == AI_FUNCTION || declared.is_identified;
    let is_described = declared.description.is_some() || declared.description_is_wrong;
    if doc.is_none() && !is_described && needs_description {
        errors.push(Problem::MissingDescription { method: method_name.clone() }.at(ident.span()));
    }
    let name = match &declared.name {
        Some(Value::Literal(text)) => Some((text.value(), text.span())),
        Some(Value::Constant(_)) => None,
        None if declared.name_is_wrong => None,
        None => Some((method_name.clone(), ident.span())),
    };
    if declared.name.is_none() && !declared.name_is_wrong && !is_tool_name(&method_name) {
        errors.push(Problem::ToolName { text: method_name.clone(), derived: true }.at(ident.span()));
    }
    let agent_id = match &declared.sub_agent.agent_id {
        Some(Value::Literal(text)) => Some((text.value(), text.span())),
        _ => None,
    };
    let kind = if kind == AI_FUNCTION {
        Kind::Function(Box::new(Function {
            params: signature::function(&method.sig, errors, conditional),
            requires_permission: declared.requires_permission,
            exclusive: declared.exclusive,
        }))
    } else {
        declared.sub_agent.contexts = signature::sub_agent(&method.sig, errors, conditional);
        Kind::SubAgent(Box::new(declared.sub_agent))
    };
    let capability = Capability {
        index,
        cfgs: tokens::cfgs(&method.attrs),
        method: ident.clone(),
        method_name,
        open_doc: doc.as_ref().and_then(|doc| doc.open).filter(|_| needs_description && !is_described),
        name: declared.name,
        description: declared.description,
        doc: doc.map_or_else(|| quote!(""), |doc| doc.tokens),
        has_receiver: method.sig.receiver().is_some(),
        is_async: method.sig.asyncness.is_some(),
        output: match &method.sig.output {
            syn::ReturnType::Type(_, ty) => tokens::anchor_of_type(ty),
            syn::ReturnType::Default => ident.span(),
        },
        kind,
    };
    Some(Found { capability, name, agent_id })
}

/// Both places of what two tools have and only one may. Constants are compared by the compiler.
fn duplicates(all: &[(Found, bool)], report: &mut Report) {
    let mut twice = |unique: fn(&Found) -> Option<&(String, Span)>, error: fn(&str, Span, Span) -> syn::Error| {
        for (at, (later, _)) in all.iter().enumerate() {
            let Some((text, span)) = unique(later) else { continue };
            for (earlier, _) in all.iter().take(at) {
                if earlier.capability.method == later.capability.method {
                    continue;
                }
                let Some((_, first)) = unique(earlier).filter(|(other, _)| other == text) else { continue };
                // It is wrong where both of them are there.
                let both = [&*earlier.capability.cfgs, &*later.capability.cfgs].concat();
                report.under(&both, vec![error(text, *span, *first)]);
                if earlier.capability.cfgs.is_empty() {
                    break;
                }
            }
        }
    };
    twice(
        |found| found.name.as_ref(),
        |name, span, first| {
            let mut error = Problem::DuplicateName { name: name.to_owned() }.at(span);
            error.combine(Problem::FirstName { name: name.to_owned() }.at(first));
            error
        },
    );
    twice(
        |found| found.agent_id.as_ref(),
        |id, span, first| {
            let mut error = Problem::DuplicateAgentId { id: id.to_owned() }.at(span);
            error.combine(Problem::FirstAgentId { id: id.to_owned() }.at(first));
            error
        },
    );
}
