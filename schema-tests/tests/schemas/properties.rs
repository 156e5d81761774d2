//! What holds for every value of every sample.

use std::collections::BTreeSet;

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    complaints,
    samples::{Sample, *},
    schema_of,
};
use hpd_agent::{
    chat::{Schema, SchemaProfile},
    declare::Arguments,
};

fn runner() -> TestRunner {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(Default::default()))
}

/// What a function is called with when a model sent these arguments.
fn taken<T: DeserializeOwned>(schema: &Schema, sent: &Value) -> Result<T, TestCaseError> {
    let text = sent.to_string();
    let text = schema.without_nulls(&text);
    let arguments = Arguments::parse(&text, &["value"]).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let value = arguments.get("value").unwrap_or("null");
    serde_json::from_str(value).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))
}

/// The definition that a reference leads to, whose name is written as in a URL.
fn referred<'v>(root: &'v Value, reference: &str) -> &'v Value {
    let encoded = |byte| if u8::is_ascii(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let is_it = |name: &str| format!("#/$defs/{}", name.bytes().map(encoded).collect::<String>()) == reference;
    root["$defs"].as_object().unwrap().iter().find(|(name, _)| is_it(name)).unwrap().1
}

/// Arguments with a null for everything that strict mode wants and the value does not have.
fn completed(form: &Value, root: &Value, value: &Value) -> Value {
    let form = match form.get("$ref").and_then(Value::as_str) {
        Some(reference) => referred(root, reference),
        None => form,
    };
    if let Some(branches) = form.get("anyOf").and_then(Value::as_array) {
        let all: Vec<Value> = branches.iter().map(|branch| completed(branch, root, value)).collect();
        let fits = |index: &usize| {
            let mut schema = branches[*index].as_object().unwrap().clone();
            schema.insert("$defs".to_owned(), root.get("$defs").cloned().unwrap_or(json!({})));
            jsonschema::draft202012::is_valid(&schema.into(), &all[*index])
        };
        let found = (0..branches.len()).find(fits);
        return found.map_or_else(|| value.clone(), |index| all[index].clone());
    }
    match value {
        Value::Object(members) => {
            let mut all = members.clone();
            for (name, property) in form.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let member = members.get(name).map_or(Value::Null, |member| completed(property, root, member));
                all.insert(name.clone(), member);
            }
            all.into()
        }
        Value::Array(items) => {
            let kind = form.get("items").cloned().unwrap_or(json!({}));
            items.iter().map(|item| completed(&kind, root, item)).collect()
        }
        other => other.clone(),
    }
}

