//! What a field may be given.

use std::{collections::HashSet, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{DefinitionProblem, Field, cut, cut_reason, place};
use crate::{declare::SubAgentAvailability, event::RESERVED_METADATA};

/// The value of a field.
pub(super) struct Given {
    pub(super) path: Arc<str>,
    pub(super) field: Field,
}

/// A name among others, and the line at which it is written.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) line: u32,
}

/// What is wrong with one field. Of a list, each entry may be.
#[derive(Debug)]
pub(super) struct Wrong(pub(super) Vec<DefinitionProblem>);

impl From<DefinitionProblem> for Wrong {
    fn from(problem: DefinitionProblem) -> Self {
        Self(vec![problem])
    }
}

impl Given {
    /// Where the field is.
    pub(super) fn at(&self) -> String {
        place(&self.path, self.field.line)
    }

    pub(super) fn wrong(&self, expected: impl Into<String>) -> DefinitionProblem {
        let (field, found) = (self.field.name.clone(), found(&self.field.value));
        DefinitionProblem::WrongValue { at: self.at(), field, found, expected: expected.into() }
    }

    pub(super) fn refused(&self, what: impl Into<String>, advice: &'static str) -> DefinitionProblem {
        DefinitionProblem::NotSupported { at: self.at(), what: what.into(), advice }
    }

