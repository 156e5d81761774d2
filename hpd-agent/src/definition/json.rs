//! JSON: one definition, a list of them, or an object of them by name.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Definition, DefinitionProblem, Field, cut, cut_reason, place, source::Text};
use crate::json::Members;

/// All definitions in a JSON file.
pub(super) fn definitions(text: &Text, problems: &mut Vec<DefinitionProblem>) -> Vec<Definition> {
    let line_ends = text.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let file = File { text, line_ends };
    let trimmed = text.text.trim_start();
    let parts = match trimmed.chars().next() {
        Some('[') => file.list(trimmed),
        Some('{') => file.object(trimmed),
        _ => Err(DefinitionProblem::syntax(&text.path, 1, "holds neither an object nor a list of definitions")),
    };
    match parts {
        Ok(parts) if parts.is_empty() => {
            problems.push(DefinitionProblem::syntax(&text.path, 1, "holds no definition"));
            Vec::new()
        }
        Ok(parts) => parts
            .into_iter()
            .filter_map(|(key, json)| {
                file.definition(key, json, problems).map_err(|problem| problems.push(problem)).ok()
            })
            .collect(),
        Err(problem) => {
            problems.push(problem);
            Vec::new()
        }
    }
}

/// The text of a definition, and the key that it stands under.
type Part<'t> = (Option<String>, &'t str);

struct File<'t> {
    text: &'t Text,
    /// Where they are in the text.
    line_ends: Vec<usize>,
}

impl<'t> File<'t> {
    fn list(&self, json: &'t str) -> Result<Vec<Part<'t>>, DefinitionProblem> {
        let items: Vec<&RawValue> = self.parse(json)?;
        Ok(items.into_iter().map(|item| (None, item.get())).collect())
    }

    /// One definition if a member is what only a definition has: a text. Else definitions by name. Null says neither.
    fn object(&self, json: &'t str) -> Result<Vec<Part<'t>>, DefinitionProblem> {
        let members: Members<'_> = self.parse(json)?;
        let is_definition = |(name, value): &(Cow<'_, str>, &RawValue)| {
            matches!(&**name, "name" | "description" | "prompt")
                && !(value.get().starts_with('{') || value.get() == "null")
        };
        if members.0.iter().any(is_definition) {
            return Ok(vec![(None, json)]);
        }
        Ok(members.0.into_iter().map(|(name, value)| (Some(name.into_owned()), value.get())).collect())
    }

    fn definition(
        &self,
        key: Option<String>,
        json: &'t str,
        problems: &mut Vec<DefinitionProblem>,
    ) -> Result<Definition, DefinitionProblem> {
        let members: Members<'_> = self.parse(json)?;
        let mut fields = Vec::with_capacity(members.0.len());
        for (name, value) in members.0 {
            let json = value.get();
            let value: Value = self.parse(json)?;
            let entry_lines = match &value {
                Value::Array(_) => {
                    self.parse::<Vec<&RawValue>>(json)?.iter().map(|entry| self.line(entry.get())).collect()
                }
                _ => Vec::new(),
            };
            // That it could be read as a value says that it is not too deep to be walked.
            self.refuse_repeated(json, problems);
            fields.push(Field { name: name.into_owned(), line: self.line(json), value, entry_lines });
        }
        Ok(Definition { path: self.text.path.clone(), line: self.line(json), key, fields, body: None })
    }

    /// Reports the keys that an object has more than once, at any depth. A value keeps the last of them without a word.
    fn refuse_repeated(&self, json: &'t str, problems: &mut Vec<DefinitionProblem>) {
        let mut lines = HashMap::new();
        for (name, value) in self.parts_of(json) {
            let line = self.line(value);
            if let Some(name) = name {
                match lines.entry(name) {
                    Entry::Vacant(free) => _ = free.insert(line),
                    Entry::Occupied(taken) => problems.push(DefinitionProblem::TwiceInOne {
                        at: place(&self.text.path, line),
                        field: cut(taken.key()),
                        first: *taken.get(),
                    }),
                }
            }
            self.refuse_repeated(value, problems);
        }
    }

    /// The members of an object or the entries of a list; nothing else has parts.
    fn parts_of(&self, json: &'t str) -> Vec<(Option<Cow<'t, str>>, &'t str)> {
        match json.chars().next() {
            Some('{') => {
                let members = self.parse::<Members<'_>>(json).map(|members| members.0).unwrap_or_default();
                members.into_iter().map(|(name, value)| (Some(name), value.get())).collect()
            }
            Some('[') => {
                let entries: Vec<&RawValue> = self.parse(json).unwrap_or_default();
                entries.into_iter().map(|entry| (None, entry.get())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn parse<T: Deserialize<'t>>(&self, json: &'t str) -> Result<T, DefinitionProblem> {
        serde_json::from_str(json).map_err(|error| {
            let first = self.line(json);
            let line = first.saturating_add(u32::try_from(error.line()).unwrap_or(1).saturating_sub(1));
            let told = error.to_string();
            // The place is told once, in lines of the file.
            let reason = told.split(" at line ").next().unwrap_or(&told);
            let reason = format!("cannot be read as JSON of definitions: {}", cut_reason(reason));
            DefinitionProblem::Syntax { at: place(&self.text.path, line), reason, advice: None }
        })
    }

    /// The line at which a part of the text begins.
    fn line(&self, part: &'t str) -> u32 {
        let offset = part.as_ptr().addr().saturating_sub(self.text.text.as_ptr().addr());
        let before = self.line_ends.partition_point(|end| *end < offset);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }
}
