//! Dialects without `anyOf`: every node has one type, and nothing is lost.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

use gateway_dialects::arguments::Validator;
use gateway_dialects::{Dialects, Options, Translator};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::properties::{config, schema_in, tool_of};

fn translator(dialect: &str) -> Translator {
    Translator::new(&Dialects::builtin(), dialect, Options::default()).unwrap()
}

/// What becomes of the property `v` with this schema.
fn lowered(dialect: &str, schema: &Value) -> Value {
    let tool = tool_of(&json!({"type": "object", "properties": {"v": schema}}));
    let definition = translator(dialect).translate_one(&tool).definition.unwrap().to_value();
    schema_in(&definition).unwrap()["properties"]["v"].clone()
}

/// `value` is valid for `v`, travels as `wire`, and comes back.
#[track_caller]
fn check_travels(dialect: &str, schema: &Value, value: Value, wire: Value) {
    let schema = json!({"type": "object", "properties": {"v": schema}});
    let (arguments, wire) = (json!({ "v": value }), json!({ "v": wire }));
    assert!(Validator::new(&schema).is_valid(&arguments), "the case itself is wrong");
    let plan = translator(dialect).translate_one(&tool_of(&schema)).plan;
    assert_eq!(plan.encode(&arguments).unwrap(), wire, "{dialect}");
    assert_eq!(plan.decode(&wire).unwrap(), arguments, "{dialect}");
}

/// What a model wrote is read as `value`.
#[track_caller]
fn check_reads(dialect: &str, schema: &Value, wire: Value, value: Value) {
    let schema = json!({"type": "object", "properties": {"v": schema}});
    let plan = translator(dialect).translate_one(&tool_of(&schema)).plan;
    assert_eq!(plan.decode(&json!({ "v": wire })).unwrap(), json!({ "v": value }), "{dialect}");
}

const ONE_TYPE: [&str; 4] = ["gemini-legacy", "gemini-bare", "ollama", "ollama-openai"];

#[test]
fn numbers_of_two_kinds_are_numbers() {
    let schema = json!({"anyOf": [{"type": "integer"}, {"type": "number"}]});
    for dialect in ONE_TYPE {
        assert_eq!(lowered(dialect, &schema), json!({"type": "number"}), "{dialect}");
        check_travels(dialect, &schema, json!(1.5), json!(1.5));
    }
}

#[test]
fn lists_of_texts_are_one_list() {
    let schema = json!({"oneOf": [
        {"const": "a", "description": "first"}, {"enum": ["b", "c"]}, {"const": "a"}
    ]});
    for dialect in ONE_TYPE {
        let expected = json!({"type": "string", "description": "a: first", "enum": ["a", "b", "c"]});
        assert_eq!(lowered(dialect, &schema), expected, "{dialect}");
        check_travels(dialect, &schema, json!("b"), json!("b"));
    }
}

#[test]
fn bounds_of_alternatives_of_one_type_are_said_in_words() {
    let schema = json!({"anyOf": [{"type": "integer", "maximum": 0}, {"type": "integer", "minimum": 10}]});
    let expected =
        "Constraints: any of: {\"type\":\"integer\",\"maximum\":0} or {\"type\":\"integer\",\"minimum\":10}";
    for dialect in ["gemini-legacy", "ollama"] {
        let expected = json!({"type": "integer", "description": expected});
        assert_eq!(lowered(dialect, &schema), expected, "{dialect}");
    }
}

#[test]
fn text_travels_as_it_is_and_all_else_as_json_text() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}]});
    let words =
        "Text as it is, or JSON text: integer or {\"type\":\"array\",\"items\":{\"type\":\"string\"}}";
    for dialect in ONE_TYPE {
        assert_eq!(lowered(dialect, &schema), json!({"type": "string", "description": words}), "{dialect}");
        for (value, wire) in [
            (json!("main"), json!("main")),
            (json!("[draft] a"), json!("[draft] a")),
            (json!("true"), json!("true")),
            (json!("1.5"), json!("1.5")),
            (json!(5), json!("5")),
            (json!("5"), json!("\"5\"")),
            (json!("\"5\""), json!("\"\\\"5\\\"\"")),
            (json!("\"a\""), json!("\"a\"")),
            (json!(["a", "b"]), json!("[\"a\",\"b\"]")),
            (json!("[]"), json!("\"[]\"")),
        ] {
            check_travels(dialect, &schema, value, wire);
        }
        // A model that writes the value itself is understood as well.
        check_reads(dialect, &schema, json!(["a"]), json!(["a"]));
        check_reads(dialect, &schema, json!(5), json!(5));
    }
}

