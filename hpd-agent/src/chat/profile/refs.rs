//! References to definitions of the same schema.

use std::collections::HashSet;

use serde_json::Value;

/// Where definitions stand, today and before draft 2019-09.
const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// A definition that a `$ref` leads to.
#[derive(Debug, Clone)]
pub(super) struct Definition<'s> {
    pub(super) holder: &'static str,
    pub(super) name: String,
    pub(super) schema: &'s Value,
}

impl<'s> Definition<'s> {
    /// The definition of `root` with this reference, for example `#/$defs/Tree`.
    pub(super) fn find(root: &'s Value, reference: &str) -> Option<Self> {
        let rest = reference.strip_prefix("#/")?;
        let (holder, name) = rest.split_once('/')?;
        let holder = HOLDERS.into_iter().find(|known| *known == holder)?;
        if name.contains('/') {
            return None;
        }
        let name = name.replace("~1", "/").replace("~0", "~");
        let schema = root.get(holder)?.get(&name)?;
        Some(Self { holder, name, schema })
    }

    /// Whether it contains itself.
    pub(super) fn is_recursive(&self, root: &Value) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![self.schema];
        while let Some(schema) = open.pop() {
            for reference in references(schema) {
                let Some(found) = Definition::find(root, reference) else { continue };
                if found.name == self.name && found.holder == self.holder {
                    return true;
                }
                if seen.insert(reference.to_owned()) {
                    open.push(found.schema);
                }
            }
        }
        false
    }
}

/// All references in a schema.
fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                open.extend(members.values());
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    found
}
