//! Harnesses that are declared while the program runs: the same descriptors as those of the macro, from closures.

mod arguments;
mod function;
mod schema;

use std::{borrow::Cow, fmt, panic::Location, sync::Arc};

pub use self::{arguments::DynamicArguments, function::DynamicFunction, schema::RawSchema};
use super::{
    Arguments, CapabilityInfo, CapabilityKind, ErasedHarness, FunctionContext, HarnessContext, HarnessIdentity,
    HarnessKey, IntoIdentifiedSubAgent, IntoSubAgent as _, IntoToolOutput, Origin, Params, SubAgent, SubAgentInfo,
    ToolError,
};
use crate::{error::BoxError, future::BoxFuture, message::ToolOutput};

/// A harness that is declared at run time: subagents and functions from values and closures.
///
/// What it declares is what [`#[tool_harness]`](crate::tool_harness) on a type with the same methods would declare, and
/// an agent that is built with it is the same agent. Nothing is checked here; the agent's
/// [`build`](crate::agent::AgentBuilder::build) reports what is wrong, with the line at which it was added.
///
/// Give it to the builder with [`with_dynamic_harness`](crate::agent::AgentBuilder::with_dynamic_harness), or put it
/// into a [`DynamicRegistry`](crate::tool::DynamicRegistry), where agents find it by its name.
///
/// ```
/// use hpd_agent::prelude::*;
///
/// let tools = DynamicHarness::new("weather")
///     .with_function(
///         DynamicFunction::new("get_weather", "Gets the weather of a city.")
///             .with_param::<String>("city", "The city to look up."),
///         |arguments, context| {
///             Box::pin(async move {
///                 let city: String = arguments.get("city")?;
///                 context.emit_live("looking", serde_json::json!({ "city": city }));
///                 Ok(format!("It is warm in {city}."))
///             })
///         },
///     )
///     .with_sub_agent(
///         "summarizer",
///         SubAgent::from_config("weather.summarizer", AgentConfig::new("Summarizer"))
///             .with_description("Summarizes a forecast."),
///     );
/// assert_eq!(tools.name(), "weather");
/// ```
pub struct DynamicHarness {
    name: Arc<str>,
    package: Arc<str>,
    origin: Origin,
    entries: Vec<Entry>,
}

/// The package of what says nothing of one.
const NO_PACKAGE: &str = "dynamic";

struct Entry {
    info: CapabilityInfo,
    action: Action,
}

type Handler = Box<
    dyn for<'c> Fn(DynamicArguments<'c>, &'c FunctionContext) -> BoxFuture<'c, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

type Definition = Box<dyn Fn(HarnessContext) -> BoxFuture<'static, Result<SubAgent, BoxError>> + Send + Sync>;

enum Action {
    Function(Handler),
    SubAgent(Definition),
}

