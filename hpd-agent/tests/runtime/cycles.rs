//! Cycles of delegations that the compiler could not see.

use hpd_agent::{
    agent::{AgentBuilder, BuildProblem},
    prelude::*,
    testing::ScriptedChatClient,
    tool::DynamicRegistry,
};

use crate::support;

const ANY: SubAgentAvailability = SubAgentAvailability::ANY_ALLOWED_DEPTH;

fn builder() -> AgentBuilder {
    support::builder(&ScriptedChatClient::texts(["x"]))
}

/// The cycles, each with where it is reported; there is nothing else wrong.
async fn cycles(builder: AgentBuilder) -> Vec<(String, String)> {
    let Err(error) = builder.build().await else { return Vec::new() };
    let cycle = |problem: &BuildProblem| match problem {
        BuildProblem::UnboundedDelegation { at, cycle, .. } => {
            assert_eq!(problem.code(), "unbounded_delegation");
            (at.split(' ').next().unwrap().to_owned(), cycle.clone())
        }
        other => panic!("unexpected: {other}"),
    };
    error.problems().iter().map(cycle).collect()
}

fn pair(at: &str, cycle: &str) -> (String, String) {
    (at.to_owned(), cycle.to_owned())
}

fn child(id: &str) -> SubAgent {
    SubAgent::from_config(id, AgentConfig::new(id)).with_description("A child.").with_availability(ANY)
}

// One of the two says in its body what makes the cycle.
#[derive(Default)]
struct Editing;
#[derive(Default)]
struct Reviewing;

#[tool_harness]
impl Editing {
    /// Edits a draft.
    #[subagent(agent_id = "cycles.editor", availability = ANY, tool_harnesses = [Reviewing])]
    fn editor(&self) -> AgentConfig {
        AgentConfig::new("Editor")
    }
}

#[tool_harness]
impl Reviewing {
    /// Reviews a draft.
    #[subagent]
    fn reviewer(&self) -> SubAgent {
        child("cycles.reviewer").with_tool_harness::<Editing>()
    }
}

#[tokio::test]
async fn a_cycle_that_a_body_makes_is_refused_in_the_words_of_the_compiler() {
    for builder in [builder().with_tool_harness::<Editing>(), builder().with_tool_harness::<Reviewing>()] {
        let error = builder.build().await.unwrap_err().to_string();
        assert!(
            error.starts_with("the agent cannot be built: `Editing.editor` (hpd-agent/tests/runtime/cycles.rs:"),
            "{error}"
        );
        let words = "HPD0080: agents can delegate to each other without limit: \
                     Editing.editor → Reviewing.reviewer → Editing; \
                     bound one of them with `availability = through_depth(2)`, \
                     or permit it with `recursion = Allowed`";
        assert!(error.ends_with(&format!("): {words}")), "{error}");
    }
}

