//! What an `#[ai_function]` takes and gives: parameters by type, results by type.

use std::{borrow::Cow, fmt, sync::Arc};

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use super::{Cancellation, FunctionContext, Params, whole};
use crate::{error::BoxError, json::Members, message::ToolOutput};

/// An error that the model is shown word for word.
///
/// Any error that a function returns becomes model-visible by its `Display` text; this type is for functions that want
/// to say something to the model without having an error type of their own.
///
/// ```
/// # use hpd_agent::declare::ToolError;
/// fn find(city: &str) -> Result<f64, ToolError> {
///     Err(ToolError::new(format!("There is no city `{city}`. Ask for a city in Europe.")))
/// }
/// assert!(find("Atlantis").is_err());
/// ```
#[derive(Debug)]
pub struct ToolError {
    text: Arc<str>,
}

impl ToolError {
    /// An error with this text: a sentence that says what is wrong and what to do.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into() }
    }

    /// The text of any error; a `ToolError` inside of a box stays itself.
    pub(crate) fn from_boxed(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => *own,
            Err(other) => Self::new(sentence(other.as_ref())),
        }
    }
}

/// The text of an error with its causes, each said once.
pub(crate) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ToolError {}

impl From<ToolError> for ToolOutput {
    fn from(error: ToolError) -> Self {
        ToolOutput::error(error.text)
    }
}

/// A type that can be a parameter of an [`#[ai_function]`](crate::ai_function).
///
/// An argument of the model is any type with `serde::Deserialize` and `schemars::JsonSchema`. It is optional if it
/// accepts `null`, as `Option` does. From the runtime come `&FunctionContext` and [`Cancellation`].
#[diagnostic::on_unimplemented(
    message = "HPD0053: `{Self}` cannot be a parameter of an #[ai_function]",
    label = "needs `serde::Deserialize` and `schemars::JsonSchema`",
    note = "derive both on your type, or take `&FunctionContext` or `Cancellation` from the runtime"
)]
pub trait ToolParam<'c>: Sized {
    #[doc(hidden)]
    const IN_SCHEMA: bool;
    #[doc(hidden)]
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema;
    #[doc(hidden)]
    fn optional() -> bool;
    #[doc(hidden)]
    fn take(arguments: &Arguments<'_>, context: &'c FunctionContext, name: &str) -> Result<Self, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolParam<'_> for T {
    const IN_SCHEMA: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<T>()
    }

    fn optional() -> bool {
        serde_json::from_str::<T>("null").is_ok()
    }

    fn take(arguments: &Arguments<'_>, _: &FunctionContext, name: &str) -> Result<T, ToolError> {
        arguments.take(name)
    }
}

impl<'c> ToolParam<'c> for &'c FunctionContext {
    const IN_SCHEMA: bool = false;

    fn schema(_: &mut SchemaGenerator) -> schemars::Schema {
        schemars::Schema::default()
    }

    fn optional() -> bool {
        true
    }

    fn take(_: &Arguments<'_>, context: &'c FunctionContext, _: &str) -> Result<Self, ToolError> {
        Ok(context)
    }
}

impl ToolParam<'_> for Cancellation {
    const IN_SCHEMA: bool = false;

    fn schema(_: &mut SchemaGenerator) -> schemars::Schema {
        schemars::Schema::default()
    }

    fn optional() -> bool {
        true
    }

    fn take(_: &Arguments<'_>, context: &FunctionContext, _: &str) -> Result<Self, ToolError> {
        Ok(context.cancellation().clone())
    }
}

/// What a parameter's default has to be, so that the model can be told it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0057: a parameter of type `{Self}` cannot have a default",
    label = "needs `serde::Serialize`, so that the model can be told the default",
    note = "derive it on your type, or take an `Option` and put the default into the method"
)]
pub trait ArgumentDefault {
    fn into_default(self) -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ArgumentDefault for T {
    fn into_default(self) -> Value {
        // What cannot be written as JSON is a default all the same, only not one that can be told.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// What the type of a parameter has to be, so that `#[arg(default)]` says what it is.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0058: `{Self}` has no default of its own",
    label = "needs `Default`",
    note = "derive it on your type, or say the value: `#[arg(default = …)]`"
)]
pub trait OwnDefault {
    fn own_default() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> OwnDefault for T {
    fn own_default() -> Self {
        T::default()
    }
}

/// The arguments of one call: the members of a JSON object, not yet deserialized.
#[doc(hidden)]
#[derive(Debug)]
pub struct Arguments<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Arguments<'a> {
    /// Reads a JSON object and refuses what none of `legal` names.
    pub fn parse(text: &'a str, legal: &[&str]) -> Result<Self, ToolError> {
        Self::parse_with(text, |name| legal.contains(&name))
            .map_err(|refused| refused.map_or_else(|error| error, |name| unknown_argument(&name, legal)))
    }

