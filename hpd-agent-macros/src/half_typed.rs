//! Input as an editor hands it over while somebody types: cut off anywhere, or with a token missing. Nothing panics,
//! what was not touched stays, and what is lost is an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use crate::expand;

/// The input of one test: an `impl Tools` block, and the members of it. No two members have a name in common.
struct Declaration {
    header: TokenStream,
    members: Vec<TokenStream>,
}

impl Declaration {
    fn with(&self, members: impl IntoIterator<Item = TokenStream>) -> TokenStream {
        let header = &self.header;
        let members = members.into_iter();
        quote!(#header { #(#members)* })
    }
}

fn declarations() -> Vec<Declaration> {
    let plain = vec![
        quote! {
            /// Reviews a draft.
            #[subagent(agent_id = "team.reviewer", context = ModelChoice, tool_harnesses = [Search, Cite<A, B>])]
            fn reviewer(&self) -> AgentConfig { AgentConfig::new("Reviewer") }
        },
        quote! {
            /// Gets the weather.
            #[ai_function(name = "get-weather", requires_permission)]
            pub async fn weather(&self, #[doc = " Where."] city: String, ctx: &FunctionContext) -> Result<f64, Error> {
                station(city, ctx).await
            }
        },
        quote!(
            const DEPTH: u32 = { 1 + 1 };
        ),
        quote! {
            /// Researches.
            #[cfg(feature = "research")]
            #[hpd_agent::subagent(
                agent_id = ids::RESEARCHER,
                description = "Researches a question.",
                availability = SubAgentAvailability::through_depth(Self::DEPTH),
                invocation_mode = if X { A } else { B },
                metadata(team = "writing", "max-rounds" = 3),
            )]
            async fn researcher<'a>(&'a self, context: &'a HarnessContext) -> Result<SubAgent, Error> {
                self.make(context, |value| value + 1).await
            }
        },
        quote!(
            fn ordinary(mut self, (a, b): (u32, u32)) -> impl Fn(u32) -> u32
            where
                u32: Copy,
            {
                move |x| a + b + x
            }
        ),
    ];
    let generic = vec![
        quote! {
            /// Echoes.
            #[ai_function]
            fn echo(&self, value: T) -> [T; N] { [value; N] }
        },
        quote! {
            /// Decides.
            #[subagent(agent_id = T::ID, context = Self::POLICY, lifecycle = Continuable)]
            fn decider() -> AgentConfig { config::<{ N + 1 }>() }
        },
    ];
    vec![
        Declaration { header: quote!(impl Tools), members: plain },
        Declaration {
            header: quote!(#[cfg(feature = "x")] impl<T: Named, const N: usize> Tools<T, N> where T: Clone),
            members: generic,
        },
    ]
}

/// The tokens with one change: a token is missing, or everything after it, in its group or in all of them. Without what
/// no lexer gives, such as a lone `'`.
fn halves(tokens: &TokenStream) -> impl Iterator<Item = TokenStream> {
    changed(tokens).into_iter().filter(|half| half.to_string().parse::<TokenStream>().is_ok())
}

fn changed(tokens: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        let (before, after) = (&trees[..at], &trees[at + 1..]);
        let joined = |tree: Option<TokenTree>, after: &[TokenTree]| -> TokenStream {
            before.iter().cloned().chain(tree).chain(after.iter().cloned()).collect()
        };
        found.push(joined(None, after));
        found.push(joined(None, &[]));
        if let TokenTree::Group(group) = tree {
            for inner in changed(&group.stream()) {
                let inner = TokenTree::Group(Group::new(group.delimiter(), inner));
                found.push(joined(Some(inner.clone()), after));
                found.push(joined(Some(inner), &[]));
            }
        }
    }
    found
}

fn expand(item: &TokenStream) -> TokenStream {
    let expansion = || expand::tool_harness(quote!(crate = ::hpd_agent), item.clone());
    let tokens = catch_unwind(AssertUnwindSafe(expansion)).unwrap_or_else(|_| panic!("panicked on: {item}"));
    assert!(tokens.to_string().parse::<TokenStream>().is_ok(), "not even tokens: {tokens}\nof: {item}");
    tokens
}

/// The methods among the members of a block, as the compiler will be given them: `fn`, name and body.
fn methods(block: &TokenStream) -> Vec<(String, String)> {
    let trees: Vec<TokenTree> = block.clone().into_iter().collect();
    let mut found = Vec::new();
    for (at, pair) in trees.windows(2).enumerate() {
        let [TokenTree::Ident(word), TokenTree::Ident(name)] = pair else { continue };
        if word != "fn" {
            continue;
        }
        let body = trees[at..].iter().find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.to_string()),
            _ => None,
        });
        found.extend(body.map(|body| (name.to_string(), body)));
    }
    found
}

/// The user's block as tokens, if it is not yet one that compiles, and the rest as formatted code.
fn shown(item: TokenStream) -> String {
    let tokens = expand(&item);
    if let Ok(file) = syn::parse2::<syn::File>(tokens.clone()) {
        return prettyplease::unparse(&file);
    }
    let (mut block, mut rest, mut after_impl) = (String::new(), TokenStream::new(), false);
    for tree in tokens {
        after_impl |= is_word(&tree, "impl");
        match &tree {
            TokenTree::Group(group) if after_impl && block.is_empty() && group.delimiter() == Delimiter::Brace => {
                block = group.stream().to_string();
                rest.extend(quote!({}));
            }
            _ => rest.extend([tree]),
        }
    }
    match syn::parse2::<syn::File>(rest) {
        Ok(file) => format!("// in the block: {block}\n{}", prettyplease::unparse(&file)),
        Err(error) => panic!("more than the block is not complete: {error}"),
    }
}

