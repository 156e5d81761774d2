//! Constructs that people write by hand, and the edges of the rules.

use serde_json::{Value, json};

use super::{SchemaError, SchemaProfile, without_nulls};
use crate::chat::Schema;

const TRANSLATED: [SchemaProfile; 2] = [SchemaProfile::OpenAiStrict, SchemaProfile::Gemini];

/// The schema of a function with the argument `a`.
fn with(a: Value) -> Value {
    json!({ "type": "object", "properties": { "a": a }, "required": ["a"], "additionalProperties": false })
}

fn form(profile: SchemaProfile, a: Value) -> Value {
    let schema = Schema::from_value(with(a));
    schema.wire(profile).unwrap_or_else(|problems| panic!("{profile}: {problems:?}"))["properties"]["a"].clone()
}

fn problems(profile: SchemaProfile, schema: Value) -> Vec<SchemaError> {
    Schema::from_value(schema).wire(profile).expect_err("refused").to_vec()
}

/// The only problem with an argument.
fn problem(profile: SchemaProfile, a: Value) -> String {
    let found = problems(profile, with(a.clone()));
    assert_eq!(found.len(), 1, "{a}: {found:?}");
    found[0].to_string()
}

#[test]
fn a_form_is_derived_once_and_shared() {
    let schema = Schema::from_value(with(json!({ "type": "string" })));
    for profile in SchemaProfile::ALL {
        let (a, b) = (schema.wire(profile).unwrap(), schema.clone());
        assert!(std::ptr::eq(a, b.wire(profile).unwrap()), "{profile}");
    }
    let indices = SchemaProfile::ALL.map(SchemaProfile::index);
    assert_eq!(indices, [0, 1, 2, 3]);
}

#[test]
fn a_root_is_an_object_without_alternatives() {
    for profile in SchemaProfile::ALL {
        for (schema, expected) in [
            (json!(null), "is no JSON object"),
            (json!({}), "has no `type` there"),
            (json!({ "type": "string" }), "says `\"type\": \"string\"`"),
            (json!({ "type": "object", "anyOf": [{ "required": ["a"] }] }), "has `anyOf` there"),
            (json!({ "type": "object", "oneOf": [{ "required": ["a"] }] }), "has `oneOf` there"),
        ] {
            let found = problems(profile, schema);
            assert_eq!(found[0].code(), "schema_root");
            assert_eq!((found[0].profile(), found[0].pointer()), (profile, ""));
            let text = found[0].to_string();
            assert!(text.contains(expected) && text.contains(&profile.to_string()), "{text}");
        }
    }
    let not_text = Schema::from_static("{");
    assert!(not_text.wire(SchemaProfile::Anthropic).is_err());
    let either = json!([{ "type": "object", "required": ["a"] }, { "type": "object" }]);
    let hidden = json!({ "type": "object", "properties": { "a": {} }, "allOf": [{ "anyOf": either }] });
    assert!(problems(SchemaProfile::Gemini, hidden).iter().any(|problem| problem.code() == "schema_root"));
}

