//! The grammar of a harness: an `impl` block of which only signatures and attributes are read. A body stays one group
//! of tokens, and what is not understood stays as it is, for the compiler to judge.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Generics, Meta, Signature, Token, Type, Visibility, braced,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser as _},
    spanned::Spanned,
};

use crate::{conditional, problem::Problem, tokens};

/// An inherent `impl` block.
pub(crate) struct HarnessItem {
    /// The attributes of the block, without our own.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) impl_token: Token![impl],
    pub(crate) generics: Generics,
    pub(crate) ty: Type,
    /// `#![…]` inside of the block.
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) members: Vec<Member>,
}

/// One item of the block.
pub(crate) enum Member {
    Method(Box<Method>),
    /// A constant, a type, a macro call, or something that is not yet typed to its end.
    Other(TokenStream),
}

/// A method with a body that nobody looks into.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenTree,
}

impl Parse for HarnessItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        if !input.peek(Token![impl]) {
            return Err(not_an_impl(input));
        }
        let impl_token = input.parse()?;
        let mut generics: Generics = if input.peek(Token![<]) { input.parse()? } else { Generics::default() };
        let ty: Type = input.parse()?;
        if input.peek(Token![for]) {
            return Err(Problem::TraitImpl.at(ty.span()));
        }
        generics.where_clause = input.parse()?;
        let content;
        braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        let mut members = Vec::new();
        while !content.is_empty() {
            members.push(Member::read(content.call(next_item)?));
        }
        Ok(Self { attrs, unsafety, impl_token, generics, ty: ungrouped(ty), inner_attrs, members })
    }
}

impl HarnessItem {
    /// The block once more, as that of a harness, if it is another one. A harness is `'static`, and so are the
    /// lifetimes that the block has for parameters or that its type leaves open: the compiler would demand a proof of
    /// that in every `async` method, and cannot find it.
    pub(crate) fn of_harness(&self, item: TokenStream) -> syn::Result<Option<Self>> {
        let lifetimes = tokens::lifetimes(&self.generics);
        if lifetimes.is_empty() && !tokens::has_lifetime(self.ty.to_token_stream()) {
            return Ok(None);
        }
        let mut harness: Self = syn::parse2(tokens::with_lifetimes(item, &lifetimes, "static"))?;
        let ty = tokens::with_lifetimes(harness.ty.to_token_stream(), &["_".to_owned()], "static");
        harness.ty = syn::parse2(ty)?;
        let params = std::mem::take(&mut harness.generics.params);
        harness.generics.params =
            params.into_iter().filter(|param| !matches!(param, syn::GenericParam::Lifetime(_))).collect();
        Ok(Some(harness))
    }
}

/// A `$t:ty` arrives in an invisible group.
fn ungrouped(ty: Type) -> Type {
    match ty {
        Type::Group(group) => ungrouped(*group.elem),
        Type::Paren(paren) => ungrouped(*paren.elem),
        other => other,
    }
}

fn not_an_impl(input: ParseStream<'_>) -> syn::Error {
    let fork = input.fork();
    let at = fork.span();
    // Past visibility and qualifiers.
    let _ = fork.parse::<Visibility>();
    while let Ok(word) = fork.call(syn::Ident::parse_any) {
        let found = match word.to_string().as_str() {
            "struct" => "a struct",
            "enum" => "an enum",
            "union" => "a union",
            "trait" => "a trait",
            "fn" => "a function",
            "mod" => "a module",
            "async" | "unsafe" | "const" | "extern" => continue,
            _ => "this item",
        };
        return Problem::NotAnImpl { found }.at(word.span());
    }
    Problem::NotAnImpl { found: "this item" }.at(at)
}

/// The tokens of the next item: up to a `;`, or up to a body, which is a `{ … }` outside of `< … >`. An attribute after
/// `fn` is that of the item after it, unless it is that of a parameter in `< … >`: this one has no body yet.
fn next_item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    let (mut is_method, mut angles, mut after_dash) = (false, 0_u32, false);
    let is_of_next = |angles| input.peek(Token![#]) && !(angles > 0 && is_before_generic(input));
    while !(input.is_empty() || is_method && is_of_next(angles)) {
        let token: TokenTree = input.parse()?;
        let last = match &token {
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    '<' => angles += 1,
                    '>' if !after_dash => angles = angles.saturating_sub(1),
                    _ => {}
                }
                punct.as_char() == ';'
            }
            token => angles == 0 && is_body(token),
        };
        is_method |= matches!(&token, TokenTree::Ident(ident) if ident == "fn");
        after_dash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '-');
        tokens.extend([token]);
        if last {
            break;
        }
    }
    Ok(tokens)
}

