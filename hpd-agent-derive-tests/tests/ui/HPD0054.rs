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
    fn both(&self, #[cfg(all())] #[arg(default)] limit: u32, #[cfg(all())] query: String) -> String {
        format!("{query}: {limit}")
    }

    /// One of them is there.
    #[ai_function]
    fn first(&self, #[arg(default)] limit: u32, #[cfg(not(all()))] query: String) -> String {
        limit.to_string()
    }

    /// So it is here.
    #[ai_function]
    fn last(&self, #[cfg(not(all()))] #[arg(default)] limit: u32, query: String) -> String {
        query
    }
}

type Maybe = Option<String>;

#[derive(Default)]
struct Typed;

#[tool_harness]
impl Typed {
    /// What these types accept, the compiler does not know.
    #[ai_function]
    fn open(&self, #[arg(default)] limit: u32, near: Maybe, value: serde_json::Value) -> String {
        format!("{limit}{near:?}{value}")
    }
}

fn main() {}
