//! References to definitions of the same schema.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

use super::{budget::Budget, keywords};

/// Where definitions stand, today and before draft 2019-09.
const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// A definition that a `$ref` leads to.
#[derive(Debug, Clone)]
pub(super) struct Definition<'s> {
    holder: &'static str,
    own: String,
    /// The name, by which no other definition of the schema goes.
    pub(super) name: String,
    pub(super) schema: &'s Value,
}

impl<'s> Definition<'s> {
    /// The definition of `root` with this reference, for example `#/$defs/Tree`.
    pub(super) fn find(root: &'s Value, reference: &str) -> Option<Self> {
        let decoded = decoded(reference.strip_prefix("#/")?)?;
        let (holder, name) = decoded.split_once('/')?;
        let holder = HOLDERS.into_iter().find(|known| *known == holder)?;
        if name.contains('/') {
            return None;
        }
        Self::named(root, holder, name.replace("~1", "/").replace("~0", "~"))
    }

    fn named(root: &'s Value, holder: &'static str, own: String) -> Option<Self> {
        let schema = root.get(holder)?.get(&own)?;
        let mut name = own.clone();
        // In the form all of them stand in `$defs`.
        while holder != "$defs" && root.get("$defs").is_some_and(|all| all.get(&name).is_some()) {
            name.push('_');
        }
        Some(Self { holder, own, name, schema })
    }

    /// Where it stands: the keyword, and its name there.
    pub(super) fn place(&self) -> (&'static str, &str) {
        (self.holder, &self.own)
    }

    /// The reference to it in a form.
    pub(super) fn reference(&self) -> String {
        format!("#/$defs/{}", encoded(&self.name.replace('~', "~0").replace('/', "~1")))
    }
}

/// Which definitions refer to which, by their names.
#[derive(Debug, Default)]
pub(super) struct Graph(HashMap<String, Vec<String>>);

impl Graph {
    /// That of all definitions.
    pub(super) fn of(root: &Value) -> Self {
        let mut graph = Self::default();
        for holder in HOLDERS {
            for name in root.get(holder).and_then(Value::as_object).into_iter().flat_map(|all| all.keys()) {
                let Some(definition) = Definition::named(root, holder, name.clone()) else { continue };
                for reference in references(definition.schema) {
                    if let Some(found) = Definition::find(root, reference) {
                        graph.insert(&definition.name, &found.name);
                    }
                }
            }
        }
        graph
    }

    pub(super) fn insert(&mut self, from: &str, to: &str) {
        self.0.entry(from.to_owned()).or_default().push(to.to_owned());
    }

    /// Whether a definition refers to itself, over others or not. So it is said too if it costs too much to find out.
    pub(super) fn is_recursive(&self, name: &str, budget: &mut Budget) -> bool {
        self.next(name).any(|next| self.leads_to(next, name, budget))
    }

    /// Whether one gets from a definition to another one, or is there.
    pub(super) fn leads_to(&self, from: &str, to: &str, budget: &mut Budget) -> bool {
        let mut seen = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            if name == to || !budget.compare(1) {
                return true;
            }
            open.extend(self.next(name).filter(|name| seen.insert(name)));
        }
        false
    }

    fn next(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }
}

/// All references in a schema.
fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(members) = schema else { continue };
        found.extend(members.get("$ref").and_then(Value::as_str));
        open.extend(keywords::inner(members).into_iter().map(|(_, schema)| schema));
    }
    found
}

/// What the `%xx` of a reference stand for: it is the end of a URL.
pub(super) fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'/' => encoded.push('/'),
            _ if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@?".contains(&byte) => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
