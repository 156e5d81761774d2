//! What a field may be given.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::DefinitionProblem;
use crate::declare::SubAgentAvailability;

/// The value of a field.
pub(super) struct Given {
    pub(super) at: String,
    pub(super) field: String,
    pub(super) value: Value,
}

impl Given {
    pub(super) fn wrong(&self, expected: impl Into<String>) -> DefinitionProblem {
        let found = match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(number) => format!("the number `{number}`"),
            Value::String(text) => format!("the text `{}`", text.chars().take(80).collect::<String>()),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        let (at, field) = (self.at.clone(), self.field.clone());
        DefinitionProblem::WrongValue { at, field, found, expected: expected.into() }
    }

    pub(super) fn refused(&self, what: impl Into<String>, advice: &'static str) -> DefinitionProblem {
        DefinitionProblem::NotSupported { at: self.at.clone(), what: what.into(), advice }
    }

    pub(super) fn text(&self) -> Result<String, DefinitionProblem> {
        match &self.value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong("a text: put it in quotes")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, DefinitionProblem> {
        self.value.as_bool().ok_or_else(|| self.wrong("`true` or `false`"))
    }

    pub(super) fn number(&self) -> Result<u32, DefinitionProblem> {
        let number = self.value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| *number > 0).ok_or_else(|| self.wrong("a whole number from 1"))
    }

    pub(super) fn object(&self) -> Result<Map<String, Value>, DefinitionProblem> {
        self.value.as_object().cloned().ok_or_else(|| self.wrong("an object of keys and values"))
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
        let chosen = self.value.as_str().map(plain);
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
        match &self.value {
            Value::Object(_) => serde_json::from_value(self.value.clone())
                .map_err(|error| self.wrong(format!("what it is stored as: {error}"))),
            _ => self.choice(choices),
        }
    }

    pub(super) fn availability(&self) -> Result<SubAgentAvailability, DefinitionProblem> {
        if self.value.is_number() {
            return self.number().map(SubAgentAvailability::through_depth);
        }
        let choices = [
            ("ROOT_ONLY", SubAgentAvailability::ROOT_ONLY),
            ("ANY_ALLOWED_DEPTH", SubAgentAvailability::ANY_ALLOWED_DEPTH),
        ];
        let expected = "`root_only`, `any_allowed_depth`, or the depth of the deepest child, a whole number from 1";
        self.choice(&choices).map_err(|_| self.wrong(expected))
    }

    /// Names in a list, or in one text with commas between them.
    pub(super) fn names(&self) -> Result<Vec<String>, DefinitionProblem> {
        let names: Option<Vec<String>> = match &self.value {
            Value::String(text) => Some(split_names(text)),
            Value::Array(names) => names.iter().map(|name| name.as_str().map(|name| name.trim().to_owned())).collect(),
            _ => None,
        };
        let mut names = names.ok_or_else(|| self.wrong("a list of names, or names with commas between them"))?;
        names.retain(|name| !name.is_empty());
        Ok(names)
    }

    pub(super) fn tools(&self) -> Result<Vec<String>, DefinitionProblem> {
        let names = self.names()?;
        let refused = names.iter().find_map(|name| {
            let what = || format!("`{name}`");
            if name == "*" {
                return Some(
                    self.refused(what(), "an agent has the tools of the harnesses that it names, and no others"),
                );
            }
            if name.starts_with("Agent") || name.starts_with("Task") {
                let advice =
                    "an agent may call the subagents of the harnesses that it has: name those in `tool_harnesses`";
                let alone = matches!(name.as_str(), "Agent" | "Task");
                return (alone || name.contains('(')).then(|| self.refused(what(), advice));
            }
            if name.starts_with("mcp__") {
                return Some(
                    self.refused(what(), "there are no MCP servers: name a harness whose functions call the server"),
                );
            }
            self.rule(name)
        });
        refused.map_or(Ok(names), Err)
    }

    /// Of what an agent does not have by itself, nothing has to be taken away.
    pub(super) fn denied_tools(&self) -> Result<Vec<String>, DefinitionProblem> {
        let names = self.names()?;
        let refused = names.iter().find_map(|name| self.rule(name));
        refused.map_or(Ok(names), Err)
    }

    /// A rule about the arguments of a tool is not its name.
    fn rule(&self, name: &str) -> Option<DefinitionProblem> {
        let advice = "name the tool alone, and let a permission policy decide about its arguments";
        name.contains('(').then(|| self.refused(format!("`{name}`"), advice))
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
        let is_empty = match &self.value {
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if is_empty { Ok(()) } else { Err(self.refused(format!("`{}`", self.field), advice)) }
    }
}

/// Names with commas between them; commas within parentheses belong to a name.
fn split_names(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let names = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    names.map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_commas_between_them() {
        assert_eq!(split_names("Read, Grep"), ["Read", "Grep"]);
        assert_eq!(split_names("Agent(a, b),Read,"), ["Agent(a, b)", "Read", ""]);
        assert_eq!(split_names("Bash(a))(, b"), ["Bash(a))(, b"]);
    }
}
