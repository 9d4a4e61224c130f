//! The layers of seed 003: which constraints leave the schema, and in which words they come back.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialects, Options, Strict, Translator};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The layers, alone, which means on top of `openai-chat`.
const LAYERS: &[&str] =
    &["openai-compat", "openai-legacy", "openai-reasoning", "google-compat", "anthropic-compat", "universal"];

fn lowered_by(translator: &Translator, schema: &Value) -> Value {
    let tool = json!({"name": "t", "description": "d", "inputSchema": schema});
    let translated = translator.translate_one(&tool);
    assert_eq!(translated.quarantine, None, "{schema}");
    let definition = translated.definition.unwrap().to_value();
    definition.get("function").unwrap_or(&definition)["parameters"].clone()
}

fn lowered(layer: &str, schema: &Value) -> Value {
    let translator = Translator::new(&Dialects::builtin(), layer, Options::default()).unwrap();
    lowered_by(&translator, schema)
}

/// What becomes of one property's schema.
fn property(layer: &str, property: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"p": property}});
    lowered(layer, &schema)["properties"]["p"].clone()
}

#[track_caller]
fn check(layer: &str, before: Value, after: Value) {
    let once = property(layer, &before);
    assert_eq!(once, after, "{layer}: {before}");
    assert_eq!(property(layer, &once), after, "{layer}: a second run of {before} adds nothing");
}

// S003-1, 3, 5, 6, 7: the seed's own texts.

#[test]
fn universal_headline_example() {
    check(
        "universal",
        json!({"type": "string", "format": "uri", "minLength": 5}),
        json!({"type": "string", "description": "{\"format\":\"uri\",\"minLength\":5}"}),
    );
}

#[test]
fn universal_second_example_keeps_the_schema_s_own_order() {
    check(
        "universal",
        json!({"type": "string", "minLength": 5, "format": "email"}),
        json!({"type": "string", "description": "{\"minLength\":5,\"format\":\"email\"}"}),
    );
}

#[test]
fn json_follows_the_description_on_a_line_of_its_own() {
    check(
        "universal",
        json!({"type": "string", "description": "Where", "format": "uri", "minLength": 5}),
        json!({"type": "string", "description": "Where\n{\"format\":\"uri\",\"minLength\":5}"}),
    );
}

#[test]
fn reasoning_sentence() {
    check(
        "openai-reasoning",
        json!({"type": "string", "minLength": 5, "format": "email"}),
        json!({"type": "string", "description": "IMPORTANT: minimum 5 characters, must be a valid email address"}),
    );
    check(
        "openai-reasoning",
        json!({"type": "string", "description": "Mail", "minLength": 5, "format": "email"}),
        json!({
            "type": "string",
            "description": "Mail\n\nIMPORTANT: minimum 5 characters, must be a valid email address"
        }),
    );
}

#[test]
fn google_sentence() {
    check(
        "google-compat",
        json!({"type": ["string", "number"], "minLength": 5, "minimum": 0}),
        json!({
            "type": ["string", "number"],
            "description": "Constraints: text must be at least 5 characters long; number must be >= 0"
        }),
    );
    check(
        "google-compat",
        json!({"type": "string", "description": "Text", "minLength": 5}),
        json!({"type": "string", "description": "Text\n\nConstraints: text must be at least 5 characters long"}),
    );
}

#[test]
fn anthropic_hints() {
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    check(
        "anthropic-compat",
        closed.clone(),
        json!({"type": "object", "properties": {}, "description": "Only use the specified properties"}),
    );
    let mut said = closed;
    said["description"] = json!("A");
    check(
        "anthropic-compat",
        said,
        json!({"type": "object", "properties": {}, "description": "A. Only use the specified properties"}),
    );
    check(
        "anthropic-compat",
        json!({"type": "string", "format": "date-time", "description": "When"}),
        json!({"type": "string", "format": "date-time", "description": "When. Use ISO 8601 date-time format"}),
    );
    check(
        "anthropic-compat",
        json!({"type": "string", "pattern": "^a+$"}),
        json!({"type": "string", "pattern": "^a+$", "description": "Must match the pattern: ^a+$"}),
    );
    for unchanged in [
        json!({"type": "string", "minLength": 5}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}),
        json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 9, "multipleOf": 3}),
    ] {
        check("anthropic-compat", unchanged.clone(), unchanged);
    }
}

