//! Small operations on tokens.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, Expr, GenericParam, Generics, Type, spanned::Spanned};

/// The attributes that decide whether an item is there.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    let decides = |attr: &&Attribute| match &attr.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => true,
        syn::Meta::List(list) if list.path.is_ident("cfg_attr") => {
            list.tokens.clone().into_iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == "cfg"))
        }
        _ => false,
    };
    attrs.iter().filter(decides).cloned().collect()
}

/// Where an error in the whole of an expression is reported. A span of several tokens cannot be made, so it is the most
/// telling one of them.
pub(crate) fn anchor(expr: &Expr) -> Span {
    match expr {
        Expr::Path(path) => last_segment(&path.path).unwrap_or_else(|| path.span()),
        Expr::Call(call) => anchor(&call.func),
        Expr::MethodCall(call) => call.method.span(),
        Expr::Struct(literal) => last_segment(&literal.path).unwrap_or_else(|| literal.span()),
        Expr::Reference(reference) => anchor(&reference.expr),
        Expr::Group(group) => anchor(&group.expr),
        Expr::Paren(paren) => anchor(&paren.expr),
        other => other.span(),
    }
}

/// Whether an expression is plainly one that knows nothing of its block. Looking at it is cheaper than looking at its
/// tokens, and most values are a name or a call.
pub(crate) fn is_independent(expr: &Expr, generics: &Generics) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Path(path) => {
            let plain = |segment: &syn::PathSegment| segment.arguments.is_none() && segment.ident != "Self";
            path.qself.is_none() && path.path.segments.iter().all(plain) && generics.params.is_empty()
        }
        Expr::Call(call) => {
            is_independent(&call.func, generics) && call.args.iter().all(|arg| is_independent(arg, generics))
        }
        _ => false,
    }
}

/// The type without parentheses, and without the invisible group that a `$t:ty` arrives in.
pub(crate) fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peeled(&group.elem),
        Type::Paren(paren) => peeled(&paren.elem),
        other => other,
    }
}

/// Where an error in the whole of a type is reported.
pub(crate) fn anchor_of_type(ty: &Type) -> Span {
    match peeled(ty) {
        Type::Path(path) => last_segment(&path.path).unwrap_or_else(|| path.span()),
        other => other.span(),
    }
}

/// A type as it would be written: `Vec<(String, u32)>`.
pub(crate) fn readable(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (wide, narrow) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (" ,", ","),
        (" ;", ";"),
        ("& ", "&"),
    ] {
        text = text.replace(wide, narrow);
    }
    text
}

fn last_segment(path: &syn::Path) -> Option<Span> {
    path.segments.last().map(|segment| segment.ident.span())
}

/// `Self` replaced by the type: constants outside of the block don't know it.
pub(crate) fn without_self(tokens: TokenStream, ty: &Type) -> TokenStream {
    map(tokens, &mut |token| match &token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let span = ident.span();
            quote_spanned!(span=> <#ty>)
        }
        _ => token.into(),
    })
}

/// A type with the method's own lifetimes replaced by `'_`.
pub(crate) fn elided(generics: &Generics, ty: &Type) -> TokenStream {
    let own = lifetimes(generics);
    if own.is_empty() { ty.to_token_stream() } else { with_lifetimes(ty.to_token_stream(), &own, "_") }
}

/// The names of the parameters that are lifetimes.
pub(crate) fn lifetimes(generics: &Generics) -> Vec<String> {
    generics.lifetimes().map(|param| param.lifetime.ident.to_string()).collect()
}

/// The tokens with one lifetime in place of all those.
pub(crate) fn with_lifetimes(tokens: TokenStream, replaced: &[String], name: &str) -> TokenStream {
    let mut after_quote = false;
    map(tokens, &mut |token| {
        let is_quote = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        let was_quote = std::mem::replace(&mut after_quote, is_quote);
        match token {
            TokenTree::Ident(ident) if was_quote && replaced.contains(&ident.to_string()) => {
                TokenTree::Ident(proc_macro2::Ident::new(name, ident.span())).into()
            }
            token => token.into(),
        }
    })
}

/// Whether there is such a word among the tokens.
pub(crate) fn mention(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mention(group.stream(), word),
        TokenTree::Ident(ident) => ident == word,
        _ => false,
    })
}

/// Whether there is a `_` among the tokens of a type.
pub(crate) fn leaves_open(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => leaves_open(group.stream()),
        TokenTree::Ident(ident) => ident == "_",
        // What `quote` makes of the type `_`.
        TokenTree::Punct(punct) => punct.as_char() == '_',
        TokenTree::Literal(_) => false,
    })
}

/// Whether there is a lifetime among the tokens.
pub(crate) fn has_lifetime(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_lifetime(group.stream()),
        TokenTree::Punct(punct) => punct.as_char() == '\'',
        _ => false,
    })
}

