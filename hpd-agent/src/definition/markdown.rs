//! Markdown with YAML front matter.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Error, MessageFormatter as _, Spanned, UserMessageFormatter, options::DuplicateKeyPolicy};

use super::{Definition, DefinitionProblem, Field, cut_reason, place, source::Text};

/// The definition in a Markdown file; none if it is documentation.
pub(super) fn definition(text: &Text, problems: &mut Vec<DefinitionProblem>) -> Option<Definition> {
    match split(&text.text) {
        Split::Parts { front_matter, body } => {
            let fields = fields(&text.path, front_matter, problems)?;
            Some(Definition { path: text.path.clone(), line: 1, key: None, fields, body: Some(body.trim().to_owned()) })
        }
        Split::Unclosed => {
            problems.push(DefinitionProblem::Unclosed { at: place(&text.path, 1) });
            None
        }
        split @ (Split::None | Split::Late) => {
            if text.asked_for || split == Split::Late {
                problems.push(DefinitionProblem::NoFrontMatter { path: text.path.to_string() });
            }
            None
        }
    }
}

#[derive(Debug, PartialEq)]
enum Split<'t> {
    None,
    /// What would be front matter if it began in the first line.
    Late,
    Unclosed,
    Parts {
        front_matter: &'t str,
        body: &'t str,
    },
}

/// Takes a text apart at the first two lines `---`, of which one is the first line.
fn split(text: &str) -> Split<'_> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let Some((first, rest)) = text.split_once('\n') else {
        return if is_fence(text) { Split::Unclosed } else { Split::None };
    };
    if !is_fence(first) {
        let begins_late = text.lines().map(str::trim).find(|line| !line.is_empty()) == Some("---");
        return if begins_late { Split::Late } else { Split::None };
    }
    let mut before = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            let (front_matter, fence_and_body) = rest.split_at_checked(before).unwrap_or((rest, ""));
            let body = fence_and_body.strip_prefix(line).unwrap_or_default();
            return Split::Parts { front_matter, body };
        }
        before += line.len();
    }
    Split::Unclosed
}

/// The fields, each with its line in the file.
fn fields(path: &str, front_matter: &str, problems: &mut Vec<DefinitionProblem>) -> Option<Vec<Field>> {
    let options = serde_saphyr::options! {
        // No more than a definition can need, whatever aliases make of it.
        budget: serde_saphyr::budget! {
            max_aliases: 100,
            max_anchors: 100,
            max_depth: 32,
            max_events: 20_000,
            max_nodes: 20_000,
            max_total_scalar_bytes: 2 * 1024 * 1024,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    };
    // The front matter begins in the second line.
    let line = |line: u64| u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1);
    match serde_saphyr::from_str_with_options::<Option<Fields>>(front_matter, options) {
        Ok(fields) => {
            let fields = fields.map(|fields| fields.0).unwrap_or_default().into_iter();
            let field = |(name, at, Node { value, entry_lines })| {
                let entry_lines = entry_lines.into_iter().map(line).collect();
                Field { name, line: line(at), value, entry_lines }
            };
            Some(fields.map(field).collect())
        }
        Err(error) => {
            let number = error.location().map_or(1, |location| location.line());
            let mut cause = &error;
            while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
                cause = error;
            }
            let reason = match cause {
                Error::Budget { .. } => {
                    "it holds more than a definition can need: more values, levels or aliases".into()
                }
                error => UserMessageFormatter.format_message(error).into_owned(),
            };
            let before = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
            let mut near = front_matter.lines().skip(before).take(2);
            let is_twice = matches!(cause, Error::DuplicateMappingKey { .. });
            let unquoted = !is_twice && near.clone().next().is_some_and(|line| line.matches(": ").count() > 1);
            // A text that goes on in the next line is told at its beginning.
            let tabbed = near.any(|line| line.trim_start_matches(' ').starts_with('\t'));
            let advice = match (tabbed, unquoted) {
                (true, _) => Some("indent with spaces: YAML has no tabs there"),
                (_, true) => Some("a text with `: ` in it needs quotes around it, or `>-` before it"),
                _ => None,
            };
            problems.push(DefinitionProblem::Syntax {
                at: place(path, line(number)),
                reason: format!("the front matter cannot be read as YAML: {}", cut_reason(&reason)),
                advice,
            });
            None
        }
    }
}

/// The members of a mapping in their order, with the line of each.
struct Fields(Vec<(String, u64, Node)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields with values, as in `name: reviewer`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Spanned<String>, Node>()? {
                    fields.push((name.value, name.referenced.line(), value));
                }
                Ok(Fields(fields))
            }
        }
        // Anything: what is no mapping is then refused in the words above.
        deserializer.deserialize_any(Members)
    }
}

/// A value, with the lines of its entries if it is a list.
struct Node {
    value: Value,
    entry_lines: Vec<u64>,
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, entry_lines: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value that JSON has too")
            }
            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Value::Null.into())
            }
            fn visit_none<E>(self) -> Result<Node, E> {
                Ok(Value::Null.into())
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
                Node::deserialize(deserializer)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Value::from(value).into())
            }
            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Value::from(value).into())
            }
            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Value::from(value).into())
            }
            /// What JSON has no number for would become a null, which counts as left out.
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Node, E> {
                let number =
                    Number::from_f64(value).ok_or_else(|| E::custom("`.inf` and `.nan` are no values here"))?;
                Ok(Value::Number(number).into())
            }
            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Value::from(value).into())
            }
            fn visit_string<E>(self, value: String) -> Result<Node, E> {
                Ok(Value::from(value).into())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
                let (mut values, mut entry_lines) = (Vec::new(), Vec::new());
                while let Some(entry) = seq.next_element::<Spanned<Node>>()? {
                    entry_lines.push(entry.referenced.line());
                    values.push(entry.value.value);
                }
                Ok(Node { value: Value::Array(values), entry_lines })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut members = Map::new();
                while let Some((name, node)) = map.next_entry::<String, Node>()? {
                    if members.insert(name, node.value).is_some() {
                        return Err(A::Error::custom("a key is here for the second time"));
                    }
                }
                Ok(Value::Object(members).into())
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_at_the_first_two_fences() {
        let parts = |front_matter, body| Split::Parts { front_matter, body };
        for (text, expected) in [
            ("---\na: 1\n---\nbody\n---\nmore\n", parts("a: 1\n", "body\n---\nmore\n")),
            ("---  \na: 1\n---\t", parts("a: 1\n", "")),
            ("---\n---\nbody", parts("", "body")),
            ("---\na: |\n  ---\n---\n", parts("a: |\n  ---\n", "")),
            ("---\na: 1\n", Split::Unclosed),
            ("---\n", Split::Unclosed),
            ("---", Split::Unclosed),
            ("# Notes\n---\na: 1\n---\n", Split::None),
            ("----\na: 1\n---\n", Split::None),
            ("", Split::None),
            ("\n---\na: 1\n---\n", Split::Late),
            ("\n ---\na: 1", Split::Late),
        ] {
            assert_eq!(split(text), expected, "{text:?}");
        }
    }
}