// S003-2: one case for every keyword of every layer.

/// A node that has only `keyword`, and is otherwise as plain as the dialect allows.
fn node(keyword: &str, value: &Value) -> Value {
    let mut node = match keyword {
        "minLength" | "maxLength" | "pattern" | "format" => json!({"type": "string"}),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            json!({"type": "number"})
        }
        "minItems" | "maxItems" | "uniqueItems" => json!({"type": "array", "items": {"type": "string"}}),
        _ => json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    };
    node[keyword] = value.clone();
    node
}

/// Keywords that leave the schema, each with the sentence that takes its place.
#[track_caller]
fn check_removed(layer: &str, prefix: &str, cases: &[(&str, Value, &str)]) {
    for (keyword, value, sentence) in cases {
        let before = node(keyword, value);
        let mut after = before.clone();
        after.as_object_mut().unwrap().shift_remove(*keyword);
        after["description"] = json!(format!("{prefix}{sentence}"));
        check(layer, before, after);
    }
}

/// Keywords that stay, and are mentioned all the same.
#[track_caller]
fn check_mentioned(layer: &str, prefix: &str, cases: &[(&str, Value, &str)]) {
    for (keyword, value, sentence) in cases {
        let before = node(keyword, value);
        let mut after = before.clone();
        after["description"] = json!(format!("{prefix}{sentence}"));
        check(layer, before, after);
    }
}

#[track_caller]
fn check_kept(layer: &str, cases: &[(&str, Value)]) {
    for (keyword, value) in cases {
        let node = node(keyword, value);
        check(layer, node.clone(), node);
    }
}

#[test]
fn every_keyword_of_openai_reasoning() {
    check_removed(
        "openai-reasoning",
        "IMPORTANT: ",
        &[
            ("minLength", json!(5), "minimum 5 characters"),
            ("maxLength", json!(9), "maximum 9 characters"),
            ("pattern", json!("^a$"), "must match pattern: ^a$"),
            ("format", json!("email"), "must be a valid email address"),
            ("format", json!("uri"), "must be a valid URL"),
            ("format", json!("url"), "must be a valid URL"),
            ("format", json!("uuid"), "must be a valid UUID"),
            ("format", json!("date-time"), "must be a valid ISO 8601 date-time"),
            ("format", json!("hostname"), "format: hostname"),
            ("exclusiveMinimum", json!(0), "must be > 0"),
            ("exclusiveMaximum", json!(1.5), "must be < 1.5"),
            ("multipleOf", json!(3), "must be a multiple of 3"),
            ("minItems", json!(1), "array must have at least 1 items"),
            ("maxItems", json!(2), "array must have at most 2 items"),
            ("uniqueItems", json!(true), "array items must be unique"),
            ("minProperties", json!(1), "object must have at least 1 properties"),
            ("maxProperties", json!(3), "object must have at most 3 properties"),
            ("additionalProperties", json!(false), "additional properties are not allowed"),
        ],
    );
    check_mentioned(
        "openai-reasoning",
        "IMPORTANT: ",
        &[
            ("minimum", json!(0), "must be >= 0"),
            ("maximum", json!(9), "must be <= 9"),
            ("enum", json!([{"a": "x"}]), "must be one of: {\"a\":\"x\"}"),
        ],
    );
    check(
        "openai-reasoning",
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "enum": ["a", "b"], "description": "IMPORTANT: must be one of: a, b"}),
    );
}

