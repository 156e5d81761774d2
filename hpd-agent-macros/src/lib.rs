//! The macros of `hpd-agent`. Use them through that crate, which documents them.

mod args;
mod attribute;
mod conditional;
mod expand;
mod fallback;
#[cfg(test)]
mod half_typed;
mod model;
mod names;
mod parse;
mod problem;
mod resolve;
mod signature;
#[cfg(test)]
mod snapshots;
mod tokens;
mod validate;

use proc_macro::TokenStream;

#[expect(missing_docs, reason = "`hpd-agent` documents its macros where it re-exports them")]
#[proc_macro_attribute]
pub fn tool_harness(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool_harness(arguments.into(), item.into()).into()
}

#[expect(missing_docs, reason = "`hpd-agent` documents its macros where it re-exports them")]
#[proc_macro_attribute]
pub fn subagent(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::outside("subagent", item.into()).into()
}

#[expect(missing_docs, reason = "`hpd-agent` documents its macros where it re-exports them")]
#[proc_macro_attribute]
pub fn ai_function(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::outside("ai_function", item.into()).into()
}