/// What stands between the braces of the first `impl` in an expansion: the user's block.
fn block(tokens: &TokenStream) -> Option<TokenStream> {
    let mut after_impl = tokens.clone().into_iter().skip_while(|tree| !is_word(tree, "impl"));
    after_impl.find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    })
}

fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

/// How many attributes of the block ask for a tool.
fn asked_for(block: &TokenStream) -> usize {
    let trees: Vec<TokenTree> = block.clone().into_iter().collect();
    let asks = |tree: &TokenTree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            group.stream().into_iter().any(|tree| is_word(&tree, "subagent") || is_word(&tree, "ai_function"))
        }
        _ => false,
    };
    trees.windows(2).filter(|pair| pair[0].to_string() == "#" && asks(&pair[1])).count()
}

fn entries(text: &str) -> usize {
    text.matches("__hpd :: function ::").count() + text.matches("__hpd :: sub_agent ::").count()
}

/// Every half of one member, between its neighbours.
fn check_member(declaration: &Declaration, at: usize) {
    let members = &declaration.members;
    let (before, after) = (members[..at].last(), members.get(at + 1));
    let expected: Vec<_> = before.into_iter().chain(after).flat_map(methods).collect();
    for half in halves(&members[at]) {
        let input = declaration.with(before.into_iter().chain([&half]).chain(after).cloned());
        let output = expand(&input);
        let text = output.to_string();
        assert!(text.contains("ToolHarness for Tools"), "no harness is left of: {half}\n{text}");

        let left = block(&output).unwrap_or_else(|| panic!("no block is left of: {half}\n{text}"));
        let kept = methods(&left);
        for method in &expected {
            assert!(kept.contains(method), "`{}` is not left beside: {half}\n{left}", method.0);
        }

        let (asked, given) = (asked_for(&block(&input).unwrap()), entries(&text));
        let refused = || text.contains("compile_error !") || syn::parse2::<syn::File>(output).is_err();
        assert!(given == asked || refused(), "{given} of {asked} tools and no error: {half}\n{text}");
    }
}

macro_rules! members {
    ($($name:ident: $declaration:literal, $at:literal;)*) => {$(
        #[test]
        fn $name() {
            check_member(&declarations()[$declaration], $at);
        }
    )*};
}

members! {
    half_a_subagent_leaves_the_rest: 0, 0;
    half_a_function_leaves_the_rest: 0, 1;
    half_a_constant_leaves_the_rest: 0, 2;
    half_a_large_subagent_leaves_the_rest: 0, 3;
    half_an_ordinary_method_leaves_the_rest: 0, 4;
    half_a_function_of_a_generic_type_leaves_the_rest: 1, 0;
    half_a_subagent_of_a_generic_type_leaves_the_rest: 1, 1;
}

#[test]
fn half_a_header_keeps_the_methods() {
    for declaration in declarations() {
        let members = &declaration.members[..2];
        let expected: Vec<_> = members.iter().flat_map(methods).collect();
        for half in halves(&declaration.header) {
            let text = expand(&quote!(#half { #(#members)* })).to_string();
            for (name, body) in &expected {
                assert!(text.contains(&format!("fn {name}")) && text.contains(body), "`{name}` of: {half}\n{text}");
            }
            // Without a name of a type there is nothing to implement anything for, and an error says so.
            assert!(text.contains("ToolHarness for") || text.contains("compile_error !"), "{half}\n{text}");
        }
    }
}

#[test]
fn half_typed_arguments_of_the_block_leave_the_block() {
    let item = quote!(
        impl Tools {
            /// Echoes.
            #[ai_function]
            fn echo(&self, text: String) -> String {
                text
            }
        }
    );
    for half in halves(&quote!(name = "tools", crate = ::facade::hpd_agent)) {
        let expansion = || expand::tool_harness(half.clone(), item.clone());
        let output = catch_unwind(AssertUnwindSafe(expansion)).unwrap_or_else(|_| panic!("panicked on: {half}"));
        let text = output.to_string();
        assert!(text.contains("fn echo (& self , text : String) -> String { text }"), "{half}\n{text}");
        assert!(text.contains("ToolHarness for Tools") || text.contains("compile_error !"), "{half}\n{text}");
    }
}

macro_rules! moments {
    ($($name:ident: { $($member:tt)* })*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown(quote!(impl Tools {
                $($member)*

                /// Is complete.
                #[ai_function]
                fn complete(&self) {}
            })));
        }
    )*};
}

moments! {
    the_parenthesis_is_open: {
        /// Reviews.
        #[subagent()]
        fn reviewer(&self) -> AgentConfig { config() }
    }
    a_value_is_missing: {
        /// Reviews.
        #[subagent(agent_id = )]
        fn reviewer(&self) -> AgentConfig { config() }
    }
    a_value_is_half_a_name: {
        /// Reviews.
        #[subagent(agent_id = "reviewer", context = Sub)]
        fn reviewer(&self) -> AgentConfig { config() }
    }
    a_return_type_is_missing: {
        /// Reviews.
        #[subagent(agent_id = "reviewer")]
        fn reviewer(&self, ) -> { config() }
    }
    a_return_type_is_half_a_name: {
        /// Reviews.
        #[subagent(agent_id = "reviewer")]
        fn reviewer(&self) -> Agent { config() }
    }
    a_body_is_missing: {
        /// Reviews.
        #[subagent(agent_id = "reviewer")]
        fn reviewer(&self) -> AgentConfig
    }
    a_body_ends_with_a_dot: {
        /// Reviews.
        #[subagent(agent_id = "reviewer")]
        fn reviewer(&self) -> AgentConfig { self. }
    }
    only_the_attribute_is_there: {
        /// Reviews.
        #[subagent(agent_id = "reviewer")]
    }
}
