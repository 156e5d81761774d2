//! Schemas that nobody would write, or only by mistake: nothing breaks, hangs, or comes to mean something else.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{SchemaError, SchemaProfile, without_nulls};
use crate::chat::Schema;

const TRANSLATED: [SchemaProfile; 2] = [SchemaProfile::OpenAiStrict, SchemaProfile::Gemini];

/// The schema of a function with the argument `a`.
fn with(a: Value) -> Value {
    json!({ "type": "object", "properties": { "a": a }, "required": ["a"], "additionalProperties": false })
}

fn defining(a: Value, definitions: Value) -> Value {
    let mut schema = with(a);
    schema["$defs"] = definitions;
    schema
}

/// Definitions `D0` to `D39`, each of which `make` makes of the reference to the next one.
fn chain(make: impl Fn(Value) -> Value) -> Value {
    let link = |at: usize| match at {
        39 => json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] }),
        _ => make(json!(format!("#/$defs/D{}", at + 1))),
    };
    (0..40).map(|at| (format!("D{at}"), link(at))).collect::<Map<String, Value>>().into()
}

fn nested(levels: usize, make: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({ "type": "string" }), |inner, _| make(inner))
}

fn outcome(schema: &Value, profile: SchemaProfile) -> Result<Value, Vec<SchemaError>> {
    let schema = Schema::from_value(schema.clone());
    schema.wire(profile).cloned().map_err(<[SchemaError]>::to_vec)
}

fn form(profile: SchemaProfile, a: Value) -> Value {
    outcome(&with(a), profile).unwrap_or_else(|problems| panic!("{profile}: {problems:?}"))["properties"]["a"].clone()
}

