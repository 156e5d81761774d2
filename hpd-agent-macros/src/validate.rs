//! From what was written to what it means. Pure: all errors of a block come out together, and a method with an error
//! is left out of the result, so that no second error follows from the first.

use proc_macro2::Span;
use quote::quote;
use syn::{ext::IdentExt, spanned::Spanned};

use crate::{
    attribute::{AI_FUNCTION, Declared, Options},
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
        name,
        capabilities,
        wrong,
    })
}

/// The tools of the block that are declared without a mistake, and the others.
fn capabilities(members: &[Member], report: &mut Report) -> (Vec<Capability>, Vec<Capability>) {
    let mut all = Vec::new();
    for (index, member) in members.iter().enumerate() {
        match member {
            Member::Method(method) => {
                let mut errors = Vec::new();
                let Some(found) = capability(index, method, &mut errors) else { continue };
                let is_right = errors.is_empty();
                report.under(&found.capability.cfgs, errors);
                all.push((found, is_right));
            }
            Member::Other(tokens) => report
                .extend(tokens::misplaced(tokens).map(|(attribute, span)| Problem::NotAMethod { attribute }.at(span))),
        }
    }
    duplicates(&all, report);
    let (right, wrong): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, is_right)| *is_right);
    let capabilities = |found: Vec<(Found, bool)>| found.into_iter().map(|(found, _)| found.capability).collect();
    (capabilities(right), capabilities(wrong))
}

/// A capability, and what of it is known to be unique in a harness.
struct Found {
    capability: Capability,
    name: Option<(String, Span)>,
    agent_id: Option<(String, Span)>,
}

fn capability(index: usize, method: &Method, errors: &mut Vec<syn::Error>) -> Option<Found> {
    let mut attributes = method.attrs.iter().filter_map(|attr| Some((attr, parse::capability(attr)?)));
    let (attribute, kind) = attributes.next()?;
    let ident = &method.sig.ident;
    let method_name = ident.unraw().to_string();
    for (further, _) in attributes {
        errors.push(Problem::TwoAttributes { method: method_name.clone() }.at(further.path().span()));
    }
    signature::check(&method.sig, &method_name, errors);
    let mut declared = Declared::read(attribute, kind, errors);
    let doc = parse::docs(&method.attrs).filter(|doc| !doc.blank);
    // A method without `agent_id` returns a whole `SubAgent`, which may have a description.
    let needs_description = kind == AI_FUNCTION || declared.is_identified;
    if doc.is_none() && declared.description.is_none() && !declared.description_is_wrong && needs_description {
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
            params: signature::function(&method.sig, errors),
            requires_permission: declared.requires_permission,
            exclusive: declared.exclusive,
        }))
    } else {
        declared.sub_agent.context = signature::sub_agent(&method.sig, errors);
        Kind::SubAgent(Box::new(declared.sub_agent))
    };
    let capability = Capability {
        index,
        cfgs: tokens::cfgs(&method.attrs),
        method: ident.clone(),
        method_name,
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
