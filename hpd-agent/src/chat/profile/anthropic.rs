//! Anthropic's tools: JSON Schema of draft 2020-12. The root says `object` and has no `oneOf`, `anyOf` or `allOf`, and the
//! names of the arguments have 1 to 64 letters, digits, `_`, `.` and `-`.

use serde_json::{Map, Value};

use super::{
    Place, SchemaError, SchemaProfile,
    plain::{edited, root},
};

/// The form.
pub(super) fn form(canonical: &Value) -> Result<Value, Vec<SchemaError>> {
    root(canonical, SchemaProfile::Anthropic, &["oneOf", "anyOf", "allOf"])?;
    let legal = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    };
    let names = canonical.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let illegal: Vec<SchemaError> = names
        .filter(|name| !legal(name))
        .map(|name| SchemaError::PropertyName {
            profile: SchemaProfile::Anthropic,
            path: name.clone(),
            pointer: Place::default().property(name).pointer(),
            advice: "it takes 1 to 64 of the characters `a` to `z`, `A` to `Z`, `0` to `9`, `_`, `.` and `-`",
        })
        .collect();
    if illegal.is_empty() { Ok(edited(canonical, &|_| {})) } else { Err(illegal) }
}
