//! A declaration made by the macro and the same one made at run time are the same agent: one definition, one schema, one
//! sentence for every mistake, byte for byte. Only the advice behind it is in the words of either.

use hpd_agent::{
    agent::{AgentBuilder, BuildError, BuildProblem},
    compaction::ForkCompaction,
    declare::BackgroundNotification,
    prelude::*,
    testing::ScriptedChatClient,
};
use proptest::prelude::{any, prop, proptest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// The same declaration, made in both ways.
struct Pair {
    said: &'static str,
    compiled: AgentBuilder,
    made: DynamicHarness,
}

fn builder() -> AgentBuilder {
    Agent::builder().with_name("Parent").with_chat_client(ScriptedChatClient::texts(["x"]))
}

/// The definitions of all agents, or all that is wrong with them.
async fn outcome(builder: AgentBuilder) -> Result<String, String> {
    let told = |error: BuildError| error.problems().iter().map(|p| without_line(&without_advice(p)) + "\n").collect();
    let agent = builder.build().await.map_err(|error: BuildError| -> String { told(error) })?;
    Ok(agent.definitions().iter().map(|agent| agent.to_json() + "\n").collect())
}

/// What is wrong, without what to do about it.
fn without_advice(problem: &BuildProblem) -> String {
    let told = problem.to_string();
    match problem {
        BuildProblem::MissingDescription { advice, .. } | BuildProblem::NotSupported { advice, .. } => {
            told.strip_suffix(advice).unwrap().to_owned()
        }
        BuildProblem::Excluded { remedy, .. } | BuildProblem::UnboundedDelegation { remedy, .. } => {
            told.strip_suffix(remedy).unwrap().to_owned()
        }
        _ => told,
    }
}

/// A sentence without the line numbers of this file, in which the two ways differ.
fn without_line(text: &str) -> String {
    let mut parts = text.split("dynamic.rs:");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        out.push_str("dynamic.rs:_");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

/// Compares all pairs; how many of them were built.
async fn compare(pairs: Vec<Pair>) -> usize {
    let mut built = 0;
    for Pair { said, compiled, made } in pairs {
        let (compiled, made) = (outcome(compiled).await, outcome(builder().with_dynamic_harness(made)).await);
        assert_eq!(compiled, made, "{said}");
        built += usize::from(compiled.is_ok());
    }
    built
}

#[derive(Default)]
struct NoteTools;

#[tool_harness]
impl NoteTools {
    /// Finds notes.
    #[ai_function]
    fn find(&self, subject: String) -> String {
        subject
    }
}

#[derive(Default)]
struct CitationTools;

#[tool_harness(name = "same-citations")]
impl CitationTools {
    /// Cites a note.
    #[ai_function(requires_permission)]
    fn cite(&self) {}

    /// Checks citations.
    #[subagent(agent_id = "same.checker", availability = SubAgentAvailability::through_depth(3))]
    fn checker(&self) -> AgentConfig {
        AgentConfig::new("Checker")
    }
}

fn config() -> AgentConfig {
    AgentConfig::new("Child").with_system_instructions("Do it.").with_section("style", "Short.").with_max_iterations(3)
}

/// The method of a `SubAgent` that says what an argument of the attribute says.
macro_rules! say {
    ($value:ident; name = $name:literal) => { $value.with_name($name) };
    ($value:ident; description = $text:literal) => { $value.with_description($text) };
    ($value:ident; context = $policy:ident) => { $value.with_context_policy(SubAgentContextPolicy::$policy) };
    ($value:ident; invocation_mode = $mode:ident) => { $value.with_invocation_mode(AgentInvocationModePolicy::$mode) };
    ($value:ident; availability = $($of:tt)*) => { $value.with_availability($($of)*) };
    ($value:ident; recursion = $($of:tt)*) => { $value.with_recursion($($of)*) };
    ($value:ident; lifecycle = $lifecycle:ident) => { $value.with_lifecycle(SubAgentLifecycle::$lifecycle) };
    ($value:ident; fork_compaction = $how:ident) => { $value.with_fork_compaction(ForkCompaction::$how) };
    ($value:ident; background_notification = $($when:tt)*) => { $value.with_background_notification($($when)*) };
    ($value:ident; tool_harnesses = [$($harness:ty),*]) => { $value$(.with_tool_harness::<$harness>())* };
    ($value:ident; metadata($($key:ident = $text:expr),*)) => { $value$(.with_metadata(stringify!($key), $text))* };
}

/// One subagent, said with these arguments in both ways. What stands before `;` is the doc comment.
macro_rules! sub_agent {
    ($($doc:literal)?; $(($($argument:tt)*))*) => {{
        #[derive(Default)]
        struct Same<const N: usize>;
        // With a parameter, so that the name is not in the registry: the other one has the same.
        #[tool_harness(name = "same")]
        impl<const N: usize> Same<N> {
            $(#[doc = $doc])?
            #[subagent(agent_id = "same.child", $($($argument)*),*)]
            fn child(&self) -> AgentConfig {
                config()
            }
        }
        let value = SubAgent::from_config("same.child", config())$(.with_description($doc))?;
        $(let value = say!(value; $($argument)*);)*
        Pair {
            said: stringify!($($doc)?; $(($($argument)*))*),
            compiled: builder().with_tool_harness::<Same<0>>(),
            made: DynamicHarness::new("same").with_sub_agent("child", value),
        }
    }};
}

/// Every choice of every list, each with all of the others.
macro_rules! every {
    ($pairs:ident $arguments:tt {}) => { every!(@push $pairs $arguments) };
    (@push $pairs:ident {$($arguments:tt)*}) => { $pairs.push(sub_agent!($($arguments)*)); };
    ($pairs:ident $arguments:tt {[$($choice:tt)*] $($lists:tt)*}) => {
        every!(@each $pairs $arguments [$($choice)*] {$($lists)*});
    };
    (@each $pairs:ident $arguments:tt [$($choice:tt)*] $lists:tt) => {
        $(every!(@add $pairs $arguments $choice $lists);)*
    };
    (@add $pairs:ident {$($arguments:tt)*} {$($choice:tt)*} $lists:tt) => {
        every!($pairs {$($arguments)* $($choice)*} $lists);
    };
}

#[tokio::test]
async fn every_context_mode_and_availability_is_the_same() {
    let mut pairs = Vec::new();
    every!(pairs {"Does it.";} {
        [{} {(context = Fork)} {(context = Fresh)} {(context = Isolated)} {(context = ModelChoice)}]
        [{} {(invocation_mode = SynchronousOnly)} {(invocation_mode = BackgroundOnly)} {(invocation_mode = ModelChoice)}]
        [
            {}
            {(availability = SubAgentAvailability::ROOT_ONLY)}
            {(availability = SubAgentAvailability::ANY_ALLOWED_DEPTH)}
            {(availability = SubAgentAvailability::through_depth(2))}
            {(recursion = Recursion::Allowed)}
        ]
    });
    assert_eq!(pairs.len(), 5 * 4 * 5);
    assert_eq!(compare(pairs).await, 5 * 4 * 5);
}

#[tokio::test]
async fn every_lifecycle_compaction_notification_and_metadata_is_the_same() {
    let mut pairs = Vec::new();
    every!(pairs {"Does it.";} {
        [{} {(lifecycle = OneShot)} {(lifecycle = Continuable)}]
        [{} {(fork_compaction = Inherit)} {(fork_compaction = Disable)}]
        [{} {(background_notification = BackgroundNotification::None) (invocation_mode = ModelChoice)}]
        [{} {(metadata(team = "writing", rounds = 3, strict = true))}]
    });
    assert_eq!(pairs.len(), 3 * 3 * 2 * 2);
    assert_eq!(compare(pairs).await, 2 * 3 * 2 * 2, "those that do not go on are built");
}

#[tokio::test]
async fn every_text_and_harness_is_the_same() {
    let mut pairs = Vec::new();
    every!(pairs {} {
        [
            {"From a comment.";}
            {"In two paragraphs,\n\nof which one has\nmore lines.";}
            {; (description = "Said: \"explicitly\", at length…")}
            {"From a comment."; (description = "Said instead.")}
        ]
        [{} {(name = "other-name")}]
        [
            {}
            {(tool_harnesses = [NoteTools])}
            {(tool_harnesses = [CitationTools, NoteTools])}
        ]
    });
    assert_eq!(pairs.len(), 4 * 2 * 3);
    assert_eq!(compare(pairs).await, 4 * 2 * 3);
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
    country: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    /// With a radius.
    Circle {
        radius: f64,
    },
    Group {
        shapes: Vec<Shape>,
    },
}

/// What a parameter of a method says, said at run time.
macro_rules! param {
    ($declaration:ident, $param:ident: $type:ty = $text:literal) => {
        $declaration.with_param::<$type>(stringify!($param), $text)
    };
    ($declaration:ident, $param:ident: $type:ty = $text:literal, $default:expr) => {
        $declaration.with_param_or::<$type>(stringify!($param), $text, $default)
    };
}

/// One function with these parameters, declared in both ways, and called in both ways with these arguments.
macro_rules! function {
    (
        $doc:literal [$($flag:ident)*] ($($param:ident: $type:ty = $text:literal $(or [$($default:tt)*])?),*) [$($arguments:expr),*]
    ) => {{
        #[derive(Default)]
        struct Same<const N: usize>;
        #[tool_harness(name = "same")]
        impl<const N: usize> Same<N> {
            #[doc = $doc]
            #[ai_function($($flag),*)]
            fn function(&self, $(#[doc = $text] $(#[arg(default = $($default)*)])? $param: $type),*) -> Value {
                json!({$(stringify!($param): $param),*})
            }
        }
        let declaration = DynamicFunction::new("function", $doc)$(.$flag())*;
        $(let declaration = param!(declaration, $param: $type = $text $(, $($default)*)?);)*
        let made = DynamicHarness::new("same").with_function(declaration, |_arguments, _| Box::pin(async move {
            Ok(json!({$(stringify!($param): _arguments.get::<$type>(stringify!($param))?),*}))
        }));
        for arguments in [$($arguments),*] {
            let context = testing::function_context();
            let outcome = |called: Result<ToolOutput, ToolError>| match called {
                Ok(output) => output.text().to_owned(),
                Err(error) => format!("error: {error}"),
            };
            let compiled = outcome(Same::<0>.call(0, arguments, &context).unwrap().await);
            assert_eq!(compiled, outcome(made.call(0, arguments, &context).unwrap().await), "{arguments}");
        }
        Pair {
            said: stringify!($($param: $type),*),
            compiled: builder().with_tool_harness::<Same<0>>(),
            made,
        }
    }};
}

#[tokio::test]
async fn every_function_is_the_same() {
    let pairs = vec![
        function!("Takes nothing." [] () ["", "{}", "null", r#"{"a":1}"#]),
        function!("Flags." [requires_permission] (a: bool = "") [r#"{"a":true}"#, r#"{"a":1}"#]),
        function!("Flags." [requires_permission exclusive] (a: bool = "Whether.") [r#"{}"#, r#"{"a":null}"#]),
        function!("Plain types." [] (
            text: String = "A text.", small: u8 = "", float: f64 = "In \"degrees\".", list: Vec<String> = "",
            maybe: Option<i64> = "May be left out.", any: Value = ""
        ) [
            r#"{"text":"x","small":7,"float":1.5,"list":["a"],"maybe":-3,"any":{"b":[1]}}"#,
            r#"{"text":"x","small":7,"float":1,"list":[],"maybe":null}"#,
            r#"{"text":"x","small":300,"float":1,"list":[]}"#,
            r#"{"text":"x","small":1,"float":1,"list":"a"}"#,
            r#"{"text":null,"small":1,"float":1,"list":[]}"#,
            r#"{"text":"x","small":1,"float":1}"#,
            r#"{"text":"x","unknown":1}"#,
            r#"{"text":"x","text":"y","small":1,"float":1,"list":[]}"#,
            "[]",
            "{"
        ]),
        function!("Defaults." [] (
            limit: u32 = "How much." or [10 * 2], unit: String = "" or ["km".to_owned()], near: Option<String> = "" or [None],
            range: [u32; 2] = "From and to." or [[1, 2]]
        ) ["{}", r#"{"limit":null,"near":"Oslo","range":[3,4]}"#, r#"{"limit":"x"}"#]),
        function!("Own types." [] (place: Place = "Where.\n\nA city in Europe.", shape: Shape = "Contains itself.") [
            r#"{"place":{"city":"Oslo"},"shape":{"kind":"group","shapes":[{"kind":"circle","radius":1.0}]}}"#,
            r#"{"place":{},"shape":{"kind":"circle","radius":1.0}}"#,
            r#"{"place":{"city":"Oslo"},"shape":{"kind":"square"}}"#
        ]),
    ];
    let all = pairs.len();
    assert_eq!(compare(pairs).await, all);
}

/// A harness whose method returns whatever it was given.
struct Returns<const N: usize>(SubAgent);

#[tool_harness(name = "returns")]
impl<const N: usize> Returns<N> {
    /// By default.
    #[subagent]
    fn child(&self) -> SubAgent {
        self.0.clone()
    }

    /// Later.
    #[subagent]
    async fn later(&self, context: &HarnessContext) -> Result<SubAgent, String> {
        match context.agent_name() {
            "Parent" => Ok(SubAgent::from_config("returns.later", AgentConfig::new("Later"))),
            other => Err(format!("{other} is not the parent")),
        }
    }
}

proptest! {
    /// Any text at all: what is legal is frozen in the same way, what is not is refused in the same words.
    #[test]
    fn any_text_is_the_same(
        id in "[a-z./ ]{0,6}|\\PC{0,4}",
        name in prop::option::of("[a-zA-Z0-9_-]{1,8}|\\PC{0,4}"),
        description in prop::option::of(".{0,12}"),
        instructions in any::<String>(),
        key in "parentThreadId|.{0,6}",
        value in any::<String>(),
        depth in 0..4_u32,
        context in prop::sample::select(vec![
            SubAgentContextPolicy::Fork, SubAgentContextPolicy::Fresh, SubAgentContextPolicy::ModelChoice,
        ]),
    ) {
        let config = AgentConfig::new(value.as_str()).with_system_instructions(instructions);
        let mut sub_agent = SubAgent::from_config(id, config)
            .with_context_policy(context)
            .with_availability(SubAgentAvailability::through_depth(depth))
            .with_metadata(key, value)
            .with_tool_harness::<NoteTools>()
            .with_tool_harness_named("CitationTools");
        if let Some(name) = name {
            sub_agent = sub_agent.with_name(name);
        }
        if let Some(description) = &description {
            sub_agent = sub_agent.with_description(description.as_str());
        }
        let described = sub_agent.clone().with_description(description.as_deref().unwrap_or("By default."));
        let made = DynamicHarness::new("returns")
            .with_sub_agent("child", described)
            .with_sub_agent_fn("later", |context| async move {
                match context.agent_name() {
                    "Parent" => {
                        Ok(SubAgent::from_config("returns.later", AgentConfig::new("Later")).with_description("Later."))
                    }
                    other => Err(format!("{other} is not the parent")),
                }
            });
        let compiled = builder().with_tool_harness_value(Returns::<0>(sub_agent));
        let pair = Pair { said: "any text", compiled, made };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(compare(vec![pair]));
    }
}

#[tokio::test]
async fn the_definition_of_a_whole_tree() {
    let agent = builder().with_tool_harness::<CitationTools>().build().await.unwrap();
    let tree: Vec<String> = agent.definitions().iter().map(hpd_agent::agent::AgentDefinition::to_json).collect();
    assert_eq!(
        tree,
        [
            concat!(
                r#"{"agentId":"parent","config":{"name":"Parent"},"toolHarnesses":["same-citations"],"tools":["#,
                r#"{"description":"Cites a note.","exclusive":false,"name":"cite","requiresPermission":true,"#,
                r#""schema":{"type":"object","properties":{},"additionalProperties":false}},"#,
                r#"{"description":"Checks citations.","name":"checker","schema":{"type":"object","properties":{"input":"#,
                r#"{"type":"string","description":"The task for the subagent, in full. Say what it has to do, everything "#,
                r#"it must know for it, and what its answer should look like."}},"required":["input"],"#,
                r#""additionalProperties":false},"subAgent":{"agentId":"same.checker","availability":3,"#,
                r#""backgroundNotification":{"cancelled":false,"completed":true,"faulted":true,"#,
                r#""kind":"on_final_state"},"contextPolicy":"Fork","forkCompaction":{"kind":"inherit"},"#,
                r#""invocationMode":"SynchronousOnly","lifecycle":"OneShot","metadata":{},"#,
                r#""recursion":"Guarded","runConfig":{"clients":{"chat":"inheritResolved","embeddings":"useOwn","#,
                r#""hostedFiles":"fallbackToParent","imageGeneration":"useOwn","realtime":"inheritResolved","#,
                r#""speechToText":"inheritResolved","textToSpeech":"inheritResolved"},"#,
                r#""groups":["permissions","execution","compaction","context"]},"#,
                r#""source":"SuppliedAgentConfiguration"}}]}"#,
            ),
            r#"{"agentId":"same.checker","config":{"name":"Checker"},"toolHarnesses":[],"tools":[]}"#,
        ]
    );
}
