//! Everything that can be said, in one block that a macro writes: the same tokens are a harness of a plain type, of a
//! generic one, in a function, in an inner module, and with every fragment a `macro_rules!` can pass on.

use hpd_agent::{declare::BackgroundNotification, prelude::*};
use serde_json::json;

use super::*;

#[derive(Default)]
pub(super) struct Child;

#[tool_harness(name = "matrix.child")]
impl Child {}

/// All arguments, each as a fragment of its own kind. `tt`s come through as they are, all others in invisible groups.
macro_rules! everything {
    (
        block: [$($block:tt)*], path: $krate:path, name: $name:expr, type: $ty:ty, visibility: $vis:vis,
        lifetime: $life:lifetime, metas: [$($meta:meta),*], doc: $doc:literal, methods: $one:ident $two:ident $three:ident,
        id: $id:expr, text: $text:literal, policy: $policy:expr, mode: $mode:expr, depth: $depth:expr,
        key: $key:ident, value: $value:expr, flag: $flag:literal, returns: $returns:ty, config: $about:ident $config:block,
        parameter: $parameter:ident: $parameter_type:ty = $default:expr, context: $context_type:ty,
        rest: { $($rest:tt)* }
    ) => {
        #[hpd_agent::tool_harness(name = $name, crate = $krate)]
        $($block)* {
            #[doc = $doc]
            $(#[$meta])*
            #[subagent(
                agent_id = $id,
                name = concat!($text, "-sub"),
                description = $text,
                context = $policy,
                invocation_mode = $mode,
                availability = $depth,
                lifecycle = SubAgentLifecycle::Continuable,
                fork_compaction = ForkCompaction::Disable,
                background_notification = BackgroundNotification::None,
                tool_harnesses = [$ty, Child],
                metadata($key = $value, "text" = $text),
            )]
            $vis fn $one<$life>(&$life self, $about: &$life HarnessContext) -> $returns $config

            #[doc = $doc]
            #[doc = concat!($text, ".")]
            $(#[$meta])*
            #[hpd_agent::ai_function(name = $text, description = $doc, requires_permission = $flag, exclusive = !$flag)]
            $vis async fn $two<$life>(
                &$life self,
                #[doc = $doc] $parameter: $parameter_type,
                #[arg(name = $text, default = $default)] optional: $parameter_type,
                _more: Option<$parameter_type>,
                _many: Option<Vec<($parameter_type, [$parameter_type; 1])>>,
                #[allow(unused_variables)] context: &$life $context_type,
                cancellation: Cancellation,
            ) -> Result<$parameter_type, ToolError> {
                assert!(!cancellation.is_cancelled());
                Ok($parameter + optional)
            }

            /// Only metas.
            $(#[$meta])*
            #[ai_function]
            $vis fn $three() -> bool {
                $flag
            }

            $($rest)*
        }
    };
}

/// What differs between the places.
macro_rules! place {
    ([$($block:tt)*], $ty:ty, $name:expr, $id:expr) => {
        everything! {
            block: [$($block)*], path: ::hpd_agent, name: $name, type: $ty, visibility: pub(crate),
            lifetime: 'call, metas: [must_use = "it is told", cfg(not(target_os = "none"))], doc: " Told.",
            methods: reviewer echo r#type,
            id: $id, text: "written", policy: if true { ModelChoice } else { SubAgentContextPolicy::Fork },
            mode: AgentInvocationModePolicy::ModelChoice, depth: SubAgentAvailability::through_depth(1 + 1),
            key: r#type, value: 1 + 2, flag: true, returns: AgentConfig,
            config: about { AgentConfig::new(about.agent_name()) },
            parameter: first: u32 = 40, context: FunctionContext,
            rest: { #[allow(dead_code)] const UNUSED: () = (); #[allow(dead_code)] fn ordinary(self) -> Self { self } }
        }
    };
}

async fn check(harness: &dyn ErasedHarness, name: &str, id: &str) {
    assert_eq!(harness.name(), name);
    assert_eq!(methods(harness), ["reviewer", "echo", "type"]);
    let reviewer = info(harness, "reviewer");
    assert_eq!((reviewer.name.as_deref(), reviewer.description.as_deref()), (Some("written-sub"), Some("written")));
    assert_eq!(reviewer.doc.as_deref(), Some("Told."));
    let said = sub_agent(harness, "reviewer");
    assert_eq!(said.agent_id, Some(id));
    assert_eq!(said.context, Some(SubAgentContextPolicy::ModelChoice));
    assert_eq!(said.invocation_mode, Some(AgentInvocationModePolicy::ModelChoice));
    assert_eq!(said.availability, Some(SubAgentAvailability::through_depth(2)));
    assert_eq!(said.lifecycle, Some(SubAgentLifecycle::Continuable));
    assert_eq!(said.fork_compaction, Some(ForkCompaction::Disable));
    assert_eq!(said.background_notification, Some(BackgroundNotification::None));
    assert_eq!(said.tool_harnesses.iter().map(|child| child.name()).collect::<Vec<_>>(), [name, "matrix.child"]);
    assert_eq!(json!(said.metadata.unwrap()()), json!({"type": 3, "text": "written"}));
    let echo = info(harness, "echo");
    assert_eq!((echo.name.as_deref(), echo.description.as_deref()), (Some("written"), Some(" Told.")));
    assert_eq!(echo.doc.as_deref(), Some("Told.\nwritten."));
    let echo = function(harness, "echo");
    assert_eq!((echo.requires_permission, echo.exclusive), (true, false));
    assert_eq!(define(harness, "reviewer").await.unwrap().agent_id(), id);
    assert_eq!(text(harness, "echo", r#"{"first":2}"#).await, "42");
    assert_eq!(text(harness, "echo", r#"{"first":2,"written":1}"#).await, "3");
    assert_eq!(text(harness, "type", "{}").await, "true");
}

struct Plain;
place!([impl Plain], Plain, "matrix.plain", "matrix.plain");

#[tokio::test]
async fn a_plain_type() {
    check(&Plain, "matrix.plain", "matrix.plain").await;
}

struct Generic<'a, T: ?Sized, const N: usize = 1>(std::marker::PhantomData<&'a T>);
trait Named {
    const ID: &'static str;
}
impl Named for str {
    const ID: &'static str = "matrix.str";
}
place!(
    [impl<'a, T: ?Sized + Named, const N: usize> Generic<'a, T, N> where T: Send + Sync, for<'b> &'b T: Sized],
    Generic<'static, T, N>, "matrix.generic", T::ID
);

#[tokio::test]
async fn a_type_with_parameters_of_every_kind() {
    check(&Generic::<'static, str, 3>(std::marker::PhantomData), "matrix.generic", "matrix.str").await;
}

mod inner {
    pub(super) mod deeper {
        use hpd_agent::{declare::BackgroundNotification, prelude::*};

        use super::super::Child;

        #[derive(Default)]
        pub(in super::super) struct Nested(#[allow(dead_code)] ());
        place!([impl self::Nested], Nested, super::super::NESTED, super::super::NESTED);
    }
}

const NESTED: &str = "matrix.nested";

#[tokio::test]
async fn a_module_of_a_module() {
    check(&inner::deeper::Nested::default(), NESTED, NESTED).await;
    place!([impl Local], Local, "matrix.local", LOCAL);
    const LOCAL: &str = "matrix.local";
    #[derive(Default)]
    struct Local;
    check(&Local, "matrix.local", LOCAL).await;
    let local = hpd_agent::tool::registry::harness("matrix.local").unwrap();
    assert!(local.module().ends_with("::matrix"), "a function is no module: {}", local.module());
}

mod attributes_from_outside {
    //! The attribute itself comes as a fragment.

    use super::*;

    macro_rules! method {
        ($type:ident { $($(#[$attribute:meta])* $vis:vis fn $name:ident($($parameter:ident: $kind:ty),*) -> $output:ty = $body:expr;)* }) => {
            #[tool_harness]
            impl $type {
                $($(#[$attribute])* $vis fn $name($($parameter: $kind),*) -> $output { $body })*
            }
        };
    }

    #[derive(Default)]
    struct Passed;

    method! { Passed {
        /// Reviews.
        #[subagent(agent_id = "passed.reviewer", context = Fresh, metadata(a = 1))]
        pub(crate) fn reviewer() -> AgentConfig = AgentConfig::new("Reviewer");

        /// Adds.
        #[ai_function(name = "plus", exclusive)]
        fn add(a: u32, b: Option<u32>) -> u32 = a + b.unwrap_or(1);

        /// Not a tool.
        #[allow(dead_code)]
        fn ordinary(a: u32) -> u32 = a;
    } }

    #[tokio::test]
    async fn they_are_known_all_the_same() {
        assert_eq!(methods(&Passed), ["reviewer", "add"]);
        assert_eq!(sub_agent(&Passed, "reviewer").context, Some(SubAgentContextPolicy::Fresh));
        assert_eq!(info(&Passed, "add").name.as_deref(), Some("plus"));
        assert_eq!(text(&Passed, "add", r#"{"a":1}"#).await, "2");
        assert!(function(&Passed, "add").exclusive);
    }

    macro_rules! item {
        ($item:item) => {
            #[tool_harness]
            $item
        };
    }

    #[derive(Default)]
    struct Whole;

    item! {
        impl Whole {
            /// Echoes.
            #[ai_function]
            fn echo(&self, text: String) -> String { text }
        }
    }

    #[tokio::test]
    async fn a_whole_block_may_be_a_fragment() {
        assert_eq!(text(&Whole, "echo", r#"{"text":"x"}"#).await, "x");
    }
}
