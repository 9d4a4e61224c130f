//! What lowered schemas cost: references are written once where they can be, and nothing grows out of proportion.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::{Dialects, Growth, Options, Translator};
use serde_json::{Map, Value, json};

use crate::counterexamples::{check_expressible, check_expressible_by};
use crate::properties::{DECLARED, schema_in, tool_of, writes_null};

fn lowered(dialect: &str, schema: &Value) -> Value {
    lowered_with(dialect, schema, Growth::default())
}

fn lowered_with(dialect: &str, schema: &Value, growth: Growth) -> Value {
    let mut options = Options::default();
    options.budget.growth = growth;
    let translator = Translator::new(&Dialects::builtin(), dialect, options).unwrap();
    let tool = tool_of(schema);
    schema_in(&translator.translate_one(&tool).definition.unwrap().to_value()).unwrap()
}

/// Arguments fit what every dialect makes of the schema, and come back. Where null is a flag, they only come back.
#[track_caller]
fn check_everywhere(schema: &Value, arguments: &Value) {
    let tool = tool_of(schema);
    for translator in DECLARED.iter() {
        let dialect = &translator.dialect().name;
        if writes_null(translator) {
            check_expressible_by(&DECLARED, dialect, schema, arguments);
        } else {
            let plan = translator.translate_one(&tool).plan;
            assert_eq!(&plan.decode(&plan.encode(arguments).unwrap()).unwrap(), arguments, "{dialect}");
        }
    }
}

fn times(text: &str, schema: &Value) -> usize {
    schema.to_string().matches(text).count()
}

/// Each object has as many texts with long descriptions as make it worth a reference.
fn object(name: &str) -> Value {
    let properties: Map<String, Value> = (0..4)
        .map(|n| {
            (format!("{name}_{n}"), json!({"type": "string", "description": format!("What {n} is for")}))
        })
        .collect();
    json!({"type": "object", "properties": properties, "required": [format!("{name}_0")]})
}

/// The way in which generators repeat a type: by pointing to where it stood first.
fn repeated() -> Value {
    let again = json!({"$ref": "#/properties/first"});
    json!({
        "type": "object",
        "properties": {"first": object("part"), "second": again, "third": {"type": "array", "items": again}}
    })
}

#[test]
fn a_schema_that_references_name_where_it_stands_is_written_once() {
    for dialect in
        ["openai-chat-strict", "anthropic-strict", "gemini-json", "moonshot", "vllm", "openai-compatible"]
    {
        let lowered = lowered(dialect, &repeated());
        assert_eq!(times("\"part_1\":", &lowered), 1, "{dialect}: {lowered}");
        let first = lowered["properties"]["first"].to_string();
        assert!(first.contains("#/$defs/first"), "{dialect}: {first}");
    }
    let value = json!({"part_0": "a", "part_3": "b"});
    let arguments = json!({"first": value, "second": value, "third": [value, value]});
    check_everywhere(&repeated(), &arguments);
}

#[test]
fn a_short_schema_is_repeated_rather_than_referred_to() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 5}, "b": {"$ref": "#/properties/a"}},
        "required": ["a", "b"]
    });
    for dialect in ["openai-chat-strict", "moonshot"] {
        let lowered = lowered(dialect, &schema);
        assert_eq!(lowered["properties"]["a"], lowered["properties"]["b"], "{dialect}");
        assert_eq!(times("$ref", &lowered), 0, "{dialect}: {lowered}");
    }
}

