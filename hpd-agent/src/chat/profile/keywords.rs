//! Where in a schema other schemas stand.

use serde_json::{Map, Value};

/// Keywords that have a schema as their value.
pub(super) const SCHEMAS: [&str; 11] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords that have a list of schemas as their value.
pub(super) const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that have named schemas as their value.
pub(super) const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// How one gets from a schema to one in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'v> {
    /// The value of a keyword.
    Only(&'v str),
    /// One of a list.
    Listed(&'v str, usize),
    /// One of those with names.
    Named(&'v str, &'v str),
}

/// The schemas that stand directly in a schema. What stands in data, as in a `const` or a `default`, is none.
pub(super) fn inner(schema: &Map<String, Value>) -> Vec<(Step<'_>, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED.contains(&keyword) => {
                found.extend(named.iter().map(|(name, schema)| (Step::Named(keyword, name), schema)));
            }
            // Before draft 2020-12, `items` said by a list what `prefixItems` says.
            Value::Array(list) if LISTS.contains(&keyword) || keyword == "items" => {
                found.extend(list.iter().enumerate().map(|(at, schema)| (Step::Listed(keyword, at), schema)));
            }
            _ if SCHEMAS.contains(&keyword) => found.push((Step::Only(keyword), value)),
            _ => {}
        }
    }
    found
}