/// Everything that grows, or goes deep.
fn growing() -> Vec<(&'static str, Value)> {
    let first = |described: bool| match described {
        true => json!({ "$ref": "#/$defs/D0", "description": "copied" }),
        false => json!({ "$ref": "#/$defs/D0" }),
    };
    let twice = |keyword: &'static str, beside: Value| {
        move |reference: Value| {
            let mut schema = beside.clone();
            schema[keyword] = json!([{ "$ref": reference }, { "$ref": reference }]);
            schema
        }
    };
    let wide: Map<String, Value> = (0..1_000).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
    let parts: Vec<Value> =
        wide.iter().map(|(name, schema)| json!({ "type": "object", "properties": { name: schema } })).collect();
    let values: Vec<String> = (0..20_000).map(|at| format!("v{at}")).collect();
    let ring: Map<String, Value> = (0..2_000)
        .map(|at| {
            let next = json!({ "$ref": format!("#/$defs/R{}", (at + 1) % 2_000) });
            (format!("R{at}"), json!({ "type": "object", "properties": { "next": next }, "required": ["next"] }))
        })
        .collect();
    let bare: Map<String, Value> = (0..2_000)
        .map(|at| {
            (
                format!("B{at}"),
                json!({ "description": "d", "allOf": [{ "$ref": format!("#/$defs/B{}", at + 1) }, true] }),
            )
        })
        .chain([("B2000".to_owned(), json!({ "type": "string" }))])
        .collect();
    vec![
        ("all of, twice", defining(first(false), chain(twice("allOf", json!({}))))),
        ("all of, twice, copied", defining(first(true), chain(twice("allOf", json!({ "type": "object" }))))),
        ("all of, at the root", {
            let mut schema = defining(json!({ "type": "string" }), chain(twice("allOf", json!({}))));
            schema["allOf"] = json!([{ "$ref": "#/$defs/D0" }]);
            schema
        }),
        ("any of, twice", defining(first(false), chain(twice("anyOf", json!({}))))),
        ("any of, beside", defining(first(true), chain(twice("anyOf", json!({ "type": "object" }))))),
        ("one of, twice", defining(first(true), chain(twice("oneOf", json!({ "type": "object" }))))),
        ("properties, copied", {
            let copy = |reference: Value| {
                let copied = json!({ "$ref": reference, "description": "copied" });
                json!({ "type": "object", "properties": { "l": copied, "r": copied }, "required": ["l", "r"] })
            };
            defining(first(true), chain(copy))
        }),
        ("properties, referred to", {
            let refer = |reference: Value| {
                let bare = json!({ "$ref": reference });
                json!({ "type": "object", "properties": { "l": bare, "r": bare }, "required": ["l", "r"] })
            };
            defining(first(false), chain(refer))
        }),
        ("alternatives of both", {
            let either = |name: &str| json!({ "anyOf": (0..8).map(|at| json!({ "$ref": format!("#/$defs/{name}{at}") })).collect::<Vec<_>>() });
            let mut definitions = Map::new();
            for (name, next) in [("A", "B"), ("B", "C"), ("C", "D"), ("D", "E")] {
                for at in 0..8 {
                    definitions.insert(format!("{name}{at}"), json!({ "allOf": [either(next), either(next)] }));
                }
            }
            for at in 0..8 {
                definitions.insert(format!("E{at}"), json!({ "const": format!("e{at}") }));
            }
            defining(json!({ "allOf": [either("A"), either("A")] }), definitions.into())
        }),
        ("all of, 40 levels", with(nested(40, |inner| json!({ "allOf": [inner, { "description": "d" }] })))),
        ("all of and alternatives", {
            let level = |inner| json!({ "type": ["string", "null"], "anyOf": [{ "allOf": [inner, true] }, true] });
            with(nested(20, level))
        }),
        ("tuples in tuples", {
            let tuple =
                |inner: Value| json!({ "type": "array", "prefixItems": [inner, { "type": "null" }], "items": false });
            with(nested(40, tuple))
        }),
        ("long chain", defining(json!({ "$ref": "#/$defs/B0" }), bare.into())),
        ("ring", defining(json!({ "$ref": "#/$defs/R0" }), ring.into())),
        ("many parts", with(json!({ "allOf": parts }))),
        ("many alternatives", with(json!({ "oneOf": parts }))),
        (
            "many properties",
            with(json!({ "type": "object", "properties": wide, "required": wide.keys().collect::<Vec<_>>() })),
        ),
        ("huge enum", with(json!({ "enum": values }))),
        ("huge enums together", with(json!({ "allOf": [{ "enum": values }, { "enum": values }] }))),
        ("huge enums apart", with(json!({ "oneOf": [{ "enum": values }, { "type": "string", "enum": values }] }))),
        ("huge enum, copied", {
            let property = |at: usize| (format!("p{at}"), json!({ "$ref": "#/$defs/E", "description": "copied" }));
            let properties: Map<String, Value> = (0..1_000).map(property).collect();
            defining(json!({ "type": "object", "properties": properties }), json!({ "E": { "enum": values } }))
        }),
        (
            "many items",
            with(
                json!({ "type": "array", "prefixItems": values.iter().map(|value| json!({ "const": value })).collect::<Vec<_>>(), "items": false }),
            ),
        ),
        ("deep objects", with(nested(60, |inner| json!({ "type": "object", "properties": { "p": inner } })))),
        ("deep items", with(nested(120, |inner| json!({ "type": "array", "items": inner })))),
        ("deep any of", with(nested(60, |inner| json!({ "anyOf": [inner, { "type": "null" }] })))),
        ("deep data", with(json!({ "const": nested(100, |inner| json!([inner])) }))),
        ("too deep", with(nested(1_000, |inner| json!({ "type": "array", "items": inner })))),
    ]
}

