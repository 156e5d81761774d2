//! The grammar of `#[subagent(…)]`, `#[ai_function(…)]` and `#[tool_harness(…)]`. One wrong argument does not hide the
//! next one.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
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
    let parser = |input: ParseStream<'_>| Ok(separated(input, pair, |_| "write a `,` between two pairs".to_owned()));
    let (found, wrong) =
        syn::parse::Parser::parse2(parser, group.stream()).unwrap_or_else(|error| (Vec::new(), vec![error]));
    errors.extend(wrong.into_iter().map(coded));
    found
}

fn pair(input: ParseStream<'_>) -> syn::Result<(syn::LitStr, Expr)> {
    let key = if input.peek(syn::LitStr) {
        input.parse()?
    } else {
        let key = input.call(Ident::parse_any).map_err(|error| Problem::MetadataKey.at(error.span()))?;
        syn::LitStr::new(&key.unraw().to_string(), key.span())
    };
    let missing = || Problem::MissingValue { key: key.value(), expected: "a string, number or bool" };
    if input.peek(Token![:]) {
        return Err(Problem::Malformed { advice: format!("write `{} = …`", key.value()) }.at(input.span()));
    }
    if !input.peek(Token![=]) {
        return Err(missing().at(key.span()));
    }
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(missing().at(equals.span()));
    }
    let value = expression(input, &key.value())?;
    Ok((key, value))
}

/// What the parser itself says about tokens that are no arguments, with the code of such mistakes.
fn coded(error: syn::Error) -> syn::Error {
    let text = error.to_string();
    if text.starts_with("HPD") { error } else { Problem::Malformed { advice: text }.at(error.span()) }
}

fn run(
    errors: &mut Vec<syn::Error>,
    parse: impl FnOnce(&dyn Fn(ParseStream<'_>) -> syn::Result<Found<Argument>>) -> syn::Result<Found<Argument>>,
) -> Vec<Argument> {
    let between = |argument: &Argument| match argument.value {
        Value::Flag => format!("write `{} = …`", argument.key()),
        _ => "write a `,` between two arguments".to_owned(),
    };
    let parsed = parse(&|input| Ok(separated(input, argument, between)));
    let (found, wrong) = parsed.unwrap_or_else(|error| (Vec::new(), vec![error]));
    errors.extend(wrong.into_iter().map(coded));
    found
}

type Found<T> = (Vec<T>, Vec<syn::Error>);

/// What stands between commas. One mistake does not hide the next; `between` says what to do about tokens that follow
/// one without a comma.
fn separated<T>(
    input: ParseStream<'_>,
    parse: impl Fn(ParseStream<'_>) -> syn::Result<T>,
    between: impl Fn(&T) -> String,
) -> Found<T> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    while !input.is_empty() {
        let item = parse(input);
        let rest = skip_to_comma(input);
        match (item, rest) {
            (Ok(item), Some(unexpected)) => {
                errors.push(Problem::Malformed { advice: between(&item) }.at(unexpected.span()));
            }
            (Ok(item), None) => found.push(item),
            (Err(error), _) => errors.push(error),
        }
        let _ = input.parse::<Token![,]>();
    }
    (found, errors)
}

fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    let key = key(input)?;
    if input.peek(token::Paren) {
        return Ok(Argument { key, value: Value::Parenthesized(input.parse()?) });
    }
    if input.peek(Token![==]) || input.peek(Token![=>]) {
        return Err(Problem::Malformed { advice: format!("write `{} = …`", key.unraw()) }.at(input.span()));
    }
    if !input.peek(Token![=]) {
        return Ok(Argument { key, value: Value::Flag });
    }
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        let missing = Problem::MissingValue { key: key.unraw().to_string(), expected: "none stands after the `=`" };
        return Err(missing.at(equals.span()));
    }
    // An `$x:expr` of a macro by example looks like a list and is none.
    if let Some(list) = list(input) {
        return Ok(Argument { key, value: Value::List(list) });
    }
    let value = expression(input, &key.unraw().to_string())?;
    Ok(Argument { key, value: Value::Expr(Box::new(value)) })
}

/// `[ … ]` as it stands there.
fn list(input: ParseStream<'_>) -> Option<Group> {
    let ahead = input.fork();
    let group = ahead.parse::<Group>().ok().filter(|group| group.delimiter() == Delimiter::Bracket)?;
    // More may follow, as in `[1, 2].len()`.
    if !ahead.is_empty() && !ahead.peek(Token![,]) {
        return None;
    }
    input.advance_to(&ahead);
    Some(group)
}

/// Leaves the input where it was if there is no expression.
fn expression(input: ParseStream<'_>, key: &str) -> syn::Result<Expr> {
    let ahead = input.fork();
    let value = ahead.parse::<Expr>().map_err(|error| {
        Problem::Malformed { advice: format!("what stands after `{key} =` is no expression") }.at(error.span())
    })?;
    input.advance_to(&ahead);
    Ok(value)
}

fn key(input: ParseStream<'_>) -> syn::Result<Ident> {
    let malformed = |advice: String| Err(Problem::Malformed { advice }.at(input.span()));
    if input.peek(syn::Lit) {
        let value = input.fork().parse::<syn::Lit>()?.into_token_stream();
        return malformed(format!("a value needs its name before it: `agent_id = {value}`, for example"));
    }
    match input.call(Ident::parse_any) {
        Ok(key) => Ok(key),
        Err(_) => malformed("an argument is a name with a value: `key = value`".to_owned()),
    }
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
        for wrong in [quote!(1 = 2), quote!(a), quote!(a =, b = 1 1), quote!(a = ;)] {
            metadata(&group(wrong), &mut errors);
        }
        assert_eq!(errors.len(), 5, "{errors:?}");
    }
}
