//! What a harness becomes: the user's block, an implementation of `ToolHarness` with a static table, and an entry of
//! the generated registry. All paths begin at one alias, `__hpd`.

mod delegation;
mod function;
mod sub_agent;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Expr, spanned::Spanned};

use crate::{
    fallback,
    model::{Capability, Harness, Kind, Value},
    parse::{HarnessItem, Method},
    problem::{Problem, combined},
    resolve, tokens, validate,
};

/// `#[tool_harness]`
pub(crate) fn tool_harness(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let options = validate::options(arguments, &mut errors);
    let parsed = match syn::parse2::<HarnessItem>(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            errors.push(error);
            let errors = combined(errors).map(syn::Error::into_compile_error);
            let item = fallback::unread(&item);
            return quote!(#errors #item);
        }
    };
    let harness = validate::harness(&parsed, options.name, &mut errors);
    let krate = resolve::crate_path(options.krate.as_ref()).map_err(|error| errors.push(error)).ok();
    let implementation = harness.zip(krate).map(|(harness, krate)| implementation(&harness, &krate));
    let errors = combined(errors).map(syn::Error::into_compile_error);
    let item = fallback::item(&parsed);
    quote!(#errors #item #implementation)
}

/// `#[subagent]` or `#[ai_function]` that no `#[tool_harness]` has taken away.
pub(crate) fn outside(attribute: &'static str, item: TokenStream) -> TokenStream {
    let error = Problem::OutsideHarness { attribute }.at(Span::call_site()).into_compile_error();
    let item = match syn::parse2::<Method>(item.clone()) {
        Ok(method) => fallback::tool(&method),
        Err(_) => item,
    };
    quote!(#error #item)
}

fn implementation(harness: &Harness, krate: &TokenStream) -> TokenStream {
    let Harness { cfgs, generics, ty, name, capabilities } = harness;
    let scope = Scope { harness };
    let mut parts = Parts::default();
    let name = scope.checked_text("HARNESS_NAME", &[], "harness_name", name, &mut parts);
    let entries: Vec<_> = capabilities.iter().map(|capability| scope.entry(capability, &mut parts)).collect();
    let has_functions = capabilities.iter().any(|capability| matches!(capability.kind, Kind::Function(_)));
    let plain_output = has_functions.then(|| {
        quote!(
            use __hpd::PlainOutput as _;
        )
    });
    let (impl_generics, _, _) = generics.split_for_impl();
    let where_clause = scope.where_clause();
    let is_generic = !generics.params.is_empty();
    let span = ty.span();
    let location = quote_spanned!(span=> __hpd::Location::caller());
    let registration = (!is_generic).then(|| {
        quote! {
            __hpd::inventory::submit!(__hpd::Registration::new(
                <#ty as __hpd::ToolHarness>::IDENTITY,
                __hpd::HarnessRef::of::<#ty>(),
            ));
        }
    });
    let (reach, delegates) = scope.reach(&parts);
    let Parts { constants, checks, .. } = parts;
    quote! {
        #(#cfgs)*
        #[allow(
            clippy::all,
            clippy::pedantic,
            deprecated,
            unused_imports,
            unused_qualifications,
            reason = "generated"
        )]
        const _: () = {
            use #krate::__private as __hpd;
            #plain_output
            #constants
            #registration
            #delegates
            #[automatically_derived]
            impl #impl_generics __hpd::ToolHarness for #ty #where_clause {
                const IDENTITY: &'static __hpd::HarnessIdentity = &__hpd::HarnessIdentity::new(
                    #name,
                    ::core::module_path!(),
                    ::core::env!("CARGO_PKG_NAME"),
                    #location,
                    #is_generic,
                );
                const ENTRIES: &'static [__hpd::Entry<Self>] = { #checks &[#(#entries),*] };
                const DEFAULT: __hpd::Option<fn() -> Self> = {
                    use __hpd::NoDefault as _;
                    __hpd::Construct::<Self>::DEFAULT
                };
                type Reach<__Fuel: __hpd::Fuel> = #reach;
            }
        };
    }
}

/// What the parts of an expansion share.
struct Scope<'a> {
    harness: &'a Harness,
}

/// What the entries need beside the table.
#[derive(Default)]
struct Parts {
    /// Constants of their own, so that an error in one hides no other.
    constants: TokenStream,
    /// What is checked where the table is evaluated, because it depends on the parameters of the block.
    checks: TokenStream,
    /// The steps of the constant that says which harnesses are reached.
    reach: TokenStream,
}

/// What kind of constant it is.
struct Sort<'a> {
    ty: TokenStream,
    /// The check of the runtime crate that it has to pass.
    check: Option<&'a str>,
    /// Whether the variants of `ty` are in scope.
    has_variants: bool,
}

