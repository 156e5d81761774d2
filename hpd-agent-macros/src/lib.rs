//! The macros of `hpd-agent`. Use them through that crate, which documents them.

mod args;
mod expand;
mod fallback;
mod model;
mod parse;
mod problem;
mod resolve;
mod tokens;
mod validate;

use proc_macro::TokenStream;

/// Makes a tool harness of an `impl` block.
#[proc_macro_attribute]
pub fn tool_harness(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool_harness(arguments.into(), item.into()).into()
}

/// Makes a tool of a method that declares a subagent.
#[proc_macro_attribute]
pub fn subagent(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::outside("subagent", item.into()).into()
}

/// Makes a tool of a method.
#[proc_macro_attribute]
pub fn ai_function(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::outside("ai_function", item.into()).into()
}
