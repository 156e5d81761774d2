//! The part of a `#[subagent]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;

use super::{Constant, Names, Parts, Scope, Sort, delegation::Delegation, set};
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
        let (id, policies) = self.declared(capability, sub_agent, setters, &mut parts.constants);
        let given = |wanted| policies.iter().find(|(policy, ..)| *policy == wanted);
        // Without the argument it is bounded, and nothing has to be said.
        if let Some((_, availability, span)) = given(Policy::Availability)
            && !sub_agent.tool_harnesses.is_empty()
        {
            let recursion = given(Policy::Recursion).map(|(_, value, _)| value);
            let children = &sub_agent.tool_harnesses;
            self.delegation(capability, &Delegation { availability, recursion, children, span: *span }, parts);
        }
        if !sub_agent.tool_harnesses.is_empty() {
            set(setters, "tool_harnesses", &children(&sub_agent.tool_harnesses));
        }
        if !sub_agent.metadata.is_empty() {
            set(setters, "metadata", &metadata(sub_agent));
        }
        let action = self.define(capability, sub_agent, id);
        let Capability { method, method_name, doc, .. } = capability;
        let span = method.span();
        quote_spanned!(span=> __hpd::sub_agent::<Self>(#method_name, #doc, #action))
    }

    /// Sets what the attribute says of id and policies, and adds the constants and checks of all its arguments.
    pub(super) fn declared(
        &self,
        capability: &Capability,
        sub_agent: &SubAgent,
        setters: &mut TokenStream,
        constants: &mut TokenStream,
    ) -> (Option<TokenStream>, Vec<(Policy, Constant, Span)>) {
        let id = sub_agent.agent_id.as_ref().map(|id| self.text(capability, "agent_id", id, constants));
        if let Some(id) = &id {
            set(setters, "agent_id", id);
        }
        let mut policies = Vec::with_capacity(sub_agent.policies.len());
        for (policy, expr) in &sub_agent.policies {
            let [ty, scope] = [policy.type_name(), policy.scope()].map(|name| Ident::new(name, Span::call_site()));
            let value = match policy.plain_variant(expr) {
                Some(variant) => Constant::Variant(quote!(__hpd::#ty::#variant)),
                None => {
                    let sort =
                        Sort { ty: quote!(__hpd::#ty), check: policy.check(), scope: Some(quote!(__hpd::#scope)) };
                    let name = format!("{}_{}", policy.key().to_uppercase(), capability.index);
                    self.constant(&name, &capability.cfgs, &sort, expr, constants)
                }
            };
            set(setters, policy.key(), &value);
            policies.push((*policy, value, tokens::anchor(expr)));
        }
        // Not for the compiler, which has an error for it already: for an editor that completes the name.
        for (policy, expr) in &sub_agent.unfinished {
            let [ty, scope] = [policy.type_name(), policy.scope()].map(|name| Ident::new(name, Span::call_site()));
            constants.extend(quote! {
                #[allow(unexpected_cfgs)]
                const _: () = {
                    #[cfg(rust_analyzer)]
                    const _: __hpd::#ty = { use __hpd::#scope::*; #expr };
                };
            });
        }
        constants.extend(exclusions(capability, &policies, id.is_some()));
        (id, policies)
    }

    fn define(&self, capability: &Capability, sub_agent: &SubAgent, id: Option<TokenStream>) -> TokenStream {
        let names = Names::new();
        let Names { this, context, .. } = &names;
        let arguments = sub_agent.contexts.iter().map(|Param { cfgs, ty, span, .. }| {
            quote_spanned!(*span=> #(#cfgs)* <#ty as __hpd::HarnessParam<'_>>::from_harness_context(#context))
        });
        let call = self.call(capability, &names, quote!(#(#arguments),*));
        // What is wrong with the value is reported at the return type, what is wrong with a future at the name.
        let output = capability.output;
        let (binding, value) = if capability.is_async {
            (None, call)
        } else {
            let value = Ident::new("__hpd_value", output);
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

/// The checks of policies that exclude each other, as far as they are constants. `is_identified` says that the attribute
/// speaks for the whole declaration: what it leaves out is the default.
fn exclusions(
    capability: &Capability,
    policies: &[(Policy, Constant, Span)],
    is_identified: bool,
) -> Option<TokenStream> {
    let given = |wanted| policies.iter().find(|(policy, ..)| *policy == wanted);
    let name = |wanted| match given(wanted) {
        Some((_, value, _)) => value.path(),
        None if is_identified => {
            let ty = Ident::new(wanted.type_name(), Span::call_site());
            Some(quote!(__hpd::#ty::DEFAULT))
        }
        None => None,
    };
    let cfgs = &capability.cfgs;
    let check = |policy, on| {
        let (_, value, span) = given(policy)?;
        let (value, on) = (value.path()?, name(on)?);
        let check = Ident::new(policy.key(), *span);
        let call = quote_spanned!(*span=> __hpd::check::#check(#value, #on));
        Some(quote!(#(#cfgs)* const _: () = #call;))
    };
    let compaction = check(Policy::ForkCompaction, Policy::Context);
    let notification = check(Policy::BackgroundNotification, Policy::InvocationMode);
    (compaction.is_some() || notification.is_some()).then(|| quote!(#compaction #notification))
}

/// The child's harnesses.
pub(super) fn children(types: &[Type]) -> TokenStream {
    let harnesses = types.iter().map(|ty| {
        let span = tokens::anchor_of_type(ty);
        quote_spanned!(span=> __hpd::child::<#ty>())
    });
    quote!(&[#(#harnesses),*])
}

/// Runs where an object is made of it: most values cannot be made in a constant.
pub(super) fn metadata(sub_agent: &SubAgent) -> TokenStream {
    let map = Ident::new("__hpd_metadata", Span::mixed_site());
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
