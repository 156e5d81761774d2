//! From the canonical schema to a dialect that knows fewer keywords.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    Place, SchemaError, SchemaProfile,
    budget::{Budget, size_of},
    exclusive::{begin_differently, exclusive},
    merge::{branches, types},
    notes::Notes,
    plain,
    refs::{Definition, Graph},
};

/// What a dialect knows besides types, properties, items, enums, `anyOf` and references.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) profile: SchemaProfile,
    /// Objects have the properties that they declare, all of them, and no others.
    pub(super) closed: bool,
    /// The limits on values that it has keywords for.
    pub(super) limits: &'static [&'static str],
    /// The formats of strings that it knows.
    pub(super) formats: &'static [&'static str],
}

/// All that says which values fit. Other keywords only describe, or mean nothing.
pub(super) const ASSERTIONS: [&str; 28] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "required",
    "type",
    "unevaluatedProperties",
    "uniqueItems",
];

/// A reference from one definition to another that no optional property stands before.
#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    at: Place,
}

pub(super) struct Translator<'s> {
    pub(super) dialect: &'static Dialect,
    pub(super) root: &'s Value,
    pub(super) problems: Vec<SchemaError>,
    /// The definitions of the form; null until they are translated.
    definitions: Map<String, Value>,
    waiting: Vec<(Definition<'s>, Place)>,
    edges: Vec<Edge>,
    /// Which of the canonical definitions refer to which.
    graph: Graph,
    /// Which of them contain themselves, as far as somebody asked.
    recursive: HashMap<String, bool>,
    /// The definition that is being translated.
    inside: Option<String>,
    pub(super) budget: Budget,
    /// Whether it was said that the budget is exceeded.
    given_up: bool,
}

impl<'s> Translator<'s> {
    pub(super) fn new(dialect: &'static Dialect, root: &'s Value) -> Self {
        Self {
            dialect,
            root,
            problems: Vec::new(),
            definitions: Map::new(),
            waiting: Vec::new(),
            edges: Vec::new(),
            graph: Graph::of(root),
            recursive: HashMap::new(),
            inside: None,
            budget: Budget::default(),
            given_up: false,
        }
    }

