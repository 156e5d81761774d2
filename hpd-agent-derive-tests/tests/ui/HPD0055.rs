//! Values that cannot be shown to a model.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
struct Weather;

#[tool_harness]
impl Tools {
    /// Gets the weather.
    #[ai_function]
    fn weather(&self) -> Weather {
        Weather
    }
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// In a result.
    #[ai_function]
    async fn result(&self) -> Result<Weather, ToolError> {
        Ok(Weather)
    }

    /// In a list.
    #[ai_function]
    fn list(&self) -> Vec<Weather> {
        Vec::new()
    }

    /// Later, without `async`.
    #[ai_function]
    fn future(&self) -> std::future::Ready<u32> {
        std::future::ready(1)
    }
}

#[derive(Default)]
struct Never;

#[tool_harness]
impl Never {
    /// Never returns.
    #[ai_function]
    async fn never(&self) -> ! {
        panic!()
    }
}

#[derive(Default)]
struct Unsized;

#[tool_harness]
impl Unsized {
    /// Without a size.
    #[ai_function]
    fn list(&self) -> [u8] {
        loop {}
    }
}

fn main() {}