#[test]
fn every_keyword_of_google_compat() {
    check_removed(
        "google-compat",
        "Constraints: ",
        &[
            ("minLength", json!(5), "text must be at least 5 characters long"),
            ("maxLength", json!(9), "text must be no more than 9 characters long"),
            ("pattern", json!("^a$"), "must match the regular expression pattern: ^a$"),
            ("format", json!("email"), "must be a valid email address"),
            ("format", json!("uri"), "must be a valid URL starting with http:// or https://"),
            ("format", json!("hostname"), "format: hostname"),
            ("minimum", json!(0), "number must be >= 0"),
            ("maximum", json!(9), "number must be <= 9"),
            ("exclusiveMinimum", json!(0), "number must be > 0"),
            ("exclusiveMaximum", json!(1.5), "number must be < 1.5"),
            ("multipleOf", json!(3), "number must be a multiple of 3"),
            ("uniqueItems", json!(true), "array items must all be unique (no duplicates)"),
            (
                "additionalProperties",
                json!(false),
                "object must only contain the specified properties, no additional properties allowed",
            ),
        ],
    );
    // The seed gives no literal text for these: what they say must be there.
    for (keyword, value, words) in [
        ("format", json!("uuid"), "UUID"),
        ("format", json!("date-time"), "ISO 8601"),
        ("minItems", json!(1), "at least 1 items"),
        ("maxItems", json!(2), "no more than 2 items"),
        ("minProperties", json!(1), "at least 1 properties"),
        ("maxProperties", json!(3), "no more than 3 properties"),
    ] {
        let after = property("google-compat", &node(keyword, &value));
        let text = after["description"].as_str().unwrap();
        assert!(text.starts_with("Constraints: ") && text.contains(words), "{keyword}: {text}");
        assert!(after.get(keyword).is_none(), "{after}");
    }
    check(
        "google-compat",
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({
            "type": "string",
            "enum": ["a", "b"],
            "description": "Constraints: must be exactly one of these values: a, b"
        }),
    );
}

#[test]
fn every_keyword_of_the_json_layers() {
    let all = [
        ("minLength", json!(5)),
        ("maxLength", json!(9)),
        ("pattern", json!("^\"a\"$")),
        ("format", json!("email")),
        ("minimum", json!(0)),
        ("maximum", json!(9)),
        ("exclusiveMinimum", json!(0)),
        ("exclusiveMaximum", json!(1.5)),
        ("multipleOf", json!(3)),
        ("minItems", json!(1)),
        ("maxItems", json!(2)),
        ("uniqueItems", json!(true)),
        ("minProperties", json!(1)),
        ("maxProperties", json!(3)),
        ("additionalProperties", json!(false)),
    ];
    for (layer, removed) in [
        ("universal", all.iter().map(|(keyword, _)| *keyword).collect::<Vec<_>>()),
        ("openai-compat", vec!["format", "minProperties", "maxProperties"]),
        ("openai-legacy", vec!["format", "pattern", "minProperties", "maxProperties"]),
    ] {
        for (keyword, value) in &all {
            let sentence = json!({*keyword: value}).to_string();
            let case = [(*keyword, value.clone(), sentence.as_str())];
            if removed.contains(keyword) {
                check_removed(layer, "", &case);
            } else {
                check_mentioned(layer, "", &case);
            }
        }
    }
}

#[test]
fn the_second_example_for_openai_embeds_what_stays_as_well() {
    check(
        "openai-compat",
        json!({"type": "string", "minLength": 5, "format": "email"}),
        json!({"type": "string", "minLength": 5, "description": "{\"minLength\":5,\"format\":\"email\"}"}),
    );
    check(
        "openai-compat",
        json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "uniqueItems": false}),
        json!({
            "type": "array",
            "items": {"type": "string", "enum": ["a"], "description": "{\"enum\":[\"a\"]}"},
            "uniqueItems": false
        }),
    );
}

