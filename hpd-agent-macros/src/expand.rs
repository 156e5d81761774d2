//! What a harness becomes: the user's block, an implementation of `ToolHarness` with a static table, and an entry of
//! the generated registry. All paths begin at one alias, `__hpd`.

mod delegation;
mod function;
mod sub_agent;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Expr, spanned::Spanned};

use crate::{
    attribute, fallback,
    model::{Capability, Harness, Kind, Value},
    parse::{HarnessItem, Method},
    problem::{Problem, Report},
    resolve, tokens, validate,
};

/// `#[tool_harness]`
pub(crate) fn tool_harness(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let options = attribute::options(arguments, &mut errors);
    let mut report = Report::default();
    report.extend(errors);
    let parsed = match syn::parse2::<HarnessItem>(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            report.extend([error]);
            let errors = report.into_items(&[]);
            let item = fallback::unread(&item);
            return quote!(#errors #item);
        }
    };
    let krate = resolve::crate_path(options.krate.as_ref()).map_err(|error| report.extend([error])).ok();
    let of_harness = parsed.of_harness(item).map_err(|error| report.extend([error])).ok().flatten();
    let harness = validate::harness(of_harness.as_ref().unwrap_or(&parsed), options, &mut report);
    let implementation = harness.zip(krate).map(|(harness, krate)| implementation(&harness, &krate));
    let errors = report.into_items(&tokens::cfgs(&parsed.attrs));
    let item = fallback::item(&parsed);
    quote!(#errors #item #implementation)
}

/// `#[subagent]` or `#[ai_function]` that no `#[tool_harness]` has taken away. The error stands in the method's body: a
/// method may be where no other item can be.
pub(crate) fn outside(attribute: &'static str, item: TokenStream) -> TokenStream {
    let mut report = Report::default();
    report.extend([Problem::OutsideHarness { attribute }.at(Span::call_site())]);
    let errors = report.into_items(&[]);
    match Method::read(item.clone()) {
        Some(method) => fallback::tool(&method.with_first(errors)),
        None => {
            let error = Problem::OutsideHarness { attribute }.at(Span::call_site()).into_compile_error();
            quote!(#error #item)
        }
    }
}

fn implementation(harness: &Harness, krate: &TokenStream) -> TokenStream {
    let Harness { cfgs, generics, ty, allowed, name, capabilities, wrong } = harness;
    let scope = Scope { harness };
    let mut parts = Parts::default();
    let name = scope.checked_text("HARNESS_NAME", &[], "harness_name", name, &mut parts.constants);
    let entries: Vec<_> = capabilities.iter().map(|capability| scope.entry(capability, &mut parts)).collect();
    parts.constants.extend(scope.uniqueness());
    parts.constants.extend(wrong.iter().map(|capability| scope.as_far_as_understood(capability)));
    let has_functions = capabilities.iter().any(|capability| matches!(capability.kind, Kind::Function(_)));
    let plain_output = has_functions.then(|| {
        quote!(
            use __hpd::PlainOutput as _;
        )
    });
    let (impl_generics, _, own_clause) = generics.split_for_impl();
    let where_clause = scope.where_clause();
    let is_generic = !generics.params.is_empty();
    let span = ty.span();
    let location = quote_spanned!(span=> __hpd::here());
    let only_block = Ident::new("__HPD0007_ONE_TOOL_HARNESS_BLOCK_FOR_A_TYPE", span);
    let only_block = quote! {
        #[doc(hidden)]
        impl #impl_generics #ty #own_clause {
            #[doc(hidden)]
            const #only_block: () = ();
        }
    };
    let harness = quote_spanned!(span=> __hpd::registered::<#ty>());
    let registration = (!is_generic).then(|| {
        quote! {
            __hpd::inventory::submit!(__hpd::Registration::new(
                #name,
                ::core::module_path!(),
                ::core::env!("CARGO_PKG_NAME"),
                #location,
                #harness,
            ));
        }
    });
    let (reach, delegates) = scope.reach(&parts);
    let Parts { constants, checks, .. } = parts;
    quote! {
        #(#cfgs)*
        #(#allowed)*
        const _: () = {
            use #krate::__private as __hpd;
            #plain_output
            #constants
            #registration
            #only_block
            #delegates
            #[automatically_derived]
            impl #impl_generics __hpd::ToolHarness for #ty #where_clause {
                const TYPE: __hpd::HarnessType<Self> = {
                    use __hpd::NoDefault as _;
                    __hpd::HarnessType {
                        identity: __hpd::HarnessIdentity::new(
                            #name,
                            ::core::module_path!(),
                            ::core::env!("CARGO_PKG_NAME"),
                            #location,
                            #is_generic,
                        ),
                        default: __hpd::Construct::<Self>::DEFAULT,
                    }
                };
                const ENTRIES: &'static [__hpd::Entry<Self>] = { #checks &[#(#entries),*] };
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
    /// Of what all names are in scope in the value.
    scope: Option<TokenStream>,
}

/// Where a constant is, for those who use it.
enum Constant {
    /// In an item.
    Item(Ident),
    /// In its place, since it depends on the parameters of the block.
    Inline(TokenStream),
    /// The path of a variant, which needs no item.
    Variant(TokenStream),
}

impl Constant {
    /// The path of it, for a second use.
    fn path(&self) -> Option<TokenStream> {
        match self {
            Self::Item(name) => Some(name.to_token_stream()),
            Self::Variant(path) => Some(path.clone()),
            Self::Inline(_) => None,
        }
    }
}

impl ToTokens for Constant {
    fn to_tokens(&self, out: &mut TokenStream) {
        match self {
            Self::Item(name) => name.to_tokens(out),
            Self::Inline(tokens) | Self::Variant(tokens) => tokens.to_tokens(out),
        }
    }
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
        // Names of their own: a parameter must not have the name of a constant of the user's.
        let name = |name| Ident::new(name, Span::mixed_site());
        Self {
            this: name("__hpd_this"),
            arguments: name("__hpd_arguments"),
            context: name("__hpd_context"),
            value: name("__hpd_value"),
        }
    }
}

impl Scope<'_> {
    /// The conditions under which the type is a harness. One with parameters is one where it meets what the trait
    /// demands. For any other the demand is reported here, once, and taken as met by all that follows.
    fn where_clause(&self) -> TokenStream {
        let Harness { generics, ty, .. } = self.harness;
        let demanding = match generics.type_params().next() {
            None => vec![ty.to_token_stream()],
            // Taken as met for a type with a lifetime in it, the demand would be the only proof that the compiler looks
            // at for the futures of its methods, and no proof for them.
            Some(_) if tokens::has_lifetime(ty.to_token_stream()) => {
                generics.type_params().map(|param| param.ident.to_token_stream()).collect()
            }
            Some(_) => vec![quote!(Self)],
        };
        let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let shared = quote_spanned! {ty.span()=>
            #(#demanding: ::core::marker::Send + ::core::marker::Sync + 'static,)*
        };
        quote!(where #(#predicates,)* #shared)
    }

    /// One element of the table. What has to stand elsewhere goes to `parts`. The call has the span of the
    /// method's name: where it is called from is the place of the entry.
    fn entry(&self, capability: &Capability, parts: &mut Parts) -> TokenStream {
        let Capability { cfgs, .. } = capability;
        let mut setters = TokenStream::new();
        self.texts(capability, &mut setters, &mut parts.constants);
        let entry = match &capability.kind {
            Kind::Function(function) => self.function(capability, function, &mut setters, &mut parts.constants),
            Kind::SubAgent(sub_agent) => self.sub_agent(capability, sub_agent, &mut setters, parts),
        };
        quote!(#(#cfgs)* #entry #setters)
    }

    /// The name and the description, if they are given.
    fn texts(&self, capability: &Capability, setters: &mut TokenStream, constants: &mut TokenStream) {
        let Capability { cfgs, doc, .. } = capability;
        if let Some(span) = capability.open_doc {
            let check = quote_spanned!(span=> __hpd::check::description(&#doc));
            constants.extend(quote!(#(#cfgs)* const _: () = #check;));
        }
        for (setter, check, value) in
            [("name", "tool_name", &capability.name), ("description", "description", &capability.description)]
        {
            if let Some(value) = value {
                let text = self.text(capability, check, value, constants);
                set(setters, setter, &text);
            }
        }
    }

    /// The constants of a tool that is left out because of another mistake, so that theirs are reported beside it.
    fn as_far_as_understood(&self, capability: &Capability) -> TokenStream {
        let (mut parts, mut setters) = (Parts::default(), TokenStream::new());
        self.texts(capability, &mut setters, &mut parts.constants);
        match &capability.kind {
            Kind::Function(function) => self.constants_of_function(capability, function, &mut parts.constants),
            Kind::SubAgent(sub_agent) => {
                self.declared(capability, sub_agent, &mut setters, &mut parts.constants);
                // In constants of their own, which do not know the parameters of the block.
                let Harness { generics, ty, .. } = self.harness;
                let cfgs = &capability.cfgs;
                let known = |tokens| {
                    let tokens = tokens::without_self(tokens, ty);
                    (!tokens::depend_on(tokens.clone(), generics)).then_some(tokens)
                };
                let children = sub_agent.tool_harnesses.iter().filter_map(|child| known(child.to_token_stream()));
                let children: Vec<_> = children.filter_map(|child| syn::parse2(child).ok()).collect();
                let children = sub_agent::children(&children);
                parts.constants.extend(quote!(#(#cfgs)* const _: &[__hpd::HarnessRef] = #children;));
                if let Some(metadata) = known(sub_agent::metadata(sub_agent)).filter(|_| !sub_agent.metadata.is_empty())
                {
                    parts.constants.extend(quote!(#(#cfgs)* const _: fn() -> __hpd::Metadata = #metadata;));
                }
            }
        }
        parts.constants
    }

    /// A text of a method: a literal as it is, a constant through its check.
    fn text(&self, capability: &Capability, check: &str, value: &Value, constants: &mut TokenStream) -> TokenStream {
        let name = format!("{}_{}", check.to_uppercase(), capability.index);
        self.checked_text(&name, &capability.cfgs, check, value, constants)
    }

    fn checked_text(
        &self,
        name: &str,
        cfgs: &[Attribute],
        check: &str,
        value: &Value,
        constants: &mut TokenStream,
    ) -> TokenStream {
        match value {
            Value::Literal(text) => text.to_token_stream(),
            Value::Constant(expr) => {
                let ty = quote!(&'static ::core::primitive::str);
                let sort = Sort { ty, check: Some(check), scope: None };
                self.constant(name, cfgs, &sort, expr, constants).into_token_stream()
            }
        }
    }

    /// An expression that the compiler evaluates: as a `const` item of its own, so that an error in it is reported at
    /// its place and hides no other one. Where it depends on the parameters of the block it stands in its place, and
    /// is evaluated once they are known.
    fn constant(
        &self,
        name: &str,
        cfgs: &[Attribute],
        sort: &Sort<'_>,
        expr: &Expr,
        constants: &mut TokenStream,
    ) -> Constant {
        let Sort { ty, check, scope } = sort;
        let span = tokens::anchor(expr);
        let check = |value: &Ident| {
            check.map(|check| {
                let check = Ident::new(check, span);
                quote_spanned!(span=> __hpd::check::#check(&#value))
            })
        };
        let value = |expr: TokenStream| match scope {
            Some(scope) => quote!({ use #scope::*; #expr }),
            None => expr,
        };
        let Harness { generics, ty: this, .. } = self.harness;
        let independent = tokens::is_independent(expr, generics);
        let is_inline = self.is_inline(expr);
        let expr = expr.to_token_stream();
        if is_inline {
            let name = Ident::new("__hpd_value", Span::mixed_site());
            let (check, value) = (check(&name), value(expr));
            return Constant::Inline(quote!(const { let #name: #ty = #value; #check; #name }));
        }
        let constant = format_ident!("__{name}");
        let value = value(if independent { expr } else { tokens::without_self(expr, this) });
        constants.extend(quote!(#(#cfgs)* const #constant: #ty = #value;));
        // A constant of its own: the value is not wrong where it is used, only where it is checked.
        if let Some(check) = check(&constant) {
            let name = format_ident!("__CHECK_{name}");
            constants.extend(quote!(#(#cfgs)* const #name: () = #check;));
        }
        Constant::Item(constant)
    }

    /// Whether a constant stands in its place, because the parameters of the block decide what it is.
    fn is_inline(&self, expr: &Expr) -> bool {
        let generics = &self.harness.generics;
        !generics.params.is_empty()
            && !tokens::is_independent(expr, generics)
            && tokens::depend_on(expr.to_token_stream(), generics)
    }

    /// The checks of names and ids that are constants beside all others of the harness. Literals were compared already.
    fn uniqueness(&self) -> TokenStream {
        let capabilities = &self.harness.capabilities;
        let names = capabilities.iter().map(|capability| (capability, capability.name.as_ref()));
        let ids = capabilities.iter().filter_map(|capability| match &capability.kind {
            Kind::SubAgent(sub_agent) => Some((capability, Some(sub_agent.agent_id.as_ref()?))),
            Kind::Function(_) => None,
        });
        let mut checks = self.distinct("tool_name", "other_tools", &names.collect::<Vec<_>>());
        checks.extend(self.distinct("agent_id", "other_agents", &ids.collect::<Vec<_>>()));
        checks
    }

    /// One table of all texts, which each constant is compared with.
    fn distinct(&self, text: &str, check: &str, all: &[(&Capability, Option<&Value>)]) -> TokenStream {
        let constant = |value: &Option<&Value>| matches!(value, Some(Value::Constant(expr)) if !self.is_inline(expr));
        if all.len() < 2 || !all.iter().any(|(_, value)| constant(value)) {
            return TokenStream::new();
        }
        let text = text.to_uppercase();
        let constant_name = |capability: &Capability| format_ident!("__{text}_{}", capability.index);
        let rows = all.iter().filter_map(|(capability, value)| {
            let Capability { cfgs, method_name, .. } = capability;
            let (text, is_constant) = match value {
                None => (method_name.to_token_stream(), false),
                Some(Value::Literal(text)) => (text.to_token_stream(), false),
                Some(Value::Constant(expr)) if self.is_inline(expr) => return None,
                Some(Value::Constant(_)) => (constant_name(capability).to_token_stream(), true),
            };
            Some(quote!(#(#cfgs)* (#text, #method_name, #is_constant)))
        });
        let table = format_ident!("__{text}S");
        let may_clash = format_ident!("__{text}S_MAY_CLASH");
        let mut checks = quote! {
            const #table: __hpd::check::Texts = &[#(#rows),*];
            const #may_clash: ::core::primitive::bool = __hpd::check::may_clash::<{ 4 * #table.len() + 64 }>(#table);
        };
        for (capability, value) in all.iter().filter(|(_, value)| constant(value)) {
            let Some(Value::Constant(expr)) = value else { continue };
            let (cfgs, method, span) = (&capability.cfgs, &capability.method_name, tokens::anchor(expr));
            let check = Ident::new(check, span);
            let call = quote_spanned!(span=> __hpd::check::#check(#may_clash, #method, #table));
            checks.extend(quote!(#(#cfgs)* const _: () = #call;));
        }
        checks
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
fn set(out: &mut TokenStream, name: &str, value: &impl ToTokens) {
    let name = Ident::new(name, Span::call_site());
    out.extend(quote!(.#name(#value)));
}