#[test]
fn what_is_named_under_a_word_that_is_no_keyword_follows_renamed_keys() {
    let part = json!({"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"], "additionalProperties": false});
    let direct = json!({"type": "object", "properties": {"v": {"$ref": "#/datos"}}, "datos": part});
    let inside = json!({
        "type": "object",
        "properties": {"v": {"$ref": "#/components/schemas/0/part"}},
        "components": {"schemas": [{"part": part}], "a b": "data"}
    });
    for schema in [&direct, &inside] {
        for dialect in ["anthropic", "bedrock", "anthropic-strict", "gemini"] {
            check_expressible(dialect, schema, &json!({"v": {"a b": "x"}}));
        }
    }
    let edited = lowered("anthropic", &inside);
    assert_eq!(edited["components"]["a b"], "data");
    assert_eq!(edited["components"]["schemas"][0]["part"]["required"], json!(["a_b"]));
    // Where nothing has to be renamed, all of it stays as it came.
    let plain =
        json!({"type": "object", "properties": {"v": {"$ref": "#/datos"}}, "datos": {"type": "string"}});
    assert_eq!(lowered("anthropic", &plain), plain);
}

#[test]
fn a_recursion_that_is_not_written_out_names_where_its_form_is() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
        }}}
    });
    let inner = |lowered: &Value| {
        lowered["properties"]["tree"]["properties"]["children"]["items"]["properties"]["children"]["items"]
            .clone()
    };
    assert_eq!(
        inner(&lowered("gemini", &schema)),
        json!({"type": "string", "description": "JSON text of the same form as tree"})
    );
}

/// Definitions that refer to each other, some of them again and again, behind a union at the root or inside a property.
fn tangled(definitions: usize, union_at_root: bool, more: impl Fn(usize) -> Value) -> Value {
    let reference = |n: usize| json!({"$ref": format!("#/$defs/d{}", n % definitions)});
    let one = |n: usize| {
        let mut properties = json!({
            "kind": {"const": format!("k{n}")},
            "spec": reference(n * 7 + 3),
            "list": {"type": "array", "items": reference(n * 3 + 1)},
            "either": {"anyOf": [reference(n * 5 + 2), reference(n + 1)]}
        });
        properties
            .as_object_mut()
            .unwrap()
            .extend(object(&format!("p{n}"))["properties"].as_object().unwrap().clone());
        let mut schema = json!({"type": "object", "properties": properties, "required": ["kind"]});
        schema.as_object_mut().unwrap().extend(more(n).as_object().unwrap().clone());
        schema
    };
    let table: Map<String, Value> = (0..definitions).map(|n| (format!("d{n}"), one(n))).collect();
    let branches: Vec<Value> = (0..definitions / 2).map(reference).collect();
    if union_at_root {
        json!({"type": "object", "oneOf": branches, "$defs": table})
    } else {
        json!({"type": "object", "properties": {"item": {"oneOf": branches}}, "$defs": table})
    }
}

fn shapes() -> Vec<(&'static str, Value)> {
    let nothing = |_: usize| json!({});
    let open = |_: usize| json!({"additionalProperties": true});
    let conditions = |n: usize| json!({"if": {"properties": {"kind": {"const": "x"}}}, "then": {"$ref": format!("#/$defs/d{}", n / 2)}});
    let mut described = tangled(30, false, nothing);
    for (name, schema) in described["$defs"].as_object_mut().unwrap() {
        schema["description"] = json!(format!("{name}: {}", "what it is good for, ".repeat(12)));
    }
    vec![
        ("root", tangled(60, true, nothing)),
        ("property", tangled(60, false, nothing)),
        ("open root", tangled(40, true, open)),
        ("open property", tangled(40, false, open)),
        ("conditions at the root", tangled(40, true, conditions)),
        ("conditions", tangled(40, false, conditions)),
        ("described", described),
        ("repeated", repeated()),
    ]
}

#[test]
fn no_schema_takes_more_than_twice_its_tokens_and_300() {
    for (shape, schema) in shapes() {
        let tool = tool_of(&schema);
        for translator in DECLARED.iter() {
            let translated = translator.translate_one(&tool);
            let dialect = &translator.dialect().name;
            assert_eq!(translated.quarantine, None, "{dialect}: {shape}");
            let tokens = translated.tokens;
            assert!(tokens.after <= 2 * tokens.before + 300, "{dialect}: {shape}: {tokens:?}");
        }
    }
}