#[test]
fn what_has_no_form_is_refused_with_its_place() {
    let string = json!({ "type": "string" });
    for (schema, path, pointer) in [
        (json!({ "type": "object", "patternProperties": { "^x": string } }), "`a`", "/properties/a/patternProperties"),
        (json!({ "type": "object", "propertyNames": string }), "`a`", "/properties/a/propertyNames"),
        (json!({ "type": "string", "not": { "const": "x" } }), "`a`", "/properties/a/not"),
        (json!({ "type": "array", "items": string, "contains": string }), "`a`", "/properties/a/contains"),
        (json!({ "type": "array", "items": { "if": {} } }), "`a[]`", "/properties/a/items/if"),
        (with(json!({ "dependentRequired": {} })), "`a.a`", "/properties/a/properties/a/dependentRequired"),
        (json!({ "anyOf": [string, false] }), "`a`", "/properties/a/anyOf/1"),
        (json!({ "type": "array", "items": [string] }), "`a`", "/properties/a/items"),
        (json!({ "maximum": 3 }), "`a`", "/properties/a"),
        (json!({ "enum": [{ "x": 1 }] }), "`a`", "/properties/a"),
        (
            json!({ "type": "object", "required": ["b"], "properties": { "c": string } }),
            "`a`",
            "/properties/a/required",
        ),
        (json!({ "anyOf": [string], "oneOf": [string] }), "`a`", "/properties/a"),
        (
            json!({ "allOf": [{ "type": "array", "prefixItems": [string] }, { "items": string }] }),
            "`a`",
            "/properties/a/allOf/1",
        ),
        (
            json!({ "allOf": [{ "pattern": "a" }, { "pattern": "b" }], "type": "string" }),
            "`a`",
            "/properties/a/allOf/1",
        ),
    ] {
        for profile in TRANSLATED {
            let text = problem(profile, schema.clone());
            assert!(text.contains(&profile.to_string()) && text.contains(path), "{schema}: {text}");
            assert!(text.contains(&format!("({pointer})")), "{schema}: {text}");
        }
    }
}

#[test]
fn strict_mode_refuses_what_is_open() {
    let refused = |a: Value| problem(SchemaProfile::OpenAiStrict, a);
    assert!(refused(json!({ "type": "object" })).contains("deny_unknown_fields"));
    assert!(refused(json!({})).contains("a value of any type"));
    assert!(refused(json!({ "type": "array" })).contains("`a[]`"));
    assert!(refused(json!({ "type": "object", "additionalProperties": { "type": "string" } })).contains("`a.*`"));
    let begins = json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "null" } });
    assert!(refused(begins).contains("begins with a tuple"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let map = json!({ "type": "object", "additionalProperties": true });
    let schema = json!({ "type": "object", "properties": { "a": map, "b": true, "c": { "type": "string" } } });
    let found = problems(SchemaProfile::OpenAiStrict, schema);
    assert_eq!(
        found.iter().map(SchemaError::pointer).collect::<Vec<_>>(),
        ["/properties/a/additionalProperties", "/properties/b"]
    );
}

#[test]
fn what_holds_together_becomes_one_schema() {
    let described = json!({
        "description": "d",
        "allOf": [
            { "type": "object", "properties": { "x": { "type": "number", "minimum": 1 } }, "required": ["x"] },
            { "type": "object", "properties": { "x": { "type": "integer", "minimum": 3 }, "y": { "type": "string" } } },
        ],
    });
    let found = form(SchemaProfile::Gemini, described);
    assert_eq!(found["properties"]["x"], json!({ "type": "integer", "minimum": 3 }));
    assert_eq!((&found["description"], &found["required"]), (&json!("d"), &json!(["x"])));
    let closed = json!({ "allOf": [
        { "type": "object", "properties": { "x": { "type": "string" } }, "additionalProperties": false },
        { "type": "object", "properties": { "y": { "type": "string" } } },
    ]});
    for profile in TRANSLATED {
        assert!(problem(profile, closed.clone()).contains("additionalProperties"));
    }
    let denied = json!({
        "type": "object",
        "properties": { "x": { "type": "string" } },
        "required": ["x"],
        "unevaluatedProperties": false,
        "oneOf": [
            { "type": "object", "properties": { "k": { "const": "a" } }, "required": ["k"] },
            { "type": "object", "properties": { "k": { "const": "b" } }, "required": ["k"] },
        ],
    });
    let found = form(SchemaProfile::Gemini, denied);
    assert_eq!(found["oneOf"][1]["additionalProperties"], json!(false));
    assert_eq!(found["oneOf"][1]["properties"].as_object().unwrap().len(), 2);
}

#[test]
fn one_of_is_any_of_where_a_value_can_only_fit_one() {
    let object = |tag: &str| json!({ "type": "object", "properties": { "k": { "const": tag } }, "required": ["k"] });
    let apart = json!({ "oneOf": [object("a"), object("b"), { "type": "string" }, { "type": "integer" }] });
    assert_eq!(form(SchemaProfile::OpenAiStrict, apart)["anyOf"].as_array().map(Vec::len), Some(4));
    for overlapping in [
        json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }),
        json!({ "oneOf": [object("a"), object("a")] }),
        json!({ "oneOf": [{ "type": "string", "enum": ["x", "y"] }, { "type": "string", "enum": ["y"] }] }),
        json!({ "oneOf": [{ "type": "string", "pattern": "a" }, { "type": "string", "pattern": "b" }] }),
    ] {
        let text = problem(SchemaProfile::OpenAiStrict, overlapping.clone());
        assert!(text.contains("`oneOf` with alternatives"), "{text}");
        assert!(form(SchemaProfile::Gemini, overlapping).get("oneOf").is_some());
    }
}