/// Names of parameters of generated closures: the same hygiene wherever they are used.
struct Names {
    this: Ident,
    arguments: Ident,
    context: Ident,
    value: Ident,
}

impl Names {
    fn new() -> Self {
        let name = |name| Ident::new(name, Span::mixed_site());
        Self { this: name("this"), arguments: name("arguments"), context: name("context"), value: name("value") }
    }
}

impl Scope<'_> {
    /// The conditions of an implementation. A type with parameters is a harness where it meets what the trait demands.
    fn where_clause(&self) -> TokenStream {
        let generics = &self.harness.generics;
        let clause = generics.where_clause.as_ref();
        if generics.params.is_empty() {
            return clause.to_token_stream();
        }
        let predicates = clause.into_iter().flat_map(|clause| &clause.predicates);
        quote!(where #(#predicates,)* Self: ::core::marker::Send + ::core::marker::Sync + 'static,)
    }

    /// One element of the table. What has to stand elsewhere goes to `parts`. The call has the span of the
    /// method's name: where it is called from is the place of the entry.
    fn entry(&self, capability: &Capability, parts: &mut Parts) -> TokenStream {
        let Capability { cfgs, .. } = capability;
        let mut setters = TokenStream::new();
        for (setter, check, value) in
            [("name", "tool_name", &capability.name), ("description", "description", &capability.description)]
        {
            if let Some(value) = value {
                let text = self.text(capability, check, value, parts);
                set(&mut setters, setter, &text);
            }
        }
        let entry = match &capability.kind {
            Kind::Function(function) => self.function(capability, function, &mut setters),
            Kind::SubAgent(sub_agent) => self.sub_agent(capability, sub_agent, &mut setters, parts),
        };
        quote!(#(#cfgs)* #entry #setters)
    }

    /// A text of a method: a literal as it is, a constant through its check.
    fn text(&self, capability: &Capability, check: &str, value: &Value, parts: &mut Parts) -> TokenStream {
        let name = format!("{}_{}", check.to_uppercase(), capability.index);
        self.checked_text(&name, &capability.cfgs, check, value, parts)
    }

    fn checked_text(
        &self,
        name: &str,
        cfgs: &[Attribute],
        check: &str,
        value: &Value,
        parts: &mut Parts,
    ) -> TokenStream {
        match value {
            Value::Literal(text) => text.to_token_stream(),
            Value::Constant(expr) => {
                let ty = quote!(&'static ::core::primitive::str);
                let sort = Sort { ty, check: Some(check), has_variants: false };
                self.constant(name, cfgs, &sort, expr, parts)
            }
        }
    }

    /// An expression that the compiler evaluates: as a `const` item of its own, so that an error in it is reported at
    /// its place and hides no other one. Where it depends on the parameters of the block it stands in its place, and
    /// is evaluated once they are known.
    fn constant(&self, name: &str, cfgs: &[Attribute], sort: &Sort<'_>, expr: &Expr, parts: &mut Parts) -> TokenStream {
        let Sort { ty, check, has_variants } = sort;
        let span = tokens::anchor(expr);
        let check = |value: &Ident| {
            check.map(|check| {
                let check = Ident::new(check, span);
                quote_spanned!(span=> __hpd::check::#check(&#value))
            })
        };
        let value = |expr: TokenStream| if *has_variants { quote!({ use #ty::*; #expr }) } else { expr };
        let Harness { generics, ty: this, .. } = self.harness;
        let independent = tokens::is_independent(expr, generics);
        let expr = expr.to_token_stream();
        if !independent && !generics.params.is_empty() && tokens::depend_on(expr.clone(), generics) {
            let name = Ident::new("value", Span::mixed_site());
            let (check, value) = (check(&name), value(expr));
            return quote!(const { let #name: #ty = #value; #check; #name });
        }
        let constant = format_ident!("__{name}");
        let value = value(if independent { expr } else { tokens::without_self(expr, this) });
        parts.constants.extend(quote!(#(#cfgs)* const #constant: #ty = #value;));
        // A constant of its own: the value is not wrong where it is used, only where it is checked.
        if let Some(check) = check(&constant) {
            let name = format_ident!("__CHECK_{name}");
            parts.constants.extend(quote!(#(#cfgs)* const #name: () = #check;));
        }
        constant.to_token_stream()
    }

    /// The call of the method. What is wrong with the future that it gives is reported at the method's name.
    fn call(&self, capability: &Capability, names: &Names, arguments: TokenStream) -> TokenStream {
        let method = &capability.method;
        let receiver = capability.has_receiver.then_some(&names.this).into_iter();
        let span = capability.method.span();
        quote_spanned!(span=> Self::#method(#(#receiver,)* #arguments))
    }
}

/// `.name(value)`
fn set(out: &mut TokenStream, name: &str, value: &TokenStream) {
    let name = Ident::new(name, Span::call_site());
    out.extend(quote!(.#name(#value)));
}
