//! The part of an `#[ai_function]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use syn::Expr;

use super::{Names, Scope, Sort, set};
use crate::model::{Capability, Function, Param};

impl Scope<'_> {
    pub(super) fn function(
        &self,
        capability: &Capability,
        function: &Function,
        setters: &mut TokenStream,
        constants: &mut TokenStream,
    ) -> TokenStream {
        self.flags(capability, function, setters, constants);
        let params: Vec<_> = function
            .params
            .iter()
            .enumerate()
            .map(|(at, param)| self.param(capability, at, param, constants))
            .collect();
        let params = quote!(&[#(#params),*]);
        let action = self.action(capability, function);
        let Capability { method, method_name, doc, .. } = capability;
        let span = method.span();
        quote_spanned!(span=> __hpd::function::<Self>(#method_name, #doc, #params, #action))
    }

    /// Whether calls need permission, and whether they wait for others.
    fn flags(
        &self,
        capability: &Capability,
        function: &Function,
        setters: &mut TokenStream,
        constants: &mut TokenStream,
    ) {
        let flags = [("requires_permission", &function.requires_permission), ("exclusive", &function.exclusive)];
        for (setter, value) in flags {
            if let Some(value) = value {
                // Beside a branch the compiler would not keep the lists of parameters for ever.
                let sort = Sort { ty: quote!(::core::primitive::bool), check: None, scope: None };
                let name = format!("{}_{}", setter.to_uppercase(), capability.index);
                let value = match value {
                    Expr::Lit(literal) => literal.to_token_stream(),
                    value => self.constant(&name, &capability.cfgs, &sort, value, constants).into_token_stream(),
                };
                set(setters, setter, &value);
            }
        }
    }

    /// The constants of a function that is left out because of another mistake.
    pub(super) fn constants_of_function(
        &self,
        capability: &Capability,
        function: &Function,
        constants: &mut TokenStream,
    ) {
        self.flags(capability, function, &mut TokenStream::new(), constants);
        for (at, param) in function.params.iter().enumerate() {
            self.param_doc(capability, at, param, constants);
        }
    }

    /// What the model reads about a parameter.
    fn param_doc(&self, capability: &Capability, at: usize, param: &Param, constants: &mut TokenStream) -> TokenStream {
        let Param { doc, description, cfgs, .. } = param;
        match description {
            None => doc.clone(),
            Some(description) => {
                let constant = format!("DESCRIPTION_{}_{at}", capability.index);
                let cfgs = [&*capability.cfgs, cfgs].concat();
                self.checked_text(&constant, &cfgs, "description", description, constants)
            }
        }
    }

    /// The descriptor of one parameter.
    fn param(&self, capability: &Capability, at: usize, param: &Param, constants: &mut TokenStream) -> TokenStream {
        let Param { name, cfgs, ty, span, default, .. } = param;
        let doc = self.param_doc(capability, at, param, constants);
        match default {
            None => quote_spanned!(*span=> #(#cfgs)* __hpd::param::<#ty>(#name, #doc)),
            Some(default) => quote_spanned! { *span=>
                #(#cfgs)* __hpd::param_or::<#ty>(#name, #doc, || __hpd::default_value(|| -> #ty { #default }))
            },
        }
    }

    fn action(&self, capability: &Capability, function: &Function) -> TokenStream {
        let names = Names::new();
        let Names { this, arguments, context, value } = &names;
        let taken = function.params.iter().map(|Param { name, cfgs, ty, span, default, .. }| {
            let taken = match default {
                None => quote_spanned!(*span=> __hpd::take::<#ty>(&#arguments, #context, #name)),
                Some(default) => quote_spanned! { *span=>
                    __hpd::take_or::<#ty>(&#arguments, #context, #name, || -> #ty { #default })
                },
            };
            // Not with the span of the author's: packages forbid the operator by a lint.
            quote!(#(#cfgs)* #taken?)
        });
        let call = self.call(capability, &names, quote!(#(#taken),*));
        let output = capability.output;
        let result = |value: &TokenStream| quote_spanned!(output=> __hpd::Output(#value).into_tool_result());
        // A future that cannot be sent is reported at the method's name.
        let name = capability.method.span();
        let body = if capability.is_async {
            let finished = result(&value.to_token_stream());
            quote_spanned!(name=> __hpd::call(move || __hpd::Begun(#call)).finish(|#value| #finished))
        } else {
            let result = result(&call);
            quote_spanned!(name=> __hpd::call_now(move || #result))
        };
        quote!(|#this, #arguments, #context| #body)
    }
}
