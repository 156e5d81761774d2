//! Two tools with one name, both places marked.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self) {}

    /// Searches elsewhere.
    #[subagent(agent_id = "searcher", name = "search")]
    fn searcher(&self) -> AgentConfig {
        AgentConfig::new("Searcher")
    }
}
// ANCHOR_END: example

const FIND: &str = "find";

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    /// A keyword.
    #[ai_function]
    fn r#type(&self) {}

    /// The same name, given.
    #[ai_function(name = "type")]
    fn kind(&self) {}

    /// A method.
    #[ai_function]
    fn find(&self) {}

    /// A constant like the method's name.
    #[ai_function(name = FIND)]
    fn find_constant(&self) {}

    /// The same constant.
    #[ai_function(name = self::FIND)]
    fn find_again(&self) {}

    /// Both are there.
    #[cfg(all())]
    #[ai_function(name = "conditional")]
    fn one(&self) {}

    /// Both are there.
    #[cfg(not(any()))]
    #[ai_function(name = "conditional")]
    fn other(&self) {}

    /// Not there, so no mistake.
    #[cfg(any())]
    #[ai_function(name = "conditional")]
    fn none(&self) {}

    /// Another mistake does not hide this one.
    #[ai_function(name = "type", exclusiv)]
    fn two_mistakes(&self) {}
}

#[derive(Default)]
struct Methods;

/// Of methods with one name the compiler speaks.
#[tool_harness]
impl Methods {
    /// The first.
    #[ai_function]
    fn twice(&self) {}

    /// The second.
    #[ai_function]
    fn twice(&self, text: String) -> String {
        text
    }

    fn helper(&self) {}

    /// Named like the helper.
    #[ai_function]
    fn helper(&self, text: String) -> String {
        text
    }
}

fn main() {}