#[test]
fn alternatives_of_strict_mode_begin_differently() {
    let object = |properties: Value| {
        let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let (string, number) = (json!({ "type": "string" }), json!({ "type": "number" }));
    let either = |a: Value, b: Value| json!({ "anyOf": [object(a), object(b), { "type": "null" }] });
    for apart in [
        either(json!({ "a": string, "k": { "const": "x" } }), json!({ "a": string, "k": { "const": "y" } })),
        either(json!({ "a": string, "b": string }), json!({ "a": string, "c": string })),
    ] {
        form(SchemaProfile::OpenAiStrict, apart);
    }
    for alike in [
        either(json!({ "a": string }), json!({ "a": number })),
        either(json!({ "a": string, "b": string }), json!({ "a": string })),
    ] {
        let text = problem(SchemaProfile::OpenAiStrict, alike.clone());
        assert!(text.contains("objects with the same properties") && text.contains("`a`"), "{text}");
        form(SchemaProfile::Gemini, alike);
    }
}

#[test]
fn fixed_values() {
    let strict = |a| form(SchemaProfile::OpenAiStrict, a);
    let gemini = |a| form(SchemaProfile::Gemini, a);
    let mixed = json!({ "enum": ["x", 1, null] });
    assert_eq!(strict(mixed.clone()), json!({ "type": ["string", "integer", "null"], "enum": ["x", 1, null] }));
    assert_eq!(
        gemini(mixed),
        json!({ "anyOf": [
            { "type": "string", "enum": ["x"] },
            { "type": "integer", "enum": [1] },
            { "type": "null" },
        ]})
    );
    assert_eq!(strict(json!({ "const": true })), json!({ "type": "boolean", "enum": [true] }));
    assert_eq!(gemini(json!({ "enum": [false, true] })), json!({ "type": "boolean" }));
    assert!(problem(SchemaProfile::Gemini, json!({ "const": true })).contains("a fixed `true` or `false`"));
    // What the type or a `const` excludes is no value, and other limits are said.
    let narrowed = json!({ "type": ["string", "number"], "enum": ["x", null, 1, 1.5, true], "maxLength": 1 });
    let found = strict(narrowed);
    assert_eq!(found["enum"], json!(["x", 1, 1.5]));
    assert_eq!(found["description"], "At most 1 character.");
    assert_eq!(strict(json!({ "enum": ["x", "y"], "const": "y" }))["enum"], json!(["y"]));
    assert!(problem(SchemaProfile::Gemini, json!({ "type": "string", "enum": [1] })).contains("without values"));
}

#[test]
fn references() {
    let name = json!({ "type": "string", "description": "A name." });
    let root = |a: Value, definitions: Value| {
        let mut schema = with(a);
        schema["$defs"] = definitions;
        schema
    };
    for profile in TRANSLATED {
        let schema = Schema::from_value(root(json!({ "$ref": "#/$defs/Name" }), json!({ "Name": name })));
        let form = schema.wire(profile).unwrap();
        assert_eq!(form["properties"]["a"], json!({ "$ref": "#/$defs/Name" }));
        assert_eq!(form["$defs"], json!({ "Name": name }));
        // What stands beside a reference goes with what it refers to.
        let beside = json!({ "$ref": "#/$defs/Name", "description": "Mine.", "title": "T" });
        let schema = Schema::from_value(root(beside, json!({ "Name": name })));
        let form = schema.wire(profile).unwrap();
        assert_eq!(form["properties"]["a"], json!({ "type": "string", "description": "Mine." }));
        assert!(form.get("$defs").is_none());
        for (reference, definitions) in [
            ("#/$defs/None", json!({})),
            ("https://example.org/schema", json!({})),
            ("#/$defs/B/properties/x", json!({ "B": { "properties": { "x": {} } } })),
        ] {
            let found = problems(profile, root(json!({ "$ref": reference }), definitions));
            assert_eq!(found[0].code(), "schema_reference", "{found:?}");
            assert!(found[0].to_string().contains(reference) && found[0].pointer() == "/properties/a");
        }
    }
}

#[test]
fn a_type_may_contain_itself_where_gemini_can_stop() {
    let tree = |required: Value| {
        let node = json!({
            "type": "object",
            "properties": { "next": { "$ref": "#/$defs/Node" }, "value": { "type": "string" } },
            "required": required,
        });
        json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/Node" } },
            "required": ["a"],
            "additionalProperties": false,
            "$defs": { "Node": node },
        })
    };
    assert!(Schema::from_value(tree(json!(["value"]))).wire(SchemaProfile::Gemini).is_ok());
    let found = problems(SchemaProfile::Gemini, tree(json!(["next"])));
    assert_eq!(found[0].code(), "schema_recursive");
    assert_eq!(found[0].pointer(), "/$defs/Node/properties/next");
    assert!(found[0].to_string().contains("`Node`") && found[0].to_string().contains("`a.next`"), "{}", found[0]);
    let strict = Schema::from_value(tree(json!(["value"])));
    let form = strict.wire(SchemaProfile::OpenAiStrict).unwrap();
    let next = &form["$defs"]["Node"]["properties"]["next"];
    assert_eq!(*next, json!({ "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] }));
}

#[test]
fn definitions_that_never_end_are_refused() {
    for profile in TRANSLATED {
        let circle = json!({
            "type": "object",
            "properties": { "a": { "allOf": [{ "$ref": "#/$defs/A" }, { "type": "string" }] } },
            "additionalProperties": false,
            "$defs": { "A": { "allOf": [{ "$ref": "#/$defs/B" }] }, "B": { "allOf": [{ "$ref": "#/$defs/A" }] } },
        });
        assert!(problems(profile, circle)[0].to_string().contains("contains itself"));
        // Each definition holds the one before twice: 2 to the 40th in all.
        let mut definitions = serde_json::Map::new();
        for index in 0..40 {
            let inner = json!({ "$ref": format!("#/$defs/D{}", index - 1), "description": "inlined" });
            let schema = match index {
                0 => json!({ "type": "string" }),
                _ => json!({ "type": "object", "properties": { "l": inner, "r": inner } }),
            };
            definitions.insert(format!("D{index}"), schema);
        }
        let mut growing = with(json!({ "$ref": "#/$defs/D39", "description": "d" }));
        growing["$defs"] = definitions.into();
        assert!(problems(profile, growing).iter().any(|problem| problem.code() == "schema_too_complex"));
    }
}

#[test]
fn sizes_that_strict_mode_has() {
    let code = |a: Value| {
        let found = problems(SchemaProfile::OpenAiStrict, with(a));
        assert_eq!(found[0].code(), "schema_too_large", "{found:?}");
        found[0].to_string()
    };
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "object", "properties": { "x": inner }, "required": ["x"] }),
        )
    };
    form(SchemaProfile::OpenAiStrict, nested(10));
    let text = code(nested(11));
    assert!(text.contains("levels") && text.contains("`a.x.x"), "{text}");
    let names = |count: usize, length: usize| {
        let all = (0..count).map(|index| (format!("{index:0length$}"), json!({ "type": "string" })));
        json!({ "type": "object", "properties": serde_json::Map::from_iter(all) })
    };
    assert!(code(names(5_001, 5)).contains("5000 properties"));
    assert!(code(names(1_201, 100)).contains("characters in names"));
    let values = |count: usize, length: usize| json!({ "enum": (0..count).map(|index| format!("{index:0length$}")).collect::<Vec<_>>() });
    form(SchemaProfile::OpenAiStrict, values(250, 100));
    assert!(code(values(251, 100)).contains("251") || code(values(251, 100)).contains("more than 250 values"));
    assert!(code(values(1_001, 4)).contains("1000 values of enums"));
}