impl DynamicHarness {
    /// A harness without tools. The rules for `name` are those of `#[tool_harness(name = "…")]`: 1 to 128 characters
    /// from `A-Z a-z 0-9 . _ / -`, the first one a letter or digit.
    #[must_use]
    #[track_caller]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            package: NO_PACKAGE.into(),
            origin: Origin::Code(Location::caller()),
            entries: Vec::new(),
        }
    }

    /// The package that owns the definitions of its subagents in the agent store, where the owner of each is
    /// `package:harness.tool`. For the harness of a type that is the package that the compiler knows, so
    /// `env!("CARGO_PKG_NAME")` makes them the same. Default: `dynamic`.
    #[must_use]
    pub fn with_package(mut self, package: impl Into<Arc<str>>) -> Self {
        self.package = package.into();
        self
    }

    /// The name by which it is found.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names under which its tools were added, in that order.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.info.method)
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// One more subagent tool. `name` is to it what a method's name is to `#[subagent]`: the tool's name, unless the
    /// value has one of its own.
    #[must_use]
    #[track_caller]
    pub fn with_sub_agent(self, name: impl Into<String>, sub_agent: SubAgent) -> Self {
        let origin = Origin::Code(Location::caller());
        self.with_sub_agent_at(name, sub_agent, origin)
    }

    /// The same, declared elsewhere than where it is added.
    pub(crate) fn with_sub_agent_at(self, name: impl Into<String>, sub_agent: SubAgent, origin: Origin) -> Self {
        let define: Definition = Box::new(move |_| Box::pin(std::future::ready(Ok(sub_agent.clone()))));
        self.with_definition(name.into(), origin, define)
    }

    /// One more subagent tool, whose definition is made when an agent is built: once for each, like a `#[subagent]`
    /// method. `define` returns a [`SubAgent`] or a `Result` of one with any error, which fails the build.
    ///
    /// ```
    /// use hpd_agent::prelude::*;
    ///
    /// let tools = DynamicHarness::new("writing").with_sub_agent_fn("reviewer", |context| async move {
    ///     let config = AgentConfig::new(format!("Reviewer of {}", context.agent_name()));
    ///     SubAgent::from_config("writing.reviewer", config).with_description("Reviews a draft.")
    /// });
    /// # assert_eq!(tools.tools().collect::<Vec<_>>(), ["reviewer"]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_sub_agent_fn<F, Fut>(self, name: impl Into<String>, define: F) -> Self
    where
        F: Fn(HarnessContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoIdentifiedSubAgent> + Send + 'static,
    {
        let origin = Origin::Code(Location::caller());
        let define: Definition = Box::new(move |context| {
            let defining = define(context);
            Box::pin(async move { defining.await.into_sub_agent(None) })
        });
        self.with_definition(name.into(), origin, define)
    }

    /// One more function tool: its declaration, and the code behind it.
    ///
    /// The handler is given arguments that fit the declaration: others are refused in the same words as those of an
    /// `#[ai_function]`, before it runs. What it returns is turned into JSON as a method's value is; an error of any
    /// type becomes a tool error that the model is shown.
    #[must_use]
    #[track_caller]
    pub fn with_function<T, F>(self, function: DynamicFunction, handler: F) -> Self
    where
        T: IntoToolOutput + 'static,
        F: for<'c> Fn(DynamicArguments<'c>, &'c FunctionContext) -> BoxFuture<'c, Result<T, BoxError>>
            + Send
            + Sync
            + 'static,
    {
        let origin = Origin::Code(Location::caller());
        let handler: Handler = Box::new(move |arguments, context| {
            let running = handler(arguments, context);
            Box::pin(async move {
                match running.await {
                    Ok(value) => value.into_tool_output(),
                    Err(error) => Err(ToolError::from_boxed(error)),
                }
            })
        });
        let (name, description, info) = function.into_parts();
        self.with(name, Some(description), CapabilityKind::Function(info), origin, Action::Function(handler))
    }

    fn with_definition(self, name: String, origin: Origin, define: Definition) -> Self {
        let kind = CapabilityKind::SubAgent(SubAgentInfo::default());
        self.with(name, None, kind, origin, Action::SubAgent(define))
    }

    fn with(
        mut self,
        name: String,
        description: Option<String>,
        kind: CapabilityKind,
        origin: Origin,
        action: Action,
    ) -> Self {
        let info = CapabilityInfo {
            method: Cow::Owned(name),
            name: None,
            description: description.map(Cow::Owned),
            doc: None,
            origin,
            kind,
        };
        self.entries.push(Entry { info, action });
        self
    }
}

