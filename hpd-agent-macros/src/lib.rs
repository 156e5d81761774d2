//! The macros of `hpd-agent`. Use them through that crate.
use proc_macro::TokenStream;

/// x
#[proc_macro_attribute]
pub fn tool_harness(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// x
#[proc_macro_attribute]
pub fn subagent(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// x
#[proc_macro_attribute]
pub fn ai_function(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