/// Whether attributes stand before a lifetime, a type or a constant that is a parameter, and not before an item.
fn is_before_generic(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    if ahead.call(Attribute::parse_outer).is_err() {
        return false;
    }
    let is_constant = ahead.peek(Token![const]) && ahead.peek2(syn::Ident);
    is_constant || ahead.peek(syn::Lifetime) || ahead.peek(syn::Ident)
}

/// `{ … }`, also in the invisible group that a `$body:block` arrives in.
fn is_body(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut inner = group.stream().into_iter();
            inner.next().is_some_and(|token| is_body(&token)) && inner.next().is_none()
        }
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

impl Member {
    fn read(tokens: TokenStream) -> Self {
        Method::read(tokens.clone()).map_or(Self::Other(tokens), |method| Self::Method(Box::new(method)))
    }
}

impl Method {
    /// Reads an item by itself, so that something wrong in it concerns no other one. `None` if it is not a method, or
    /// not yet.
    pub(crate) fn read(item: TokenStream) -> Option<Self> {
        let mut head: Vec<TokenTree> = item.into_iter().collect();
        let body = head.pop().filter(is_body)?;
        let parse = |input: ParseStream<'_>| Ok((input.call(Attribute::parse_outer)?, input.parse()?, input.parse()?));
        let (attrs, vis, sig) = parse.parse2(head.into_iter().collect()).ok()?;
        Some(Self { attrs, vis, sig, body })
    }

    /// Whether it has a capability attribute, be it under a condition.
    pub(crate) fn is_tool(&self) -> bool {
        self.attrs.iter().any(|attr| conditional::has(&attr.meta, &|meta| capability(meta).is_some()))
    }

