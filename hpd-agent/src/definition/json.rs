//! JSON: one definition, a list of them, or an object of them by name.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Definition, DefinitionProblem, Field, place, source::Text};
use crate::json::Members;

/// All definitions in a JSON file.
pub(super) fn definitions(text: &Text, problems: &mut Vec<DefinitionProblem>) -> Vec<Definition> {
    let line_ends = text.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let file = File { text, line_ends };
    let trimmed = text.text.trim_start();
    let read = match trimmed.chars().next() {
        Some('[') => file.list(trimmed),
        Some('{') => file.object(trimmed),
        _ => Err(DefinitionProblem::syntax(&text.path, 1, "holds neither an object nor a list of definitions")),
    };
    let read = match read {
        Ok(read) if read.is_empty() => vec![Err(DefinitionProblem::syntax(&text.path, 1, "holds no definition"))],
        Ok(read) => read,
        Err(problem) => vec![Err(problem)],
    };
    read.into_iter().filter_map(|definition| definition.map_err(|problem| problems.push(problem)).ok()).collect()
}

/// A definition, or what is wrong with it.
type Read = Result<Definition, DefinitionProblem>;

struct File<'t> {
    text: &'t Text,
    /// Where they are in the text.
    line_ends: Vec<usize>,
}

impl<'t> File<'t> {
    fn list(&self, json: &'t str) -> Result<Vec<Read>, DefinitionProblem> {
        let items: Vec<&RawValue> = self.parse(json)?;
        Ok(items.into_iter().map(|item| self.definition(None, item.get())).collect())
    }

    /// One definition if a member is what only a definition has: a text. Else definitions by name.
    fn object(&self, json: &'t str) -> Result<Vec<Read>, DefinitionProblem> {
        let members: Members<'_> = self.parse(json)?;
        let is_definition = |(name, value): &(Cow<'_, str>, &RawValue)| {
            matches!(&**name, "name" | "description" | "prompt") && !value.get().starts_with('{')
        };
        if members.0.iter().any(is_definition) {
            return Ok(vec![self.definition(None, json)]);
        }
        Ok(members.0.into_iter().map(|(name, value)| self.definition(Some(name.into_owned()), value.get())).collect())
    }

    fn definition(&self, key: Option<String>, json: &'t str) -> Read {
        let members: Members<'_> = self.parse(json)?;
        let fields = members.0.into_iter().map(|(name, value)| {
            let parsed: Value = self.parse(value.get())?;
            Ok(Field { name: name.into_owned(), line: self.line(value.get()), value: parsed })
        });
        let fields = fields.collect::<Result<_, _>>()?;
        Ok(Definition { path: self.text.path.clone(), line: self.line(json), key, fields, body: None })
    }

    fn parse<T: Deserialize<'t>>(&self, json: &'t str) -> Result<T, DefinitionProblem> {
        serde_json::from_str(json).map_err(|error| {
            let first = self.line(json);
            let line = first.saturating_add(u32::try_from(error.line()).unwrap_or(1).saturating_sub(1));
            let told = error.to_string();
            // The place is told once, in lines of the file.
            let reason = told.split(" at line ").next().unwrap_or(&told);
            let reason = format!("cannot be read as JSON of definitions: {reason}");
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
