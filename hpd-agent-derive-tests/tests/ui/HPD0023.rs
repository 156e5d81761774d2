//! Names of parameters that not every provider accepts.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Measures.
    #[ai_function]
    fn measure(&self, größe: u32) -> u32 {
        größe
    }

    /// Given.
    #[ai_function]
    fn given(&self, #[arg(name = "the size")] size: u32, #[arg(name = "")] unit: String) -> String {
        format!("{size} {unit}")
    }

    /// Fine: it has another name for the model.
    #[ai_function]
    fn fine(&self, #[arg(name = "size")] größe: u32, r#type: u32) -> u32 {
        größe + r#type
    }
}
// ANCHOR_END: example

fn main() {}
