//! Harnesses that name each other.

use hpd_agent::prelude::*;

use super::*;

#[derive(Default)]
struct One;
#[derive(Default)]
struct Other;

#[tool_harness]
impl One {
    /// Goes on to the other.
    #[subagent(agent_id = "recursive.one", tool_harnesses = [Other])]
    fn one(&self) -> AgentConfig {
        AgentConfig::new("One")
    }
}

#[tool_harness]
impl Other {
    /// Comes back.
    #[subagent(agent_id = "recursive.other", tool_harnesses = [One, Other])]
    fn other(&self) -> AgentConfig {
        AgentConfig::new("Other")
    }
}

#[test]
fn bounded_cycles_are_legal() {
    let names = |harness: &dyn ErasedHarness, method| {
        sub_agent(harness, method).tool_harnesses.iter().map(|harness| harness.name()).collect::<Vec<_>>()
    };
    assert_eq!(names(&One, "one"), ["Other"]);
    assert_eq!(names(&Other, "other"), ["One", "Other"]);
}