#[test]
fn every_keyword_of_anthropic_compat() {
    check_removed(
        "anthropic-compat",
        "",
        &[("additionalProperties", json!(false), "Only use the specified properties")],
    );
    check_kept(
        "anthropic-compat",
        &[
            ("minLength", json!(5)),
            ("maxLength", json!(9)),
            ("format", json!("email")),
            ("minimum", json!(0)),
            ("maximum", json!(9)),
            ("exclusiveMinimum", json!(0)),
            ("exclusiveMaximum", json!(1.5)),
            ("multipleOf", json!(3)),
            ("minItems", json!(1)),
            ("maxItems", json!(2)),
            ("uniqueItems", json!(true)),
            ("minProperties", json!(1)),
            ("maxProperties", json!(3)),
        ],
    );
}

#[test]
fn several_rules_in_one_sentence() {
    check(
        "openai-reasoning",
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
        json!({
            "type": "array",
            "items": {"type": "string"},
            "description": "IMPORTANT: array must have at least 1 items, array must have at most 3 items, array items must be unique"
        }),
    );
    check(
        "google-compat",
        json!({"type": "integer", "minimum": 0, "maximum": 120}),
        json!({"type": "integer", "description": "Constraints: number must be >= 0; number must be <= 120"}),
    );
}

// S003-8, 9: who gets which layer.

#[track_caller]
fn check_choice(name: Option<&str>, model: Option<&str>, compat: Compat, expected: &str) {
    let dialect = Dialects::builtin().choose(name, model, &compat).unwrap();
    assert_eq!(dialect.name, expected, "{name:?} {model:?} {compat:?}");
}

#[test]
fn model_ids_choose_dialect_and_layer() {
    for (model, expected) in [
        ("gpt-4", "openai-chat"),
        ("gpt-4o", "openai-chat"),
        ("GPT-4o-mini", "openai-chat"),
        ("gpt-5", "openai-chat"),
        ("gpt-3.5-turbo", "openai-chat+openai-legacy"),
        ("text-davinci-003", "openai-chat+openai-legacy"),
        ("o1", "openai-chat+openai-reasoning"),
        ("o1-mini", "openai-chat+openai-reasoning"),
        ("o3", "openai-chat+openai-reasoning"),
        ("o3-mini", "openai-chat+openai-reasoning"),
        ("O3-Mini", "openai-chat+openai-reasoning"),
        ("o4-mini", "openai-chat+openai-reasoning"),
        ("openai/o3-mini", "openai-chat+openai-reasoning"),
        ("claude-3", "anthropic+anthropic-compat"),
        ("anthropic/claude-sonnet-4", "anthropic+anthropic-compat"),
        ("gemini-pro", "gemini+google-compat"),
        ("models/gemini-2.5-flash", "gemini+google-compat"),
        ("gemini-3-pro", "gemini+google-compat"),
        ("grok-4", "xai"),
        ("qwen3", "openai-compatible"),
        ("llama3.1:8b", "ollama"),
        ("argo:gpt-4o", "argo"),
        ("argo:o3-mini", "argo+openai-reasoning"),
        ("openrouter/anthropic/claude-3.5-sonnet", "openai-chat+anthropic-compat"),
        ("openrouter/openai/o3-mini", "openai-chat+openai-reasoning"),
        ("azure/o3-mini", "azure-openai+openai-reasoning"),
    ] {
        check_choice(None, Some(model), Compat::Auto, expected);
    }
}

