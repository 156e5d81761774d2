//! Arguments in which a property is `null` that the canonical schema only lets be absent.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{HashMap, HashSet},
    ptr::from_ref,
};

use serde_json::{Value, value::RawValue};

use super::{merge::types, refs::Definition};
use crate::json::Members;

/// Alternatives and references that are followed one after the other. More are not looked behind, as little as more
/// levels of the arguments, which no type could be read from: what is null there stays.
const LEVELS: usize = 128;

/// The text without members that are null where the schema has no null. What stays keeps its text.
pub(in crate::chat) fn without_nulls<'a>(canonical: &Value, arguments: &'a str) -> Cow<'a, str> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(arguments) else { return arguments.into() };
    let walk = Walk { root: canonical, nullable: RefCell::default() };
    walk.value(raw.get(), &[canonical], 0).map_or(Cow::Borrowed(arguments), Cow::Owned)
}

struct Walk<'s> {
    root: &'s Value,
    /// Whether null fits, of the schemas that were asked.
    nullable: RefCell<HashMap<*const Value, bool>>,
}

/// A member of an object, and what has been found out about it.
struct Asked<'o, 's> {
    members: &'o [(Cow<'o, str>, &'o RawValue)],
    name: &'o str,
    said: HashMap<*const Value, Said<'s>>,
    fit: HashMap<*const Value, bool>,
}

/// What is said of a member of an object.
#[derive(Clone)]
struct Said<'s> {
    /// What it may have to fit; empty: nothing is said of it.
    schemas: Vec<&'s Value>,
    accepts_null: bool,
    is_required: bool,
}

impl<'s> Said<'s> {
    fn nothing() -> Self {
        Self { schemas: Vec::new(), accepts_null: true, is_required: false }
    }

    /// Both hold.
    fn and(self, other: Self) -> Self {
        Self {
            accepts_null: self.accepts_null && other.accepts_null,
            is_required: self.is_required || other.is_required,
            schemas: merged(self.schemas, other.schemas),
        }
    }

    /// One of them holds.
    fn or(self, other: Self) -> Self {
        Self {
            accepts_null: self.accepts_null || other.accepts_null,
            is_required: self.is_required && other.is_required,
            schemas: merged(self.schemas, other.schemas),
        }
    }
}

/// Each once.
fn merged<'s>(mut schemas: Vec<&'s Value>, others: Vec<&'s Value>) -> Vec<&'s Value> {
    for other in others {
        if !schemas.iter().any(|schema| std::ptr::eq(*schema, other)) {
            schemas.push(other);
        }
    }
    schemas
}

