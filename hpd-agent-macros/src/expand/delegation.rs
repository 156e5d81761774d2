//! What the compiler has to know of a harness to see cycles of delegations.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Type, parse_quote};

use super::{Constant, Parts, Scope};
use crate::model::{Capability, Harness};

/// A subagent that may have no bound and whose child has tools.
pub(super) struct Delegation<'a> {
    pub(super) availability: &'a Constant,
    pub(super) recursion: Option<&'a Constant>,
    pub(super) children: &'a [Type],
    /// Where a cycle is reported.
    pub(super) span: Span,
}

/// The variable in which a harness gathers what it reaches.
fn reach() -> Ident {
    Ident::new("__hpd_reach", Span::mixed_site())
}

impl Scope<'_> {
    /// Adds to what the harness reaches, and the check of the cycles that begin here: as a constant of its own, or where
    /// the table is evaluated if only then the parameters of the block are known.
    pub(super) fn delegation(&self, capability: &Capability, delegation: &Delegation<'_>, parts: &mut Parts) {
        let Capability { index, cfgs, method_name, .. } = capability;
        let Delegation { availability, recursion, children, span } = delegation;
        let recursion = recursion.map_or_else(|| quote!(__hpd::Recursion::Guarded), ToTokens::to_token_stream);
        let reach = reach();
        parts.reach.extend(quote! {
            #(#cfgs)*
            let #reach = #reach.through(
                #method_name,
                #availability,
                #recursion,
                [#(__hpd::Beyond::<#children, __Fuel>::CHILD),*],
            );
        });
        let Harness { generics, ty, .. } = self.harness;
        let check = quote_spanned!(*span=> __hpd::check::delegation::<#ty, __Block>(#method_name));
        if generics.params.is_empty() {
            let name = format_ident!("__CHECK_DELEGATION_{index}");
            parts.constants.extend(quote!(#(#cfgs)* const #name: () = #check;));
        } else {
            parts.checks.extend(quote!(#(#cfgs)* const { #check };));
        }
    }

    /// The type that says what the harness reaches, and the implementation behind it if there may be anything.
    pub(super) fn reach(&self, parts: &Parts) -> (TokenStream, Option<TokenStream>) {
        let steps = &parts.reach;
        if steps.is_empty() {
            return (quote!(__hpd::Nowhere), None);
        }
        let mut generics = self.harness.generics.clone();
        generics.params.push(parse_quote!(__Fuel: __hpd::Fuel));
        let (impl_generics, _, _) = generics.split_for_impl();
        // A type without parameters that is no harness is reported elsewhere.
        let where_clause = if self.harness.generics.params.is_empty() {
            self.harness.generics.where_clause.to_token_stream()
        } else {
            self.where_clause()
        };
        let ty = &self.harness.ty;
        let reach = reach();
        let implementation = quote! {
            use __hpd::NoHarness as _;
            pub enum __Block {}
            #[automatically_derived]
            impl #impl_generics __hpd::Delegates<__Block, __Fuel> for #ty #where_clause {
                const REACH: __hpd::Reach = {
                    let #reach = __hpd::Reach::from::<__Fuel>(__hpd::Beyond::<Self, __Fuel>::IDENTITY);
                    #steps
                    #reach
                };
            }
        };
        (quote!(__hpd::Through<Self, __Block, __Fuel>), Some(implementation))
    }
}
