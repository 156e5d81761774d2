//! The forms of the types: numbers, objects, arrays, and fixed values.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    Place,
    merge::{branches, strings},
    notes::Notes,
    translate::{Translator, kind},
};

/// Limits of values beside an enum, which few write: they stay as words.
const LIMITS: [&str; 9] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "not",
    "pattern",
];

impl Translator<'_> {
    /// The limits that the dialect has a keyword for, and the others in words.
    pub(super) fn limits(
        &self,
        node: &Map<String, Value>,
        keywords: &[&str],
        form: &mut Map<String, Value>,
        notes: &mut Notes,
    ) {
        for keyword in keywords {
            match node.get(*keyword) {
                Some(value) if self.dialect.limits.contains(keyword) => {
                    form.insert((*keyword).to_owned(), value.clone());
                }
                Some(value) => notes.limit(keyword, value),
                None => {}
            }
        }
    }

    pub(super) fn number(
        &self,
        node: &Map<String, Value>,
        names: &[&str],
        form: &mut Map<String, Value>,
        notes: &mut Notes,
    ) {
        let mut node = node.clone();
        if !names.contains(&"number") {
            let (least, most) = node.get("format").and_then(Value::as_str).map_or((None, None), range);
            for (keyword, bound) in [("minimum", least), ("maximum", most)] {
                if let (Some(bound), false) = (bound, node.contains_key(keyword)) {
                    node.insert(keyword.to_owned(), bound.into());
                }
            }
            // Among integers, "greater than 4" is "at least 5".
            for (keyword, inclusive, step) in [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)]
            {
                // Not beside a bound that is no integer, of which the narrower one is not known here.
                if self.dialect.limits.contains(&keyword) || node.get(inclusive).is_some_and(|own| !own.is_i64()) {
                    continue;
                }
                if let Some(next) = node.get(keyword).and_then(Value::as_i64).and_then(|value| value.checked_add(step))
                {
                    let own = node.get(inclusive).and_then(Value::as_i64);
                    let bound = own.map_or(next, |own| if step > 0 { own.max(next) } else { own.min(next) });
                    node.remove(keyword);
                    node.insert(inclusive.to_owned(), bound.into());
                }
            }
        }
        let keywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "not"];
        self.limits(&node, &keywords, form, notes);
    }

    pub(super) fn object(
        &mut self,
        node: &Map<String, Value>,
        form: &mut Map<String, Value>,
        at: &Place,
        must: bool,
        notes: &mut Notes,
    ) {
        let properties = node.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = strings(node.get("required"));
        let names: HashSet<&str> = required.iter().copied().collect();
        for name in &required {
            if !properties.is_some_and(|all| all.contains_key(*name)) {
                let construct = format!("`{name}`, which is required and has no schema");
                self.refuse(&at.keyword("required"), construct, "declare it under `properties`");
            }
        }
        let others = node.get("additionalProperties").or_else(|| node.get("unevaluatedProperties"));
        let others = match others {
            Some(Value::Bool(false)) => Some(Value::Bool(false)),
            None if self.dialect.closed && properties.is_some_and(|all| !all.is_empty()) => Some(Value::Bool(false)),
            None if self.dialect.closed => {
                let advice = "declare its properties, or `#[serde(deny_unknown_fields)]` if it has none";
                Some(self.refuse(at, "an object with any members", advice))
            }
            Some(_) if self.dialect.closed => {
                let advice = "take a list of objects with a key and a value, or leave strict mode";
                Some(self.refuse(&at.values(), "a map with keys of any text", advice))
            }
            Some(Value::Bool(true)) => Some(Value::Bool(true)),
            Some(schema) => Some(self.schema(schema, &at.values(), must)),
            None => None,
        };
        let mut forms = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            let is_required = names.contains(name.as_str());
            let mut property = self.schema(schema, &at.property(name), must && is_required);
            if self.dialect.closed && !is_required {
                property = nullable(property);
            }
            forms.insert(name.clone(), property);
        }
        let always = self.dialect.closed;
        let all = [
            ("properties", (always || properties.is_some()).then(|| forms.into())),
            ("required", (always || !required.is_empty()).then(|| required.into())),
            ("additionalProperties", others),
        ];
        form.extend(all.into_iter().filter_map(|(keyword, value)| Some((keyword.to_owned(), value?))));
        self.limits(node, &["minProperties", "maxProperties"], form, notes);
    }

    pub(super) fn array(
        &mut self,
        node: &Map<String, Value>,
        form: &mut Map<String, Value>,
        at: &Place,
        must: bool,
        notes: &mut Notes,
    ) {
        let mut node = node.clone();
        let length = |node: &Map<String, Value>, keyword: &str| {
            node.get(keyword).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok())
        };
        let tuple: Vec<Value> = branches(&node, "prefixItems", at)
            .enumerate()
            .map(|(index, (schema, _))| self.schema(schema, &at.item(index), must))
            .collect();
        if node.get("items") == Some(&Value::Bool(false)) {
            let most = length(&node, "maxItems").map_or(tuple.len(), |most| most.min(tuple.len()));
            node.insert("maxItems".to_owned(), most.into());
            node.remove("items");
        }
        let most = length(&node, "maxItems");
        let ends = most.is_some_and(|most| most <= tuple.len());
        let same = tuple.iter().all(|item| Some(item) == tuple.first());
        match node.get("items") {
            // The items of a tuple that has no more.
            _ if !tuple.is_empty() && ends => match tuple.first() {
                Some(only) if same => {
                    form.insert("items".to_owned(), only.clone());
                }
                _ if self.dialect.closed => {
                    self.refuse(at, "a tuple of different types", "take a struct with named fields");
                }
                _ => {
                    form.insert("prefixItems".to_owned(), tuple.into());
                }
            },
            Some(Value::Array(_)) => {
                self.refuse(&at.keyword("items"), "a list of schemas as `items`", "use `prefixItems`");
            }
            // Nothing is ever in it.
            _ if most == Some(0) => {
                form.insert("items".to_owned(), json!({ "type": "string" }));
            }
            items => {
                let items = items.cloned().unwrap_or(Value::Bool(true));
                let items = self.schema(&items, &at.items(), must);
                if !tuple.is_empty() && self.dialect.closed {
                    self.refuse(at, "a list that begins with a tuple", "take a struct with named fields");
                } else if !tuple.is_empty() {
                    form.insert("prefixItems".to_owned(), tuple.into());
                }
                form.insert("items".to_owned(), items);
            }
        }
        self.limits(&node, &["minItems", "maxItems", "uniqueItems"], form, notes);
    }

    /// One of a few values.
    pub(super) fn values(
        &mut self,
        node: &Map<String, Value>,
        values: Vec<Value>,
        at: &Place,
        mut notes: Notes,
    ) -> Value {
        if values.is_empty() {
            return self.refuse(at, "an enum without values", "leave it out");
        }
        for (keyword, value) in node.iter().filter(|(keyword, _)| LIMITS.contains(&keyword.as_str())) {
            notes.limit(keyword, value);
        }
        let (mut kinds, mut parts): (Vec<&str>, Vec<Vec<Value>>) = Default::default();
        for value in values {
            let kind = kind(&value);
            if matches!(kind, "array" | "object") {
                return self.refuse(at, format!("the fixed value `{value}`"), "take an enum of texts");
            }
            match kinds.iter().position(|known| *known == kind).and_then(|at| parts.get_mut(at)) {
                Some(part) => part.push(value),
                None => {
                    kinds.push(kind);
                    parts.push(vec![value]);
                }
            }
        }
        let mut form = Map::new();
        if self.dialect.closed {
            let named = match kinds.as_slice() {
                [only] => json!(only),
                many => json!(many),
            };
            form.insert("type".to_owned(), named);
            form.insert("enum".to_owned(), parts.concat().into());
        } else {
            let mut forms = Vec::new();
            for (kind, part) in kinds.into_iter().zip(parts) {
                forms.push(match kind {
                    "null" => json!({ "type": kind }),
                    "boolean" if part.len() > 1 => json!({ "type": kind }),
                    // It has enums of texts and numbers only.
                    "boolean" => return self.refuse(at, "a fixed `true` or `false`", "take an enum of texts"),
                    _ => json!({ "type": kind, "enum": part }),
                });
            }
            match forms.pop() {
                Some(Value::Object(only)) if forms.is_empty() => form = only,
                last => {
                    forms.extend(last);
                    form.insert("anyOf".to_owned(), forms.into());
                }
            }
        }
        notes.describe(node, &mut form);
        form.into()
    }
}

/// The values of an integer's format.
fn range(format: &str) -> (Option<i64>, Option<i64>) {
    match format {
        "int8" => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        "int16" => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        "int32" => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        "uint8" => (Some(0), Some(u8::MAX.into())),
        "uint16" => (Some(0), Some(u16::MAX.into())),
        "uint32" => (Some(0), Some(u32::MAX.into())),
        unsigned if unsigned.starts_with("uint") => (Some(0), None),
        _ => (None, None),
    }
}

/// The same, but null fits too.
fn nullable(form: Value) -> Value {
    let Value::Object(mut form) = form else { return form };
    let nothing = json!({ "type": "null" });
    if form.contains_key("$ref") {
        return json!({ "anyOf": [form, nothing] });
    }
    if let Some(Value::Array(all)) = form.get_mut("anyOf") {
        if !all.contains(&nothing) {
            all.push(nothing);
        }
        return form.into();
    }
    if let Some(Value::Array(values)) = form.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match form.get_mut("type") {
        Some(Value::Array(names)) if !names.contains(&json!("null")) => names.push("null".into()),
        Some(name @ Value::String(_)) if *name != "null" => *name = json!([name.clone(), "null"]),
        _ => {}
    }
    form.into()
}
