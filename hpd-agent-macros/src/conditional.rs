//! `#[cfg_attr(…)]` around what the macro reads. The compiler resolves it after the macro has run, so a method with one
//! is read once for each case, as methods under `#[cfg]` of which only one is there.

use std::borrow::Cow;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;
use syn::{
    Attribute, FnArg, Meta, Token,
    parse::{ParseStream, Parser as _},
    parse_quote,
    punctuated::Punctuated,
    spanned::Spanned,
};

use crate::{
    parse::{self, Method},
    problem::Problem,
};

/// Twice as many cases for each further condition: more than this nobody means.
const MOST_CONDITIONS: usize = 6;

/// `cfg_attr(condition, attributes…)`
struct Conditional {
    condition: Condition,
    attributes: Vec<Meta>,
}

/// What a `#[cfg_attr]` asks, without the `not(…)` around it.
struct Condition {
    asked: TokenStream,
    negated: bool,
}

impl Condition {
    fn new(tokens: TokenStream) -> Self {
        let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
        match trees.as_slice() {
            [TokenTree::Ident(not), TokenTree::Group(group)]
                if not == "not" && group.delimiter() == Delimiter::Parenthesis =>
            {
                Self { asked: group.stream(), negated: true }
            }
            _ => Self { asked: tokens, negated: false },
        }
    }
}

impl Conditional {
    /// `None` if it is anything else.
    fn read(meta: &Meta) -> Option<Self> {
        let Meta::List(list) = meta else { return None };
        if !list.path.is_ident("cfg_attr") {
            return None;
        }
        let parse = |input: ParseStream<'_>| {
            let mut condition = TokenStream::new();
            while !input.peek(Token![,]) {
                condition.extend([input.parse::<TokenTree>()?]);
            }
            input.parse::<Token![,]>()?;
            let attributes = Punctuated::<Meta, Token![,]>::parse_terminated(input)?;
            Ok(Self { condition: Condition::new(condition), attributes: attributes.into_iter().collect() })
        };
        parse.parse2(list.tokens.clone()).ok()
    }
}

/// Whether the macro reads it.
fn is_read(meta: &Meta) -> bool {
    matches!(meta, Meta::NameValue(pair) if pair.path.is_ident("doc"))
        || parse::is_arg(meta)
        || parse::capability(meta).is_some()
}

/// Whether it is such an attribute, or one under conditions.
pub(crate) fn has(meta: &Meta, wanted: &impl Fn(&Meta) -> bool) -> bool {
    wanted(meta) || Conditional::read(meta).is_some_and(|found| found.attributes.iter().any(|inner| has(inner, wanted)))
}

/// The attribute without those, which may be under conditions; `None` if nothing is left.
pub(crate) fn without(meta: &Meta, unwanted: &impl Fn(&Meta) -> bool) -> Option<Meta> {
    if !has(meta, unwanted) {
        return Some(meta.clone());
    }
    changed(meta, &|meta| (!unwanted(meta)).then(|| meta.clone()))
}