impl fmt::Debug for DynamicHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicHarness")
            .field("name", &self.name)
            .field("tools", &self.tools().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl ErasedHarness for DynamicHarness {
    fn name(&self) -> &str {
        &self.name
    }

    fn package(&self) -> &str {
        &self.package
    }

    fn identity(&self) -> Option<&'static HarnessIdentity> {
        None
    }

    fn key(&self) -> HarnessKey {
        HarnessKey::Value(std::ptr::from_ref(self).addr())
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn info(&self, index: usize) -> Option<&CapabilityInfo> {
        self.entries.get(index).map(|entry| &entry.info)
    }

    fn define<'h>(
        &'h self,
        index: usize,
        context: &'h HarnessContext,
    ) -> Option<BoxFuture<'h, Result<SubAgent, BoxError>>> {
        match &self.entries.get(index)?.action {
            // In the future, so that a closure that panics is caught where a method is.
            Action::SubAgent(define) => Some(Box::pin(async move { define(context.clone()).await })),
            Action::Function(_) => None,
        }
    }

    fn call<'h>(
        &'h self,
        index: usize,
        arguments: &'h str,
        context: &'h FunctionContext,
    ) -> Option<BoxFuture<'h, Result<ToolOutput, ToolError>>> {
        let Entry { info, action: Action::Function(handler) } = self.entries.get(index)? else { return None };
        let CapabilityKind::Function(function) = &info.kind else { return None };
        Some(Box::pin(async move {
            let arguments = match &function.params {
                Params::Schema(schema) => DynamicArguments::checked(schema.take(arguments)?),
                params => DynamicArguments::declared(Arguments::for_params(arguments, params)?, params)?,
            };
            handler(arguments, context).await
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{declare::AgentConfig, testing};

    fn tools() -> DynamicHarness {
        DynamicHarness::new("test")
            .with_function(
                DynamicFunction::new("add", "Adds.").with_param::<u32>("a", "One.").with_param::<Option<u32>>("b", ""),
                |arguments, _| {
                    Box::pin(async move {
                        let (a, b): (u32, Option<u32>) = (arguments.get("a")?, arguments.get("b")?);
                        if a == 13 { Err("not today".into()) } else { Ok(a + b.unwrap_or_default()) }
                    })
                },
            )
            .with_function(
                DynamicFunction::from_schema(
                    "raw",
                    "Shows what it is given.",
                    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
                ),
                |arguments, _| Box::pin(async move { Ok(arguments.into_value()?) }),
            )
            .with_function(DynamicFunction::new("wrong", "Asks for what it does not declare."), |arguments, _| {
                Box::pin(async move { Ok(arguments.get::<u32>("n")?) })
            })
            .with_function(
                DynamicFunction::new("all", "Shows all.")
                    .with_param_or::<u32>("limit", "", 10)
                    .with_param_or::<Option<u32>>("near", "", None)
                    .with_param::<Option<bool>>("aloud", ""),
                |arguments, _| Box::pin(async move { Ok(arguments.into_value()?) }),
            )
            .with_sub_agent("child", SubAgent::from_config("test.child", AgentConfig::new("Child")))
            .with_sub_agent_fn("failing", |_| async { Err::<SubAgent, _>("no definition") })
            .with_function(
                DynamicFunction::from_schema(
                    "typed",
                    "Takes a number.",
                    json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
                ),
                |arguments, _| Box::pin(async move { Ok(arguments.get::<u8>("n")?) }),
            )
    }

    async fn call(index: usize, arguments: &str) -> Result<String, String> {
        let context = testing::function_context();
        let output = tools().call(index, arguments, &context).unwrap().await;
        output.map(|output| output.text().to_owned()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn calls_are_checked_in_the_words_of_methods() {
        assert_eq!(call(0, r#"{"a":1,"b":2}"#).await, Ok("3".into()));
        assert_eq!(call(0, r#"{"a":1,"b":null}"#).await, Ok("1".into()));
        for (arguments, expected) in [
            ("{", "The arguments are not a valid JSON object"),
            ("{}", "The argument `a` is missing."),
            (r#"{"a":"x"}"#, "The argument `a` is wrong: invalid type: string \"x\", expected u32"),
            (r#"{"a":13,"b":"x"}"#, "The argument `b` is wrong"),
            (r#"{"a":1,"c":2}"#, "There is no argument `c`; legal are `a`, `b`."),
            (r#"{"a":13}"#, "not today"),
        ] {
            let error = call(0, arguments).await.unwrap_err();
            assert!(error.contains(expected), "{arguments}: {error}");
        }
    }

    #[tokio::test]
    async fn a_function_with_a_raw_schema_is_given_the_value() {
        let shown: Value = serde_json::from_str(&call(1, r#"{"n":1,"more":[true]}"#).await.unwrap()).unwrap();
        assert_eq!(shown, json!({"n": 1, "more": [true]}));
        assert!(call(1, "{}").await.unwrap_err().contains("`n` is missing"));
        // An integer with a point is one, however the function is declared.
        assert_eq!(call(0, r#"{"a":1.0,"b":2.0}"#).await, Ok("3".into()));
        assert_eq!(call(6, r#"{"n":2.0}"#).await, Ok("2".into()));
        assert!(call(0, r#"{"a":1.5}"#).await.unwrap_err().contains("invalid type: floating point `1.5`"));
        let deep = format!(r#"{{"n":1,"deep":{}{}}}"#, "[".repeat(120), "]".repeat(120));
        assert!(call(1, &deep).await.is_ok());
        let too_deep = format!(r#"{{"n":1,"deep":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        let error = call(1, &too_deep).await.unwrap_err();
        assert!(error.contains("recursion limit"), "{error}");
    }

    #[tokio::test]
    async fn an_argument_that_is_not_declared_is_the_authors_mistake() {
        let error = call(2, "{}").await.unwrap_err();
        assert!(error.contains("does not declare") && error.contains("`n`"), "{error}");
    }

    #[tokio::test]
    async fn a_default_takes_the_place_of_what_is_left_out() {
        assert_eq!(call(3, r#"{"limit":null}"#).await, Ok(r#"{"limit":10}"#.into()));
        assert_eq!(call(3, r#"{"limit":1}"#).await, Ok(r#"{"limit":1}"#.into()));
        assert!(call(3, r#"{"limit":"x"}"#).await.unwrap_err().contains("`limit` is wrong"));
    }

    #[tokio::test]
    async fn definitions_are_made_when_they_are_asked_for() {
        let (tools, context) = (tools(), testing::harness_context());
        let child = tools.define(4, &context).unwrap().await.unwrap();
        assert_eq!(child.agent_id(), "test.child");
        let error = tools.define(5, &context).unwrap().await.unwrap_err();
        assert_eq!(error.to_string(), "no definition");
        assert!(tools.define(0, &context).is_none() && tools.call(4, "{}", &testing::function_context()).is_none());
        assert!(tools.info(9).is_none());
    }

    #[test]
    fn each_tool_knows_its_line_and_each_harness_itself() {
        let (one, other) = (tools(), tools());
        let lines: Vec<u32> = one.entries.iter().map(|entry| entry.info.origin.line()).collect();
        assert!(lines.windows(2).all(|pair| matches!(pair, [a, b] if a < b)), "{lines:?}");
        assert_ne!(one.key(), other.key());
        assert_eq!(one.tools().collect::<Vec<_>>(), ["add", "raw", "wrong", "all", "child", "failing", "typed"]);
        assert!(format!("{one:?}").contains("\"child\""));
    }

    #[tokio::test]
    async fn values_of_any_kind_are_results() {
        let harness = DynamicHarness::new("x")
            .with_function(DynamicFunction::new("a", "A."), |_, _| Box::pin(async { Ok(json!({"a": 1})) }))
            .with_function(DynamicFunction::new("b", "B."), |_, _| Box::pin(async { Ok(ToolOutput::error("no")) }))
            .with_function(DynamicFunction::new("c", "C."), |_, _| Box::pin(async { Ok(Value::Null) }));
        let context = testing::function_context();
        let mut outputs = Vec::new();
        for index in 0..harness.len() {
            outputs.push(harness.call(index, "{}", &context).unwrap().await.unwrap());
        }
        let texts: Vec<_> = outputs.iter().map(|output| (output.text(), output.is_error())).collect();
        assert_eq!(texts, [(r#"{"a":1}"#, false), ("no", true), ("null", false)]);
    }
}
