//! What is said in words because the provider has no keyword for it.

use serde_json::{Map, Value};

use super::compose::excluded;

/// Sentences for the end of a description.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    pub(super) fn push(&mut self, sentence: impl Into<String>) {
        self.0.push(sentence.into());
    }

    /// Says a limit of a value.
    pub(super) fn limit(&mut self, keyword: &str, value: &Value) {
        let sentence = match keyword {
            "minimum" => format!("At least {value}."),
            "maximum" => format!("At most {value}."),
            "exclusiveMinimum" => format!("Greater than {value}."),
            "exclusiveMaximum" => format!("Less than {value}."),
            "multipleOf" => format!("A multiple of {value}."),
            "not" => match excluded(value) {
                Some(number) => format!("Not {number}."),
                None => return,
            },
            "minLength" => format!("At least {}.", counted(value, "character")),
            "maxLength" => format!("At most {}.", counted(value, "character")),
            "minItems" => format!("At least {}.", counted(value, "item")),
            "maxItems" => format!("At most {}.", counted(value, "item")),
            "minProperties" => format!("At least {}.", counted(value, "member")),
            "maxProperties" => format!("At most {}.", counted(value, "member")),
            "uniqueItems" if *value == Value::Bool(true) => "No item twice.".to_owned(),
            "uniqueItems" => return,
            "pattern" => format!("Must match the regular expression `{}`.", bare(value)),
            "format" => format!("Format: {}.", bare(value)),
            "contentEncoding" => format!("Encoding: {}.", bare(value)),
            "contentMediaType" => format!("Media type: {}.", bare(value)),
            other => format!("{other}: {value}."),
        };
        self.0.push(sentence);
    }

    /// Puts what a schema says about itself, and the sentences, into the description of its form.
    pub(super) fn describe(self, node: &Map<String, Value>, form: &mut Map<String, Value>) {
        let mut text = node.get("description").and_then(Value::as_str).unwrap_or_default().trim_end().to_owned();
        // That of the only alternative there is.
        if let Some(Value::String(own)) = form.remove("description") {
            text = if text.is_empty() { own } else { format!("{text} {own}") };
        }
        let mut sentences = self.0;
        if let Some(default) = node.get("default").filter(|default| !default.is_null()) {
            sentences.push(format!("Default: {default}."));
        }
        for example in node.get("examples").and_then(Value::as_array).into_iter().flatten() {
            sentences.push(format!("Example: {example}."));
        }
        if node.get("deprecated") == Some(&Value::Bool(true)) {
            sentences.push("Deprecated.".to_owned());
        }
        for sentence in sentences {
            if !text.is_empty() {
                text.push(if sentence.starts_with('-') || sentence.starts_with("Values:") { '\n' } else { ' ' });
            }
            text.push_str(&sentence);
        }
        if text.is_empty() {
            return;
        }
        // Near the beginning, where a reader looks for it.
        let mut text = Some(Value::from(text));
        let rest = std::mem::take(form);
        if !rest.contains_key("type") {
            form.extend(text.take().map(|text| ("description".to_owned(), text)));
        }
        for (keyword, value) in rest {
            let is_type = keyword == "type";
            form.insert(keyword, value);
            if is_type {
                form.extend(text.take().map(|text| ("description".to_owned(), text)));
            }
        }
    }
}

fn counted(value: &Value, noun: &str) -> String {
    if *value == 1 { format!("{value} {noun}") } else { format!("{value} {noun}s") }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
