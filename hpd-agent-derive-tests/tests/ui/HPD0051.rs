//! Parameters that borrow.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Counts.
    #[ai_function]
    fn count(&self, text: &str, words: Option<&str>) -> usize {
        text.len() + words.map_or(0, str::len)
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// A list.
    #[ai_function]
    fn list(&self, list: &[u32]) -> usize {
        list.len()
    }

    /// Forever.
    #[ai_function]
    fn forever(&self, text: &'static str) -> usize {
        text.len()
    }

    /// Inside of others.
    #[ai_function]
    async fn nested<'a>(&self, map: std::collections::BTreeMap<&'a str, Vec<(&'a str, [&'a str; 2])>>) -> usize {
        map.len()
    }
}

#[derive(Default)]
struct Lent;

#[tool_harness]
impl Lent {
    /// What the runtime lends is lent as it is.
    #[ai_function]
    fn maybe(&self, context: Option<&FunctionContext>) -> bool {
        context.is_some()
    }

    /// For a call.
    #[ai_function]
    fn long(&self, context: &'static FunctionContext) -> usize {
        context.depth() as usize
    }

    /// Of any type.
    #[ai_function]
    fn any(&self, value: &dyn std::fmt::Debug) -> String {
        format!("{value:?}")
    }

    /// Without a size.
    #[ai_function]
    fn text(&self, _text: [u8]) -> u32 {
        1
    }
}

fn main() {}
