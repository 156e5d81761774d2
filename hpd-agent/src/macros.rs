//! The macros, with what they mean.

/// Makes a tool harness of an inherent `impl` block: its methods that are marked `#[subagent]` or `#[ai_function]` are
/// the tools.
///
/// ```
/// use hpd_agent::prelude::*;
///
/// #[derive(Default)]
/// struct WritingTools;
///
/// #[tool_harness]
/// impl WritingTools {
///     /// Summarizes a request before the parent answers.
///     #[subagent(agent_id = "writing.summarizer")]
///     fn summarizer(&self) -> AgentConfig {
///         AgentConfig::new("Summarizer").with_system_instructions("Summarize in three bullets.")
///     }
///
///     /// Counts the words of a text.
///     #[ai_function]
///     fn count_words(
///         &self,
///         /// The text.
///         text: String,
///     ) -> usize {
///         text.split_whitespace().count()
///     }
///
///     // Not marked, so not a tool.
///     fn helper(&self) {}
/// }
/// # WritingTools.helper();
/// ```
///
/// The block stays what it was: its methods can be called and tested like any other. There is one such block per type.
///
/// | Argument | Meaning |
/// |---|---|
/// | `name = "…"` | The name by which [`tool::registry`](crate::tool::registry) finds the harness. Default: the type's name. It should survive renaming the type, because stored agents say it. |
/// | `crate = ::path` | Where this crate is, for packages that know it through another one: `crate = ::facade::hpd_agent`. A dependency with another name is found without it. |
///
/// A block with type or const parameters is a harness where its type is `Send`, `Sync` and `'static`; it is used by
/// type and has no entry in the registry. What depends on the parameters is evaluated when they are known, by
/// `cargo build`.
///
/// All mistakes of a block are reported in one build, each where it is and with a code that the book explains, and the
/// block, its methods and the harness exist all the same.
pub use hpd_agent_macros::tool_harness;

/// Makes a subagent of a method: a child agent that its parent's model sees as a tool.
///
/// ```
/// use hpd_agent::prelude::*;
///
/// #[derive(Default)]
/// struct SearchTools;
///
/// #[tool_harness]
/// impl SearchTools {}
///
/// #[derive(Default)]
/// struct Team;
///
/// #[tool_harness]
/// impl Team {
///     /// Reviews a draft and reports actionable issues.
///     #[subagent(
///         agent_id = "team.reviewer",
///         context = ModelChoice,
///         invocation_mode = AgentInvocationModePolicy::SynchronousOnly,
///         availability = through_depth(2),
///         tool_harnesses = [SearchTools],
///         metadata(team = "writing", priority = 2),
///     )]
///     fn reviewer(&self, context: &HarnessContext) -> AgentConfig {
///         AgentConfig::new("Reviewer")
///             .with_system_instructions(format!("You review for {}.", context.agent_name()))
///     }
///
///     /// Researches a question.
///     #[subagent]
///     async fn researcher(&self) -> Result<SubAgent, std::io::Error> {
///         Ok(SubAgent::from_config("team.researcher", AgentConfig::new("Researcher"))
///             .with_description("Researches a question using the approved search tools.")
///             .with_tool_harness::<SearchTools>())
///     }
/// }
/// ```
///
/// The method takes `&self` or nothing, and optionally `&HarnessContext`; it may be `async`. It returns an
/// [`AgentConfig`](crate::declare::AgentConfig), a [`SubAgent`](crate::declare::SubAgent), or a `Result` of either with
/// any error. It runs once, when an agent that carries the harness is built. Its name and its doc comment are the
/// tool's name and description unless the attribute or the returned value say otherwise. With `agent_id` it needs a
/// description of its own; without, one may come with the returned value.
///
/// | Argument | Meaning |
/// |---|---|
/// | `agent_id = "…"` | The stable identity of the child's definition. Without it the method returns a `SubAgent`, which has one. |
/// | `name = "…"`, `description = "…"` | Instead of the method's name and its doc comment. |
/// | `context = …` | A [`SubAgentContextPolicy`](crate::declare::SubAgentContextPolicy). |
/// | `invocation_mode = …` | An [`AgentInvocationModePolicy`](crate::declare::AgentInvocationModePolicy). |
/// | `availability = …` | A [`SubAgentAvailability`](crate::declare::SubAgentAvailability). |
/// | `lifecycle = …` | A [`SubAgentLifecycle`](crate::declare::SubAgentLifecycle). |
/// | `fork_compaction = …` | A [`ForkCompaction`](crate::compaction::ForkCompaction); not with a `context` under which no child is a fork. |
/// | `background_notification = …` | A [`BackgroundNotification`](crate::declare::BackgroundNotification); not where no child can be in the background. |
/// | `tool_harnesses = [T, …]` | The harnesses that the child carries. |
/// | `metadata(key = value, …)` | Values of the child's thread; evaluated when the agent is built. The keys that the runtime sets itself are refused. |
///
/// Texts and policies are constant expressions; `Self::CONSTANT` works. The names of a policy are in scope in its value:
/// `context = Fresh`, `availability = through_depth(2)`.
///
/// Names and ids are there once in a harness. Two tools of one name, and two definitions of one `agent_id`, are errors of
/// the compiler; between harnesses of one agent, of `build`.
///
/// Outside of a `#[tool_harness]` block the attribute is an error that says so.
pub use hpd_agent_macros::subagent;

