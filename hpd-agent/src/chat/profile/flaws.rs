//! Whether a schema is one at all: no provider takes what breaks the rules of JSON schema, and some take it for something
//! else. Only the keywords are looked at that the profiles interpret.

use std::{collections::HashSet, fmt};

use serde_json::Value;

use super::{
    Place, SchemaError, SchemaProfile,
    keywords::{self, LISTS, NAMED},
    refs::decoded,
};

pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// One thing that is wrong with a schema, whoever is sent it.
#[derive(Debug, Clone)]
pub(in crate::chat) struct Flaw {
    at: Place,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Reference(String),
    Malformed { problem: String, advice: &'static str },
}

impl Flaw {
    /// As an error of a profile.
    pub(super) fn of(self, profile: SchemaProfile) -> SchemaError {
        let (path, pointer) = (self.at.path(), self.at.pointer());
        match self.what {
            What::Reference(reference) => SchemaError::Reference { profile, path, pointer, reference },
            What::Malformed { problem, advice } => SchemaError::Malformed { profile, path, pointer, problem, advice },
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Which profile it is matters to neither text.
        self.clone().of(SchemaProfile::OpenAi).fmt(f)
    }
}

/// All that is wrong with a schema. Its root is a matter of the profiles.
pub(in crate::chat) fn flaws(root: &Value) -> Vec<Flaw> {
    let mut search = Search { root, found: Vec::new(), ending: HashSet::new() };
    if root.is_object() {
        search.schema(root, &Place::default());
    }
    search.found
}

struct Search<'s> {
    root: &'s Value,
    found: Vec<Flaw>,
    /// References that lead to a schema in the end.
    ending: HashSet<&'s str>,
}

impl<'s> Search<'s> {
    fn malformed(&mut self, at: Place, problem: impl Into<String>, advice: &'static str) {
        self.found.push(Flaw { at, what: What::Malformed { problem: problem.into(), advice } });
    }

    /// A schema cannot be nested deeper than JSON text is read, so that the stack holds this.
    fn schema(&mut self, schema: &'s Value, at: &Place) {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => return,
            _ => {
                let problem = "a schema that is neither a JSON object nor `true` or `false`";
                return self.malformed(at.clone(), problem, "write an object with a `type`");
            }
        };
        for (keyword, value) in members {
            self.keyword(keyword, value, at);
        }
        for (step, inner) in keywords::inner(members) {
            self.schema(inner, &at.step(step));
        }
    }

    fn keyword(&mut self, keyword: &'s str, value: &'s Value, at: &Place) {
        let wrong = match keyword {
            "$ref" => return self.reference(value, at),
            "type" => return self.types(value, at),
            "required" => !names(value),
            "enum" => value.as_array().is_none_or(Vec::is_empty),
            "prefixItems" => !value.is_array(),
            _ if LISTS.contains(&keyword) => value.as_array().is_none_or(Vec::is_empty),
            _ if NAMED.contains(&keyword) => !value.is_object(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                !value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => !value.is_number(),
            "multipleOf" => !value.as_f64().is_some_and(|step| step > 0.0),
            "pattern" | "format" | "description" => !value.is_string(),
            "uniqueItems" => !value.is_boolean(),
            _ => false,
        };
        if wrong {
            let (is_no, advice) = match keyword {
                "required" => ("no list of names", "write a list of texts, the names of properties, each once"),
                "enum" => ("no list with a value", "list the values that are legal, or leave it out"),
                "prefixItems" => ("no list of schemas", "list a schema for each item"),
                _ if LISTS.contains(&keyword) => ("no list with a schema", "list at least one schema, or leave it out"),
                _ if NAMED.contains(&keyword) => ("no JSON object", "write an object with a schema for each name"),
                "pattern" | "format" | "description" => ("no text", "write a text"),
                "uniqueItems" => ("neither `true` nor `false`", "write `true` or leave it out"),
                "multipleOf" => ("no number above 0", "write a number above 0"),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => ("no number", "write a number"),
                _ => ("no count", "write an integer that is 0 or more"),
            };
            self.malformed(at.keyword(keyword), format!("a `{keyword}` that is {is_no}"), advice);
        }
    }

    fn types(&mut self, value: &Value, at: &Place) {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        let advice = "the types are `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`";
        if names.is_empty() {
            self.malformed(at.keyword("type"), "a `type` that names none", advice);
        }
        for name in names.iter().filter(|name| !name.as_str().is_some_and(|name| TYPES.contains(&name))) {
            self.malformed(at.keyword("type"), format!("the unknown type `{name}`"), advice);
        }
    }

    /// A reference has to lead to a schema of this text, and on from there, if that is a reference again.
    fn reference(&mut self, value: &'s Value, at: &Place) {
        let Some(first) = value.as_str() else {
            let advice = "refer to a definition of the same schema, `#/$defs/NAME`";
            return self.malformed(at.keyword("$ref"), "a `$ref` that is no text", advice);
        };
        let mut passed = HashSet::new();
        let mut next = Some(first);
        while let Some(reference) = next.filter(|reference| !self.ending.contains(reference)) {
            if !passed.insert(reference) {
                let problem = format!("the reference `{first}`, which leads in a circle");
                return self.malformed(at.clone(), problem, "let one of them say what it is, and not refer on");
            }
            match resolved(self.root, reference) {
                Some(schema) => next = schema.get("$ref").and_then(Value::as_str),
                // Whoever leads there is told so.
                None if reference == first => {
                    let what = What::Reference(reference.to_owned());
                    return self.found.push(Flaw { at: at.clone(), what });
                }
                None => {
                    passed.remove(reference);
                    break;
                }
            }
        }
        self.ending.extend(passed);
    }
}

/// Whether it is a list of texts, each of which is there once.
fn names(value: &Value) -> bool {
    let mut seen = HashSet::new();
    value.as_array().is_some_and(|all| all.iter().all(|name| name.as_str().is_some_and(|name| seen.insert(name))))
}

/// The schema of the same text that a reference leads to.
fn resolved<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = decoded(reference.strip_prefix('#')?)?;
    root.pointer(&pointer).filter(|schema| schema.is_object() || schema.is_boolean())
}