/// A value fits the canonical schema and each form, and comes back from each.
fn holds<T>(name: &str)
where
    T: Sample + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + JsonSchema,
{
    let schema = schema_of::<T>();
    let canonical = jsonschema::draft202012::new(schema.value()).unwrap();
    let forms: Vec<_> = SchemaProfile::ALL
        .into_iter()
        .filter_map(|profile| Some((profile, schema.wire(profile).ok()?)))
        .map(|(profile, form)| (profile, form, jsonschema::draft202012::new(form).unwrap()))
        .collect();
    let outcome = runner().run(&T::any(), |value| {
        let sent = json!({ "value": value });
        prop_assert_eq!(complaints(&canonical, &sent), [""; 0], "canonical: {}", sent);
        prop_assert_eq!(&taken::<T>(&schema, &sent)?, &value);
        for (profile, form, validator) in &forms {
            let sent = match profile {
                SchemaProfile::OpenAiStrict => completed(form, form, &sent),
                _ => sent.clone(),
            };
            prop_assert_eq!(complaints(validator, &sent), [""; 0], "{}: {} {}", profile, sent, form);
            prop_assert_eq!(&taken::<T>(&schema, &sent)?, &value, "{}", profile);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn values_fit_their_schemas_and_come_back() {
    macro_rules! hold {
        ($($name:ident: $type:ty,)*) => { $(holds::<$type>(stringify!($name));)* };
    }
    with_samples!(hold);
}

/// Whatever a form of strict mode lets a model send.
fn any_of(form: &Value, root: &Value, depth: u32) -> BoxedStrategy<Value> {
    if let Some(reference) = form.get("$ref").and_then(Value::as_str) {
        return any_of(referred(root, reference), root, depth + 1);
    }
    if let Some(branches) = form.get("anyOf").and_then(Value::as_array) {
        // Deep down, what comes to an end: the alternatives without references.
        let ends = |branch: &&Value| depth < 4 || !branch.to_string().contains("$ref");
        let branches = branches.iter().filter(ends).map(|branch| any_of(branch, root, depth + 1));
        return proptest::strategy::Union::new(branches.collect::<Vec<_>>()).boxed();
    }
    if let Some(values) = form.get("enum").and_then(Value::as_array) {
        return proptest::sample::select(values.clone()).boxed();
    }
    let kinds: Vec<&str> = match &form["type"] {
        Value::String(kind) => vec![kind],
        kinds => kinds.as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect(),
    };
    let of_kind = |kind: &str| match kind {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "string" => match form.get("pattern").and_then(Value::as_str) {
            Some(pattern) => {
                proptest::string::string_regex(pattern.trim_matches(['^', '$'])).unwrap().prop_map(Value::from).boxed()
            }
            // One letter: that is a `char` too, whose length is said in words.
            None => proptest::char::range('a', 'z').prop_map(|letter| letter.to_string().into()).boxed(),
        },
        "integer" | "number" => {
            let bound = |keyword: &str| form.get(keyword).and_then(Value::as_f64).map(|bound| bound as i64);
            let least =
                bound("minimum").unwrap_or(-1000).max(bound("exclusiveMinimum").map_or(i64::MIN, |bound| bound + 1));
            let most = bound("maximum").unwrap_or(1000);
            let step = bound("multipleOf").unwrap_or(1);
            // What is said in words: a model that reads them keeps to it.
            let not_zero = form.get("description").is_some_and(|text| text.to_string().contains("Not 0."));
            (least.div_euclid(step)..=most / step)
                .prop_map(move |factor| factor * step)
                .prop_filter_map("not a legal one", move |value| {
                    (value >= least && !(not_zero && value == 0)).then(|| Value::from(value))
                })
                .boxed()
        }
        "array" => {
            let bound = |keyword: &str, other: u64| form.get(keyword).and_then(Value::as_u64).unwrap_or(other) as usize;
            if depth >= 4 && bound("minItems", 0) == 0 {
                return Just(json!([])).boxed();
            }
            let lengths = bound("minItems", 0)..=bound("maxItems", bound("minItems", 0) as u64 + 2);
            proptest::collection::vec(any_of(&form["items"], root, depth + 1), lengths).prop_map(Value::from).boxed()
        }
        "object" => {
            let properties = form["properties"].as_object().unwrap().clone();
            let values: Vec<_> = properties.values().map(|property| any_of(property, root, depth + 1)).collect();
            let names: Vec<String> = properties.keys().cloned().collect();
            values.prop_map(move |values| Map::from_iter(names.iter().cloned().zip(values)).into()).boxed()
        }
        other => panic!("{other}"),
    };
    proptest::strategy::Union::new(kinds.into_iter().map(of_kind)).boxed()
}

fn comes_back<T: DeserializeOwned + std::fmt::Debug + JsonSchema>(name: &'static str, tried: &mut BTreeSet<&str>) {
    let schema = schema_of::<T>();
    let Ok(form) = schema.wire(SchemaProfile::OpenAiStrict) else { return };
    tried.insert(name);
    let validator = jsonschema::draft202012::new(form).unwrap();
    let outcome = runner().run(&any_of(form, form, 0), |sent| {
        prop_assert_eq!(complaints(&validator, &sent), [""; 0], "the test's own generator: {}", form);
        taken::<T>(&schema, &sent).map(|_| ())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}\n{form:#}"));
}

#[test]
fn what_strict_mode_lets_a_model_send_can_be_taken() {
    let mut tried = BTreeSet::new();
    macro_rules! come_back {
        ($($name:ident: $type:ty,)*) => { $(comes_back::<$type>(stringify!($name), &mut tried);)* };
    }
    with_samples!(come_back);
    assert!(tried.contains("settings") && tried.contains("flat") && tried.contains("expression"), "{tried:?}");
}
