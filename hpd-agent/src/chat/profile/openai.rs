//! OpenAI's function calling, without and with strict mode.
//!
//! Without: the root says `object`, has `properties` and no `oneOf`, `anyOf`, `allOf`, `enum` or `not`; arrays have `items`;
//! a schema is an object. Nothing else is looked at.
//!
//! Strict mode follows the guide to structured outputs: objects have `additionalProperties: false` and require all their
//! properties; of the keywords it knows those below, `anyOf`, `enum`, `const` and references, also to itself. It refuses
//! `allOf`, `oneOf`, `not`, conditions, `default`, and whatever stands beside a `$ref`. `minLength`, `maxLength`,
//! `uniqueItems` and `prefixItems` are not in the list. Of the objects in an `anyOf` no two may begin with the same property,
//! but for a tag.

use serde_json::{Map, Value, json};

use super::{
    SchemaError, SchemaProfile,
    budget::size,
    limits,
    plain::{edited, root},
    translate::{Dialect, Translator},
};

const STRICT: Dialect = Dialect {
    profile: SchemaProfile::OpenAiStrict,
    closed: true,
    limits: &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
    ],
    formats: &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"],
};

/// The items of a tuple with more values than this are not said twice.
const LARGE_TUPLE: usize = 200;

/// The form for strict mode.
pub(super) fn strict(canonical: &Value) -> Result<Value, Vec<SchemaError>> {
    let form = edited(&Translator::new(&STRICT, canonical).form()?, &all_required);
    limits::check(&form).map(|()| form)
}

/// The form without strict mode.
pub(super) fn plain(canonical: &Value) -> Result<Value, Vec<SchemaError>> {
    root(canonical, SchemaProfile::OpenAi, &["oneOf", "anyOf", "allOf", "enum", "not"])?;
    let mut form = edited(canonical, &with_items);
    if let Some(members) = form.as_object_mut() {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(form)
}

/// Last of all: up to here a form says what the canonical schema requires, by which alternatives are told apart.
fn all_required(schema: &mut Map<String, Value>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let names = properties.keys().map(String::as_str).collect();
        schema.insert("required".to_owned(), names);
    }
}

/// Items for an array that does not say what they are. Where the items are those of a tuple, their schemas are said
/// again: none can come after them, so that this adds nothing. Large ones are not, since tuples in tuples would double at
/// every level.
fn with_items(schema: &mut Map<String, Value>) {
    let is_array = match schema.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.contains(&json!("array")),
        _ => schema.contains_key("prefixItems"),
    };
    if !is_array || schema.get("items").is_some_and(|items| !items.is_boolean()) {
        return;
    }
    let mut kinds: Vec<Value> = Vec::new();
    let all = schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let small = all.iter().map(size).sum::<usize>() <= LARGE_TUPLE;
    for kind in all.iter().filter(|_| small) {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    let closed = schema.get("items") == Some(&Value::Bool(false));
    let most = schema.get("maxItems").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    let length = all.len();
    let items = match kinds.pop() {
        Some(only) if kinds.is_empty() && (closed || most.is_some_and(|most| most <= length)) => only,
        Some(last) if closed || most.is_some_and(|most| most <= length) => {
            kinds.push(last);
            json!({ "anyOf": kinds })
        }
        _ => json!({}),
    };
    if closed && most.is_none_or(|most| most > length) {
        schema.insert("maxItems".to_owned(), length.into());
    }
    schema.insert("items".to_owned(), items);
}
