//! Harnesses that name each other.

use std::marker::PhantomData;

use harness_library::Logged;
use hpd_agent::{declare::ToolHarness, prelude::*};

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

// A cycle of three. One of its delegations is bounded, in each of the ways there are.
macro_rules! bounded {
    ($($first:ident, $second:ident, $third:ident: { $($arguments:tt)* };)*) => {$(
        struct $first;
        struct $second;
        struct $third;

        #[tool_harness]
        impl $first {
            /// Goes on.
            #[subagent(agent_id = "bounded.first", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [$second])]
            fn first(&self) -> AgentConfig {
                AgentConfig::new("First")
            }
        }

        #[tool_harness]
        impl $second {
            /// Goes on, and comes back to its own harness too.
            #[subagent(agent_id = "bounded.second", $($arguments)* tool_harnesses = [$third, $first, Self])]
            fn second(&self) -> AgentConfig {
                AgentConfig::new("Second")
            }
        }

        #[tool_harness]
        impl $third {
            /// Comes back, and goes on without tools.
            #[subagent(agent_id = "bounded.third", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [$first])]
            fn third(&self) -> AgentConfig {
                AgentConfig::new("Third")
            }
        }
    )*};
}

const DEPTH: SubAgentAvailability = SubAgentAvailability::through_depth(7);

bounded! {
    Default1, Default2, Default3: {};
    Depth1, Depth2, Depth3: { availability = DEPTH, };
    Root1, Root2, Root3: { availability = ROOT_ONLY, recursion = Guarded, };
    Allowed1, Allowed2, Allowed3: { availability = ANY_ALLOWED_DEPTH, recursion = Recursion::Allowed, };
}

#[test]
fn one_bound_or_one_permission_is_enough() {
    assert_eq!(sub_agent(&Allowed2, "second").recursion, Some(Recursion::Allowed));
    assert_eq!(sub_agent(&Root2, "second").recursion, Some(Recursion::Guarded));
    assert_eq!(sub_agent(&Depth2, "second").recursion, None);
    assert_eq!(sub_agent(&Default2, "second").tool_harnesses.len(), 3);
}

// A private type below a public one, two ways to one end, and an end without tools.
#[derive(Debug)]
pub(crate) struct Top;
struct Left;
struct Right;
struct Bottom;

#[tool_harness]
impl Top {
    /// Leads to both.
    #[subagent(agent_id = "diamond.top", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Left, Right])]
    fn top(&self) -> AgentConfig {
        AgentConfig::new("Top")
    }
}

#[tool_harness]
impl Left {
    /// Leads down.
    #[subagent(agent_id = "diamond.left", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Bottom])]
    fn left(&self) -> AgentConfig {
        AgentConfig::new("Left")
    }
}

#[tool_harness]
impl Right {
    /// Leads down.
    #[subagent(agent_id = "diamond.right", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Bottom])]
    fn right(&self) -> AgentConfig {
        AgentConfig::new("Right")
    }
}

#[tool_harness]
impl Bottom {
    /// Has no tools.
    #[subagent(agent_id = "diamond.bottom", availability = ANY_ALLOWED_DEPTH)]
    fn bottom(&self) -> AgentConfig {
        AgentConfig::new("Bottom")
    }
}

// What is made of itself ends. The two blocks with parameters would be a cycle if the types were not told apart.
struct Wrapped<T>(PhantomData<T>);
struct Other2<T>(PhantomData<T>);
struct User;

#[tool_harness]
impl<T: ToolHarness> Wrapped<T> {
    const AVAILABILITY: SubAgentAvailability = SubAgentAvailability::ANY_ALLOWED_DEPTH;

    /// Leads to what is in it.
    #[subagent(agent_id = "wrapped", availability = Self::AVAILABILITY, tool_harnesses = [T, Other2<T>])]
    fn wrapped(&self) -> AgentConfig {
        AgentConfig::new("Wrapped")
    }

    /// Comes back, with a bound.
    #[subagent(agent_id = "wrapped.bounded", availability = through_depth(2), tool_harnesses = [Self])]
    fn bounded(&self) -> AgentConfig {
        AgentConfig::new("Bounded")
    }
}

#[tool_harness]
impl<T: ToolHarness> Other2<T> {
    /// Leads to what is in it.
    #[subagent(agent_id = "other", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [T])]
    fn other(&self) -> AgentConfig {
        AgentConfig::new("Other")
    }
}

type Deep = Wrapped<Logged<Wrapped<Other2<Logged<Wrapped<Top>>>>>>;