    /// Reads a JSON object, whatever its members are.
    pub(crate) fn parse_any(text: &'a str) -> Result<Self, ToolError> {
        serde_json::from_str(if text.trim().is_empty() { "{}" } else { text })
            .map(|Members(members)| Self { members })
            .map_err(|error| ToolError::new(format!("The arguments are not a valid JSON object: {error}.")))
    }

    /// Reads a JSON object. The error is the name of the first member that `is_legal` refuses, or that of a text that
    /// is no JSON object.
    pub(crate) fn parse_with(
        text: &'a str,
        is_legal: impl Fn(&str) -> bool,
    ) -> Result<Self, Result<Cow<'a, str>, ToolError>> {
        let arguments = Self::parse_any(text).map_err(Err)?;
        match arguments.members.iter().position(|(name, _)| !is_legal(name)) {
            None => Ok(arguments),
            Some(at) => Err(Ok(arguments.members.into_iter().nth(at).map(|(name, _)| name).unwrap_or_default())),
        }
    }

    /// Reads the arguments of a function with these parameters.
    pub(crate) fn for_params(text: &'a str, params: &Params) -> Result<Self, ToolError> {
        let legal: smallvec::SmallVec<[&str; 8]> =
            params.iter().filter(|param| param.in_schema).map(|param| param.name).collect();
        Self::parse(text, &legal)
    }

    /// The text of a member; `None` if it is absent or null. Of members with one name the last one counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.members.iter().rev().find(|(member, _)| member == name)?;
        Some(value.get()).filter(|text| *text != "null")
    }

    pub(crate) fn take<T: DeserializeOwned>(&self, name: &str) -> Result<T, ToolError> {
        let text = self.get(name);
        let read = |text: &str| {
            serde_json::from_str(text).or_else(|error| whole::read_again(error, || serde_json::from_str(text).ok()))
        };
        read(text.unwrap_or("null")).map_err(|error| match text {
            Some(_) => wrong_argument(name, &error),
            None => missing_argument(name),
        })
    }

    /// All members that are not null.
    pub(crate) fn to_object(&self) -> Result<Map<String, Value>, ToolError> {
        let given = self.members.iter().filter(|(_, value)| value.get() != "null");
        let parsed = given.map(|(name, value)| match serde_json::from_str(value.get()) {
            Ok(parsed) => Ok((name.to_string(), parsed)),
            Err(error) => Err(wrong_argument(name, &error)),
        });
        parsed.collect()
    }
}

pub(crate) fn wrong_argument(name: &str, error: &serde_json::Error) -> ToolError {
    ToolError::new(format!("The argument `{name}` is wrong: {error}."))
}

pub(crate) fn missing_argument(name: &str) -> ToolError {
    ToolError::new(format!("The argument `{name}` is missing."))
}

pub(crate) fn unknown_argument(name: &str, legal: &[&str]) -> ToolError {
    let legal = match legal {
        [] => "this tool takes none".to_owned(),
        names => format!("legal are {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    };
    ToolError::new(format!("There is no argument `{name}`; {legal}."))
}

/// What a function returned, on its way to a tool result. A `Result` takes the inherent method, every other value the
/// trait: `Result` is itself `Serialize`, so one blanket implementation could not tell them apart.
#[doc(hidden)]
#[derive(Debug)]
pub struct Output<T>(pub T);

impl<T, E> Output<Result<T, E>> {
    /// The bounds stand on the method: on the block, a wrong error type would silently take the other path.
    pub fn into_tool_result(self) -> Result<ToolOutput, ToolError>
    where
        T: IntoToolOutput,
        E: IntoToolError,
    {
        match self.0 {
            Ok(value) => value.into_tool_output(),
            Err(error) => Err(ToolError::from_boxed(error.into_error())),
        }
    }
}

/// The bound stands on the method here too: an unmet one is then reported in the words of [`IntoToolOutput`].
#[doc(hidden)]
pub trait PlainOutput<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>
    where
        T: IntoToolOutput;
}

impl<T> PlainOutput<T> for Output<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>
    where
        T: IntoToolOutput,
    {
        self.0.into_tool_output()
    }
}