#[test]
fn the_layer_can_be_taken_away_or_named() {
    check_choice(None, Some("o3-mini"), Compat::Off, "openai-chat");
    check_choice(None, Some("claude-3"), Compat::Off, "anthropic");
    check_choice(None, Some("gpt-4o"), Compat::Named("openai-compat".into()), "openai-chat+openai-compat");
    check_choice(None, Some("o3-mini"), Compat::Named("universal".into()), "openai-chat+universal");
    check_choice(Some("argo"), Some("o3-mini"), Compat::Auto, "argo+openai-reasoning");
    check_choice(Some("argo"), Some("o3-mini"), Compat::Off, "argo");
    check_choice(Some("gemini"), None, Compat::Auto, "gemini");
    check_choice(Some("dial"), None, Compat::Named("google-compat".into()), "dial+google-compat");
    let unknown = Dialects::builtin().choose(Some("dial"), None, &Compat::Named("nothing".into()));
    assert!(unknown.unwrap_err().to_string().starts_with("`nothing` is not a layer; "));
}

#[test]
fn a_layer_brings_the_layers_that_it_extends() {
    let text = json!({"type": "string", "minLength": 5, "format": "email"});
    let schema = json!({"type": "object", "properties": {"a": text}});
    let lowered_for = |dialects: &Dialects, model, layer| {
        let dialect = dialects.choose(Some("openai"), model, &layer).unwrap();
        let translator = Translator::with(dialects, dialect, Options::default()).unwrap();
        lowered_by(&translator, &schema)["properties"]["a"].clone()
    };
    let mut dialects = Dialects::builtin();
    let expected =
        json!({"type": "string", "minLength": 5, "description": "{\"minLength\":5,\"format\":\"email\"}"});
    assert_eq!(lowered_for(&dialects, Some("gpt-3.5-turbo"), Compat::Auto), expected);

    let own = "name = \"own\"\ntitle = \"Own\"\nextends = \"openai-legacy\"\nlayer = true\n\n[schema.keywords]\nminLength = \"describe\"\n";
    dialects.add("own.toml", own).unwrap();
    assert_eq!(
        lowered_for(&dialects, None, Compat::Named("own".into())),
        json!({"type": "string", "description": "{\"minLength\":5,\"format\":\"email\"}"})
    );
}

#[test]
fn a_name_may_hold_a_plus_sign_and_a_strict_form_be_absent() {
    let mut dialects = Dialects::builtin();
    let strict = "name = \"my+strict\"\ntitle = \"My\"\nextends = \"anthropic-strict\"\n";
    dialects.add("strict.toml", strict).unwrap();
    let lone = "name = \"mine\"\ntitle = \"Mine\"\nextends = \"openai-chat\"\n\n[tool]\nstrict-dialect = \"nobody\"\n";
    dialects.add("lone.toml", lone).unwrap();
    for (name, strict, is_known) in
        [("my+strict", Strict::AsNamed, true), ("mine", Strict::AsNamed, true), ("mine", Strict::Auto, false)]
    {
        let mut options = Options::default();
        options.strict = strict;
        assert_eq!(Translator::new(&dialects, name, options).is_ok(), is_known, "{name} {strict:?}");
    }
}

#[test]
fn unknown_models_say_so_and_change_nothing_under_a_named_dialect() {
    for model in ["", "   ", "acme-large", "proto1", "photo3-mini", "solo1-x", "auto3"] {
        let error = Dialects::builtin().choose(None, Some(model), &Compat::Auto).unwrap_err();
        assert!(error.to_string().contains(&format!("`{model}`")), "{error}");
        check_choice(Some("openai"), Some(model), Compat::Auto, "openai-chat");
    }
    let schema =
        json!({"type": "object", "properties": {"u": {"type": "string", "format": "uri", "minLength": 5}}});
    let dialects = Dialects::builtin();
    let dialect = dialects.choose(Some("openai"), Some("acme-large"), &Compat::Auto).unwrap();
    let translator = Translator::with(&dialects, dialect, Options::default()).unwrap();
    assert_eq!(lowered_by(&translator, &schema), schema);
}