impl<'s> Walk<'s> {
    /// The new text, if something was taken out. A value has to fit one of the schemas, or is not known to any.
    fn value(&self, text: &str, schemas: &[&'s Value], level: usize) -> Option<String> {
        match text.bytes().next() {
            _ if level >= LEVELS || schemas.is_empty() => None,
            Some(b'{') => self.object(text, schemas, level),
            Some(b'[') => self.array(text, schemas, level),
            _ => None,
        }
    }

    fn object(&self, text: &str, schemas: &[&'s Value], level: usize) -> Option<String> {
        let Members(members) = serde_json::from_str(text).ok()?;
        let mut changed = false;
        let mut kept = Vec::with_capacity(members.len());
        let mut asked = Asked { members: &members, name: "", said: HashMap::new(), fit: HashMap::new() };
        for (name, value) in &members {
            let text = value.get();
            asked.name = name;
            asked.said.clear();
            let said = self.either(schemas.iter().copied(), &mut asked);
            // What nobody says anything of stays, for the type to judge, and so does what has to be there.
            if text == "null" && !said.schemas.is_empty() && !said.accepts_null && !said.is_required {
                changed = true;
                continue;
            }
            let inner = self.value(text, &said.schemas, level + 1);
            changed |= inner.is_some();
            kept.push(format!("{}:{}", Value::from(&**name), inner.as_deref().unwrap_or(text)));
        }
        changed.then(|| format!("{{{}}}", kept.join(",")))
    }

    /// What a schema says of a member of an object: it, what it refers to and all of its `allOf` together, and one of its
    /// alternatives.
    fn says(&self, schema: &'s Value, asked: &mut Asked<'_, 's>) -> Said<'s> {
        if let Some(known) = asked.said.get(&from_ref(schema)) {
            return known.clone();
        }
        // So it is in a circle, which does not say otherwise.
        asked.said.insert(schema, Said::nothing());
        let mut said = Said::nothing();
        if let Some(own) = property(schema, asked.name) {
            said.schemas.push(own);
            said.accepts_null = self.accepts_null(own, 0);
        }
        said.is_required = is_required(schema, asked.name);
        let branches = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        for part in branches("allOf").chain(self.referred(schema)) {
            said = said.and(self.says(part, asked));
        }
        for union in ["oneOf", "anyOf"] {
            if schema.get(union).is_some() {
                said = said.and(self.either(branches(union), asked));
            }
        }
        asked.said.insert(schema, said.clone());
        said
    }

    /// What those say together that the object can fit: of these it has to fit one.
    fn either(&self, branches: impl Iterator<Item = &'s Value> + Clone, asked: &mut Asked<'_, 's>) -> Said<'s> {
        let mut fitting: Vec<&Value> = branches.clone().filter(|branch| self.fits(branch, asked)).collect();
        if fitting.is_empty() {
            fitting = branches.collect();
        }
        let said: Vec<Said<'s>> = fitting.into_iter().map(|branch| self.says(branch, asked)).collect();
        said.into_iter().reduce(Said::or).unwrap_or_else(Said::nothing)
    }

    /// Whether the object has what a schema requires, and the tags that it wants.
    fn fits(&self, schema: &'s Value, asked: &mut Asked<'_, 's>) -> bool {
        if let Some(known) = asked.fit.get(&from_ref(schema)) {
            return *known;
        }
        asked.fit.insert(schema, true);
        let is_object = schema.get("type").and_then(types).is_none_or(|names| names.contains(&"object"));
        let branches = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let fits = is_object
            && has_tags(asked.members, schema)
            && branches("allOf").chain(self.referred(schema)).all(|part| self.fits(part, asked))
            && ["oneOf", "anyOf"]
                .into_iter()
                .all(|union| schema.get(union).is_none() || branches(union).any(|branch| self.fits(branch, asked)));
        asked.fit.insert(schema, fits);
        fits
    }

    fn array(&self, text: &str, schemas: &[&'s Value], level: usize) -> Option<String> {
        let values: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let alternatives = self.of_arrays(schemas);
        let mut changed = false;
        let texts: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let of = |schema: &&'s Value| {
                    schema.get("prefixItems").and_then(|all| all.get(index)).or_else(|| schema.get("items"))
                };
                let schemas: Vec<&Value> = alternatives.iter().filter_map(of).collect();
                let inner = self.value(value.get(), &schemas, level + 1);
                changed |= inner.is_some();
                inner.unwrap_or_else(|| value.get().to_owned())
            })
            .collect();
        changed.then(|| format!("[{}]", texts.join(",")))
    }

    /// The schemas that an array may have to fit: behind references, and in alternatives. Each is there once, however many
    /// ways lead to it.
    fn of_arrays(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut open: Vec<&Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = open.pop() {
            if !seen.insert(from_ref(schema))
                || schema.get("type").and_then(types).is_some_and(|names| !names.contains(&"array"))
            {
                continue;
            }
            found.push(schema);
            // What was put in last is looked at first.
            for union in ["oneOf", "anyOf", "allOf"] {
                open.extend(schema.get(union).and_then(Value::as_array).into_iter().flatten().rev());
            }
            open.extend(self.referred(schema));
        }
        found
    }

    fn referred(&self, schema: &Value) -> Option<&'s Value> {
        let reference = schema.get("$ref")?.as_str()?;
        Definition::find(self.root, reference).map(|definition| definition.schema)
    }

    fn accepts_null(&self, schema: &'s Value, followed: usize) -> bool {
        if followed > LEVELS {
            return true;
        }
        if let Some(known) = self.nullable.borrow().get(&from_ref(schema)) {
            return *known;
        }
        // So it is in a circle, which does not say otherwise.
        self.nullable.borrow_mut().insert(schema, true);
        let accepts = self.finds_null_accepted(schema, followed);
        self.nullable.borrow_mut().insert(schema, accepts);
        accepts
    }

    fn finds_null_accepted(&self, schema: &'s Value, followed: usize) -> bool {
        let Value::Object(members) = schema else { return schema != &Value::Bool(false) };
        if members.get("type").and_then(types).is_some_and(|names| !names.contains(&"null"))
            || members.get("const").is_some_and(|value| !value.is_null())
            || members.get("enum").and_then(Value::as_array).is_some_and(|values| !values.contains(&Value::Null))
        {
            return false;
        }
        let any = |keyword: &str| {
            let all = members.get(keyword).and_then(Value::as_array);
            all.is_none_or(|all| all.iter().any(|branch| self.accepts_null(branch, followed + 1)))
        };
        let all = members.get("allOf").and_then(Value::as_array);
        any("anyOf")
            && any("oneOf")
            && all.is_none_or(|all| all.iter().all(|branch| self.accepts_null(branch, followed + 1)))
            && self.referred(schema).is_none_or(|definition| self.accepts_null(definition, followed + 1))
    }
}

/// The schema of a member, by its name or as one of the others.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let named = schema.get("properties").and_then(|all| all.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|others| !others.is_boolean()))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|required| required == name))
}

/// The same, as far as the schema itself says it.
fn has_tags(members: &[(Cow<'_, str>, &RawValue)], schema: &Value) -> bool {
    let text = |name: &str| members.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.get());
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let named = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    required.into_iter().all(|name| text(name).is_some())
        && named.into_iter().all(|(name, property)| match (text(name), property.get("const"), property.get("enum")) {
            (Some(text), Some(tag), _) => serde_json::from_str::<Value>(text).is_ok_and(|value| value == *tag),
            (Some(text), None, Some(Value::Array(tags))) => {
                serde_json::from_str(text).is_ok_and(|value: Value| value.is_null() || tags.contains(&value))
            }
            _ => true,
        })
}
