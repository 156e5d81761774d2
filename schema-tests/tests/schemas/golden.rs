//! Every form of every sample, as it was looked at and found right. `HPD_WRITE_GOLDEN=1` writes the files anew.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Map, Value, json};

use super::{against_the_meta_schema, samples::*, schema_of, subagents, with_default};
use hpd_agent::chat::{Schema, SchemaProfile};

fn all() -> BTreeMap<&'static str, Schema> {
    let mut all = BTreeMap::from(subagents());
    all.insert("default", with_default());
    macro_rules! insert {
        ($($name:ident: $type:ty,)*) => { $(all.insert(stringify!($name), schema_of::<$type>());)* };
    }
    with_samples!(insert);
    all
}

/// With its `required` in a fixed order: it follows that of the properties, which is a matter of the JSON library's
/// features.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let mut value = sorted(value);
                if name == "required"
                    && let Some(names) = value.as_array_mut()
                {
                    names.sort_by_key(Value::to_string);
                }
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn compare(name: &str, found: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/schemas/golden/{name}.json"));
    if std::env::var_os("HPD_WRITE_GOLDEN").is_some() {
        fs::write(&path, format!("{found:#}\n")).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let golden: Map<String, Value> = serde_json::from_str(&text).unwrap();
    for (sample, form) in found.as_object().unwrap() {
        assert_eq!(Some(sorted(form)), golden.get(sample).map(sorted), "{name}: {sample}");
    }
    assert_eq!(golden.len(), found.as_object().unwrap().len(), "{name}: samples that are gone");
}

#[test]
fn the_canonical_schemas() {
    let found: Map<String, Value> =
        all().into_iter().map(|(name, schema)| (name.to_owned(), schema.value().clone())).collect();
    compare("canonical", &found.into());
}

#[test]
fn the_forms_of_each_profile() {
    for profile in SchemaProfile::ALL {
        let form = |schema: &Schema| match schema.wire(profile) {
            Ok(form) => form.clone(),
            Err(problems) => json!({ "refused": problems.iter().map(ToString::to_string).collect::<Vec<_>>() }),
        };
        let found: Map<String, Value> =
            all().into_iter().map(|(name, schema)| (name.to_owned(), form(&schema))).collect();
        compare(profile.name(), &found.into());
    }
}

#[test]
fn all_pass_the_meta_schema() {
    for (name, schema) in all() {
        assert_eq!(against_the_meta_schema(schema.value()), [""; 0], "{name}");
        assert!(schema.value().get("$schema").is_none());
        for profile in SchemaProfile::ALL {
            if let Ok(form) = schema.wire(profile) {
                assert_eq!(against_the_meta_schema(form), [""; 0], "{name} for {profile}: {form:#}");
            }
        }
    }
}

#[test]
fn the_meta_schema_finds_what_is_wrong() {
    assert!(!against_the_meta_schema(&json!({ "type": "text" })).is_empty());
    assert!(!against_the_meta_schema(&json!({ "properties": { "a": { "minimum": "1" } } })).is_empty());
}