/// Makes a tool of a method: a function that the model may call.
///
/// ```
/// use hpd_agent::prelude::*;
///
/// #[derive(serde::Serialize)]
/// struct Weather {
///     celsius: f64,
/// }
///
/// #[derive(Default)]
/// struct WeatherTools;
///
/// #[tool_harness]
/// impl WeatherTools {
///     /// Gets the current weather for a city.
///     #[ai_function(requires_permission)]
///     async fn get_weather(
///         &self,
///         /// The city to look up.
///         city: String,
///         /// How many days ahead; today if left out.
///         days: Option<u32>,
///         /// In which unit the answer is.
///         #[arg(default = "celsius".to_owned())]
///         unit: String,
///         ctx: &FunctionContext,
///     ) -> Result<Weather, ToolError> {
///         if city == "Atlantis" {
///             return Err(ToolError::new("There is no such city. Ask for one in Europe."));
///         }
///         ctx.emit_live("weather", serde_json::json!({ "city": city, "unit": unit }));
///         Ok(Weather { celsius: f64::from(20 + days.unwrap_or(0)) })
///     }
/// }
/// ```
///
/// The method takes `&self` or nothing; it may be `async`, but not `unsafe`, `const` or `extern`. The type of each parameter decides what it is: any type with
/// `serde::Deserialize` and `schemars::JsonSchema` is an argument of the model, described by the parameter's doc
/// comment and optional if it accepts `null`; [`&FunctionContext`](crate::declare::FunctionContext) and
/// [`Cancellation`](crate::declare::Cancellation) come from the runtime. It returns any value with `serde::Serialize`,
/// or a `Result` of one with any error, which the model is shown as a sentence; or a
/// [`ToolOutput`](crate::message::ToolOutput), which has a text of its own.
///
/// | Argument | Meaning |
/// |---|---|
/// | `name = "…"`, `description = "…"` | Instead of the method's name and its doc comment. |
/// | `requires_permission` | A call has to be permitted. Also `requires_permission = false`. |
/// | `exclusive` | No other call of the same message runs at the same time. Also `exclusive = false`. |
///
/// A parameter that the model gives may have an `#[arg(…)]`, with these arguments:
///
/// | Argument | Meaning |
/// |---|---|
/// | `name = "…"` | A literal, instead of the parameter's name. Legal are 1 to 64 ASCII letters, digits, `_` and `-`. |
/// | `description = …` | A text, literal or constant, instead of the doc comment. |
/// | `default`, `default = …` | What the parameter is if the model leaves it out or gives `null`: `Default::default()`, or the value of any expression of its type. The schema tells it to the model, so the type needs `serde::Serialize`. Parameters behind it need a default too, or are optional. |
///
/// A parameter may stand under `#[cfg]`: where that does not hold it is in neither the method nor the schema.
///
/// Outside of a `#[tool_harness]` block the attribute is an error that says so.
pub use hpd_agent_macros::ai_function;