/// Whether the tokens depend on the block they stand in: on `Self` or on its parameters.
pub(crate) fn depend_on(tokens: TokenStream, generics: &Generics) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => depend_on(group.stream(), generics),
        TokenTree::Ident(ident) => {
            ident == "Self"
                || generics.params.iter().any(|param| match param {
                    GenericParam::Type(param) => param.ident == ident,
                    GenericParam::Const(param) => param.ident == ident,
                    GenericParam::Lifetime(param) => param.lifetime.ident == ident,
                })
        }
        _ => false,
    })
}

/// The capability attributes among tokens that are no method. Those on something that may yet become one are not
/// misplaced: its `fn` stands before a `:` or `=`, unlike that of a type.
pub(crate) fn misplaced(tokens: &TokenStream) -> impl Iterator<Item = (&'static str, Span)> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_typed =
        |token: &&TokenTree| matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), ':' | '='));
    let mut head = tokens.iter().take_while(|token| !is_typed(token));
    let unfinished = head.any(|token| matches!(token, TokenTree::Ident(ident) if ident == "fn"));
    let found: Vec<_> = if unfinished { Vec::new() } else { attributes(&tokens).collect() };
    found.into_iter()
}

/// The tokens without capability attributes.
pub(crate) fn without_capabilities(tokens: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut out = TokenStream::new();
    let mut rest = tokens.as_slice();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (TokenTree::Punct(punct), [TokenTree::Group(group), after @ ..])
                if punct.as_char() == '#' && capability(group).is_some() =>
            {
                rest = after;
                continue;
            }
            (TokenTree::Group(group), _) if group.delimiter() == Delimiter::Brace => {
                let mut inner = Group::new(Delimiter::Brace, without_capabilities(&group.stream()));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            _ => out.extend([first.clone()]),
        }
        rest = tail;
    }
    out
}

fn attributes(tokens: &[TokenTree]) -> impl Iterator<Item = (&'static str, Span)> {
    tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Punct(punct), TokenTree::Group(group)] if punct.as_char() == '#' => capability(group),
        _ => None,
    })
}

/// The name of a capability attribute, from what stands in its brackets. What is no attribute stays, for the compiler to
/// refuse.
fn capability(group: &Group) -> Option<(&'static str, Span)> {
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let meta: syn::Meta = syn::parse2(group.stream()).ok()?;
    let last = &meta.path().segments.last()?.ident;
    let name = ["subagent", "ai_function"].into_iter().find(|name| last == name)?;
    Some((name, last.span()))
}

fn map(tokens: TokenStream, change: &mut impl FnMut(TokenTree) -> TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), map(group.stream(), change));
                inner.set_span(group.span());
                out.extend(change(TokenTree::Group(inner)));
            }
            token => out.extend(change(token)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use quote::quote;
    use syn::parse_quote;

    use super::*;

    #[test]
    fn self_becomes_the_type_at_any_depth() {
        let ty: Type = parse_quote!(a::T);
        assert_eq!(without_self(quote!(f(Self::X)), &ty).to_string(), quote!(f(<a::T>::X)).to_string());
    }

    #[test]
    fn only_the_methods_own_lifetimes_are_elided() {
        let sig: syn::Signature = parse_quote!(fn f<'c>(x: &'c X<'static, 'c>));
        let ty: Type = parse_quote!(&'c X<'static, 'c>);
        assert_eq!(elided(&sig.generics, &ty).to_string(), quote!(&'_ X<'static, '_>).to_string());
    }

    #[test]
    fn dependence_is_seen_at_any_depth() {
        let item: syn::ItemImpl = parse_quote!(
            impl<'a, T, const N: usize> X<'a, T, N> {}
        );
        for tokens in [quote!(f(Self::X)), quote!(g::<T>()), quote!({ N }), quote!(h::<&'a str>())] {
            assert!(depend_on(tokens, &item.generics));
        }
        assert!(!depend_on(quote!(other::N2), &item.generics));
    }

    #[test]
    fn capabilities_are_found_and_removed() {
        let tokens = quote!(
            #[doc = "x"]
            #[hpd_agent::subagent(agent_id = "x")]
            const X: u32 = {
                #[ai_function]
                1
            };
        );
        assert_eq!(misplaced(&tokens).map(|(name, _)| name).collect::<Vec<_>>(), ["subagent"]);
        let left = without_capabilities(&tokens).to_string();
        assert!(!left.contains("subagent") && !left.contains("ai_function") && left.contains("doc"), "{left}");
        let unfinished = quote!(#[subagent] fn x(&self,) -> );
        assert_eq!(misplaced(&unfinished).count(), 0);
        for whole in [
            quote!(
                #[subagent]
                const H: fn(u32) -> u32 = h;
            ),
            quote!(
                #[subagent]
                type H = fn(u32);
            ),
        ] {
            assert_eq!(misplaced(&whole).count(), 1, "{whole}");
        }
    }

    #[test]
    fn cfgs_are_the_attributes_that_can_remove_the_item() {
        let item: syn::ItemFn = parse_quote! {
            #[cfg(a)] #[cfg_attr(b, cfg(c))] #[cfg_attr(d, must_use)] #[must_use] fn f() {}
        };
        assert_eq!(cfgs(&item.attrs).len(), 2);
    }
}