#[test]
fn every_form_is_found_or_given_up_soon() {
    for (name, schema) in growing() {
        for profile in SchemaProfile::ALL {
            let begun = Instant::now();
            match outcome(&schema, profile) {
                Ok(form) => assert!(form.to_string().len() < 10_000_000, "{name}: {profile}"),
                Err(problems) => {
                    let text = problems[0].to_string();
                    assert!(text.contains(&profile.to_string()) || text.contains("the schema"), "{name}: {text}");
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{name}: {profile} takes {:?}", begun.elapsed());
        }
    }
}

#[test]
fn what_is_too_much_is_said_once_with_its_place_and_what_to_do() {
    let all = growing();
    let of = |wanted: &str| &all.iter().find(|(name, _)| *name == wanted).unwrap().1;
    for (name, problem) in [
        ("all of, twice, copied", "grows without measure"),
        ("properties, copied", "grows without measure"),
        ("huge enum, copied", "grows without measure"),
        ("long chain", "is nested deeper than 128 levels"),
    ] {
        for profile in TRANSLATED {
            let problems = outcome(of(name), profile).unwrap_err();
            let [only] = problems.as_slice() else { panic!("{name}: {problems:?}") };
            assert_eq!((only.code(), only.profile()), ("schema_too_complex", profile), "{name}");
            let text = only.to_string();
            for part in [problem, "at `a", only.pointer(), "refer to them by the `$ref` alone"] {
                assert!(text.contains(part), "{name}: {part}: {text}");
            }
        }
    }
    // What only refers is as large as it is written.
    let referring = outcome(of("properties, referred to"), SchemaProfile::Gemini).unwrap();
    assert_eq!(referring["$defs"].as_object().map(Map::len), Some(40));
    for profile in SchemaProfile::ALL {
        let text = outcome(of("too deep"), profile).unwrap_err()[0].to_string();
        assert!(text.contains("nested deeper than 127 levels"), "{text}");
        outcome(of("deep any of"), profile).unwrap();
    }
}

#[test]
fn nulls_are_found_soon_too() {
    let either = |reference: Value| {
        let next = json!({ "$ref": reference });
        let object = json!({ "type": "object", "properties": { "n": next, "v": { "type": "string" } } });
        json!({ "anyOf": [object, object, next, next], "oneOf": [next, next], "allOf": [next] })
    };
    let mut definitions = chain(either);
    definitions["Own"] = either(json!("#/$defs/Own"));
    for name in ["D0", "Own"] {
        let schema = defining(json!({ "$ref": format!("#/$defs/{name}") }), definitions.clone());
        let arguments = format!("{}null{}", r#"{"a":{"v":null,"n":"#.repeat(60), "}}".repeat(60));
        without_nulls(&schema, &arguments);
        let lists = format!(r#"{{"a":{}null{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(without_nulls(&schema, &lists), lists);
    }
    let deep = format!("{}null{}", r#"{"n":"#.repeat(50_000), "}".repeat(50_000));
    let tree = json!({ "type": "object", "properties": { "n": { "$ref": "#/$defs/T" } }, "$defs": { "T": {
        "type": "object", "properties": { "n": { "$ref": "#/$defs/T" } },
    }}});
    assert_eq!(without_nulls(&tree, &deep), deep);
}

#[test]
fn what_is_no_schema_is_refused_by_all() {
    let string = json!({ "type": "string" });
    for (a, pointer) in [
        (json!(3), ""),
        (json!({ "type": "objekt" }), "/type"),
        (json!({ "type": [] }), "/type"),
        (json!({ "type": ["string", 1] }), "/type"),
        (json!({ "type": "object", "required": "b" }), "/required"),
        (json!({ "type": "object", "required": ["b", 1] }), "/required"),
        (json!({ "type": "object", "properties": [string] }), "/properties"),
        (json!({ "type": "object", "properties": { "b": "string" } }), "/properties/b"),
        (json!({ "type": "object", "properties": { "größe/~": null } }), "/properties/größe~1~0"),
        (json!({ "type": "object", "patternProperties": { "^x": 1 } }), "/patternProperties/^x"),
        (json!({ "type": "object", "additionalProperties": "no" }), "/additionalProperties"),
        (json!({ "type": "object", "additionalProperties": { "enum": [] } }), "/additionalProperties/enum"),
        (json!({ "enum": [] }), "/enum"),
        (json!({ "enum": "x" }), "/enum"),
        (json!({ "anyOf": [] }), "/anyOf"),
        (json!({ "allOf": string }), "/allOf"),
        (json!({ "oneOf": [string, []] }), "/oneOf/1"),
        (json!({ "not": { "type": "x" } }), "/not/type"),
        (json!({ "if": 1 }), "/if"),
        (json!({ "type": "array", "items": 1 }), "/items"),
        (json!({ "type": "array", "items": [{ "type": "x" }] }), "/items/0/type"),
        (json!({ "type": "array", "prefixItems": string }), "/prefixItems"),
        (json!({ "type": "array", "prefixItems": [string, { "type": 1 }] }), "/prefixItems/1/type"),
        (json!({ "type": "array", "minItems": -1 }), "/minItems"),
        (json!({ "type": "array", "uniqueItems": "yes" }), "/uniqueItems"),
        (json!({ "type": "integer", "minimum": "1" }), "/minimum"),
        (json!({ "type": "integer", "exclusiveMinimum": true }), "/exclusiveMinimum"),
        (json!({ "type": "integer", "multipleOf": 0 }), "/multipleOf"),
        (json!({ "type": "string", "pattern": 1 }), "/pattern"),
        (json!({ "type": "string", "description": {} }), "/description"),
        (json!({ "$ref": 1 }), "/$ref"),
        (json!({ "$ref": "#/$defs/Missing" }), ""),
        (json!({ "$ref": "http://example.org/schema.json" }), ""),
        (json!({ "$ref": "other.json#/$defs/Name" }), ""),
        (json!({ "$ref": "#name" }), ""),
        (json!({ "$ref": "#/required" }), ""),
        (json!({ "$ref": "#/$defs/%" }), ""),
        (json!({ "$ref": "#/properties/a" }), ""),
    ] {
        let schema = with(a.clone());
        let flaws = Schema::from_value(schema.clone()).flaws();
        assert_eq!(flaws.len(), 1, "{a}: {flaws:?}");
        for profile in SchemaProfile::ALL {
            let problems = outcome(&schema, profile).unwrap_err();
            let [only] = problems.as_slice() else { panic!("{a}: {problems:?}") };
            assert!(matches!(only.code(), "schema_malformed" | "schema_reference"), "{a}: {only}");
            assert_eq!(only.pointer(), format!("/properties/a{pointer}"));
            assert_eq!(only.to_string(), flaws[0]);
            assert!(only.to_string().contains("`a"), "{only}");
        }
    }
    // Data and names that look like keywords are neither.
    let data = json!({ "$ref": "#/$defs/Missing", "type": "x" });
    let named = json!({ "$ref": string, "type": string, "enum": string, "anyOf": string });
    let fine = json!({
        "type": "object",
        "properties": named,
        "required": ["$ref"],
        "additionalProperties": false,
        "default": data,
        "examples": [data],
        "x-own": { "type": "x" },
    });
    for profile in SchemaProfile::ALL {
        let form = form(profile, fine.clone());
        assert_eq!(form["properties"].as_object().map(Map::len), Some(4), "{profile}: {form}");
    }
    // References that lead on to nothing are reported where they stand, and circles.
    let definitions =
        json!({ "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/C" }, "C": { "$ref": "#/$defs/B" } });
    let circles = Schema::from_value(defining(json!({ "$ref": "#/$defs/A" }), definitions)).flaws();
    assert_eq!(circles.len(), 4, "{circles:?}");
    assert!(circles[0].contains("`#/$defs/A`, which leads in a circle"), "{circles:?}");
    let astray =
        Schema::from_value(defining(json!({ "$ref": "#/$defs/A" }), json!({ "A": { "$ref": "#/$defs/None" } })));
    assert_eq!(astray.flaws().len(), 1);
}

#[test]
fn an_integer_that_is_not_zero_is_said_in_words() {
    let not_zero = json!({ "type": "integer", "format": "int16", "not": { "const": 0 }, "description": "How far." });
    for profile in TRANSLATED {
        let form = form(profile, not_zero.clone());
        let expected =
            json!({ "type": "integer", "description": "How far. Not 0.", "minimum": -32768, "maximum": 32767 });
        assert_eq!(form, expected, "{profile}");
    }
    let optional = json!({ "type": ["integer", "null"], "not": { "const": 0 } });
    let either = json!({ "anyOf": [{ "type": "integer", "not": { "const": 0 } }, { "type": "string" }] });
    let both = json!({ "type": "integer", "allOf": [{ "not": { "const": 0 } }, { "maximum": 9 }] });
    for profile in TRANSLATED {
        assert_eq!(form(profile, optional.clone())["description"], "Not 0.");
        assert_eq!(form(profile, either.clone())["anyOf"][0]["description"], "Not 0.");
        assert_eq!(form(profile, both.clone()), json!({ "type": "integer", "description": "Not 0.", "maximum": 9 }));
        for other in [json!({ "const": "x" }), json!({ "const": 0, "type": "integer" }), json!({ "type": "null" })] {
            assert!(outcome(&with(json!({ "type": "integer", "not": other })), profile).is_err());
        }
        let two = json!({ "type": "integer", "allOf": [{ "not": { "const": 0 } }, { "not": { "const": 1 } }] });
        assert!(outcome(&with(two), profile).is_err());
    }
}

#[test]
fn nothing_beside_a_reference_is_lost() {
    for profile in TRANSLATED {
        let beside = json!({ "allOf": [{ "$ref": "#/$defs/Count", "maximum": 3, "description": "Few." }] });
        let schema = defining(beside, json!({ "Count": { "type": "integer", "minimum": 0 } }));
        let expected = json!({ "type": "integer", "description": "Few.", "minimum": 0, "maximum": 3 });
        assert_eq!(outcome(&schema, profile).unwrap()["properties"]["a"], expected);
        let only = json!({ "description": "Outer.", "oneOf": [{ "type": "string", "description": "Inner." }] });
        assert_eq!(form(profile, only), json!({ "type": "string", "description": "Outer. Inner." }));
        assert_eq!(form(profile, json!({ "type": "integer", "enum": [1.0, 2] }))["description"], json!(null));
    }
    let whole = form(SchemaProfile::OpenAiStrict, json!({ "type": "integer", "enum": [1.0, 2, 2.5] }));
    assert_eq!(whole["enum"], json!([1.0, 2]));
    let bounds = form(SchemaProfile::Gemini, json!({ "type": "integer", "minimum": 2.5, "exclusiveMinimum": 1 }));
    assert_eq!(bounds, json!({ "type": "integer", "minimum": 2.5, "description": "Greater than 1." }));
}

#[test]
fn definitions_keep_their_names() {
    let definitions = json!({
        "größe %/~": { "type": "object", "properties": { "next": { "$ref": "#/$defs/gr%C3%B6%C3%9Fe%20%25~1~0" } } },
    });
    for reference in ["#/$defs/gr%C3%B6%C3%9Fe%20%25~1~0", "#/$defs/größe %25~1~0"] {
        for profile in TRANSLATED {
            let form = outcome(&defining(json!({ "$ref": reference }), definitions.clone()), profile).unwrap();
            assert_eq!(form["properties"]["a"], json!({ "$ref": "#/$defs/gr%C3%B6%C3%9Fe%20%25~1~0" }));
            assert!(form["$defs"]["größe %/~"].is_object());
        }
    }
    let mut two = defining(json!({ "$ref": "#/$defs/A" }), json!({ "A": { "type": "string" } }));
    two["properties"]["b"] = json!({ "$ref": "#/definitions/A" });
    two["required"] = json!(["a", "b"]);
    two["definitions"] = json!({ "A": { "type": "integer" } });
    for profile in TRANSLATED {
        let form = outcome(&two, profile).unwrap();
        assert_eq!(form["properties"]["b"], json!({ "$ref": "#/$defs/A_" }));
        assert_eq!(form["$defs"], json!({ "A": { "type": "string" }, "A_": { "type": "integer" } }));
    }
    // A reference in data is none: the definition does not contain itself, and is copied.
    let data = json!({ "A": { "type": "string", "default": { "$ref": "#/$defs/A" } } });
    let copied = defining(json!({ "$ref": "#/$defs/A", "description": "d", "maxLength": 3 }), data);
    for profile in TRANSLATED {
        assert_eq!(outcome(&copied, profile).unwrap()["properties"]["a"]["type"], "string");
    }
}