#[tokio::test]
async fn a_bound_or_a_permission_in_a_body_is_enough() {
    #[derive(Default)]
    struct Planning;
    #[tool_harness]
    impl Planning {
        /// Goes as deep as it likes.
        #[subagent]
        fn allowed(&self) -> SubAgent {
            child("planning.allowed").with_recursion(Recursion::Allowed).with_tool_harness::<Self>()
        }

        /// Goes to a depth.
        #[subagent]
        fn bounded(&self) -> SubAgent {
            child("planning.bounded")
                .with_availability(SubAgentAvailability::through_depth(3))
                .with_tool_harness::<Self>()
        }

        /// Says in the attribute that it may.
        #[subagent(recursion = Allowed)]
        fn attribute(&self) -> SubAgent {
            child("planning.attribute").with_tool_harness::<Self>()
        }

        /// Comes from the root only.
        #[subagent]
        fn root(&self) -> SubAgent {
            SubAgent::from_config("planning.root", AgentConfig::new("x")).with_tool_harness::<Self>()
        }

        /// Has no tools.
        #[subagent]
        fn leaf(&self) -> SubAgent {
            child("planning.leaf")
        }
    }
    let agent = builder().with_tool_harness::<Planning>().build().await.unwrap();
    let json = agent.definitions()[0].to_json();
    assert_eq!(json.matches(r#""recursion":"Allowed""#).count(), 2, "{json}");
}

#[tokio::test]
async fn an_attribute_and_a_value_agree_about_recursion() {
    #[derive(Default)]
    struct Contradicting;
    #[tool_harness]
    impl Contradicting {
        /// Says two things.
        #[subagent(recursion = Guarded)]
        fn contradicting(&self) -> SubAgent {
            child("contradicting").with_recursion(Recursion::Allowed)
        }
    }
    let error = builder().with_tool_harness::<Contradicting>().build().await.unwrap_err().to_string();
    assert!(error.contains("the attribute says `recursion = Guarded`, the returned value says `Allowed`"), "{error}");
}

/// Harnesses `0` to `n - 1`, each of which leads to the next, and the last to the first.
fn ring(length: usize) -> DynamicRegistry {
    let registry = DynamicRegistry::new();
    for at in 0..length {
        let next = child(&format!("ring.{at}")).with_tool_harness_named(format!("ring{}", (at + 1) % length));
        registry.add(DynamicHarness::new(format!("ring{at}")).with_sub_agent(format!("go{at}"), next)).unwrap();
    }
    registry
}

#[tokio::test]
async fn a_cycle_of_any_length_by_names_and_at_run_time_is_seen_from_wherever_it_is_reached() {
    for (length, from) in [(1, 0), (2, 1), (9, 4), (70, 69)] {
        let registry = ring(length);
        let found =
            cycles(builder().with_dynamic_registry(registry).with_tool_harness_named(format!("ring{from}"))).await;
        let expected: String = (0..length).map(|at| format!("ring{at}.go{at} → ")).collect::<String>() + "ring0";
        assert_eq!(found, [pair("`ring0.go0`", &expected)]);
    }
}

#[tokio::test]
async fn every_cycle_is_reported_once_and_a_diamond_is_none() {
    let registry = DynamicRegistry::new();
    let to = |name: &str, harnesses: &[&str]| {
        harnesses.iter().fold(child(name), |child, harness| child.with_tool_harness_named(*harness))
    };
    let harness = DynamicHarness::new("b")
        .with_sub_agent("long", to("b.long", &["c"]))
        .with_sub_agent("both", to("b.both", &["leaf", "d", "b"]))
        .with_sub_agent("down", to("b.down", &["leaf"]));
    registry.add(harness).unwrap();
    registry.add(DynamicHarness::new("c").with_sub_agent("on", to("c.on", &["d", "a"]))).unwrap();
    registry.add(DynamicHarness::new("d").with_sub_agent("back", to("d.back", &["b", "leaf"]))).unwrap();
    registry.add(DynamicHarness::new("a").with_sub_agent("into", to("a.into", &["d", "c"]))).unwrap();
    registry.add(DynamicHarness::new("leaf").with_sub_agent("end", child("leaf.end"))).unwrap();
    let mut found = cycles(builder().with_dynamic_registry(registry).with_tool_harness_named("d")).await;
    found.sort();
    assert_eq!(
        found,
        [
            pair("`a.into`", "a.into → c.on → a"),
            pair("`b.both`", "b.both → b"),
            pair("`b.long`", "b.long → c.on → d.back → b"),
        ]
    );
}

mod first {
    use super::*;

    #[derive(Default)]
    pub(super) struct Step;

    #[tool_harness(name = "Step")]
    impl Step {
        /// Goes on.
        #[subagent]
        fn step(&self) -> SubAgent {
            child("cycles.first").with_tool_harness::<second::Step>()
        }
    }
}

mod second {
    use super::*;

    #[derive(Default)]
    pub(super) struct Step;

    #[tool_harness(name = "Step")]
    impl Step {
        /// Goes on.
        #[subagent]
        fn step(&self) -> SubAgent {
            child("cycles.second").with_tool_harness::<first::Step>()
        }
    }
}

#[tokio::test]
async fn namesakes_are_told_apart_by_their_modules() {
    assert_eq!(
        cycles(builder().with_tool_harness_value(second::Step)).await,
        [pair(
            "`Step.step`",
            "runtime::cycles::first::Step.step → runtime::cycles::second::Step.step → runtime::cycles::first::Step"
        )]
    );
}

/// A ring of nine types: one more than the compiler follows.
#[derive(Default)]
struct Ring<const N: usize>;

macro_rules! ring {
    ($($at:literal, $name:literal, $next:literal;)*) => {$(
        #[tool_harness(name = $name)]
        impl Ring<$at> {
            /// Goes on.
            #[subagent(agent_id = $name, availability = ANY, tool_harnesses = [Ring<$next>])]
            fn go(&self) -> AgentConfig {
                AgentConfig::new($name)
            }
        }
    )*};
}

ring! {
    0, "Ring0", 1;
    1, "Ring1", 2;
    2, "Ring2", 3;
    3, "Ring3", 4;
    4, "Ring4", 5;
    5, "Ring5", 6;
    6, "Ring6", 7;
    7, "Ring7", 8;
    8, "Ring8", 0;
}

#[tokio::test]
async fn what_is_too_long_for_the_compiler_is_seen_when_it_is_built() {
    let found = cycles(builder().with_tool_harness::<Ring<3>>()).await;
    let expected: String = (0..9).map(|at| format!("Ring{at}.go → ")).collect::<String>() + "Ring0";
    assert_eq!(found, [pair("`Ring0.go`", &expected)]);
}