#[tool_harness]
impl User {
    /// Leads to all of it.
    #[subagent(agent_id = "user", availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Deep, Logged<Top>])]
    fn user(&self) -> AgentConfig {
        AgentConfig::new("User")
    }
}

#[test]
fn what_ends_is_no_cycle() {
    let deep: Deep = Wrapped(PhantomData);
    assert_eq!(methods(&deep), ["wrapped", "bounded"]);
    let harnesses = &sub_agent(&User, "user").tool_harnesses;
    assert_eq!(harnesses.iter().map(|harness| harness.name()).collect::<Vec<_>>(), ["Wrapped", "Logged"]);
    assert_eq!(sub_agent(&Top, "top").tool_harnesses.len(), 2);
}

// More delegations than a list of types could hold.
struct Many;

macro_rules! many {
    ($($hundred:ident: $($method:ident)*;)*) => {
        many!(@ $($($method)*)*);
    };
    (@ $($method:ident)*) => {
        #[tool_harness]
        impl Many {
            $(
                /// Leads on.
                #[subagent(agent_id = stringify!($method), availability = ANY_ALLOWED_DEPTH, tool_harnesses = [Top, Two])]
                fn $method(&self) -> AgentConfig {
                    AgentConfig::new(stringify!($method))
                }
            )*
        }
    };
}

many! {
    h0: m000 m001 m002 m003 m004 m005 m006 m007 m008 m009 m010 m011 m012 m013 m014 m015 m016 m017 m018 m019;
    h1: m020 m021 m022 m023 m024 m025 m026 m027 m028 m029 m030 m031 m032 m033 m034 m035 m036 m037 m038 m039;
    h2: m040 m041 m042 m043 m044 m045 m046 m047 m048 m049 m050 m051 m052 m053 m054 m055 m056 m057 m058 m059;
    h3: m060 m061 m062 m063 m064 m065 m066 m067 m068 m069 m070 m071 m072 m073 m074 m075 m076 m077 m078 m079;
    h4: m080 m081 m082 m083 m084 m085 m086 m087 m088 m089 m090 m091 m092 m093 m094 m095 m096 m097 m098 m099;
    h5: m100 m101 m102 m103 m104 m105 m106 m107 m108 m109 m110 m111 m112 m113 m114 m115 m116 m117 m118 m119;
    h6: m120 m121 m122 m123 m124 m125 m126 m127 m128 m129 m130 m131 m132 m133 m134 m135 m136 m137 m138 m139;
    h7: m140 m141 m142 m143 m144 m145 m146 m147 m148 m149 m150 m151 m152 m153 m154 m155 m156 m157 m158 m159;
    h8: m160 m161 m162 m163 m164 m165 m166 m167 m168 m169 m170 m171 m172 m173 m174 m175 m176 m177 m178 m179;
    h9: m180 m181 m182 m183 m184 m185 m186 m187 m188 m189 m190 m191 m192 m193 m194 m195 m196 m197 m198 m199;
}

struct Two;

#[tool_harness]
impl Two {
    /// Comes back, with a bound.
    #[subagent(agent_id = "two", availability = DEPTH, tool_harnesses = [Many])]
    fn two(&self) -> AgentConfig {
        AgentConfig::new("Two")
    }
}

#[test]
fn a_harness_may_have_any_number_of_delegations() {
    assert_eq!(methods(&Many).len(), 200);
    assert_eq!(sub_agent(&Many, "m199").agent_id, Some("m199"));
}

// What is written down in `tests/ui/HPD0080.rs`, with one half of it in a body.
#[derive(Default)]
struct Editing;
#[derive(Default)]
struct Reviewing;

#[tool_harness]
impl Editing {
    /// Edits a draft.
    #[subagent]
    fn editor(&self) -> SubAgent {
        SubAgent::from_config("editor", AgentConfig::new("Editor"))
            .with_availability(SubAgentAvailability::ANY_ALLOWED_DEPTH)
            .with_tool_harness::<Reviewing>()
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

#[tokio::test]
async fn what_is_built_is_refused_in_the_words_of_the_compiler() {
    let error = Agent::builder()
        .with_chat_client(testing::ScriptedChatClient::texts(["x"]))
        .with_tool_harness::<Reviewing>()
        .build()
        .await
        .unwrap_err()
        .to_string();
    let (_, words) = error.split_once("): ").unwrap();
    let compiler = format!("error[E0080]: evaluation panicked: {words}\n");
    assert!(include_str!("../ui/HPD0080.stderr").contains(&compiler), "{compiler}");
}
