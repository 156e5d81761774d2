//! A tool's JSON schema: one canonical text, and the forms of it that providers are sent.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::profile::{self, SchemaError, SchemaProfile};

/// A JSON schema: its canonical text, and what was derived from it once somebody asked for it.
///
/// ```
/// # use hpd_agent::chat::Schema;
/// let schema = Schema::from_static(r#"{"type":"object"}"#);
/// assert_eq!(schema.value()["type"], "object");
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Derived>);

struct Derived {
    text: Cow<'static, str>,
    value: OnceLock<Value>,
    /// By profile: most programs use one of them.
    wire: [OnceLock<Box<Wire>>; SchemaProfile::ALL.len()],
}

type Wire = Result<Value, Vec<SchemaError>>;

impl Schema {
    fn new(text: Cow<'static, str>, value: OnceLock<Value>) -> Self {
        Self(Arc::new(Derived { text, value, wire: Default::default() }))
    }

    /// A schema from JSON text.
    #[must_use]
    pub fn from_static(text: &'static str) -> Self {
        Self::new(text.into(), OnceLock::new())
    }

    /// A schema from JSON text that was composed, members in an order that means something.
    pub(crate) fn from_text(text: String) -> Self {
        Self::new(text.into(), OnceLock::new())
    }

    /// A schema from a JSON value. One that is nested deeper than JSON text is read, 127 levels, counts as `null`, as it
    /// does when it comes as text.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        let value = if is_readable(&value) { value } else { Value::Null };
        Self::new(value.to_string().into(), OnceLock::from(value))
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The JSON value; `null` if the text is no JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_str(&self.0.text).unwrap_or_default())
    }

    /// What is wrong with it as a schema, whoever is sent it.
    pub(crate) fn flaws(&self) -> Vec<String> {
        profile::flaws(self.value()).iter().map(ToString::to_string).collect()
    }

    /// The form in which a provider is sent this schema. It is derived once and shared by all clones.
    ///
    /// ```
    /// # use hpd_agent::chat::{Schema, SchemaProfile};
    /// let schema = Schema::from_static(
    ///     r#"{"type":"object","properties":{"days":{"type":"integer","default":3}},"additionalProperties":false}"#,
    /// );
    /// let strict = schema.wire(SchemaProfile::OpenAiStrict).unwrap();
    /// assert_eq!(strict["required"], serde_json::json!(["days"]));
    /// assert_eq!(strict["properties"]["days"]["type"], serde_json::json!(["integer", "null"]));
    /// ```
    ///
    /// # Errors
    ///
    /// Everything in the schema for which the profile has no form, each with its place.
    pub fn wire(&self, profile: SchemaProfile) -> Result<&Value, &[SchemaError]> {
        let derive = || Box::new(profile::derive(self.value(), profile));
        match self.0.wire.get(profile.index()) {
            Some(kept) => kept.get_or_init(derive).as_ref().as_ref().map_err(Vec::as_slice),
            None => Ok(self.value()),
        }
    }

    /// These arguments without the members that are `null` where this schema has none: those count as omitted. A
    /// provider that wants to be given every property makes the optional ones nullable.
    #[doc(hidden)]
    #[must_use]
    pub fn without_nulls<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        if arguments.contains("null") { profile::without_nulls(self.value(), arguments) } else { arguments.into() }
    }
}

/// The text alone: what was derived from it by now says nothing about a schema.
impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&format_args!("{}", self.text())).finish()
    }
}

/// Whether a value is read again from its text. So all that goes through a schema has an end before that of the stack.
fn is_readable(value: &Value) -> bool {
    const LEVELS: usize = 127;
    let mut open = vec![(value, 0)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Object(_) | Value::Array(_) if level >= LEVELS => return false,
            Value::Object(members) => open.extend(members.values().map(|value| (value, level + 1))),
            Value::Array(values) => open.extend(values.iter().map(|value| (value, level + 1))),
            _ => {}
        }
    }
    true
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self::from_value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::ToolSpec, id::ToolName};

    #[test]
    fn a_tool_is_shown_as_what_a_model_is_told_of_it() {
        let tool = ToolSpec::new(ToolName::trusted("search"), "Finds.", Schema::from_static(r#"{"type":"object"}"#));
        let shown = format!("{tool:?}");
        let expected = r#"ToolSpec { name: "search", description: "Finds.", schema: Schema({"type":"object"}) }"#;
        assert_eq!(shown, expected);
        // What is derived from it does not change what it is.
        let _ = tool.schema().wire(SchemaProfile::OpenAiStrict);
        assert_eq!(format!("{tool:?}"), shown);
    }
}