    /// The whole form.
    pub(super) fn form(mut self) -> Result<Value, Vec<SchemaError>> {
        plain::root(self.root, self.dialect.profile, &["oneOf", "anyOf", "enum", "not"])?;
        let mut form = self.schema(self.root, &Place::default(), true);
        while let Some((definition, at)) = self.waiting.pop() {
            self.inside = Some(definition.name.clone());
            let (holder, name) = definition.place();
            let schema = self.schema(definition.schema, &at.definition(holder, name), true);
            self.definitions.insert(definition.name, schema);
        }
        if !self.dialect.closed {
            self.refuse_endless();
        }
        if form.get("anyOf").or(form.get("oneOf")).is_some() {
            self.problems.push(SchemaError::root(self.dialect.profile, "has alternatives there"));
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        if !self.definitions.is_empty()
            && let Some(members) = form.as_object_mut()
        {
            members.insert("$defs".to_owned(), self.definitions.into());
        }
        Ok(form)
    }

    pub(super) fn refuse(&mut self, at: &Place, construct: impl Into<String>, advice: &'static str) -> Value {
        // What does not fit together after it was given up was not looked at in full.
        if !self.given_up {
            self.problems.push(SchemaError::unsupported(self.dialect.profile, at, construct, advice));
        }
        Value::Object(Map::new())
    }

    /// Says, once, that it is too much work.
    pub(super) fn give_up(&mut self, at: &Place) {
        if let (false, Some(problem)) = (self.given_up, self.budget.exceeded()) {
            let (profile, path, pointer) = (self.dialect.profile, at.path(), at.pointer());
            self.problems.push(SchemaError::TooComplex { profile, path, pointer, problem });
            self.given_up = true;
        }
    }

    /// What `look` finds in a schema, if that is not too much.
    pub(super) fn deeper<T>(
        &mut self,
        members: &Map<String, Value>,
        at: &Place,
        look: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if !self.budget.enter(size_of(members)) {
            self.give_up(at);
            return None;
        }
        let found = look(self);
        self.budget.leave();
        found
    }

    /// The form of a schema. `must`: a value of the definition that is being translated always has a value here.
    pub(super) fn schema(&mut self, schema: &Value, at: &Place, must: bool) -> Value {
        match schema {
            Value::Bool(true) => self.node(&Map::new(), at, must),
            Value::Object(members) => {
                let form = self.deeper(members, at, |this| {
                    let node = this.composed(members, at)?;
                    Some(this.node(&node, at, must))
                });
                form.unwrap_or_default()
            }
            Value::Bool(false) => self.refuse(at, "a value that cannot be (`false`)", "leave it out"),
            _ => self.refuse(at, "a schema that is no JSON object", "write an object with a `type`"),
        }
    }

    fn node(&mut self, node: &Map<String, Value>, at: &Place, must: bool) -> Value {
        let mut form = Map::new();
        let mut notes = Notes::default();
        for keyword in ["contentEncoding", "contentMediaType"] {
            if let Some(value) = node.get(keyword) {
                notes.limit(keyword, value);
            }
        }
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            return self.reference(node, reference, at, must);
        }
        for union in ["anyOf", "oneOf"] {
            if node.contains_key(union) {
                return self.union(node, union, at, must, notes);
            }
        }
        if let Some(values) = fixed(node) {
            return self.values(node, values, at, notes);
        }
        let Some(named) = node.get("type") else {
            if node.keys().any(|keyword| ASSERTIONS.contains(&keyword.as_str())) {
                return self.refuse(at, "limits on a value without a `type`", "say the `type`");
            }
            if self.dialect.closed {
                return self.refuse(at, "a value of any type", "give it a type, or text that holds JSON");
            }
            notes.describe(node, &mut form);
            return form.into();
        };
        let names = types(named).unwrap_or_default();
        form.insert("type".to_owned(), named.clone());
        if names.contains(&"object") {
            self.object(node, &mut form, at, must, &mut notes);
        }
        if names.contains(&"array") {
            self.array(node, &mut form, at, must, &mut notes);
        }
        if names.contains(&"string") {
            self.limits(node, &["minLength", "maxLength", "pattern"], &mut form, &mut notes);
            match node.get("format").and_then(Value::as_str) {
                Some(format) if self.dialect.formats.contains(&format) => {
                    form.insert("format".to_owned(), format.into());
                }
                Some(format) => notes.limit("format", &format.into()),
                None => {}
            }
        }
        if names.contains(&"integer") || names.contains(&"number") {
            self.number(node, &names, &mut form, &mut notes);
        }
        notes.describe(node, &mut form);
        form.into()
    }

    fn union(&mut self, node: &Map<String, Value>, keyword: &str, at: &Place, must: bool, mut notes: Notes) -> Value {
        let all: Vec<(Value, Place)> =
            branches(node, keyword, at).map(|(schema, place)| (schema.clone(), place)).collect();
        if let Some(named) = named_values(&all) {
            let described = named.iter().any(|(_, text)| text.is_some());
            if described {
                notes.push("Values:");
                for (value, text) in &named {
                    notes.push(format!("- `{value}`{}", text.map(|text| format!(": {text}")).unwrap_or_default()));
                }
            }
            let values = named.iter().map(|(value, _)| Value::from(*value)).collect();
            return self.values(node, values, at, notes);
        }
        let mut forms: Vec<Value> = all.iter().map(|(schema, place)| self.schema(schema, place, must)).collect();
        let mut form = Map::new();
        match forms.pop() {
            Some(Value::Object(only)) if forms.is_empty() => form = only,
            None => return self.refuse(at, format!("an empty `{keyword}`"), "leave it out"),
            Some(last) => {
                forms.push(last);
                let keyword = if self.dialect.closed { "anyOf" } else { keyword };
                if self.dialect.closed && self.problems.is_empty() {
                    self.tell_apart(&mut forms, node.contains_key("oneOf"), at);
                }
                form.insert(keyword.to_owned(), forms.into());
            }
        }
        notes.describe(node, &mut form);
        form.into()
    }

    /// Strict mode has no "exactly one of": that is "any of" as long as a value can only ever fit one. And it has to know
    /// from the first property of an object which alternative it is.
    fn tell_apart(&mut self, forms: &mut [Value], one_of: bool, at: &Place) {
        let budget = &mut self.budget;
        let overlap = one_of
            && forms
                .iter()
                .enumerate()
                .any(|(index, a)| forms.iter().skip(index + 1).any(|b| !exclusive(a, b, budget)));
        let apart = overlap || begin_differently(forms, budget);
        self.give_up(at);
        if overlap {
            let advice = "use `anyOf` (`#[serde(untagged)]`), or a tag that tells them apart";
            self.refuse(at, "`oneOf` with alternatives that one value can fit at once", advice);
        } else if !apart {
            let advice = "give each a tag (`#[serde(tag = \"…\")]`), or a property that the others do not have";
            self.refuse(at, "alternatives that are objects with the same properties", advice);
        }
    }

