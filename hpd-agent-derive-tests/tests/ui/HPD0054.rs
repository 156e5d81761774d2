//! Parameters that have to be given, behind one that has a default.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self, #[arg(default = 10)] limit: u32, query: String) -> String {
        format!("{query}: {limit}")
    }

    /// Two of them; what is optional or comes from the runtime may stand anywhere.
    #[ai_function]
    fn find(
        &self,
        #[arg(default)] limit: u32,
        context: &FunctionContext,
        near: Option<String>,
        query: String,
        #[arg(default = true)] exact: bool,
        place: String,
    ) -> String {
        let _ = (limit, context, near, exact);
        query + &place
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Conditional;

#[tool_harness]
impl Conditional {
    /// Both are there.
    #[ai_function]
    fn both(&self, #[cfg(all())] #[arg(default)] limit: u32, #[cfg(not(any()))] query: String) -> String {
        format!("{query}: {limit}")
    }

    /// One of them is.
    #[ai_function]
    fn one(&self, #[cfg(any())] #[arg(default)] limit: u32, query: String) -> String {
        query
    }
}

fn main() {}