#[test]
fn a_layer_keeps_the_wrapper_of_its_dialect() {
    let tool = json!({"name": "t", "description": "d", "inputSchema": {
        "type": "object",
        "properties": {"p": {"type": "string", "format": "email", "minLength": 5, "default": "x"}}
    }});
    let dialects = Dialects::builtin();
    let dialect = dialects.choose(None, Some("argo:o3-mini"), &Compat::Auto).unwrap();
    let translator = Translator::with(&dialects, dialect, Options::default()).unwrap();
    assert_eq!(
        translator.translate_one(&tool).definition.unwrap().to_value(),
        json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": {
            "type": "object",
            "properties": {"p": {
                "type": "string",
                "description": "IMPORTANT: must be a valid email address, minimum 5 characters"
            }}
        }}})
    );
    let dialect = dialects.choose(None, Some("claude-3"), &Compat::Auto).unwrap();
    let translator = Translator::with(&dialects, dialect, Options::default()).unwrap();
    let closed = json!({"name": "t", "description": "d", "inputSchema": {
        "type": "object", "properties": {"p": {"type": "string"}}, "additionalProperties": false
    }});
    assert_eq!(
        translator.translate_one(&closed).definition.unwrap().to_value(),
        json!({"name": "t", "description": "d", "input_schema": {
            "type": "object",
            "properties": {"p": {"type": "string"}},
            "description": "Only use the specified properties"
        }})
    );
}

// S003-10: a tool without a schema.

#[test]
fn tools_without_a_schema_are_left_alone() {
    for layer in LAYERS {
        let translator = Translator::new(&Dialects::builtin(), layer, Options::default()).unwrap();
        let tool = json!({"name": "t", "description": "d"});
        let translated = translator.translate_one(&tool);
        assert_eq!(
            translated.definition.unwrap().to_value(),
            json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}}),
            "{layer}"
        );
        assert!(translated.plan.is_identity());
    }
}

// S003-12: every position.

#[test]
fn constraints_are_found_in_every_position() {
    let leaf = json!({"type": "string", "format": "email"});
    let said = json!({"type": "string", "description": "{\"format\":\"email\"}"});
    let places: &[fn(&Value) -> Value] = &[
        |leaf| json!({"type": "object", "properties": {"a": leaf}}),
        |leaf| json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": leaf}}}}),
        |leaf| json!({"properties": {"a": leaf}}),
        |leaf| json!({"type": "array", "items": leaf}),
        |leaf| json!({"type": "array", "items": {"type": "array", "items": leaf}}),
        |leaf| json!({"type": "array", "prefixItems": [{"type": "integer"}, leaf]}),
        |leaf| json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": leaf}),
        |leaf| json!({"type": "object", "additionalProperties": leaf}),
        |leaf| json!({"type": "object", "patternProperties": {"^x": leaf}}),
        |leaf| json!({"anyOf": [leaf, {"type": "null"}]}),
        |leaf| json!({"allOf": [{"type": "string"}, leaf]}),
        |leaf| json!({"type": "object", "properties": {"k": {"const": 1}}, "anyOf": [{"properties": {"a": leaf}}, {"required": ["k"]}]}),
        |leaf| json!({"type": "object", "dependentSchemas": {"a": {"properties": {"b": leaf}}}}),
        |leaf| json!({"if": {"type": "string"}, "then": leaf, "else": {"type": "integer"}}),
        |leaf| json!({"if": {"type": "integer"}, "then": {"type": "integer"}, "else": leaf}),
    ];
    for place in places {
        check("openai-compat", place(&leaf), place(&said));
    }
    for table in ["$defs", "definitions"] {
        let schema = |leaf: &Value| {
            json!({
                "type": "object",
                "properties": {"a": {"$ref": format!("#/{table}/Mail")}},
                table: {"Mail": leaf}
            })
        };
        assert_eq!(lowered("openai-compat", &schema(&leaf)), schema(&said));
    }
}

#[test]
fn alternatives_that_may_overlap_afterwards_are_no_longer_exclusive() {
    check(
        "openai-compat",
        json!({"oneOf": [{"type": "string", "format": "email"}, {"type": "string", "maxLength": 3}]}),
        json!({"anyOf": [{"type": "string", "description": "{\"format\":\"email\"}"}, {"type": "string", "maxLength": 3, "description": "{\"maxLength\":3}"}]}),
    );
}

