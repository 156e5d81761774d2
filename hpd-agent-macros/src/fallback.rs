//! The user's own item, always emitted again: without our attributes and the doc comments of parameters, which the
//! compiler would refuse.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, FnArg, Meta};

use crate::{
    conditional,
    parse::{self, HarnessItem, Member, Method},
    signature, tokens,
};

/// An item that could not be read.
pub(crate) fn unread(item: &TokenStream) -> TokenStream {
    tokens::without_capabilities(item)
}

/// The block.
pub(crate) fn item(item: &HarnessItem) -> TokenStream {
    let HarnessItem { attrs, unsafety, impl_token, generics, ty, inner_attrs, members } = item;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    // The compiler gives up on a block at its first item that is none: what is right stands before it.
    let (right, wrong): (Vec<_>, Vec<_>) = members.iter().partition(|member| is_whole(member));
    let members = right.into_iter().chain(wrong).map(member);
    quote! {
        #(#attrs)*
        #unsafety #impl_token #impl_generics #ty #where_clause {
            #(#inner_attrs)*
            #(#members)*
        }
    }
}

/// Whether it is typed to its end.
fn is_whole(member: &Member) -> bool {
    match member {
        Member::Method(_) => true,
        Member::Other(tokens) => syn::parse2::<syn::ImplItem>(tokens.clone()).is_ok(),
    }
}

fn member(member: &Member) -> TokenStream {
    match member {
        Member::Method(method) => self::method(method),
        Member::Other(tokens) => tokens::without_capabilities(tokens),
    }
}

fn method(method: &Method) -> TokenStream {
    if method.is_tool() {
        tool(method)
    } else {
        let Method { attrs, vis, sig, body } = method;
        let mut sig = sig.clone();
        if signature::is_ours_alone(attrs) {
            for input in &mut sig.inputs {
                let attrs = of_input(input);
                attrs.retain(|attr| !parse::is_arg(&attr.meta));
            }
        }
        quote!(#(#attrs)* #vis #sig #body)
    }
}

/// A method that is a tool, or would be one if it stood in a harness.
pub(crate) fn tool(method: &Method) -> TokenStream {
    let Method { attrs, vis, sig, body } = method;
    let attrs = without(attrs, &is_capability);
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        let attrs = of_input(input);
        *attrs = without(attrs, &|meta| meta.path().is_ident("doc") || parse::is_arg(meta));
    }
    // The form of a tool is not its author's choice: that it owns its parameters, is no `const fn`, waits for nothing.
    // Lints that judge a whole method leave alone what begins in a macro. An `allow` would be an error where a package
    // forbids the lint.
    let mut head: Vec<TokenTree> = quote!(#vis #sig).into_iter().collect();
    if let Some(first) = head.first_mut() {
        first.set_span(first.span().resolved_at(Span::call_site()));
    }
    quote!(#(#attrs)* #(#head)* #body)
}

fn of_input(input: &mut FnArg) -> &mut Vec<Attribute> {
    match input {
        FnArg::Typed(input) => &mut input.attrs,
        FnArg::Receiver(receiver) => &mut receiver.attrs,
    }
}

fn is_capability(meta: &Meta) -> bool {
    parse::capability(meta).is_some()
}

fn without(attrs: &[Attribute], unwanted: &impl Fn(&Meta) -> bool) -> Vec<Attribute> {
    let left = |attr: &Attribute| Some(Attribute { meta: conditional::without(&attr.meta, unwanted)?, ..attr.clone() });
    attrs.iter().filter_map(left).collect()
}