#[test]
fn values_come_back_from_what_is_not_written_out() {
    let leaf = json!({"kind": "k13", "p13_0": "a"});
    let value = json!({
        "kind": "k0", "p0_0": "x",
        "spec": {"kind": "k3", "p3_0": "y", "list": [{"kind": "k10", "p10_0": "z", "spec": leaf}]}
    });
    let nested = tangled(60, false, |_| json!({}));
    check_everywhere(&nested, &json!({"item": value}));
}

#[test]
fn a_budget_overrides_the_proportion() {
    let schema = tangled(30, false, |_| json!({}));
    let bytes = |growth: Growth| lowered_with("gemini", &schema, growth).to_string().len();
    let usual = bytes(Growth::Proportionate);
    assert!(bytes(Growth::Unlimited) > 2 * usual, "{usual}");
    let least = bytes(Growth::Tokens(0));
    assert!(least < usual, "{least} of {usual}");
    let between = bytes(Growth::Tokens((least + usual) / 8));
    assert!(least <= between && between <= usual, "{least}, {between}, {usual}");
}

#[test]
fn words_about_a_schema_keep_properties_with_the_names_of_keywords() {
    let inner = json!({"type": "object", "properties": {
        "definitions": {"type": "string", "description": "Terms of the glossary"},
        "$defs": {"type": "array", "items": {"$ref": "#/definitions/Term"}},
        "$ref": {"type": "string", "default": {"$ref": "#/definitions/Term", "definitions": 1}}
    }, "definitions": {"Unused": {"title": "never named"}}});
    let schema = json!({"type": "object", "properties": {"glossary": inner},
        "definitions": {"Term": {"type": "object", "properties": {"word": {"description": "Of the trade"}}}}});
    let words =
        lowered_with("gemini", &schema, Growth::Tokens(0))["properties"]["glossary"]["description"].clone();
    let words = words.as_str().unwrap();
    for part in [
        r#""definitions":{"type":"string","description":"Terms of the glossary"}"#,
        r#""$defs":{"type":"array","items":{"$ref":"Term"}}"#,
        r##""default":{"$ref":"#/definitions/Term","definitions":1}"##,
        "Of the trade",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!words.contains("never named"), "{words}");
}

#[test]
fn budgets_are_read() {
    let read = |text: &str| Growth::parse(text);
    assert_eq!(
        ["auto", "off", "0", "1200"].map(read),
        [Growth::Proportionate, Growth::Unlimited, Growth::Tokens(0), Growth::Tokens(1200)].map(Some)
    );
    assert_eq!(["", "on", "-1", "1.5", "12 "].map(read), [None; 5]);
}

/// Whether `schema` has a node with a structure at `location`, which is the names of properties, and `[]` for items.
fn has_structure(schema: &Value, location: &str) -> bool {
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        return branches.iter().any(|branch| has_structure(branch, location));
    }
    let (step, rest) = match location.strip_prefix("[]") {
        Some(rest) => ("[]", rest),
        None => location.split_at(location.find(['.', '[']).unwrap_or(location.len())),
    };
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    match step {
        "" => schema.get("properties").is_some() || schema.get("items").is_some(),
        "[]" => schema.get("items").is_some_and(|items| has_structure(items, rest)),
        name => schema["properties"].get(name).is_some_and(|inner| has_structure(inner, rest)),
    }
}

fn descriptions<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            found.extend(members.get("description").and_then(Value::as_str));
            members.values().for_each(|value| descriptions(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        _ => {}
    }
}

#[test]
fn words_refer_only_to_what_is_written() {
    let mut checked = 0;
    for (shape, schema) in shapes() {
        for dialect in ["gemini", "vertex", "ollama", "deepseek-strict"] {
            let lowered = lowered(dialect, &schema);
            let mut words = Vec::new();
            descriptions(&lowered, &mut words);
            let forms = words
                .iter()
                .flat_map(|text| text.lines())
                .filter_map(|line| line.strip_prefix("JSON text of the same form as "));
            for location in forms.flat_map(|forms| forms.split(" or ")) {
                assert!(has_structure(&lowered, location), "{dialect}: {shape}: {location}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}
