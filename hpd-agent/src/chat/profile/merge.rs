//! One schema of several that all hold for the same value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::place::Place;

/// So many alternatives two unions may have together when both hold.
const MOST_ALTERNATIVES: usize = 64;

/// What only describes. It may differ; the outer one counts.
pub(super) const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// The members of one schema that says what both say, or the keyword at which they cannot be brought together.
pub(super) fn both(mut outer: Map<String, Value>, inner: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    if is_closed(inner, &["additionalProperties", "unevaluatedProperties"]) && knows_more(&outer, inner)
        || is_closed(&outer, &["additionalProperties"]) && knows_more(inner, &outer)
    {
        // Each says so of its own properties only, so that together they forbid the other's.
        return Err("additionalProperties".to_owned());
    }
    if begins_and_goes_on(&outer, inner) || begins_and_goes_on(inner, &outer) {
        return Err("items".to_owned());
    }
    for (keyword, value) in inner {
        let Some(own) = outer.get_mut(keyword) else {
            outer.insert(keyword.clone(), value.clone());
            continue;
        };
        if own == value || ANNOTATIONS.contains(&keyword.as_str()) {
            continue;
        }
        *own = together(keyword, own, value).ok_or_else(|| keyword.clone())?;
    }
    Ok(outer)
}

fn is_closed(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| schema.get(*keyword).is_some_and(|value| *value != Value::Bool(true)))
}

/// Whether one says how a list begins, and the other one what all its items are: in one schema, `items` are those after
/// the beginning.
fn begins_and_goes_on(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.contains_key("prefixItems")
        && !b.contains_key("prefixItems")
        && b.get("items").is_some_and(|items| *items != Value::Bool(true))
}

fn knows_more(schema: &Map<String, Value>, than: &Map<String, Value>) -> bool {
    let known = than.get("properties").and_then(Value::as_object);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|all| all.keys().any(|name| !known.is_some_and(|known| known.contains_key(name))))
}

fn together(keyword: &str, a: &Value, b: &Value) -> Option<Value> {
    match keyword {
        "properties" => {
            let mut all = a.as_object()?.clone();
            for (name, schema) in b.as_object()? {
                match all.get(name) {
                    Some(own) if own != schema => {
                        let same = both(own.as_object()?.clone(), schema.as_object()?).ok()?;
                        all.insert(name.clone(), same.into());
                    }
                    _ => {
                        all.insert(name.clone(), schema.clone());
                    }
                }
            }
            Some(all.into())
        }
        "required" => {
            let (a, b) = (a.as_array()?, b.as_array()?);
            let known: HashSet<&Value> = a.iter().collect();
            Some(a.iter().chain(b.iter().filter(|name| !known.contains(name))).cloned().collect())
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            Some(if a.as_f64()? >= b.as_f64()? { a } else { b }.clone())
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            Some(if a.as_f64()? <= b.as_f64()? { a } else { b }.clone())
        }
        "enum" => {
            let (a, b) = (a.as_array()?, b.as_array()?);
            let b: HashSet<&Value> = b.iter().collect();
            let shared: Vec<Value> = a.iter().filter(|value| b.contains(value)).cloned().collect();
            (!shared.is_empty()).then(|| shared.into())
        }
        "type" => {
            let (a, b) = (types(a)?, types(b)?);
            let mut shared: Vec<&str> = a.iter().filter(|name| b.contains(name)).copied().collect();
            if !shared.contains(&"integer") && !shared.contains(&"number") {
                let integers = a.contains(&"integer") && b.contains(&"number");
                shared.extend((integers || a.contains(&"number") && b.contains(&"integer")).then_some("integer"));
            }
            match shared.as_slice() {
                [] => None,
                [only] => Some((*only).into()),
                many => Some(many.to_vec().into()),
            }
        }
        "oneOf" | "anyOf" => {
            let (a, b) = (a.as_array()?, b.as_array()?);
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| serde_json::json!({ "allOf": [a, b] })));
            (a.len() * b.len() <= MOST_ALTERNATIVES).then(|| pairs.collect())
        }
        _ => None,
    }
}

/// The names in a `type`.
pub(super) fn types(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// The texts in a list.
pub(super) fn strings(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The schemas of a list, with their places.
pub(super) fn branches<'v>(
    node: &'v Map<String, Value>,
    keyword: &str,
    at: &Place,
) -> impl Iterator<Item = (&'v Value, Place)> {
    let all = node.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let places: Vec<Place> = (0..all.len()).map(|index| at.branch(keyword, index)).collect();
    all.iter().zip(places)
}