    pub(super) fn text(&self) -> Result<String, DefinitionProblem> {
        match &self.field.value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong("a text: put it in quotes")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, DefinitionProblem> {
        self.field.value.as_bool().ok_or_else(|| self.wrong("`true` or `false`"))
    }

    pub(super) fn number(&self) -> Result<u32, DefinitionProblem> {
        // In YAML `010` and `1e1` are floats to the parser.
        let text = match &self.field.value {
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let number = text.strip_suffix(".0").unwrap_or(&text).parse().ok();
        number.filter(|number| *number > 0).ok_or_else(|| self.wrong("a whole number from 1"))
    }

    pub(super) fn object(&self) -> Result<Map<String, Value>, DefinitionProblem> {
        self.field.value.as_object().cloned().ok_or_else(|| self.wrong("an object of keys and values"))
    }

    /// An object without the keys that the runtime sets.
    pub(super) fn metadata(&self) -> Result<Map<String, Value>, DefinitionProblem> {
        let metadata = self.object()?;
        match metadata.keys().find(|key| RESERVED_METADATA.contains(&key.as_str())) {
            None => Ok(metadata),
            Some(key) => Err(DefinitionProblem::WrongValue {
                at: self.at(),
                field: self.field.name.clone(),
                found: format!("an object with the key `{key}`"),
                expected: "one without it, which the runtime sets itself: choose another name".to_owned(),
            }),
        }
    }

    pub(super) fn one_of(&self, legal: &[&'static str]) -> Result<String, DefinitionProblem> {
        let choices: Vec<_> = legal.iter().map(|name| (*name, *name)).collect();
        self.choice(&choices).map(str::to_owned)
    }

    /// A choice by its name, in any case, with or without `-`, `_` and spaces.
    pub(super) fn choice<T: Clone>(&self, choices: &[(&'static str, T)]) -> Result<T, DefinitionProblem> {
        let plain = |name: &str| {
            let kept = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
            kept.flat_map(char::to_lowercase).collect::<String>()
        };
        let chosen = self.field.value.as_str().map(plain);
        let found = choices.iter().find(|(name, _)| chosen.as_deref() == Some(&plain(name)));
        found.map(|(_, choice)| choice.clone()).ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.wrong(match names.as_slice() {
                [only] => only.clone(),
                names => format!("one of {}", names.join(", ")),
            })
        })
    }

    /// A choice, or the form in which the value is stored.
    pub(super) fn choice_or_object<T: Clone + DeserializeOwned>(
        &self,
        choices: &[(&'static str, T)],
    ) -> Result<T, DefinitionProblem> {
        match &self.field.value {
            Value::Object(_) => serde_json::from_value(self.field.value.clone())
                .map_err(|error| self.wrong(format!("what it is stored as: {}", cut_reason(&error.to_string())))),
            _ => self.choice(choices),
        }
    }

    pub(super) fn availability(&self) -> Result<SubAgentAvailability, DefinitionProblem> {
        if self.field.value.is_number() {
            return self.number().map(SubAgentAvailability::through_depth);
        }
        let choices = [
            ("ROOT_ONLY", SubAgentAvailability::ROOT_ONLY),
            ("ANY_ALLOWED_DEPTH", SubAgentAvailability::ANY_ALLOWED_DEPTH),
        ];
        let expected = "`root_only`, `any_allowed_depth`, or the depth of the deepest child, a whole number from 1";
        self.choice(&choices).map_err(|_| self.wrong(expected))
    }

    /// Names in a list, or in one text with commas between them, each once.
    pub(super) fn names(&self) -> Result<Vec<Name>, Wrong> {
        self.names_unless(|_| None)
    }

    /// The names of tools that an agent shall have.
    pub(super) fn tools(&self) -> Result<Vec<Name>, Wrong> {
        self.names_unless(|name| {
            let is_agent = |prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.contains('('));
            if name == "*" {
                Some("an agent has the tools of the harnesses that it names, and no others")
            } else if is_agent("Agent") || is_agent("Task") {
                Some("an agent may call the subagents of the harnesses that it has: name those in `tool_harnesses`")
            } else if name.starts_with("mcp__") {
                Some("there are no MCP servers: name a harness whose functions call the server")
            } else {
                no_name(name)
            }
        })
    }

    /// Of what an agent does not have by itself, nothing has to be taken away.
    pub(super) fn denied_tools(&self) -> Result<Vec<Name>, Wrong> {
        self.names_unless(|name| {
            let all = "name the harnesses that the agent shall not have, or write `tools: []` for an agent without any";
            if name == "*" { Some(all) } else { no_name(name) }
        })
    }

    /// The names, unless `refuse` has an advice against one of them.
    fn names_unless(&self, refuse: fn(&str) -> Option<&'static str>) -> Result<Vec<Name>, Wrong> {
        let Field { name: field, line, value, entry_lines } = &self.field;
        let (mut names, mut wrong) = (Vec::new(), Vec::new());
        match value {
            Value::String(text) => names.extend(split_names(text).map(|name| (name, *line))),
            Value::Array(entries) => {
                let lines = entry_lines.iter().copied().chain(std::iter::repeat(*line));
                for ((index, entry), line) in entries.iter().enumerate().zip(lines) {
                    match entry {
                        Value::String(name) => names.push((name.trim(), line)),
                        entry => wrong.push(DefinitionProblem::WrongValue {
                            at: place(&self.path, line),
                            field: format!("{field}[{index}]"),
                            found: found(entry),
                            expected: "a name: put it in quotes".to_owned(),
                        }),
                    }
                }
            }
            _ => return Err(self.wrong("a list of names, or names with commas between them").into()),
        }
        let mut seen = HashSet::new();
        names.retain(|(name, _)| !name.is_empty() && seen.insert(*name));
        wrong.extend(names.iter().filter_map(|(name, line)| {
            let (at, what) = (place(&self.path, *line), format!("`{}`", cut(name)));
            refuse(name).map(|advice| DefinitionProblem::NotSupported { at, what, advice })
        }));
        let owned = |(name, line): (&str, u32)| Name { text: name.to_owned(), line };
        if wrong.is_empty() { Ok(names.into_iter().map(owned).collect()) } else { Err(Wrong(wrong)) }
    }

    pub(super) fn permission_mode(&self) -> Result<(), DefinitionProblem> {
        let mode =
            self.one_of(&["default", "manual", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"])?;
        match mode.as_str() {
            "default" | "manual" => Ok(()),
            mode => Err(self.refused(
                format!("`permissionMode: {mode}`"),
                "an agent keeps to the permissions of its parent, and no definition widens them: set them on the root \
                 agent with `with_permissions`",
            )),
        }
    }

    /// Refuses a field that there is nothing for, unless it says nothing.
    pub(super) fn unless_empty(&self, advice: &'static str) -> Result<(), DefinitionProblem> {
        let is_empty = match &self.field.value {
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if is_empty { Ok(()) } else { Err(self.refused(format!("`{}`", self.field.name), advice)) }
    }
}

/// What a value is, in words.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", cut(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A rule about the arguments of a tool is not its name.
fn no_name(name: &str) -> Option<&'static str> {
    name.contains('(').then_some("name the tool alone, and let a permission policy decide about its arguments")
}

/// Names with commas between them; commas within parentheses belong to a name.
fn split_names(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    let names = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    names.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_commas_between_them() {
        let split = |text| split_names(text).collect::<Vec<_>>();
        assert_eq!(split("Read, Grep"), ["Read", "Grep"]);
        assert_eq!(split("Agent(a, b),Read,"), ["Agent(a, b)", "Read", ""]);
        assert_eq!(split("Bash(a))(, b"), ["Bash(a))(, b"]);
    }
}
