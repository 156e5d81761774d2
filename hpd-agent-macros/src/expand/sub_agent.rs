//! The part of a `#[subagent]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::{Names, Parts, Scope, Sort, delegation::Delegation, set};
use crate::{
    model::{Capability, Param, Policy, SubAgent},
    tokens,
};

impl Scope<'_> {
    pub(super) fn sub_agent(
        &self,
        capability: &Capability,
        sub_agent: &SubAgent,
        setters: &mut TokenStream,
        parts: &mut Parts,
    ) -> TokenStream {
        let id = sub_agent.agent_id.as_ref().map(|id| self.text(capability, "agent_id", id, parts));
        if let Some(id) = &id {
            set(setters, "agent_id", id);
        }
        let (mut availability, mut recursion) = (None, None);
        for (policy, expr) in &sub_agent.policies {
            let ty = Ident::new(policy.type_name(), Span::call_site());
            let sort = Sort { ty: quote!(__hpd::#ty), check: policy.check(), has_variants: policy.has_variants() };
            let name = format!("{}_{}", policy.key().to_uppercase(), capability.index);
            let value = self.constant(&name, &capability.cfgs, &sort, expr, parts);
            set(setters, policy.key(), &value);
            match policy {
                Policy::Availability => availability = Some((value, tokens::anchor(expr))),
                Policy::Recursion => recursion = Some(value),
                _ => {}
            }
        }
        // Without the argument it is bounded, and nothing has to be said.
        if let Some((availability, span)) = availability
            && !sub_agent.tool_harnesses.is_empty()
        {
            let delegation = Delegation { availability, recursion, children: &sub_agent.tool_harnesses, span };
            self.delegation(capability, &delegation, parts);
        }
        if !sub_agent.tool_harnesses.is_empty() {
            let harnesses = sub_agent.tool_harnesses.iter().map(|ty| {
                let span = tokens::anchor_of_type(ty);
                quote_spanned!(span=> __hpd::HarnessRef::of::<#ty>())
            });
            set(setters, "tool_harnesses", &quote!(&[#(#harnesses),*]));
        }
        if !sub_agent.metadata.is_empty() {
            set(setters, "metadata", &metadata(sub_agent));
        }
        let action = self.define(capability, sub_agent, id);
        let Capability { method, method_name, doc, .. } = capability;
        let span = method.span();
        quote_spanned!(span=> __hpd::sub_agent::<Self>(#method_name, #doc, #action))
    }

    fn define(&self, capability: &Capability, sub_agent: &SubAgent, id: Option<TokenStream>) -> TokenStream {
        let names = Names::new();
        let Names { this, context, .. } = &names;
        let argument = sub_agent.context.as_ref().map(|Param { ty, span, .. }| {
            quote_spanned!(*span=> <#ty as __hpd::HarnessParam<'_>>::from_harness_context(#context))
        });
        let call = self.call(capability, &names, argument.to_token_stream());
        // What is wrong with the value is reported at the return type, what is wrong with a future at the name.
        let output = capability.output;
        let (binding, value) = if capability.is_async {
            (None, call)
        } else {
            let value = Ident::new("__value", output);
            (Some(quote!(let #value = #call;)), value.to_token_stream())
        };
        let name = match (&id, capability.is_async) {
            (Some(_), false) => "define",
            (Some(_), true) => "define_later",
            (None, false) => "define_identified",
            (None, true) => "define_identified_later",
        };
        let name = Ident::new(name, output);
        let id = id.into_iter();
        let defined = quote_spanned!(output=> __hpd::#name(#value #(, #id)*));
        quote!(|#this, #context| { #binding #defined })
    }
}

/// Runs where an object is made of it: most values cannot be made in a constant.
fn metadata(sub_agent: &SubAgent) -> TokenStream {
    let map = Ident::new("metadata", Span::mixed_site());
    let insert = sub_agent.metadata.iter().map(|(key, value)| {
        let span = tokens::anchor(value);
        quote_spanned!(span=> __hpd::insert_metadata(&mut #map, #key, #value);)
    });
    quote! {
        || {
            let mut #map = __hpd::Metadata::new();
            #(#insert)*
            #map
        }
    }
}
