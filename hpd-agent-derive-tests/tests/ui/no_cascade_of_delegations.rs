//! A mistake is reported once, also where the compiler follows delegations without a bound.
use hpd_agent::prelude::*;

struct NotAHarness;
struct Tools;

#[tool_harness]
impl Tools {
    /// Has a child with what is no harness.
    #[subagent(agent_id = "a", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Tools, NotAHarness])]
    fn child(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

struct TwoBlocks;

#[tool_harness]
impl TwoBlocks {
    /// Leads to itself.
    #[subagent(agent_id = "one", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [TwoBlocks])]
    fn one(&self) -> AgentConfig {
        AgentConfig::new("One")
    }
}

#[tool_harness]
impl TwoBlocks {
    /// Leads to itself.
    #[subagent(agent_id = "two", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [TwoBlocks])]
    fn two(&self) -> AgentConfig {
        AgentConfig::new("Two")
    }
}

struct NotShared(std::rc::Rc<str>);

#[tool_harness]
impl NotShared {
    /// Leads to itself.
    #[subagent(agent_id = "b", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [NotShared])]
    fn child(&self) -> AgentConfig {
        AgentConfig::new(&*self.0)
    }
}

struct Values;

#[tool_harness]
impl Values {
    /// Is no availability.
    #[subagent(agent_id = "c", availability = Recursion::Allowed, tool_harnesses = [Values])]
    fn other_policy(&self) -> AgentConfig {
        AgentConfig::new("C")
    }

    /// Can be called by nobody.
    #[subagent(agent_id = "d", availability = through_depth(0), tool_harnesses = [Values])]
    fn nobody(&self) -> AgentConfig {
        AgentConfig::new("D")
    }

    /// Is no recursion.
    #[subagent(agent_id = "e", availability = ANY_ALLOWED_DEPTH, recursion = true, tool_harnesses = [Values])]
    fn no_recursion(&self) -> AgentConfig {
        AgentConfig::new("E")
    }
}

struct Generic<T>(T);

#[tool_harness]
impl<T: Send + Sync + 'static> Generic<T> {
    /// Its own type, and the parameters of the block, are not what is wrong.
    #[subagent(agent_id = "a b", tool_harnesses = [Self, Generic<T>, Generic<u8>])]
    fn child(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

struct Plain;

#[tool_harness]
impl Plain {
    /// So it is here.
    #[subagent(agent_id = "a b", tool_harnesses = [Self])]
    fn child(&self) -> AgentConfig {
        AgentConfig::new("A")
    }
}

fn main() {}
