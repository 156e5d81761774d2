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

/// Every attribute that the macro reads, under conditions that hold and under others that do not.
#[derive(Default)]
struct Asked;

#[tool_harness]
impl Asked {
    #[cfg_attr(not(target_os = "none"), doc = "Is described.")]
    #[cfg_attr(target_os = "none", doc = "Is not there.")]
    #[ai_function]
    fn described(
        &self,
        #[cfg_attr(not(target_os = "none"), doc = "A text.", arg(name = "input"))]
        #[cfg_attr(target_os = "none", arg(name = "absent", default = absent::TEXT))]
        text: String,
    ) -> String {
        text
    }

    /// Is a function.
    #[cfg_attr(not(target_os = "none"), ai_function(name = "asked", requires_permission), inline)]
    #[cfg_attr(target_os = "none", ai_function(name = absent::NAME))]
    fn function(&self) {}

    /// Is a subagent.
    #[cfg_attr(not(target_os = "none"), cfg_attr(not(target_os = "none"), subagent(agent_id = "asked.reviewer")))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }

    /// Is an ordinary method.
    #[cfg_attr(target_os = "none", ai_function)]
    fn ordinary(&self, #[cfg_attr(target_os = "none", arg(default))] value: &mut u32) -> u32 {
        *value
    }
}

#[tokio::test]
async fn attributes_count_where_their_conditions_hold() {
    assert_eq!(methods(&Asked), ["described", "function", "reviewer"]);
    assert_eq!(info(&Asked, "described").doc.as_deref(), Some("Is described."));
    assert_eq!(text(&Asked, "described", r#"{"input":"x"}"#).await, "x");
    assert_eq!(info(&Asked, "function").name.as_deref(), Some("asked"));
    assert!(function(&Asked, "function").requires_permission);
    assert_eq!(define(&Asked, "reviewer").await.unwrap().agent_id(), "asked.reviewer");
    assert_eq!(Asked.ordinary(&mut 1), 1);
}

#[derive(Default)]
struct OfAttributes;

#[tool_harness]
impl OfAttributes {
    /// Has an attribute where one is seldom.
    #[ai_function]
    fn lifetime<#[cfg(not(target_os = "none"))] 'a>(&'a self, value: u32) -> u32 {
        value
    }

    /// Stands behind it.
    #[ai_function]
    fn behind(&self) -> &'static str {
        "behind"
    }
}

#[test]
fn attributes_of_a_lifetime_end_no_method() {
    assert_eq!(methods(&OfAttributes), ["lifetime", "behind"]);
}
