//! The sizes that OpenAI documents for strict mode.

use serde_json::Value;

use super::{Place, SchemaError, SchemaProfile};

const PROPERTIES: usize = 5_000;
/// Objects and arrays within each other; whether the root counts is not said, so it does not.
const LEVELS: usize = 10;
const CHARACTERS: usize = 120_000;
const ENUM_VALUES: usize = 1_000;
/// A single enum with more values than this may have so many characters in all.
const LARGE_ENUM: usize = 250;
const LARGE_ENUM_CHARACTERS: usize = 15_000;

#[derive(Default)]
struct Counts {
    properties: usize,
    characters: usize,
    enum_values: usize,
    problems: Vec<SchemaError>,
}

/// Checks a form for strict mode.
pub(super) fn check(form: &Value) -> Result<(), Vec<SchemaError>> {
    let mut counts = Counts::default();
    let root = Place::default();
    counts.schema(form, &root, 0);
    for (name, schema) in form.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        counts.characters += name.chars().count();
        counts.schema(schema, &root.definition("$defs", name), 0);
    }
    counts.compare(&root, "properties", counts.properties, PROPERTIES);
    counts.compare(&root, "values of enums", counts.enum_values, ENUM_VALUES);
    counts.compare(&root, "characters in names and values", counts.characters, CHARACTERS);
    if counts.problems.is_empty() { Ok(()) } else { Err(counts.problems) }
}

impl Counts {
    fn compare(&mut self, at: &Place, what: &'static str, count: usize, limit: usize) {
        if count > limit {
            self.problems.push(SchemaError::TooLarge {
                profile: SchemaProfile::OpenAiStrict,
                path: at.path(),
                pointer: at.pointer(),
                what,
                count,
                limit,
            });
        }
    }

    fn schema(&mut self, schema: &Value, at: &Place, level: usize) {
        if level == LEVELS + 1 && (schema.get("properties").is_some() || schema.get("items").is_some()) {
            self.compare(at, "levels of objects and arrays in each other", level, LEVELS);
            return;
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties += 1;
            self.characters += name.chars().count();
            self.schema(property, &at.property(name), level + 1);
        }
        if let Some(items) = schema.get("items") {
            self.schema(items, &at.items(), level + 1);
        }
        for (index, branch) in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
            self.schema(branch, &at.branch("anyOf", index), level);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let characters = values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum::<usize>();
            self.enum_values += values.len();
            self.characters += characters;
            if values.len() > LARGE_ENUM {
                self.compare(at, "characters in an enum with more than 250 values", characters, LARGE_ENUM_CHARACTERS);
            }
        }
    }
}