#[test]
fn lists_of_types_travel_as_alternatives_do() {
    let schema = json!({"type": ["string", "number", "boolean"], "description": "A cell"});
    for dialect in ONE_TYPE {
        let words = "A cell\nText as it is, or JSON text: number or boolean";
        assert_eq!(lowered(dialect, &schema), json!({"type": "string", "description": words}), "{dialect}");
        check_travels(dialect, &schema, json!(true), json!("true"));
        check_travels(dialect, &schema, json!("true"), json!("\"true\""));
        check_travels(dialect, &schema, json!("null"), json!("null"));
    }
    let numbers = json!({"type": ["boolean", "integer"]});
    assert_eq!(
        lowered("ollama", &numbers),
        json!({"type": "string", "description": "JSON text: integer or boolean"})
    );
    check_travels("ollama", &numbers, json!(false), json!("false"));
    check_reads("ollama", &numbers, json!(7), json!(7));
}

#[test]
fn objects_become_one_object_with_the_properties_of_all() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
        {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]}
    ]});
    for dialect in ["gemini-legacy", "ollama"] {
        let expected = json!({
            "type": "object",
            "description": "Constraints: exactly one of these must hold: kind = file, required: path | kind = url, required: url",
            "properties": {
                "kind": {"type": "string", "enum": ["file", "url"]},
                "path": {"type": "string"},
                "url": {"type": "string"}
            },
            "required": ["kind"]
        });
        assert_eq!(lowered(dialect, &schema), expected, "{dialect}");
        let value = json!({"kind": "url", "url": "x"});
        check_travels(dialect, &schema, value.clone(), value);
    }
}

#[test]
fn structures_of_their_own_are_properties_of_one_object() {
    let schema = json!({"anyOf": [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false},
        {"type": "null"}
    ]});
    let expected = json!({
        "type": "object",
        "nullable": true,
        "description": "Exactly one of the properties",
        "properties": {
            "option_1": {"type": "array", "items": {"type": "string"}},
            "option_2": {"type": "object", "properties": {"a": {"type": "string"}}}
        }
    });
    assert_eq!(lowered("gemini-legacy", &schema), expected);
    for dialect in ONE_TYPE {
        check_travels(dialect, &schema, json!(["x"]), json!({"option_1": ["x"]}));
        check_travels(dialect, &schema, json!({"a": "x"}), json!({"option_2": {"a": "x"}}));
        check_reads(dialect, &schema, json!(["x"]), json!(["x"]));
        check_reads(dialect, &schema, json!(null), json!(null));
    }
}

#[test]
fn an_object_with_properties_is_written_out_beside_text() {
    let object = json!({"type": "object", "properties": {"raw": {"type": "string"}}, "required": ["raw"]});
    let schema = json!({"anyOf": [{"type": "string"}, object]});
    for dialect in ONE_TYPE {
        let lowered = lowered(dialect, &schema);
        assert_eq!(lowered["properties"]["option_1"], json!({"type": "string"}), "{dialect}");
        assert_eq!(lowered["properties"]["option_2"], object, "{dialect}");
        check_travels(dialect, &schema, json!("x"), json!({"option_1": "x"}));
        check_reads(dialect, &schema, json!("x"), json!("x"));
    }
}

#[test]
fn positions_of_several_types_share_one() {
    let schema = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}], "items": false});
    for dialect in ONE_TYPE {
        assert_eq!(lowered(dialect, &schema)["items"]["type"], json!("string"), "{dialect}");
        check_travels(dialect, &schema, json!(["5", 5, ["a"]]), json!(["5", "5", "[\"a\"]"]));
        check_reads(dialect, &schema, json!(["5", 5, ["a"]]), json!(["5", 5, ["a"]]));
    }
}

