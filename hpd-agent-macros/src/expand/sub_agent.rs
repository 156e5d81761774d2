//! The part of a `#[subagent]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};

use super::{Names, Scope, optional};
use crate::{
    model::{Capability, Param, Policy, SubAgent},
    tokens,
};

impl Scope<'_> {
    pub(super) fn sub_agent(
        &self,
        capability: &Capability,
        sub_agent: &SubAgent,
        constants: &mut TokenStream,
    ) -> (TokenStream, TokenStream) {
        let id = sub_agent.agent_id.as_ref().map(|id| self.text(capability, "agent_id", id, constants));
        let policies = Policy::ALL.map(|policy| {
            let field = format_ident!("{}", policy.key());
            let value = sub_agent.policy(policy).map(|expr| {
                let name = format_ident!("{}", policy.type_name());
                let ty = quote!(__hpd::#name);
                let variants = policy.has_variants().then_some(&ty);
                self.constant(capability, policy.key(), &ty, expr, policy.check(), variants, constants)
            });
            let value = optional(value.as_ref());
            quote!(#field: #value)
        });
        let harnesses = sub_agent.tool_harnesses.iter().map(|ty| {
            let span = tokens::anchor_of_type(ty);
            let of = tokens::respanned(quote!(__hpd::HarnessRef::of), span);
            quote_spanned!(span=> #of::<#ty>())
        });
        let metadata = self.metadata(sub_agent);
        let agent_id = optional(id.as_ref());
        let info = quote! {
            __hpd::CapabilityKind::SubAgent(__hpd::SubAgentInfo {
                agent_id: #agent_id,
                #(#policies,)*
                tool_harnesses: &[#(#harnesses),*],
                metadata: #metadata,
            })
        };
        (info, self.define(capability, sub_agent, id))
    }

    /// Runs where an object is made of it: most values cannot be made in a constant.
    fn metadata(&self, sub_agent: &SubAgent) -> TokenStream {
        if sub_agent.metadata.is_empty() {
            return quote!(__hpd::None);
        }
        let map = Ident::new("metadata", proc_macro2::Span::mixed_site());
        let insert = sub_agent.metadata.iter().map(|(key, value)| {
            let span = tokens::anchor(value);
            let call = tokens::respanned(quote!(__hpd::insert_metadata), span);
            quote_spanned!(span=> #call(&mut #map, #key, #value);)
        });
        quote! {
            __hpd::Some(|| {
                let mut #map = __hpd::Metadata::new();
                #(#insert)*
                #map
            })
        }
    }

    fn define(&self, capability: &Capability, sub_agent: &SubAgent, id: Option<TokenStream>) -> TokenStream {
        let names = Names::new();
        let Names { this, context, .. } = &names;
        let argument = sub_agent.context.as_ref().map(|Param { ty, span, .. }| {
            let trait_path = tokens::respanned(quote!(__hpd::HarnessParam), *span);
            quote_spanned!(*span=> <#ty as #trait_path<'_>>::from_harness_context(#context))
        });
        let call = self.call(capability, &names, argument.to_token_stream());
        // What is wrong with the value is reported at the return type.
        let output = capability.output;
        let (binding, value) = if capability.is_async {
            (TokenStream::new(), call)
        } else {
            let value = Ident::new("__value", output);
            (quote!(let #value = #call;), value.to_token_stream())
        };
        let name = match (&id, capability.is_async) {
            (Some(_), false) => "define",
            (Some(_), true) => "define_later",
            (None, false) => "define_identified",
            (None, true) => "define_identified_later",
        };
        let name = Ident::new(name, output);
        let define = tokens::respanned(quote!(__hpd::), output);
        let id = id.into_iter();
        let defined = quote_spanned!(output=> #define #name(#value #(, #id)*));
        quote!(__hpd::Action::SubAgent(|#this, #context| {
            #binding
            #defined
        }))
    }
}
