//! The grammar of `#[subagent(…)]`, `#[ai_function(…)]` and `#[tool_harness(…)]`. One wrong argument does not hide the
//! next one.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, Ident, Meta, Token,
    ext::IdentExt,
    parse::{ParseStream, discouraged::Speculative as _},
    spanned::Spanned,
    token,
};

use crate::problem::Problem;

/// One argument: a key, and what stands with it.
pub(crate) struct Argument {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

/// What stands with a key.
pub(crate) enum Value {
    /// Nothing.
    Flag,
    /// `= expression`
    Expr(Box<Expr>),
    /// `= [ … ]`
    List(Group),
    /// `( … )`
    Parenthesized(Group),
}

impl Argument {
    pub(crate) fn key(&self) -> String {
        self.key.unraw().to_string()
    }

    /// Where the value is, or the key if there is none.
    pub(crate) fn span(&self) -> Span {
        match &self.value {
            Value::Flag => self.key.span(),
            Value::Expr(expr) => expr.span(),
            Value::List(group) | Value::Parenthesized(group) => group.span(),
        }
    }
}

/// The arguments of an attribute on a method.
pub(crate) fn of_attribute(attr: &Attribute, name: &'static str, errors: &mut Vec<syn::Error>) -> Vec<Argument> {
    match &attr.meta {
        Meta::Path(_) => Vec::new(),
        Meta::List(_) => run(errors, |parser| attr.parse_args_with(parser)),
        Meta::NameValue(_) => {
            errors.push(Problem::AttributeShape { attribute: name }.at(attr.meta.span()));
            Vec::new()
        }
    }
}

/// The arguments of an attribute that is being expanded.
pub(crate) fn of_tokens(tokens: TokenStream, errors: &mut Vec<syn::Error>) -> Vec<Argument> {
    run(errors, |parser| syn::parse::Parser::parse2(parser, tokens))
}

/// The pairs inside of `metadata(…)`.
pub(crate) fn metadata(group: &Group, errors: &mut Vec<syn::Error>) -> Vec<(syn::LitStr, Expr)> {
    let parser = |input: ParseStream<'_>| {
        let mut pairs = Vec::new();
        while !input.is_empty() {
            let key = if input.peek(syn::LitStr) {
                input.parse()?
            } else {
                let key = input.call(Ident::parse_any).map_err(|error| Problem::MetadataKey.at(error.span()))?;
                syn::LitStr::new(&key.unraw().to_string(), key.span())
            };
            if !input.peek(Token![=]) {
                return Err(
                    Problem::MissingValue { key: key.value(), expected: "a string, number or bool" }.at(key.span())
                );
            }
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            pairs.push((key, value));
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(pairs)
    };
    match syn::parse::Parser::parse2(parser, group.stream()) {
        Ok(pairs) => pairs,
        Err(error) => {
            errors.push(error);
            Vec::new()
        }
    }
}

fn run(
    errors: &mut Vec<syn::Error>,
    parse: impl FnOnce(&dyn Fn(ParseStream<'_>) -> syn::Result<Found>) -> syn::Result<Found>,
) -> Vec<Argument> {
    match parse(&|input| Ok(arguments(input))) {
        Ok((found, wrong)) => {
            errors.extend(wrong);
            found
        }
        Err(error) => {
            errors.push(error);
            Vec::new()
        }
    }
}

type Found = (Vec<Argument>, Vec<syn::Error>);

fn arguments(input: ParseStream<'_>) -> Found {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    while !input.is_empty() {
        let argument = argument(input);
        let rest = skip_to_comma(input);
        match (argument, rest) {
            (Ok(_), Some(unexpected)) => errors.push(syn::Error::new(unexpected.span(), "expected `,`")),
            (Ok(argument), None) => found.push(argument),
            (Err(error), _) => errors.push(error),
        }
        let _ = input.parse::<Token![,]>();
    }
    (found, errors)
}

fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    let key = input.call(Ident::parse_any)?;
    if input.peek(token::Paren) {
        return Ok(Argument { key, value: Value::Parenthesized(input.parse()?) });
    }
    if !input.peek(Token![=]) {
        return Ok(Argument { key, value: Value::Flag });
    }
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        let missing = Problem::MissingValue { key: key.unraw().to_string(), expected: "none stands after the `=`" };
        return Err(missing.at(equals.span()));
    }
    if input.peek(token::Bracket) {
        return Ok(Argument { key, value: Value::List(input.parse()?) });
    }
    let ahead = input.fork();
    let value = ahead.parse::<Expr>()?;
    input.advance_to(&ahead);
    Ok(Argument { key, value: Value::Expr(Box::new(value)) })
}

/// Leaves out what stands before the next comma; gives the first token of it.
fn skip_to_comma(input: ParseStream<'_>) -> Option<TokenTree> {
    let mut first = None;
    while !input.is_empty() && !input.peek(Token![,]) {
        match input.parse::<TokenTree>() {
            Ok(token) => first = first.or(Some(token)),
            Err(_) => break,
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn keys(tokens: TokenStream) -> (Vec<String>, Vec<String>) {
        let mut errors = Vec::new();
        let found = of_tokens(tokens, &mut errors);
        (found.iter().map(Argument::key).collect(), errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_form_is_read() {
        let (found, errors) = keys(quote!(a = "x", b, c = f::<A, B>(1), d = [T, G<A, B>], crate = ::a::b, m(k = 1),));
        assert_eq!(found, ["a", "b", "c", "d", "crate", "m"]);
        assert!(errors.is_empty(), "{errors:?}");
    }

    #[test]
    fn a_wrong_argument_does_not_hide_the_others() {
        let (found, errors) = keys(quote!(a =, b = 1 1, = 3, c = "y", d = ));
        assert_eq!(found, ["c"]);
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].contains("`a` needs a value"), "{errors:?}");
    }

    #[test]
    fn metadata_keys_are_names_or_strings() {
        let group = |tokens| Group::new(proc_macro2::Delimiter::Parenthesis, tokens);
        let mut errors = Vec::new();
        let pairs = metadata(&group(quote!(team = "w", "with-dash" = 1, r#type = true)), &mut errors);
        assert_eq!(pairs.iter().map(|(key, _)| key.value()).collect::<Vec<_>>(), ["team", "with-dash", "type"]);
        for wrong in [quote!(1 = 2), quote!(a), quote!(a =)] {
            metadata(&group(wrong), &mut errors);
        }
        assert_eq!(errors.len(), 3);
    }
}
