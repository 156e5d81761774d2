//! Tool names that not every provider accepts: given, and made of a method's name.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness]
impl Tools {
    /// Searches.
    #[ai_function(name = "library.search")]
    fn search(&self) {}

    /// Measures.
    #[ai_function]
    fn größe(&self) {}
}
// ANCHOR_END: example

#[derive(Default)]
struct Others;

#[tool_harness]
impl Others {
    const BLANK: &str = " ";

    /// A method's name that is too long.
    #[ai_function]
    fn a_name_of_sixty_five_characters_which_is_one_more_than_is_allowed_(&self) {}

    /// Of a subagent.
    #[subagent(agent_id = "a", name = "the reviewer")]
    fn sub_agent(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Empty.
    #[ai_function(name = "")]
    fn empty(&self) {}

    /// A constant.
    #[ai_function(name = Self::BLANK)]
    fn constant(&self) {}

    /// A raw identifier that is legal, and a name of its own for one that is not.
    #[ai_function]
    fn r#type(&self) {}

    /// Fine.
    #[ai_function(name = "size")]
    fn größe(&self) {}
}

fn main() {}