    /// The method with `items` before everything else in its body.
    pub(crate) fn with_first(mut self, items: TokenStream) -> Self {
        if let TokenTree::Group(body) = &self.body {
            let rest = body.stream();
            let mut group = proc_macro2::Group::new(body.delimiter(), quote!(#items #rest));
            group.set_span(body.span());
            self.body = TokenTree::Group(group);
        }
        self
    }
}

/// The capability attributes, by the last segment of their paths.
pub(crate) fn capability(attribute: &Meta) -> Option<&'static str> {
    let last = attribute.path().segments.last()?;
    ["subagent", "ai_function"].into_iter().find(|name| last.ident == name)
}

/// Whether it is `#[arg]`, on a parameter.
pub(crate) fn is_arg(attribute: &Meta) -> bool {
    attribute.path().is_ident("arg")
}

/// The name of the type: its last segment.
pub(crate) fn type_name(ty: &Type) -> Option<&syn::Ident> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

/// A doc comment, as an expression of type `&'static str`.
pub(crate) struct Doc {
    pub(crate) tokens: TokenStream,
    /// Known to have no word in it.
    pub(crate) blank: bool,
    /// The part that is no literal, if no other one has a word in it.
    pub(crate) open: Option<Span>,
}

/// The doc comment among `attrs`: one leading space per line is stripped, paragraphs stay. A part that is not a string
/// literal, such as `include_str!("…")`, is joined by `concat!`.
pub(crate) fn docs(attrs: &[Attribute]) -> Option<Doc> {
    let mut parts: Vec<Part> = Vec::new();
    for attr in attrs {
        let syn::Meta::NameValue(pair) = &attr.meta else { continue };
        if !pair.path.is_ident("doc") {
            continue;
        }
        let part = match string_literal(&pair.value) {
            Some(text) => Part::Text(unindented(&text.value())),
            None => Part::Tokens(pair.value.to_token_stream()),
        };
        match (parts.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(line)) => {
                text.push('\n');
                text.push_str(&line);
            }
            (Some(_), part) => parts.extend([Part::Text("\n".to_owned()), part]),
            (None, part) => parts.push(part),
        }
    }
    match parts.as_slice() {
        [] => None,
        [Part::Text(text)] => {
            let text = text.trim();
            Some(Doc { tokens: quote!(#text), blank: text.is_empty(), open: None })
        }
        parts => {
            let is_told = parts.iter().any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()));
            let open = parts.iter().find_map(|part| match part {
                Part::Tokens(tokens) if !is_told => Some(tokens.span()),
                _ => None,
            });
            let parts = parts.iter().map(|part| match part {
                Part::Text(text) => quote!(#text),
                Part::Tokens(tokens) => tokens.clone(),
            });
            Some(Doc { tokens: quote!(::core::concat!(#(#parts),*)), blank: false, open })
        }
    }
}

enum Part {
    Text(String),
    Tokens(TokenStream),
}

fn unindented(text: &str) -> String {
    let starred = text.contains('\n')
        && text.lines().skip(1).all(|line| line.trim_start().starts_with('*') || line.trim().is_empty());
    let lines = text.lines().map(|line| {
        let line = match line.trim_start().strip_prefix('*') {
            Some(rest) if starred => rest,
            _ => line,
        };
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The string literal that an expression is, through the invisible groups of `macro_rules!`.
pub(crate) fn string_literal(expr: &syn::Expr) -> Option<&syn::LitStr> {
    match literal(expr)? {
        syn::Lit::Str(text) => Some(text),
        _ => None,
    }
}

/// The path that an expression is.
pub(crate) fn path(expr: &syn::Expr) -> Option<&syn::Path> {
    match expr {
        syn::Expr::Path(found) if found.qself.is_none() => Some(&found.path),
        syn::Expr::Group(group) => path(&group.expr),
        syn::Expr::Paren(paren) => path(&paren.expr),
        _ => None,
    }
}

/// The literal that an expression is.
pub(crate) fn literal(expr: &syn::Expr) -> Option<&syn::Lit> {
    match expr {
        syn::Expr::Lit(lit) => Some(&lit.lit),
        syn::Expr::Group(group) => literal(&group.expr),
        syn::Expr::Paren(paren) => literal(&paren.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn parse(tokens: TokenStream) -> syn::Result<HarnessItem> {
        syn::parse2(tokens)
    }

    #[test]
    fn bodies_are_not_read() {
        let item =
            parse(quote!(impl T { fn a(&self) -> u32 { let x = self. ; 1 + } const X: [u8; 1] = [0]; fn b() {} }));
        let members = item.unwrap().members;
        let kinds: Vec<_> = members.iter().map(|member| matches!(member, Member::Method(_))).collect();
        assert_eq!(kinds, [true, false, true]);
    }

    #[test]
    fn an_attribute_of_a_parameter_is_not_that_of_the_next_item() {
        let generics = [quote!(#[cfg(x)] 'a), quote!('a, #[cfg(x)] #[cfg(y)] T: X<'a>), quote!(#[cfg(x)] const N: u8)];
        for generics in generics {
            let item = parse(quote!(impl T { fn a<#generics>(&self) {} fn b() {} })).unwrap();
            assert!(matches!(item.members.as_slice(), [Member::Method(_), Member::Method(_)]), "{generics}");
        }
        let item = parse(quote!(impl T { fn a<T, #[ai_function] fn b() {} fn c<T, #[subagent] pub const fn d() {} }));
        let kinds = item.unwrap().members.iter().map(|member| matches!(member, Member::Method(_))).collect::<Vec<_>>();
        assert_eq!(kinds, [false, true, false, true]);
    }

    #[test]
    fn a_half_typed_signature_is_left_alone() {
        let item = parse(quote!(impl T { fn a(&self, b) -> { } fn c() {} })).unwrap();
        assert!(matches!(item.members.as_slice(), [Member::Other(_), Member::Method(_)]));
    }

    #[test]
    fn other_items_are_named() {
        for (tokens, expected) in [
            (
                quote!(
                    pub struct T;
                ),
                "a struct",
            ),
            (
                quote!(
                    pub(crate) async unsafe fn f() {}
                ),
                "a function",
            ),
            (
                quote!(
                    trait T {}
                ),
                "a trait",
            ),
            (quote!(impl A for B {}), "implementation of a trait"),
            (quote!(), "this item"),
        ] {
            let error = parse(tokens).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn doc_comments_keep_their_paragraphs() {
        let attrs: Vec<Attribute> = parse_quote!(
            /// First line
            ///   indented.
            ///
            /// Second paragraph.
        );
        let doc = docs(&attrs).unwrap();
        assert_eq!(doc.tokens.to_string(), "\"First line\\n  indented.\\n\\nSecond paragraph.\"");
        let attrs: Vec<Attribute> = parse_quote!(#[doc = "\n * A block\n * comment.\n "]);
        assert_eq!(docs(&attrs).unwrap().tokens.to_string(), "\"A block\\ncomment.\"");
        let attrs: Vec<Attribute> = parse_quote!(#[doc = " See:"] #[doc = include_str!("x.md")]);
        assert!(docs(&attrs).unwrap().tokens.to_string().contains("concat"));
        let attrs: Vec<Attribute> = parse_quote!(#[doc = "  "]);
        assert!(docs(&attrs).unwrap().blank);
        assert!(docs(&[]).is_none());
    }
}