/// The attribute changed, or each of those under its conditions; `None` if nothing is left.
pub(crate) fn changed(meta: &Meta, change: &impl Fn(&Meta) -> Option<Meta>) -> Option<Meta> {
    let Some(Conditional { condition: Condition { asked, negated }, attributes }) = Conditional::read(meta) else {
        return change(meta);
    };
    let left: Vec<Meta> = attributes.iter().filter_map(|inner| changed(inner, change)).collect();
    let condition = if negated { quote!(not(#asked)) } else { asked };
    (!left.is_empty()).then(|| parse_quote!(cfg_attr(#condition, #(#left),*)))
}

/// The method as it is in each case: under the `#[cfg]`s of the case, with the attributes that are there then.
pub(crate) fn cases(method: &Method) -> syn::Result<Cow<'_, [Method]>> {
    let mut conditions = Vec::new();
    if method.is_tool() {
        let attrs = method.attrs.iter().chain(method.sig.inputs.iter().flat_map(of_input));
        attrs.for_each(|attr| collect(&attr.meta, &mut conditions));
    }
    if let Some(too_many) = conditions.get(MOST_CONDITIONS) {
        let advice = "these are too many conditions for one method; write a method for each case, under `#[cfg(…)]`";
        return Err(Problem::Malformed { advice: advice.to_owned() }.at(too_many.span()));
    }
    if conditions.is_empty() {
        return Ok(Cow::Borrowed(std::slice::from_ref(method)));
    }
    let cases = (0..1_usize << conditions.len()).rev().map(|case| {
        let met: Vec<(&TokenStream, bool)> =
            conditions.iter().enumerate().map(|(at, asked)| (asked, case >> at & 1 == 1)).collect();
        let mut method = method.clone();
        method.attrs = resolved(&method.attrs, &met);
        method.attrs.extend(met.iter().map(|(asked, is_met)| -> Attribute {
            if *is_met { parse_quote!(#[cfg(#asked)]) } else { parse_quote!(#[cfg(not(#asked))]) }
        }));
        for input in &mut method.sig.inputs {
            let attrs = match input {
                FnArg::Typed(input) => &mut input.attrs,
                FnArg::Receiver(receiver) => &mut receiver.attrs,
            };
            *attrs = resolved(attrs, &met);
        }
        method
    });
    Ok(Cow::Owned(cases.collect()))
}

fn of_input(input: &FnArg) -> &[Attribute] {
    match input {
        FnArg::Typed(input) => &input.attrs,
        FnArg::Receiver(receiver) => &receiver.attrs,
    }
}

/// Adds the conditions that stand around something that the macro reads, each once.
fn collect(meta: &Meta, conditions: &mut Vec<TokenStream>) {
    let Some(Conditional { condition, attributes }) = Conditional::read(meta).filter(|_| has(meta, &is_read)) else {
        return;
    };
    if !conditions.iter().any(|known| is_same(known, &condition.asked)) {
        conditions.push(condition.asked);
    }
    attributes.iter().for_each(|inner| collect(inner, conditions));
}

fn is_same(one: &TokenStream, other: &TokenStream) -> bool {
    one.to_string() == other.to_string()
}

/// The attributes as the compiler would leave them.
fn resolved(attrs: &[Attribute], met: &[(&TokenStream, bool)]) -> Vec<Attribute> {
    let mut found = Vec::with_capacity(attrs.len());
    for attr in attrs {
        resolve(attr, &attr.meta, met, &mut found);
    }
    found
}

fn resolve(attr: &Attribute, meta: &Meta, met: &[(&TokenStream, bool)], found: &mut Vec<Attribute>) {
    match Conditional::read(meta).filter(|_| has(meta, &is_read)) {
        None => found.push(Attribute { meta: meta.clone(), ..attr.clone() }),
        Some(Conditional { condition, attributes }) => {
            let is_met = met.iter().any(|(asked, is_met)| is_same(asked, &condition.asked) && *is_met);
            if is_met != condition.negated {
                attributes.iter().for_each(|inner| resolve(attr, inner, met, found));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    fn method(tokens: TokenStream) -> Method {
        Method::read(tokens).unwrap()
    }

    fn attributes(method: &Method) -> Vec<String> {
        let inputs = method.sig.inputs.iter().flat_map(of_input);
        method.attrs.iter().chain(inputs).map(|attr| attr.to_token_stream().to_string()).collect()
    }

    #[test]
    fn a_condition_and_its_contrary_are_two_cases() {
        let method = method(quote! {
            #[cfg_attr(a, ai_function(exclusive), doc = "A")]
            #[cfg_attr(not(a), ai_function, cfg_attr(a, doc = "never"), must_use)]
            #[cfg_attr(b, must_use)]
            fn f(#[cfg_attr(a, arg(name = "x"))] y: u32) {}
        });
        let cases: Vec<_> = cases(&method).unwrap().iter().map(attributes).collect();
        let with = [
            "# [ai_function (exclusive)]",
            "# [doc = \"A\"]",
            "# [cfg_attr (b , must_use)]",
            "# [cfg (a)]",
            "# [arg (name = \"x\")]",
        ];
        let without = ["# [ai_function]", "# [must_use]", "# [cfg_attr (b , must_use)]", "# [cfg (not (a))]"];
        assert_eq!(cases, [with.to_vec(), without.to_vec()]);
    }

    #[test]
    fn what_is_no_tool_or_has_no_condition_is_one_case() {
        for tokens in [
            quote!(
                #[cfg_attr(a, doc = "A")]
                fn f() {}
            ),
            quote!(
                #[ai_function]
                #[cfg_attr(a, must_use)]
                #[cfg_attr(b)]
                #[cfg_attr]
                fn f() {}
            ),
        ] {
            assert!(matches!(cases(&method(tokens)), Ok(Cow::Borrowed([_]))));
        }
    }

    #[test]
    fn cases_do_not_grow_without_limit() {
        let docs = (0..7).map(|n| {
            let condition = quote::format_ident!("c{n}");
            quote!(#[cfg_attr(#condition, doc = "x")])
        });
        let method = method(quote!(#[ai_function] #(#docs)* fn f() {}));
        assert!(cases(&method).is_err());
    }

    #[test]
    fn only_what_is_unwanted_is_taken_out() {
        let unwanted = |meta: &Meta| meta.path().is_ident("x");
        for (meta, left) in [
            (quote!(x), None),
            (quote!(y(1)), Some("y (1)")),
            (quote!(cfg_attr(a, x)), None),
            (quote!(cfg_attr(not(a), y, x(2), cfg_attr(b, x))), Some("cfg_attr (not (a) , y)")),
        ] {
            let meta = syn::parse2(meta).unwrap();
            let found = without(&meta, &unwanted).map(|meta| meta.to_token_stream().to_string());
            assert_eq!(found.as_deref(), left);
        }
    }
}
