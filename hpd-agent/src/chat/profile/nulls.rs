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

/// So many unions may speak of one value. What further ones say is not asked, so that what is null may stay.
const MOST_GROUPS: usize = 64;

/// The text without members that are null where the schema has no null. What stays keeps its text.
pub(in crate::chat) fn without_nulls<'a>(canonical: &Value, arguments: &'a str) -> Cow<'a, str> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(arguments) else { return arguments.into() };
    let walk = Walk { root: canonical, nullable: RefCell::default() };
    walk.value(raw.get(), &[vec![canonical]], 0).map_or(Cow::Borrowed(arguments), Cow::Owned)
}

/// Schemas of which a value has to fit one.
type Group<'s> = Vec<&'s Value>;

struct Walk<'s> {
    root: &'s Value,
    /// Whether null fits, of the schemas that were asked.
    nullable: RefCell<HashMap<*const Value, bool>>,
}

impl<'s> Walk<'s> {
    /// The new text, if something was taken out. The value has to fit each of the groups.
    fn value(&self, text: &str, groups: &[Group<'s>], level: usize) -> Option<String> {
        match text.bytes().next() {
            _ if level >= LEVELS || groups.is_empty() => None,
            Some(b'{') => self.object(text, groups, level),
            Some(b'[') => self.array(text, groups, level),
            _ => None,
        }
    }

    fn object(&self, text: &str, groups: &[Group<'s>], level: usize) -> Option<String> {
        let Members(members) = serde_json::from_str(text).ok()?;
        let spoken = Spoken::new(self, "object", &members);
        let mut changed = false;
        let mut kept = Vec::with_capacity(members.len());
        for (name, value) in &members {
            let text = value.get();
            if text == "null" && spoken.of_null(name, groups) == OfNull::LeftOut {
                changed = true;
                continue;
            }
            let inner = has_parts(text)
                .then(|| spoken.parts(groups, &|schema| property(schema, name)))
                .and_then(|groups| self.value(text, &groups, level + 1));
            changed |= inner.is_some();
            kept.push(format!("{}:{}", Value::from(&**name), inner.as_deref().unwrap_or(text)));
        }
        changed.then(|| format!("{{{}}}", kept.join(",")))
    }

    fn array(&self, text: &str, groups: &[Group<'s>], level: usize) -> Option<String> {
        let values: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let spoken = Spoken::new(self, "array", &[]);
        let mut changed = false;
        let texts: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let item = |schema: &'s Value| {
                    schema.get("prefixItems").and_then(|all| all.get(index)).or_else(|| schema.get("items"))
                };
                let inner = has_parts(value.get())
                    .then(|| spoken.parts(groups, &item))
                    .and_then(|groups| self.value(value.get(), &groups, level + 1));
                changed |= inner.is_some();
                inner.unwrap_or_else(|| value.get().to_owned())
            })
            .collect();
        changed.then(|| format!("[{}]", texts.join(",")))
    }

