//! Schemas as people write them, made at random: a form that there is means what the canonical schema means.

use std::cell::RefCell;

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::select,
    strategy::Union,
    test_runner::{Config, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

use hpd_agent::chat::{Schema, SchemaProfile};

const NAMES: [&str; 4] = ["a", "b", "$ref", "größe"];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A few values of every kind, close to what the schemas ask for.
fn value() -> BoxedStrategy<Value> {
    let simple = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..5_i64).prop_map(Value::from),
        select(vec![json!(0.5), json!(1.0), json!(2.5)]),
        select(vec![json!("x"), json!("y"), json!("long")]),
    ];
    simple
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), members(inner).prop_map(Value::from)]
        })
        .boxed()
}

fn members(of: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((select(&NAMES[..]), of), 0..3)
        .prop_map(|all| all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A schema with what forms have keywords for in every dialect, so that nothing has to be said in words.
fn schema() -> BoxedStrategy<Value> {
    let simple = prop_oneof![
        4 => select(&TYPES[..]).prop_map(|name| json!({ "type": name })),
        1 => vec(select(&TYPES[..]), 2..3).prop_map(|names| json!({ "type": names })),
        2 => (select(vec!["integer", "number"]), -2..5_i64, -2..5_i64)
            .prop_map(|(name, least, most)| json!({ "type": name, "minimum": least, "maximum": most })),
        1 => (-2..5_i64).prop_map(|least| json!({ "type": "integer", "exclusiveMinimum": least })),
        2 => vec(select(vec![json!("x"), json!("y"), json!(1), json!(1.0), json!(null)]), 1..4)
            .prop_map(|values| json!({ "enum": values })),
        1 => select(vec![json!("x"), json!(2)]).prop_map(|value| json!({ "const": value })),
        2 => select(vec!["A", "B", "C"]).prop_map(|name| json!({ "$ref": format!("#/$defs/{name}") })),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({ "type": "integer", "not": { "const": 1 } })),
        1 => Just(json!({ "type": "object", "patternProperties": { "^a": { "type": "string" } } })),
        1 => Just(json!({ "if": { "type": "string" }, "then": { "const": "x" }, "else": { "type": "integer" } })),
    ];
    simple
        .prop_recursive(4, 24, 4, |inner| {
            let object = (members(inner.clone()), vec(select(&NAMES[..]), 0..2), option::of(inner.clone())).prop_map(
                |(properties, required, others)| {
                    let required: Vec<&str> =
                        required.into_iter().filter(|name| properties.contains_key(*name)).collect();
                    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
                    schema["additionalProperties"] = others.unwrap_or(json!(false));
                    schema
                },
            );
            let array = (vec(inner.clone(), 0..3), option::of(inner.clone()), option::of(0..3_u64)).prop_map(
                |(tuple, items, most)| {
                    let mut schema = Map::from_iter([("type".to_owned(), json!("array"))]);
                    schema.extend((!tuple.is_empty()).then(|| ("prefixItems".to_owned(), tuple.into())));
                    schema.extend(items.map(|items| ("items".to_owned(), items)));
                    schema.extend(most.map(|most| ("maxItems".to_owned(), most.into())));
                    schema.into()
                },
            );
            let (object, array) = (object.boxed(), array.boxed());
            // What speaks of one kind of value comes together more often than it would by chance.
            let kinds = [inner, object.clone(), array.clone()].map(together);
            prop_oneof![3 => object, 2 => array, 5 => Union::new(kinds)]
        })
        .boxed()
}

/// Several schemas for one value.
fn together(of: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    (select(vec!["allOf", "anyOf", "oneOf"]), vec(of.clone(), 1..4), option::of(of))
        .prop_map(|(keyword, all, beside)| {
            let mut schema = beside.and_then(|beside| beside.as_object().cloned()).unwrap_or_default();
            schema.insert(keyword.to_owned(), all.into());
            schema.into()
        })
        .boxed()
}

/// The schema of a function with the argument `value`.
fn function() -> impl Strategy<Value = Value> {
    (schema(), vec(schema(), 3)).prop_map(|(value, definitions)| {
        let definitions: Map<String, Value> = ["A", "B", "C"].map(str::to_owned).into_iter().zip(definitions).collect();
        json!({
            "type": "object",
            "properties": { "value": value },
            "required": ["value"],
            "additionalProperties": false,
            "$defs": definitions,
        })
    })
}

#[test]
fn a_form_accepts_what_the_schema_accepts() {
    let config = Config { cases: 1_500, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(Default::default()));
    let counts = RefCell::new([[0_usize; 2]; 4]);
    let outcome = runner.run(&(function(), vec(value(), 12)), |(canonical, values)| {
        let schema = Schema::from_value(canonical.clone());
        let Ok(validator) = jsonschema::draft202012::new(&canonical) else { return Ok(()) };
        for (at, profile) in SchemaProfile::ALL.into_iter().enumerate() {
            let Ok(form) = schema.wire(profile) else {
                continue;
            };
            let of_form = jsonschema::draft202012::new(form)
                .map_err(|error| TestCaseError::fail(format!("{profile}: {error}: {form}")))?;
            for value in &values {
                let sent = json!({ "value": value });
                let (of_canonical, of_form) = (validator.is_valid(&sent), of_form.is_valid(&sent));
                let taken: Value = serde_json::from_str(&schema.without_nulls(&sent.to_string())).unwrap();
                // A limit in words is none to the validator. Strict mode closes objects, and has null for what is left out.
                let in_words = form.to_string().contains("\"description\"");
                let same = match profile {
                    SchemaProfile::OpenAiStrict if in_words => true,
                    SchemaProfile::Gemini if in_words => of_form || !of_canonical,
                    SchemaProfile::OpenAiStrict => !of_form || validator.is_valid(&taken),
                    _ => of_form == of_canonical,
                };
                prop_assert!(
                    same,
                    "{}: {} is {} for {} and {} for {}",
                    profile,
                    sent,
                    of_canonical,
                    canonical,
                    of_form,
                    form
                );
                counts.borrow_mut()[at][usize::from(of_form)] += 1;
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // The test is one: there are forms, and values that fit and that do not.
    assert!(counts.borrow().iter().flatten().all(|count| *count > 100), "{counts:?}");
}
