//! `#[cfg]` on methods and on blocks. The condition is one that no machine with tests on it meets.

use hpd_agent::prelude::*;

use super::*;

#[derive(Default)]
struct Tools;

#[tool_harness]
impl Tools {
    /// Is there.
    #[cfg(not(target_os = "none"))]
    #[subagent(agent_id = AGENT_ID, context = Fresh)]
    fn present(&self) -> AgentConfig {
        AgentConfig::new("Present")
    }

    /// Is not there, nor is its id.
    #[cfg(target_os = "none")]
    #[subagent(agent_id = absent::AGENT_ID, context = absent::POLICY, tool_harnesses = [absent::Tools])]
    fn present(&self) -> AgentConfig {
        absent::config()
    }

    /// Is not there either.
    #[cfg_attr(not(target_os = "none"), cfg(target_os = "none"))]
    #[ai_function]
    fn function(&self, value: absent::Type) -> absent::Type {
        value
    }

    /// Is there.
    #[ai_function]
    #[cfg(not(target_os = "none"))]
    fn echo(&self, text: String) -> String {
        text
    }
}

const AGENT_ID: &str = "conditional.present";

struct Gone;

#[tool_harness]
#[cfg(target_os = "none")]
impl Gone {
    /// Is not there.
    #[ai_function]
    fn function(&self, value: absent::Type) -> absent::Type {
        value
    }
}

// Not a harness: another implementation would be a conflict.
#[tool_harness]
#[cfg(not(target_os = "none"))]
impl Gone {}

#[tokio::test]
async fn what_is_configured_out_leaves_nothing() {
    assert_eq!(methods(&Tools), ["present", "echo"]);
    assert_eq!(sub_agent(&Tools, "present").agent_id, Some("conditional.present"));
    assert_eq!(define(&Tools, "present").await.unwrap().agent_id(), "conditional.present");
    assert_eq!(methods(&Gone), [""; 0]);
}
