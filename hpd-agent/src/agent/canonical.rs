//! Canonical JSON: one line, the members of every object in the order of their names, whatever the features of the JSON
//! library are. What is the same has the same text, so texts can be compared and fingerprinted.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;
use serde_json::Value;

/// The text of plain data with names as keys, which can always be written.
pub(super) fn text(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    // Room for a small definition: there are thousands of those.
    let mut text = String::with_capacity(256);
    write(&value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, value)) in sorted.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_text(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::String(text) => write_text(text, out),
        // Writing to a string cannot fail.
        plain => drop(write!(out, "{plain}")),
    }
}

fn write_text(text: &str, out: &mut String) {
    match text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        true => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        false => out.push_str(&Value::from(text).to_string()),
    }
}

/// The members of an object, sorted.
#[derive(Default)]
pub(super) struct Members(BTreeMap<&'static str, String>);

impl Members {
    pub(super) fn with(self, name: &'static str, value: &impl Serialize) -> Self {
        self.with_text(name, text(value))
    }

    /// A member whose text is kept as it is.
    pub(super) fn with_text(mut self, name: &'static str, json: String) -> Self {
        self.0.insert(name, json);
        self
    }

    pub(super) fn close(self) -> String {
        let members: Vec<String> = self.0.into_iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_at_every_level_and_texts_are_escaped() {
        let value: Value = serde_json::from_str(r#"{"b":[{"d":1,"c":null}],"a\"":"x\n","":true}"#).unwrap();
        assert_eq!(text(&value), r#"{"":true,"a\"":"x\n","b":[{"c":null,"d":1}]}"#);
        assert_eq!(Members::default().with("b", &1).with("a", &"x").close(), r#"{"a":"x","b":1}"#);
    }
}