#[test]
fn loosening_below_a_negation_would_tighten_so_all_of_it_is_said() {
    for layer in ["openai-compat", "openai-reasoning", "google-compat", "universal"] {
        let after = property(layer, &json!({"type": "string", "not": {"format": "email"}}));
        assert!(after.get("not").is_none(), "{layer}: {after}");
        assert!(after["description"].as_str().unwrap().contains("email"), "{layer}: {after}");
    }
}

#[test]
fn cyclic_references_are_safe() {
    let schema = |mail: Value| {
        json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"type": "object", "properties": {
                "mail": mail,
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}
            }}}
        })
    };
    assert_eq!(
        lowered("openai-compat", &schema(json!({"type": "string", "format": "email"}))),
        schema(json!({"type": "string", "description": "{\"format\":\"email\"}"}))
    );
}

// S003-13, 14, 15, 16.

#[test]
fn type_lists_in_both_orders_are_equal() {
    for layer in LAYERS {
        for rest in [
            json!({"format": "email", "minLength": 5, "pattern": "^a"}),
            json!({"minimum": 1, "multipleOf": 2, "exclusiveMaximum": 10}),
            json!({"items": {}, "minItems": 1, "uniqueItems": true}),
            json!({"minProperties": 1, "additionalProperties": false}),
        ] {
            let types = ["string", "number", "array", "object", "null"];
            let mut forward = json!({"type": types});
            let mut backward = json!({"type": types.iter().rev().collect::<Vec<_>>()});
            for (name, value) in rest.as_object().unwrap() {
                forward[name] = value.clone();
                backward[name] = value.clone();
            }
            let mut forward = property(layer, &forward);
            let mut backward = property(layer, &backward);
            for after in [&mut forward, &mut backward] {
                after.as_object_mut().unwrap().shift_remove("type");
            }
            assert_eq!(forward, backward, "{layer}");
        }
    }
}

#[test]
fn zero_bounds_are_said() {
    for (keyword, reasoning, google) in [
        (
            "minLength",
            "IMPORTANT: minimum 0 characters",
            "Constraints: text must be at least 0 characters long",
        ),
        (
            "maxLength",
            "IMPORTANT: maximum 0 characters",
            "Constraints: text must be no more than 0 characters long",
        ),
        (
            "maxItems",
            "IMPORTANT: array must have at most 0 items",
            "Constraints: array must contain no more than 0 items",
        ),
        (
            "minItems",
            "IMPORTANT: array must have at least 0 items",
            "Constraints: array must contain at least 0 items",
        ),
        (
            "maxProperties",
            "IMPORTANT: object must have at most 0 properties",
            "Constraints: object must have no more than 0 properties",
        ),
        ("exclusiveMinimum", "IMPORTANT: must be > 0", "Constraints: number must be > 0"),
    ] {
        let before = node(keyword, &json!(0));
        assert_eq!(property("openai-reasoning", &before)["description"], json!(reasoning));
        assert_eq!(property("google-compat", &before)["description"], json!(google));
        assert_eq!(property("universal", &before)["description"], json!(format!("{{\"{keyword}\":0}}")));
    }
}

#[test]
fn a_format_without_a_sentence_is_not_lost_beside_another_rule() {
    check(
        "openai-reasoning",
        json!({"type": "string", "format": "hostname", "minLength": 1}),
        json!({"type": "string", "description": "IMPORTANT: format: hostname, minimum 1 characters"}),
    );
    check(
        "google-compat",
        json!({"type": "string", "format": "hostname", "minLength": 1}),
        json!({"type": "string", "description": "Constraints: format: hostname; text must be at least 1 characters long"}),
    );
}

