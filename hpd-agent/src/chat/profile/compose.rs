//! What several schemas say of one value, brought into one.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    Place, SchemaError,
    budget::size_of,
    merge::{ANNOTATIONS, both},
    refs::Definition,
    translate::{ASSERTIONS, Translator},
};

const FLAT: &str = "say it in the description, or take a type that is simpler; what the schema cannot say, the function \
                    can check";

/// Keywords that no dialect knows, with what they are and what to do.
const REFUSED: [(&str, &str, &str); 16] = [
    ("patternProperties", "a map whose keys follow a pattern", "take a list of objects with a key and a value"),
    ("propertyNames", "a map whose keys are limited", "take a list of objects with a key and a value"),
    ("not", "`not`", FLAT),
    ("if", "`if`", FLAT),
    ("then", "`then`", FLAT),
    ("else", "`else`", FLAT),
    ("contains", "`contains`", FLAT),
    ("minContains", "`minContains`", FLAT),
    ("maxContains", "`maxContains`", FLAT),
    ("dependentRequired", "`dependentRequired`", FLAT),
    ("dependentSchemas", "`dependentSchemas`", FLAT),
    ("dependencies", "`dependencies`", FLAT),
    ("unevaluatedItems", "`unevaluatedItems`", FLAT),
    ("additionalItems", "`additionalItems`", FLAT),
    ("$dynamicRef", "`$dynamicRef`", FLAT),
    ("$recursiveRef", "`$recursiveRef`", FLAT),
];

impl<'s> Translator<'s> {
    /// One schema without `allOf`, with nothing beside a reference but what describes, and nothing beside alternatives
    /// that they do not say themselves.
    pub(super) fn composed(&mut self, members: &Map<String, Value>, at: &Place) -> Option<Map<String, Value>> {
        for (keyword, construct, advice) in REFUSED {
            if members.get(keyword).is_some_and(|value| keyword != "not" || excluded(value).is_none()) {
                self.refuse(&at.keyword(keyword), construct, advice);
                return None;
            }
        }
        let known = |keyword: &str| ASSERTIONS.contains(&keyword) || ANNOTATIONS.contains(&keyword);
        let encoding = |keyword: &str| matches!(keyword, "contentEncoding" | "contentMediaType");
        let mut node: Map<String, Value> = members
            .iter()
            .filter(|(keyword, _)| known(keyword) || encoding(keyword))
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        if node.len() > 1
            && let Some(reference) = node.get("$ref").and_then(Value::as_str).map(str::to_owned)
        {
            let definition = self.definition(&reference, at)?;
            let describes = refers_only(&node);
            match self.is_recursive(&definition, at) {
                true if describes => return Some(node),
                true => {
                    let construct = format!("more than a reference to `{}`, which contains itself", definition.name);
                    self.refuse(at, construct, "move what stands beside the `$ref` into the definition");
                    return None;
                }
                false => {
                    node.remove("$ref");
                    let (holder, name) = definition.place();
                    node = self.joined(node, definition.schema, &at.definition(holder, name))?;
                }
            }
        }
        if let Some(Value::Array(all)) = node.remove("allOf") {
            let described = node.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str()));
            for (index, schema) in all.iter().enumerate() {
                let at = at.branch("allOf", index);
                match schema.as_object() {
                    // Nothing but the reference: what stands here describes it.
                    Some(members) if all.len() == 1 && described && refers_only(members) => {
                        for (keyword, value) in members {
                            node.entry(keyword.clone()).or_insert_with(|| value.clone());
                        }
                        return self.composed(&node, &at);
                    }
                    _ => node = self.joined(node, schema, &at)?,
                }
            }
            return self.composed(&node, at);
        }
        let union = match (node.contains_key("anyOf"), node.contains_key("oneOf")) {
            (true, true) => {
                self.refuse(at, "`anyOf` and `oneOf` for one value", "use one of them");
                return None;
            }
            (true, false) => "anyOf",
            (false, true) => "oneOf",
            (false, false) => return Some(node),
        };
        let beside: Map<String, Value> = node
            .iter()
            .filter(|(keyword, _)| *keyword != union && !ANNOTATIONS.contains(&keyword.as_str()))
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        if !beside.is_empty() {
            // What holds for all alternatives is said in each.
            let all = node.get(union).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            if !self.budget.copy(size_of(&beside), all.len()) {
                self.give_up(at);
                return None;
            }
            let spread = all.iter().map(|schema| {
                let mut alternative = beside.clone();
                let description = schema.get("description").cloned();
                alternative.extend(description.map(|text| ("description".to_owned(), text)));
                alternative.insert("allOf".to_owned(), json!([schema]));
                Value::Object(alternative)
            });
            let spread: Vec<Value> = spread.collect();
            node.retain(|keyword, _| ANNOTATIONS.contains(&keyword.as_str()));
            node.insert(union.to_owned(), spread.into());
        }
        Some(node)
    }

    /// What a schema and another one for the same value say together.
    fn joined(&mut self, outer: Map<String, Value>, inner: &Value, at: &Place) -> Option<Map<String, Value>> {
        let mut inner = match inner {
            Value::Bool(true) => return Some(outer),
            Value::Object(members) => self.deeper(members, at, |this| this.composed(members, at))?,
            _ => {
                self.refuse(at, "a schema that nothing fits", "leave it out");
                return None;
            }
        };
        // A reference of its own has to be looked into; `composed` has left it only if nothing limits it.
        let mut seen = HashSet::new();
        while let Some(reference) = inner.get("$ref").and_then(Value::as_str).map(str::to_owned) {
            let definition = self.definition(&reference, at)?;
            let schema = definition.schema.as_object().cloned();
            let Some(schema) = schema.filter(|_| seen.insert(reference.clone()) && !self.is_recursive(&definition, at))
            else {
                let construct = format!("`{}`, which contains itself, together with other limits", definition.name);
                self.refuse(at, construct, "move what stands beside it into the definition");
                return None;
            };
            inner = self.deeper(&schema, at, |this| this.composed(&schema, at))?;
        }
        if !self.budget.copy(size_of(&outer), 1) {
            self.give_up(at);
            return None;
        }
        match both(outer, &inner) {
            Ok(node) => Some(node),
            Err(keyword) => {
                let construct = format!("two schemas for one value that differ in `{keyword}`");
                self.refuse(at, construct, "write one schema that says both");
                None
            }
        }
    }

    pub(super) fn definition(&mut self, reference: &str, at: &Place) -> Option<Definition<'s>> {
        let found = Definition::find(self.root, reference);
        if found.is_none() {
            let (profile, path, pointer) = (self.dialect.profile, at.path(), at.pointer());
            let reference = reference.to_owned();
            self.problems.push(SchemaError::Reference { profile, path, pointer, reference });
        }
        found
    }
}

/// Whether a schema is a reference and what describes it.
fn refers_only(members: &Map<String, Value>) -> bool {
    let describes = |keyword: &String| keyword == "$ref" || ANNOTATIONS.contains(&keyword.as_str());
    members.get("$ref").is_some_and(Value::is_string) && members.keys().all(describes)
}

/// The number that a `not` excludes, if that is all it does, as for an integer that is not 0: so little can be said in
/// words.
pub(super) fn excluded(not: &Value) -> Option<&Value> {
    let members = not.as_object().filter(|members| members.len() == 1)?;
    members.get("const").filter(|value| value.is_number())
}