    fn reference(&mut self, node: &Map<String, Value>, reference: &str, at: &Place, must: bool) -> Value {
        let Some(definition) = self.definition(reference, at) else { return Value::Null };
        let name = definition.name.clone();
        if let (true, Some(from)) = (must, &self.inside) {
            self.edges.push(Edge { from: from.clone(), to: name.clone(), at: at.clone() });
        }
        let bare = json!({ "$ref": definition.reference() });
        if !self.definitions.contains_key(&name) {
            self.definitions.insert(name.clone(), Value::Null);
            self.waiting.push((definition, at.clone()));
        }
        let mut form = Map::new();
        Notes::default().describe(node, &mut form);
        if form.is_empty() {
            return bare;
        }
        // Nothing may stand beside a reference.
        form.insert("anyOf".to_owned(), json!([bare]));
        form.into()
    }

    pub(super) fn is_recursive(&mut self, definition: &Definition<'_>, at: &Place) -> bool {
        if let Some(known) = self.recursive.get(&definition.name) {
            return *known;
        }
        let found = self.graph.is_recursive(&definition.name, &mut self.budget);
        self.give_up(at);
        self.recursive.insert(definition.name.clone(), found);
        found
    }

    /// Gemini unrolls a type that contains itself as far as a property on the way may be left out.
    fn refuse_endless(&mut self) {
        let mut graph = Graph::default();
        for edge in &self.edges {
            graph.insert(&edge.from, &edge.to);
        }
        let budget = &mut self.budget;
        let endless: Vec<&Edge> =
            self.edges.iter().filter(|edge| graph.leads_to(&edge.to, &edge.from, budget)).collect();
        if let (Some(edge), true) = (endless.last(), budget.exceeded().is_some()) {
            let at = edge.at.clone();
            return self.give_up(&at);
        }
        let found = endless.into_iter().map(|edge| SchemaError::Recursive {
            profile: self.dialect.profile,
            path: edge.at.path(),
            pointer: edge.at.pointer(),
            definition: edge.to.clone(),
        });
        self.problems.extend(found.collect::<Vec<_>>());
    }
}

/// The texts that alternatives consist of, with what is said about each, if they are nothing else.
fn named_values(all: &[(Value, Place)]) -> Option<Vec<(&str, Option<&str>)>> {
    const SIMPLE: [&str; 5] = ["const", "description", "enum", "title", "type"];
    let mut found: Vec<(&str, Option<&str>)> = Vec::new();
    for (schema, _) in all {
        let members = schema.as_object()?;
        if members.keys().any(|keyword| !SIMPLE.contains(&keyword.as_str()))
            || members.get("type") != Some(&json!("string"))
        {
            return None;
        }
        let text = members.get("description").and_then(Value::as_str);
        match (members.get("const"), members.get("enum")) {
            (Some(Value::String(value)), None) => found.push((value, text)),
            (None, Some(Value::Array(values))) => {
                for value in values {
                    found.push((value.as_str()?, text));
                }
            }
            _ => return None,
        }
    }
    let mut values: Vec<&str> = found.iter().map(|(value, _)| *value).collect();
    values.sort_unstable();
    let differ = values.windows(2).all(|pair| pair.first() != pair.last());
    (differ && !found.is_empty()).then_some(found)
}

/// The values of an `enum` or a `const`, as far as the type lets them be.
fn fixed(node: &Map<String, Value>) -> Option<Vec<Value>> {
    let constant = node.get("const");
    let named = node.get("enum").and_then(Value::as_array);
    let all = named.map_or_else(|| constant.into_iter().collect(), |named| named.iter().collect::<Vec<_>>());
    let names = node.get("type").and_then(types);
    let fits = |value: &&Value| {
        constant.is_none_or(|constant| constant == *value)
            && names.as_ref().is_none_or(|names| {
                names.contains(&kind(value))
                    || value.is_number() && names.contains(&"number")
                    // `2.0` is an integer.
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0) && names.contains(&"integer")
            })
    };
    (named.is_some() || constant.is_some()).then(|| all.into_iter().filter(fits).cloned().collect())
}

/// The narrowest type that a value has.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