#[test]
fn openai_wants_to_know_what_is_in_an_array() {
    let items = |a: Value| form(SchemaProfile::OpenAi, a)["items"].clone();
    let (string, number) = (json!({ "type": "string" }), json!({ "type": "number" }));
    assert_eq!(items(json!({ "type": "array" })), json!({}));
    assert_eq!(items(json!({ "type": ["array", "null"], "items": true })), json!({}));
    assert_eq!(items(json!({ "type": "array", "prefixItems": [string, string], "maxItems": 2 })), string);
    let tuple =
        form(SchemaProfile::OpenAi, json!({ "type": "array", "prefixItems": [string, number], "items": false }));
    assert_eq!(tuple["items"], json!({ "anyOf": [string, number] }));
    assert_eq!((&tuple["maxItems"], tuple["prefixItems"].as_array().map(Vec::len)), (&json!(2), Some(2)));
    assert_eq!(items(json!({ "type": "array", "prefixItems": [string] })), json!({}));
    let all = json!({ "type": "object", "properties": { "v": true }, "patternProperties": { "^x": true } });
    assert_eq!(form(SchemaProfile::OpenAi, all)["properties"]["v"], json!({}));
    let empty = Schema::from_static(r#"{"type":"object"}"#);
    assert_eq!(empty.wire(SchemaProfile::OpenAi).unwrap()["properties"], json!({}));
    let data = json!({ "type": "object", "default": { "type": "array" }, "const": { "items": true } });
    assert_eq!(form(SchemaProfile::OpenAi, data.clone()), data);
}

#[test]
fn anthropic_wants_plain_names() {
    for (name, legal) in [("city", true), ("a.b-c_D9", true), ("größe", false), ("a b", false), ("", false)] {
        let schema = Schema::from_value(json!({ "type": "object", "properties": { name: { "type": "string" } } }));
        let found = schema.wire(SchemaProfile::Anthropic);
        assert_eq!(found.is_ok(), legal, "{name}");
        if let Err(found) = found {
            assert_eq!(found[0].code(), "schema_property_name");
            assert!(found[0].to_string().contains(&format!("`{name}`")), "{}", found[0]);
        }
    }
}

#[test]
fn annotations_stay_as_words() {
    let schema = json!({
        "type": "string",
        "title": "Color",
        "description": "Its color",
        "default": "red",
        "examples": ["blue"],
        "deprecated": true,
        "format": "color",
        "contentEncoding": "base64",
        "x-own": 1,
        "$comment": "c",
    });
    for profile in TRANSLATED {
        let text = "Its color Encoding: base64. Format: color. Default: \"red\". Example: \"blue\". Deprecated.";
        assert_eq!(form(profile, schema.clone()), json!({ "type": "string", "description": text }));
    }
}

#[test]
fn nulls_are_taken_out_where_the_schema_has_none() {
    let schema = json!({
        "type": "object",
        "properties": {
            "plain": { "type": "integer" },
            "null": { "type": ["integer", "null"] },
            "must": { "type": "integer" },
            "any": true,
            "list": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "string" } } } },
            "pair": { "type": "array", "prefixItems": [true, { "type": "object", "properties": { "x": { "const": 1 } } }] },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } },
            "tree": { "$ref": "#/$defs/Tree" },
            "either": { "oneOf": [
                { "type": "object", "properties": { "k": { "const": "a" }, "v": { "type": "string" } }, "required": ["k"] },
                { "type": "object", "properties": { "k": { "const": "b" }, "v": { "type": ["string", "null"] } }, "required": ["k"] },
            ]},
            "open": { "anyOf": [{ "type": "object", "properties": { "v": { "type": "string" } } }, true] },
            "flat": {
                "type": "object",
                "properties": { "z": { "type": "integer" }, "n": { "type": ["integer", "null"] } },
                "oneOf": [
                    { "type": "object", "properties": { "t": { "const": "A" }, "a": { "type": "integer" } }, "required": ["t"] },
                    { "type": "object", "properties": { "t": { "const": "B" } }, "required": ["t"] },
                    { "type": "object", "properties": { "C": { "type": "object", "properties": { "z": { "type": "string" } } } }, "required": ["C"] },
                ],
            },
            "maybe": {
                "type": "object",
                "properties": { "z": { "type": "integer" } },
                "anyOf": [{ "$ref": "#/$defs/Tree" }, { "type": "null" }, {}],
            },
            "parts": { "allOf": [
                { "type": "object", "properties": { "v": { "type": "integer" } } },
                { "type": "object", "properties": { "v": { "type": ["integer", "null"] }, "w": { "type": "null" } } },
            ]},
            "loose": { "anyOf": [{ "type": "object", "properties": { "v": { "type": "string" } } }, { "type": "object" }] },
        },
        "required": ["must"],
        "$defs": { "Tree": { "type": "object", "properties": { "name": { "enum": ["n"] }, "next": { "$ref": "#/$defs/Tree" } } } },
    });
    for (arguments, expected) in [
        (r#"{"plain":null,"null":null,"must":null,"any":null}"#, r#"{"null":null,"must":null,"any":null}"#),
        (r#"{"other":null,"must":1}"#, r#"{"other":null,"must":1}"#),
        (r#"{"list":[{"x":null},{"x":"null"}]}"#, r#"{"list":[{},{"x":"null"}]}"#),
        (r#"{"pair":[null,{"x":null}]}"#, r#"{"pair":[null,{}]}"#),
        (r#"{"map":{"a":1,"b":null}}"#, r#"{"map":{"a":1}}"#),
        (r#"{"tree":{"name":null,"next":{"next":null}}}"#, r#"{"tree":{"next":{}}}"#),
        (r#"{"either":{"k":"a","v":null}}"#, r#"{"either":{"k":"a"}}"#),
        (r#"{"either":{"k":"b","v":null}}"#, r#"{"either":{"k":"b","v":null}}"#),
        // What stands beside alternatives holds with each of them.
        (r#"{"flat":{"z":null,"n":null,"t":"A","a":null}}"#, r#"{"flat":{"n":null,"t":"A"}}"#),
        (r#"{"flat":{"z":null,"t":"B"}}"#, r#"{"flat":{"t":"B"}}"#),
        (r#"{"flat":{"z":1,"C":{"z":null}}}"#, r#"{"flat":{"z":1,"C":{}}}"#),
        (r#"{"maybe":{"z":null,"name":"n"}}"#, r#"{"maybe":{"name":"n"}}"#),
        (r#"{"parts":{"v":null,"w":null}}"#, r#"{"parts":{"w":null}}"#),
        // Another alternative takes any value.
        (r#"{"open":{"v":null}}"#, r#"{"open":{"v":null}}"#),
        (r#"{"loose":{"v":null}}"#, r#"{"loose":{"v":null}}"#),
        // What stays keeps its text.
        (
            r#"{"plain":null, "big":340282366920938463463374607431768211455, "r":1e400}"#,
            r#"{"big":340282366920938463463374607431768211455,"r":1e400}"#,
        ),
        (r#"{"plain":null"#, r#"{"plain":null"#),
        ("null", "null"),
        (r#" { "plain" : null } "#, "{}"),
    ] {
        assert_eq!(without_nulls(&schema, arguments), expected);
    }
}

#[test]
fn a_null_has_to_fit_all_that_holds_together() {
    let branch = |tag, name: &str, of: Value| json!({ "type": "object", "properties": { "t": { "const": tag }, name: of }, "required": ["t"] });
    let integer = json!({ "type": "integer" });
    let tagged = json!([branch("A", "a", integer.clone()), branch("B", "b", json!({ "type": ["integer", "null"] }))]);
    let own = json!({ "z": integer, "same": integer, "in": { "type": "object", "properties": { "v": integer } } });
    let inner =
        json!({ "type": "object", "properties": { "in": { "type": "object", "properties": { "w": integer } } } });
    let flat = json!({ "type": "object", "properties": own, "oneOf": tagged });
    let external = json!({ "type": "object", "properties": own, "oneOf": [
        { "type": "object", "properties": { "A": { "type": "object", "properties": { "v": integer } } }, "required": ["A"] },
        { "type": "object", "properties": { "B": true }, "required": ["B"] },
    ]});
    let maybe = json!({ "type": "object", "properties": own, "anyOf": [{ "oneOf": tagged }, { "type": "null" }, {}] });
    let any = json!({ "type": "object", "properties": own, "anyOf": [{ "oneOf": tagged }, true] });
    let all = json!({ "type": "object", "properties": own, "allOf": [inner, { "required": ["same"] }] });
    let referred = json!({ "$ref": "#/$defs/Own", "properties": own, "$defs": { "Own": { "anyOf": tagged } } });
    let listed = json!({ "type": "object", "properties": { "list": { "anyOf": [
        { "required": ["k"], "items": { "properties": { "v": { "type": "null" } } } },
        { "items": { "properties": { "v": integer } } },
    ]}}});
    let untagged = json!({ "type": "object", "properties": own, "anyOf": [
        { "properties": { "x": integer } }, { "properties": { "x": { "type": "null" } } },
    ]});
    for (schema, arguments, expected) in [
        (&flat, r#"{"z":null,"t":"A","a":1}"#, r#"{"t":"A","a":1}"#),
        (&flat, r#"{"z":1,"t":"A","a":null}"#, r#"{"z":1,"t":"A"}"#),
        (&flat, r#"{"z":null,"t":"B"}"#, r#"{"t":"B"}"#),
        (&flat, r#"{"z":null,"t":"B","b":null}"#, r#"{"t":"B","b":null}"#),
        (&flat, r#"{"in":{"v":null,"x":null},"t":"A"}"#, r#"{"in":{"x":null},"t":"A"}"#),
        (&external, r#"{"z":null,"A":{"v":null}}"#, r#"{"A":{}}"#),
        (&external, r#"{"z":null,"B":{"v":null}}"#, r#"{"B":{"v":null}}"#),
        (&maybe, r#"{"z":null}"#, "{}"),
        (&maybe, r#"{"z":null,"t":"B","b":null}"#, r#"{"t":"B","b":null}"#),
        (&maybe, r#"{"z":null,"t":"A","a":null}"#, r#"{"t":"A"}"#),
        (&any, r#"{"z":null,"t":"A","a":null}"#, r#"{"t":"A","a":null}"#),
        (&all, r#"{"z":null,"same":null,"in":{"v":null,"w":null}}"#, r#"{"same":null,"in":{}}"#),
        (&referred, r#"{"z":null,"t":"A","a":null}"#, r#"{"t":"A"}"#),
        (&listed, r#"{"list":[{"v":null}]}"#, r#"{"list":[{"v":null}]}"#),
        // One of the alternatives takes a null.
        (&untagged, r#"{"z":null,"x":null}"#, r#"{"x":null}"#),
    ] {
        assert_eq!(without_nulls(schema, arguments), expected, "{schema}");
    }
}