    /// What has to hold besides what the schema says itself: behind its reference, in `allOf`, and one of each union.
    fn beside(&self, schema: &'s Value) -> Vec<Group<'s>> {
        let listed = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let unions = ["oneOf", "anyOf"].map(|keyword| listed(keyword).collect::<Group<'s>>());
        let referred = self.referred(schema).into_iter();
        let all = referred.chain(listed("allOf")).map(|schema| vec![schema]);
        all.chain(unions.into_iter().filter(|union| !union.is_empty())).collect()
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

/// What schemas say of a null that is a member.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OfNull {
    /// It fits, or nothing is known of the member: for the type to judge.
    Kept,
    /// It does not fit, and the member may be absent.
    LeftOut,
    /// The member has to be there, whatever else is said of it.
    Required,
}

/// What schemas say of one object or list: what stands in one schema, behind its reference and in its `allOf` holds
/// together, and so does one of each of its unions.
struct Spoken<'w, 's, 'm> {
    walk: &'w Walk<'s>,
    kind: &'static str,
    members: &'m [(Cow<'m, str>, &'m RawValue)],
    /// Whether the members fit, of the schemas that were asked.
    fitting: RefCell<HashMap<*const Value, bool>>,
}

impl<'w, 's, 'm> Spoken<'w, 's, 'm> {
    fn new(walk: &'w Walk<'s>, kind: &'static str, members: &'m [(Cow<'m, str>, &'m RawValue)]) -> Self {
        Self { walk, kind, members, fitting: RefCell::default() }
    }

    fn of_null(&self, name: &str, groups: &[Group<'s>]) -> OfNull {
        let mut known = HashMap::new();
        together(groups.iter().map(|group| self.of_null_in_one(name, group, &mut known, 0)))
    }

    /// What all that the value may fit agree on.
    fn of_null_in_one(
        &self,
        name: &str,
        group: &[&'s Value],
        known: &mut HashMap<*const Value, OfNull>,
        followed: usize,
    ) -> OfNull {
        let mut said =
            self.possible(group, followed).into_iter().map(|one| self.of_null_by(name, one, known, followed));
        let first = said.next().unwrap_or(OfNull::Kept);
        if said.all(|other| other == first) { first } else { OfNull::Kept }
    }

    fn of_null_by(
        &self,
        name: &str,
        schema: &'s Value,
        known: &mut HashMap<*const Value, OfNull>,
        followed: usize,
    ) -> OfNull {
        if followed > LEVELS {
            return OfNull::Kept;
        }
        if let Some(known) = known.get(&from_ref(schema)) {
            return *known;
        }
        // So it is in a circle, which adds nothing.
        known.insert(schema, OfNull::Kept);
        let own = match property(schema, name) {
            _ if is_required(schema, name) => OfNull::Required,
            Some(own) if !self.walk.accepts_null(own, 0) => OfNull::LeftOut,
            _ => OfNull::Kept,
        };
        let groups = self.walk.beside(schema);
        let others = groups.iter().map(|group| self.of_null_in_one(name, group, known, followed + 1));
        let said = together(std::iter::once(own).chain(others));
        known.insert(schema, said);
        said
    }

    /// What the schemas say of one part of the value.
    fn parts(&self, groups: &[Group<'s>], part: &dyn Fn(&'s Value) -> Option<&'s Value>) -> Vec<Group<'s>> {
        let (mut found, mut told) = (Vec::new(), HashSet::new());
        let mut seen = HashSet::new();
        let mut open: Vec<(Group<'s>, usize)> = groups.iter().rev().map(|group| (group.clone(), 0)).collect();
        while let Some((group, followed)) = open.pop() {
            if found.len() >= MOST_GROUPS {
                break;
            }
            let said = match self.possible(&group, followed).as_slice() {
                // Nothing else is possible, so that it holds together with the other groups.
                [only] if seen.insert(from_ref(*only)) => {
                    open.extend(self.walk.beside(only).into_iter().rev().map(|group| (group, followed + 1)));
                    part(only).into_iter().collect()
                }
                [_] => Vec::new(),
                many => self.in_any(many, part),
            };
            let places: Vec<*const Value> = said.iter().copied().map(from_ref).collect();
            if !said.is_empty() && told.insert(places) {
                found.push(said);
            }
        }
        found
    }

    /// What any of the schemas say of one part of the value, each once, however many ways lead to it.
    fn in_any(&self, schemas: &[&'s Value], part: &dyn Fn(&'s Value) -> Option<&'s Value>) -> Group<'s> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut open: Vec<&Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = open.pop() {
            if seen.insert(from_ref(schema)) {
                found.extend(part(schema));
                let groups = self.walk.beside(schema);
                open.extend(groups.iter().rev().flat_map(|group| self.possible(group, 0).into_iter().rev()));
            }
        }
        found
    }

    /// The schemas of a group that the value fits, as far as it is looked at. If it fits none, those that are for values
    /// of its kind.
    fn possible(&self, group: &[&'s Value], followed: usize) -> Group<'s> {
        let of_kind: Group<'s> = group.iter().copied().filter(|schema| is_for(schema, self.kind)).collect();
        let mut fitting: Group<'s> = of_kind.iter().copied().filter(|schema| self.fits(schema, followed)).collect();
        // As `{}`, the schema of a type says that what is flattened may be missing. If it is there, that says nothing.
        if fitting.len() > 1 && fitting.iter().any(|schema| !is_empty(schema)) {
            fitting.retain(|schema| !is_empty(schema));
        }
        if fitting.is_empty() { of_kind } else { fitting }
    }

    fn fits(&self, schema: &'s Value, followed: usize) -> bool {
        if followed > LEVELS {
            return true;
        }
        if let Some(known) = self.fitting.borrow().get(&from_ref(schema)) {
            return *known;
        }
        // So it is in a circle, which does not say otherwise.
        self.fitting.borrow_mut().insert(schema, true);
        let one_fits =
            |group: &Group<'s>| group.iter().any(|schema| is_for(schema, self.kind) && self.fits(schema, followed + 1));
        // Names and tags are those of objects only.
        let own = self.kind == "array" || fits(self.members, schema);
        let fits = own && self.walk.beside(schema).iter().all(one_fits);
        self.fitting.borrow_mut().insert(schema, fits);
        fits
    }
}

/// Whether it is the text of an object or a list, in which something may be null.
fn has_parts(text: &str) -> bool {
    text.starts_with(['{', '['])
}

fn is_empty(schema: &Value) -> bool {
    schema.as_object().is_some_and(serde_json::Map::is_empty)
}

/// What is said where all of it holds.
fn together(said: impl Iterator<Item = OfNull>) -> OfNull {
    said.fold(OfNull::Kept, |so_far, own| match (so_far, own) {
        (OfNull::Required, _) | (_, OfNull::Required) => OfNull::Required,
        (OfNull::LeftOut, _) | (_, OfNull::LeftOut) => OfNull::LeftOut,
        _ => OfNull::Kept,
    })
}

/// Whether there may be values of this kind, an object or a list, that fit.
fn is_for(schema: &Value, kind: &str) -> bool {
    let is_of_kind = |value: &Value| match kind {
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    schema != &Value::Bool(false)
        && schema.get("type").and_then(types).is_none_or(|names| names.contains(&kind))
        && schema.get("const").is_none_or(is_of_kind)
        && schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(is_of_kind))
}

/// The schema of a member, by its name or as one of the others.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let named = schema.get("properties").and_then(|all| all.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|others| !others.is_boolean()))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|required| required == name))
}

/// Whether an object has what an alternative requires, and the tags that it wants.
fn fits(members: &[(Cow<'_, str>, &RawValue)], schema: &Value) -> bool {
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