#[test]
fn a_recursion_through_alternatives_ends() {
    let schema = json!({
        "type": "object",
        "properties": {"v": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Node"}]}},
        "$defs": {
            "Leaf": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "Node": {"type": "object", "properties": {"inner": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Node"}]}}, "required": ["inner"]}
        }
    });
    let deep = (0..6).fold(json!({"text": "x"}), |inner, _| json!({ "inner": inner }));
    for dialect in ONE_TYPE {
        let translated = translator(dialect).translate_one(&tool_of(&schema)).plan;
        let arguments = json!({ "v": deep });
        assert_eq!(
            translated.decode(&translated.encode(&arguments).unwrap()).unwrap(),
            arguments,
            "{dialect}"
        );
    }
}

#[test]
fn ollama_spells_null() {
    let integer = json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "Count"});
    assert_eq!(
        lowered("ollama", &integer),
        json!({"type": "integer", "description": "Count\nWrite (null) for null"})
    );
    check_travels("ollama", &integer, json!(null), json!("(null)"));
    check_travels("ollama", &integer, json!(5), json!(5));
    check_reads("ollama", &integer, json!(null), json!(null));
    let text = json!({"type": ["string", "null"]});
    assert_eq!(lowered("ollama", &text), json!({"type": "string", "description": "Write (null) for null"}));
    check_travels("ollama", &text, json!("(null)"), json!("\\(null)"));
    let listed = json!({"enum": ["a", "b", null]});
    assert_eq!(lowered("ollama", &listed), json!({"type": "string", "enum": ["a", "b", "(null)"]}));
    check_travels("ollama", &listed, json!(null), json!("(null)"));
    check_reads("ollama", &listed, json!(null), json!(null));
    let inside = json!({"type": "array", "items": {"type": ["number", "null"]}});
    assert_eq!(
        lowered("ollama", &inside),
        json!({"type": "array", "items": {"type": "number", "description": "Write (null) for null"}})
    );
    check_travels("ollama", &inside, json!([1, null]), json!([1, "(null)"]));
    let only = json!({"type": "null"});
    assert_eq!(lowered("ollama", &only), json!({"type": "string", "enum": ["(null)"]}));
    check_travels("ollama", &only, json!(null), json!("(null)"));
}

#[test]
fn null_that_stands_for_leaving_it_out_needs_no_words() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Branch"});
    assert_eq!(lowered("ollama", &schema), json!({"type": "string", "description": "(default: null)"}));
    check_travels("ollama", &schema, json!(null), json!("(null)"));
    check_reads("ollama", &schema, json!(null), json!(null));
}

/// Texts that look like JSON, and texts around them.
fn confusing() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("5".to_owned()),
        Just("-0.0".to_owned()),
        Just("1e300".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("(null)".to_owned()),
        Just("{\"a\":1}".to_owned()),
        Just("{\"a\":1,\"a\":2}".to_owned()),
        Just("[1, 2]".to_owned()),
        Just("\"".to_owned()),
        "[a-c0-9\\[\\]\" ]{0,4}",
    ];
    (word, 0_usize..3, "[ \n]{0,1}").prop_map(|(word, quotes, space)| {
        let quoted = (0..quotes).fold(word, |text, _| Value::from(text).to_string());
        format!("{space}{quoted}{space}")
    })
}

proptest! {
    #![proptest_config(config(256))]

    /// Whatever a text looks like, it is not taken for a value of another type, nor a value for a text.
    #[test]
    fn texts_and_other_values_are_never_mistaken(text in confusing(), number in any::<f64>(), flag in any::<bool>()) {
        let schemas = [
            json!({"type": ["string", "number", "boolean"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "array", "items": {"type": "string"}}]}),
            json!({"type": ["string", "null", "object"]}),
        ];
        let values = [json!(text), json!(number), json!(flag), json!([text]), json!({"a": text}), json!(null)];
        for dialect in ONE_TYPE {
            for schema in &schemas {
                let schema = json!({"type": "object", "properties": {"v": schema}});
                let plan = translator(dialect).translate_one(&tool_of(&schema)).plan;
                for value in &values {
                    let arguments = json!({ "v": value });
                    if Validator::new(&schema).is_valid(&arguments) {
                        let encoded = plan.encode(&arguments).unwrap();
                        prop_assert_eq!(&plan.decode(&encoded).unwrap(), &arguments, "{} {}", dialect, encoded);
                    }
                }
            }
        }
    }
}
