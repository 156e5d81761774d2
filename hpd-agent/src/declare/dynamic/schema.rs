use serde::de::{Error as _, Unexpected};
use serde_json::{Map, Value};

use crate::{
    chat::Schema,
    declare::{
        Arguments, ToolError,
        function::{missing_argument, wrong_argument},
    },
};

/// The schema of a function whose parameters no type describes.
#[doc(hidden)]
#[derive(Debug)]
pub struct RawSchema {
    schema: Schema,
    /// Parameters that were declared besides.
    refused: Vec<Box<str>>,
}

impl RawSchema {
    pub(crate) fn new(schema: Schema) -> Self {
        Self { schema, refused: Vec::new() }
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(super) fn refuse(&mut self, param: &str) {
        self.refused.push(param.into());
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.schema.value().get("properties")?.as_object()
    }

    /// What is wrong with the schema itself.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut found = self.schema.flaws();
        let beside = |param| format!("the parameter `{param}` is declared beside a schema: describe it in the schema");
        found.extend(self.refused.iter().map(beside));
        found.extend(self.wrong_names());
        let schema = self.schema.value();
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            found.push(if schema.is_null() {
                "its schema is no JSON, or is nested deeper than 127 levels: write a JSON object that is simpler"
                    .to_owned()
            } else {
                "its schema does not say `\"type\": \"object\"`: arguments are a JSON object".to_owned()
            });
        }
        found
    }

    /// Names by which no argument can be given.
    fn wrong_names(&self) -> Vec<String> {
        let schema = self.schema.value();
        let none = Map::new();
        let properties = self.properties().unwrap_or(&none);
        let mut found = Vec::new();
        if properties.contains_key("") {
            found.push("a property of its schema has an empty name: give it one".to_owned());
        }
        let takes_more = schema.get("additionalProperties") != Some(&Value::Bool(false))
            || schema.get("patternProperties").is_some();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let unknown = required.filter(|name| !takes_more && !properties.contains_key(*name));
        found.extend(unknown.map(|name| {
            format!("its schema requires `{name}`, which is none of its properties, and allows no others: describe it")
        }));
        found
    }

    /// The arguments of a call as far as they can be checked without the whole of JSON schema: names, what is
    /// required, and the type and the values of each property. What is null counts as left out.
    pub(crate) fn take(&self, text: &str) -> Result<Map<String, Value>, ToolError> {
        let schema = self.schema.value();
        let none = Map::new();
        let properties = self.properties().unwrap_or(&none);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let arguments = if closed {
            let legal: Vec<&str> = properties.keys().map(String::as_str).collect();
            Arguments::parse(text, &legal)?
        } else {
            Arguments::parse_any(text)?
        };
        let members = arguments.to_object()?;
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required.filter(|name| !members.contains_key(*name)) {
            // Whoever requires a null is content with none.
            if !properties.get(name).is_some_and(accepts_null) {
                return Err(missing_argument(name));
            }
        }
        for (name, value) in &members {
            if let Some(property) = properties.get(name) {
                check(property, value).map_err(|error| wrong_argument(name, &error))?;
            }
        }
        Ok(members)
    }
}

/// The names of the types that a property may have; empty: any.
fn types(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn accepts_null(property: &Value) -> bool {
    let types = types(property);
    (types.is_empty() && property.get("enum").is_none()) || types.contains(&"null")
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // A type that JSON schema does not have says nothing.
        _ => true,
    }
}

fn check(property: &Value, value: &Value) -> Result<(), serde_json::Error> {
    let types = types(property);
    if !types.is_empty() && !types.iter().any(|name| is_of(value, name)) {
        return Err(serde_json::Error::invalid_type(unexpected(value), &types.join(" or ").as_str()));
    }
    let constant = property.get("const").map(std::slice::from_ref);
    let values = property.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(constant);
    match values {
        Some(values) if !values.contains(value) => {
            let legal: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            Err(serde_json::Error::invalid_value(unexpected(value), &format!("one of {}", legal.join(", ")).as_str()))
        }
        _ => Ok(()),
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Unexpected::Unsigned(number),
            (_, Some(number), _) => Unexpected::Signed(number),
            (.., number) => Unexpected::Float(number.unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(schema: Value) -> RawSchema {
        RawSchema::new(Schema::from_value(schema))
    }

    #[test]
    fn arguments_are_checked_as_far_as_the_first_level_says() {
        let schema = raw(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": ["integer", "null"]},
                "kind": {"enum": ["note", "mail"]},
                "any": {},
            },
            "required": ["query", "limit", "any"],
            "additionalProperties": false,
        }));
        assert_eq!(schema.problems(), [""; 0]);
        assert_eq!(schema.take(r#"{"query":"x","limit":null,"kind":"mail"}"#).unwrap().len(), 2);
        assert_eq!(schema.take(r#"{"query":"x","limit":2.0,"any":[1]}"#).unwrap().len(), 3);
        for (arguments, expected) in [
            ("[]", "not a valid JSON object"),
            ("{}", "The argument `query` is missing."),
            (r#"{"query":null}"#, "The argument `query` is missing."),
            (r#"{"query":1}"#, "The argument `query` is wrong: invalid type: integer `1`, expected string."),
            (r#"{"query":"x","limit":1.5}"#, "expected integer or null"),
            (r#"{"query":"x","kind":"letter"}"#, "expected one of `\"note\"`, `\"mail\"`."),
            (r#"{"query":"x","more":1}"#, "There is no argument `more`; legal are"),
        ] {
            let error = schema.take(arguments).unwrap_err().to_string();
            assert!(error.contains(expected), "{arguments}: {error}");
        }
    }

    #[test]
    fn a_schema_that_is_open_takes_everything() {
        let schema = raw(json!({"type": "object"}));
        assert_eq!(schema.take(r#"{"a":1}"#).unwrap().len(), 1);
        assert_eq!(schema.take("").unwrap().len(), 0);
    }

    #[test]
    fn schemas_that_cannot_describe_arguments_are_named() {
        for (schema, expected) in [
            (json!(true), "\"type\": \"object\""),
            (json!({"type": "string"}), "\"type\": \"object\""),
            (json!(null), "no JSON"),
            (json!({"type": "object", "properties": []}), "`properties`"),
            (json!({"type": "object", "required": [1]}), "`required`"),
            (json!({"type": "object", "properties": {"a": {}}, "required": ["a", "a"]}), "each once"),
        ] {
            let problems = raw(schema).problems();
            assert!(matches!(problems.as_slice(), [problem] if problem.contains(expected)), "{problems:?}");
        }
        let closed =
            json!({"type": "object", "properties": {"": {}}, "required": ["a", "b"], "additionalProperties": false});
        let problems = raw(closed).problems();
        assert!(
            matches!(problems.as_slice(), [empty, a, b] if empty.contains("empty name")
                && a.contains("requires `a`") && b.contains("requires `b`")),
            "{problems:?}"
        );
        assert_eq!(raw(json!({"type": "object", "required": ["a"]})).problems(), [""; 0]);
        let mut schema = raw(json!({"type": "object", "properties": 1, "required": 1}));
        schema.refuse("one");
        schema.refuse("other");
        let problems = schema.problems().join("\n");
        for part in ["`one`", "`other`", "`properties`", "`required`"] {
            assert!(problems.contains(part), "{problems}");
        }
    }
}
