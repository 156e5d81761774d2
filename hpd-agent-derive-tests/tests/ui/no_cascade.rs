//! A mistake in one method leaves the block, the other methods and the harness as they are.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// The only mistake but one.
    #[subagent(agent = "a")]
    fn wrong(&self) -> AgentConfig {
        AgentConfig::new("A")
    }

    /// Half typed.
    #[ai_function]
    fn half_typed(&self, text: String) -> usize {
        let length = text. ;
        length
    }

    /// Fine.
    #[ai_function]
    fn right(&self, text: String) -> String {
        text
    }
}

fn main() {
    fn harness<T: ToolHarness>(_: &T) {}
    harness(&Tools);
    SubAgent::from_parent("a").with_tool_harness::<Tools>();
    let _: AgentConfig = Tools.wrong();
    let _: usize = Tools.half_typed(String::new());
    let _: String = Tools.right(String::new());
}