/// The error of a `Result` that a method returns: any error, `String`, `&str`, and what else converts into a boxed error.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "HPD0046: `{Self}` cannot be the error of a tool",
    label = "does not convert into `Box<dyn Error + Send + Sync>`",
    note = "use `ToolError`, `String`, or an error type that is `Send` and `Sync`; a boxed error is `Box<dyn Error + Send + \
            Sync>`"
)]
pub trait IntoToolError {
    fn into_error(self) -> BoxError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> IntoToolError for E {
    fn into_error(self) -> BoxError {
        self.into()
    }
}

/// How the name of every `Result` type begins.
const RESULT: &str = "core::result::Result<";

/// How the names of types begin that serialize as what is in them does.
const WRAPPERS: [&str; 7] = [
    "&mut ",
    "&",
    "core::option::Option<",
    "alloc::boxed::Box<",
    "alloc::sync::Arc<",
    "alloc::rc::Rc<",
    "alloc::borrow::Cow<",
];

/// The name of what a reference, a box or an option holds, with what may follow it; any other name as it is.
fn unwrapped(mut name: &str) -> &str {
    // Compilers differ in whether they write lifetimes that they do not know.
    while let Some(inner) = WRAPPERS.iter().find_map(|wrapper| name.strip_prefix(wrapper)) {
        name = inner.strip_prefix("'_, ").unwrap_or(inner);
    }
    name
}

/// Whether a name is that of [`ToolOutput`], if what is unwrapped may follow it.
fn is_tool_output(name: &str) -> bool {
    name.strip_prefix(std::any::type_name::<ToolOutput>())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['>', ',']))
}

/// The output that a serialized value of the type with this name stands for: its own, or that of a success. A `None` is
/// null, as which neither of them is serialized.
fn read_output(name: &str, value: Value) -> Result<Result<ToolOutput, ToolError>, serde_json::Error> {
    let name = unwrapped(name);
    if value.is_null() {
        return ToolOutput::serialize_value(&value).map(Ok);
    }
    if is_tool_output(name) {
        return serde_json::from_value(value).map(Ok);
    }
    let Some(of_success) = name.strip_prefix(RESULT) else { return ToolOutput::serialize_value(&value).map(Ok) };
    match serde_json::from_value::<Result<Value, Value>>(value)? {
        Ok(value) => read_output(of_success, value),
        Err(Value::String(error)) => Ok(Err(ToolError::new(error))),
        Err(error) => Ok(Err(ToolError::new(error.to_string()))),
    }
}

