//! Agents that can delegate to each other without limit.
use hpd_agent::prelude::*;

// ANCHOR: example
struct Editing;
struct Reviewing;

#[tool_harness]
impl Editing {
    /// Edits a draft.
    #[subagent(agent_id = "editor", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Reviewing])]
    fn editor(&self) -> AgentConfig {
        AgentConfig::new("Editor")
    }
}

#[tool_harness]
impl Reviewing {
    /// Reviews a draft.
    #[subagent(agent_id = "reviewer", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Editing])]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
}
// ANCHOR_END: example

// A harness that leads to itself, by any constant; the other subagent is bounded.
const ANYWHERE: SubAgentAvailability = SubAgentAvailability::ANY_ALLOWED_DEPTH;

struct Planning;

#[tool_harness]
impl Planning {
    const DEPTH: SubAgentAvailability = SubAgentAvailability::through_depth(3);

    /// Plans a part.
    #[subagent(agent_id = "planner", availability = ANYWHERE, tool_harnesses = [Self])]
    fn planner(&self) -> AgentConfig {
        AgentConfig::new("Planner")
    }

    /// Plans a part, down to a depth.
    #[subagent(agent_id = "bounded", availability = Self::DEPTH, tool_harnesses = [Self])]
    fn bounded(&self) -> AgentConfig {
        AgentConfig::new("Bounded")
    }
}

// Two cycles through one harness and a child with several: each is told of once, at the first by name.
struct Leaf;
struct A1;
struct A2;
struct A3;

#[tool_harness]
impl Leaf {}

#[tool_harness(name = "A1")]
impl A1 {
    /// Leads to two.
    #[subagent(agent_id = "a1.both", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Leaf, A2])]
    fn both(&self) -> AgentConfig {
        AgentConfig::new("Both")
    }

    /// Leads to one.
    #[subagent(agent_id = "a1.one", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [A3])]
    fn one(&self) -> AgentConfig {
        AgentConfig::new("One")
    }
}

#[tool_harness]
impl A2 {
    /// Comes back, or goes on.
    #[subagent(agent_id = "a2", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [A3, A1])]
    fn two(&self) -> AgentConfig {
        AgentConfig::new("Two")
    }
}

#[tool_harness]
impl A3 {
    /// Comes back.
    #[subagent(agent_id = "a3", availability = ANY_ALLOWED_DEPTH, recursion = Guarded, tool_harnesses = [A1])]
    fn three(&self) -> AgentConfig {
        AgentConfig::new("Three")
    }
}

// Namesakes, in a cycle of eight.
mod first {
    use hpd_agent::prelude::*;

    pub struct Step;

    #[tool_harness]
    impl Step {
        /// Goes on.
        #[cfg(not(target_os = "none"))]
        #[subagent(agent_id = "first", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [super::Long<7>])]
        fn step(&self) -> AgentConfig {
            AgentConfig::new("Step")
        }

        /// Is not there.
        #[cfg(target_os = "none")]
        #[subagent(agent_id = "none", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Missing])]
        fn step(&self) -> AgentConfig {
            AgentConfig::new("Step")
        }
    }
}

mod second {
    use hpd_agent::prelude::*;

    pub struct Step;

    #[tool_harness]
    impl Step {
        /// Goes on.
        #[subagent(agent_id = "second", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [super::first::Step])]
        fn step(&self) -> AgentConfig {
            AgentConfig::new("Step")
        }
    }
}

struct Long<const N: usize>;

macro_rules! long {
    ($($from:literal, $name:literal, $to:ty;)*) => {$(
        #[tool_harness(name = $name)]
        impl Long<$from> {
            /// Goes on.
            #[subagent(agent_id = $name, availability = ANY_ALLOWED_DEPTH, tool_harnesses = [$to])]
            fn long(&self) -> AgentConfig {
                AgentConfig::new($name)
            }
        }
    )*};
}

long! {
    7, "Long7", Long<6>;
    6, "Long6", Long<5>;
    5, "Long5", Long<4>;
    4, "Long4", Long<3>;
    3, "Long3", Long<2>;
    2, "Long2", second::Step;
}

// A cycle through a harness of a library that takes another one in.
struct Checking;

#[tool_harness]
impl Checking {
    /// Checks what was checked.
    #[subagent(
        agent_id = "checker",
        availability = ANY_ALLOWED_DEPTH,
        tool_harnesses = [harness_library::Logged<Checking>],
    )]
    fn checker(&self) -> AgentConfig {
        AgentConfig::new("Checker")
    }
}

// Blocks with parameters, known where they are used.
struct Solving<T>(T);
struct Splitting<T>(T);

#[tool_harness]
impl<T: Send + Sync> Solving<T> {
    /// Solves a part.
    #[subagent(agent_id = "solver", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Splitting<T>])]
    fn solver(&self) -> AgentConfig {
        AgentConfig::new("Solver")
    }
}

#[tool_harness]
impl<T: Send + Sync> Splitting<T> {
    /// Splits a problem.
    #[subagent(agent_id = "splitter", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Solving<Vec<T>>])]
    fn splitter(&self) -> AgentConfig {
        AgentConfig::new("Splitter")
    }
}

const USED: usize = <Solving<u8> as hpd_agent::declare::ToolHarness>::ENTRIES.len();

fn main() {}
