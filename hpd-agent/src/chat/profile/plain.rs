//! What the forms of providers share that take JSON Schema as it is, but for a few rules.

use serde_json::{Map, Value, json};

use super::{
    SchemaError, SchemaProfile,
    keywords::{LISTS, NAMED, SCHEMAS},
};

/// What all providers want of a root, and what this one refuses there.
pub(super) fn root(canonical: &Value, profile: SchemaProfile, refused: &[&str]) -> Result<(), Vec<SchemaError>> {
    let problem = match canonical {
        Value::Object(members) if members.get("type") == Some(&json!("object")) => {
            let found = refused.iter().find(|keyword| members.contains_key(**keyword));
            found.map(|keyword| format!("has `{keyword}` there"))
        }
        Value::Object(members) => Some(match members.get("type") {
            Some(other) => format!("says `\"type\": {other}`"),
            None => "has no `type` there".to_owned(),
        }),
        // Text that is no JSON, or whose values are nested so deep that it is not read.
        Value::Null => Some("is no JSON object, or one that is nested deeper than 127 levels".to_owned()),
        _ => Some("is no JSON object".to_owned()),
    };
    problem.map_or(Ok(()), |problem| Err(vec![SchemaError::root(profile, problem)]))
}

/// A copy in which `change` was made to every schema, and `true` stands as the empty schema, which says the same.
pub(super) fn edited(schema: &Value, change: &dyn Fn(&mut Map<String, Value>)) -> Value {
    let members = match schema {
        Value::Object(members) => members,
        Value::Bool(true) => return Value::Object(Map::new()),
        other => return other.clone(),
    };
    let each = |value: &Value| edited(value, change);
    let mut copy: Map<String, Value> = members
        .iter()
        .map(|(keyword, value)| {
            let value = match value {
                Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                    Value::Object(named.iter().map(|(name, schema)| (name.clone(), each(schema))).collect())
                }
                Value::Array(list) if LISTS.contains(&keyword.as_str()) => list.iter().map(each).collect(),
                Value::Object(_) if SCHEMAS.contains(&keyword.as_str()) => each(value),
                other => other.clone(),
            };
            (keyword.clone(), value)
        })
        .collect();
    change(&mut copy);
    copy.into()
}