/// What an [`#[ai_function]`](crate::ai_function) may return: anything that serializes, or a `Result` of it with any
/// error. A [`ToolOutput`] is passed on as it is.
#[diagnostic::on_unimplemented(
    message = "HPD0055: an #[ai_function] cannot return `{Self}`",
    label = "needs `serde::Serialize`",
    note = "derive it on your type; the model is shown the value as JSON"
)]
pub trait IntoToolOutput {
    #[doc(hidden)]
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolOutput for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        // A `ToolOutput` serializes too, for the journal, but is the output itself, and a `Result` behind a reference, in a
        // box or an option, or behind `impl Serialize` still says whether the call failed. Neither can be told from other
        // types by a trait, nor by its id, since a result need not be `'static`.
        let name = std::any::type_name::<T>();
        let inner = unwrapped(name);
        let output = if is_tool_output(inner) || inner.starts_with(RESULT) {
            serde_json::to_value(&self).and_then(|value| read_output(name, value))
        } else {
            ToolOutput::serialize_value(&self).map(Ok)
        };
        output.unwrap_or_else(|error| Err(ToolError::new(format!("The result could not be written as JSON: {error}."))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_refuse_what_is_not_legal_and_say_what_is() {
        for (text, expected) in [
            ("{", "not a valid JSON object"),
            ("[1]", "a JSON object"),
            ("\"x\"", "a JSON object"),
            (r#"{"b":1}"#, "no argument `b`; legal are `a`"),
        ] {
            let error = Arguments::parse(text, &["a"]).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Arguments::parse(r#"{"b":1}"#, &[]).unwrap_err().to_string().contains("takes none"));
    }

    #[test]
    fn an_absent_argument_and_null_are_the_same() {
        for text in ["", "{}", r#"{"a":null}"#] {
            let arguments = Arguments::parse(text, &["a"]).unwrap();
            assert_eq!(arguments.take::<Option<u32>>("a").unwrap(), None);
            assert!(arguments.take::<u32>("a").unwrap_err().to_string().contains("`a` is missing"));
        }
        let arguments = Arguments::parse(r#"{"a":"x"}"#, &["a"]).unwrap();
        assert!(arguments.take::<u32>("a").unwrap_err().to_string().contains("`a` is wrong"));
        let whole = Arguments::parse(r#"{"a":[{"n":2.0}]}"#, &["a"]).unwrap();
        assert_eq!(whole.take::<Vec<std::collections::BTreeMap<String, u8>>>("a").unwrap()[0]["n"], 2);
        let escaped = Arguments::parse(r#"{"\u0061":7}"#, &["a"]).unwrap();
        assert_eq!(escaped.take::<u32>("a").unwrap(), 7);
    }

    #[test]
    fn the_type_decides_whether_an_argument_is_optional() {
        assert!(<Option<String> as ToolParam<'_>>::optional());
        assert!(!<String as ToolParam<'_>>::optional());
    }

    #[test]
    fn results_and_values_become_tool_results() {
        let ok: Result<u32, std::io::Error> = Ok(1);
        assert_eq!(Output(ok).into_tool_result().unwrap().text(), "1");
        let err: Result<u32, String> = Err("no".into());
        assert_eq!(Output(err).into_tool_result().unwrap_err().to_string(), "no");
        let own: Result<u32, ToolError> = Err(ToolError::new("own"));
        assert_eq!(Output(own).into_tool_result().unwrap_err().to_string(), "own");
        assert_eq!(Output("text").into_tool_result().unwrap().text(), "text");
        assert_eq!(Output(()).into_tool_result().unwrap().text(), "null");
        // Behind `impl Serialize` the trait is taken for a `Result` too.
        fn hidden(result: Result<u32, &'static str>) -> impl Serialize {
            result
        }
        assert_eq!(Output(hidden(Ok(1))).into_tool_result().unwrap().text(), "1");
        assert_eq!(Output(hidden(Err("no"))).into_tool_result().unwrap_err().to_string(), "no");
        let output = ToolOutput::rendered(&serde_json::json!({"a": 1}), "one");
        assert_eq!(Output(output.clone()).into_tool_result().unwrap(), output);
        let failed: Result<ToolOutput, ToolError> = Ok(ToolOutput::error("not today"));
        assert!(Output(failed).into_tool_result().unwrap().is_error());
    }

    #[test]
    fn what_holds_a_result_or_an_output_is_one() {
        fn told<T: IntoToolOutput>(value: T) -> Result<ToolOutput, String> {
            Output(value).into_tool_result().map_err(|error| error.to_string())
        }
        let failed: Result<u8, String> = Err("no".into());
        assert_eq!(told(&failed).unwrap_err(), "no");
        assert_eq!(told::<&mut Result<u8, String>>(&mut failed.clone()).unwrap_err(), "no");
        assert_eq!(told(Box::new(failed.clone())).unwrap_err(), "no");
        assert_eq!(told(Some(Box::new(&failed))).unwrap_err(), "no");
        assert_eq!(told(Cow::Borrowed(&failed)).unwrap_err(), "no");
        assert_eq!(told(Box::new(Ok::<_, String>(failed.clone()))).unwrap_err(), "no");
        assert_eq!(told(Some(Ok::<u8, String>(1))).unwrap().text(), "1");
        assert_eq!(told(Some(Ok::<(), String>(()))).unwrap().text(), "null");
        assert_eq!(told(None::<Result<u8, String>>).unwrap().text(), "null");
        let output = ToolOutput::error("not today");
        assert_eq!(told(&output).unwrap(), output);
        assert_eq!(told(Box::new(output.clone())).unwrap(), output);
        assert_eq!(told(Some(output.clone())).unwrap(), output);
        assert_eq!(told(Box::new(Ok::<_, String>(output.clone()))).unwrap(), output);
        assert_eq!(told(None::<ToolOutput>).unwrap().text(), "null");
        // Lists of them are values like others.
        assert_eq!(told(vec![failed]).unwrap().text(), r#"[{"Err":"no"}]"#);
    }
}
