//! The part of an `#[ai_function]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Expr;

use super::{Names, Scope, optional};
use crate::{
    model::{Capability, Function, Param},
    tokens,
};

impl Scope<'_> {
    pub(super) fn function(&self, capability: &Capability, function: &Function) -> (TokenStream, TokenStream) {
        let params = function.params.iter().map(|Param { name, doc, ty, span }| {
            let doc = optional(doc.as_ref());
            let of = tokens::respanned(quote!(__hpd::ParamInfo::of), *span);
            quote_spanned!(*span=> #of::<#ty>(#name, #doc))
        });
        let requires_permission = flag(function.requires_permission.as_ref());
        let exclusive = flag(function.exclusive.as_ref());
        let info = quote! {
            __hpd::CapabilityKind::Function(__hpd::FunctionInfo {
                params: &[#(#params),*],
                requires_permission: #requires_permission,
                exclusive: #exclusive,
            })
        };
        (info, self.action(capability, function))
    }

    fn action(&self, capability: &Capability, function: &Function) -> TokenStream {
        let names = Names::new();
        let Names { this, arguments, context, value } = &names;
        let taken = function.params.iter().map(|Param { name, ty, span, .. }| {
            let take = tokens::respanned(quote!(__hpd::take), *span);
            quote_spanned!(*span=> #take::<#ty>(&#arguments, #context, #name)?)
        });
        let call = self.call(capability, &names, quote!(#(#taken),*));
        let output = capability.output;
        let result = |value: TokenStream| {
            let wrap = tokens::respanned(quote!(__hpd::Output), output);
            quote_spanned!(output=> #wrap(#value).into_tool_result())
        };
        // A future that cannot be sent is reported at the method's name.
        let name = capability.method.span();
        let body = if capability.is_async {
            let finished = result(value.to_token_stream());
            let start = tokens::respanned(quote!(__hpd::call), name);
            quote_spanned!(name=> #start(move || __hpd::Ok(#call)).finish(|#value| #finished))
        } else {
            let result = result(call);
            let call_path = tokens::respanned(quote!(__hpd::call_now), name);
            quote_spanned!(name=> #call_path(move || #result))
        };
        quote!(__hpd::Action::Function(|#this, #arguments, #context| #body))
    }
}

fn flag(value: Option<&Expr>) -> TokenStream {
    value.map_or_else(|| quote!(false), ToTokens::to_token_stream)
}