#[test]
fn what_is_no_schema_does_not_stop_the_rest() {
    for layer in LAYERS {
        for odd in [json!(true), json!("text"), json!(null), json!(7), json!([])] {
            let schema =
                json!({"type": "object", "properties": {"odd": odd, "p": {"type": "string", "format": "x"}}});
            let after = lowered(layer, &schema);
            assert_eq!(after["properties"]["p"], property(layer, &json!({"type": "string", "format": "x"})));
        }
        check(layer, json!(true), json!(true));
    }
}

// S003-15 and 3 as properties.

fn constraints() -> impl Strategy<Value = Value> {
    let bound = prop_oneof![Just(json!(0)), (1_u32..9999).prop_map(|n| json!(n))];
    let number = prop_oneof![bound.clone(), (-999_i32..999).prop_map(|n| json!(f64::from(n) + 0.5))];
    let text = "[a-z]{1,8}";
    let format = prop_oneof![
        Just("email"),
        Just("uri"),
        Just("url"),
        Just("uuid"),
        Just("date-time"),
        Just("date"),
        Just("hostname"),
        Just("x-own")
    ];
    let entry = prop_oneof![
        (
            prop_oneof![
                Just("minLength"),
                Just("maxLength"),
                Just("minItems"),
                Just("maxItems"),
                Just("minProperties"),
                Just("maxProperties")
            ],
            bound
        ),
        (
            prop_oneof![Just("minimum"), Just("maximum"), Just("exclusiveMinimum"), Just("exclusiveMaximum")],
            number
        ),
        (Just("multipleOf"), (1_u32..99).prop_map(|n| json!(n))),
        (Just("uniqueItems"), Just(json!(true))),
        (Just("additionalProperties"), Just(json!(false))),
        (Just("pattern"), text.prop_map(|text| json!(format!("^{text}$")))),
        (Just("format"), format.prop_map(|format| json!(format))),
        (Just("description"), text.prop_map(|text| json!(text))),
    ];
    proptest::collection::vec(entry, 0..6).prop_map(|entries| {
        let mut node =
            json!({"type": ["string", "number", "array", "object"], "items": {}, "properties": {}});
        for (name, value) in entries {
            node[name] = value;
        }
        node
    })
}

/// Whether `text` says `keyword: value` in any of the styles.
fn says(text: &str, keyword: &str, value: &Value) -> bool {
    let words = match (keyword, value) {
        ("uniqueItems", _) => "unique".to_owned(),
        ("additionalProperties", _) => {
            return text.contains("additional properties")
                || text.contains("additionalProperties")
                || text.contains("Only use");
        }
        ("format", Value::String(format)) => match format.as_str() {
            "uri" | "url" => return text.contains("URL") || text.contains(format.as_str()),
            "uuid" => return text.contains("UUID") || text.contains("uuid"),
            other => other.to_owned(),
        },
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    };
    text.contains(&words)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::properties::cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_removed_constraint_is_in_the_description(nodes in proptest::collection::vec(constraints(), 1..4)) {
        let mut schema = json!({"type": "object", "properties": {}});
        for (index, node) in nodes.iter().enumerate() {
            schema["properties"][format!("p{index}")] = node.clone();
        }
        for layer in LAYERS {
            let after = lowered(layer, &schema);
            for (index, node) in nodes.iter().enumerate() {
                let after = &after["properties"][format!("p{index}")];
                let text = after["description"].as_str().unwrap_or_default();
                for (keyword, value) in node.as_object().unwrap() {
                    if keyword == "description" {
                        prop_assert!(text.starts_with(value.as_str().unwrap()), "{layer}: {text}");
                    } else if after.get(keyword).is_none() {
                        prop_assert!(says(text, keyword, value), "{layer}: {keyword} {value} not in `{text}`");
                    } else {
                        prop_assert_eq!(after.get(keyword), Some(value));
                    }
                }
            }
            prop_assert_eq!(&lowered(layer, &after), &after, "{}: a second run adds nothing", layer);
        }
    }
}
