//! Definitions that refer to each other in every way.

use serde_json::{Map, Value, json};

use crate::counterexamples::check_expressible_by;
use crate::properties::{DECLARED, schema_in, tool_of, writes_null};

/// As many definitions, each with a child that is any of them.
fn mutual(count: usize, one: impl Fn(usize, &Value) -> Value) -> Value {
    let any: Vec<Value> = (0..count).map(|n| json!({"$ref": format!("#/$defs/d{n}")})).collect();
    let any = json!({ "anyOf": any });
    let definitions: Map<String, Value> = (0..count).map(|n| (format!("d{n}"), one(n, &any))).collect();
    json!({"type": "object", "properties": {"k": any}, "$defs": definitions})
}

fn tagged(n: usize, child: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "t": {"const": format!("v{n}")},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "child": child
        },
        "required": ["t", "m"]
    })
}

#[test]
fn all_alternatives_are_written_out_before_any_goes_deep() {
    let schema = mutual(25, tagged);
    let tool = tool_of(&schema);
    for dialect in ["gemini", "vertex", "ollama", "deepseek-strict"] {
        let found = DECLARED.iter().find(|translator| translator.dialect().name == dialect);
        let translated = found.map(|translator| translator.translate_one(&tool)).unwrap();
        assert_eq!(translated.quarantine, None, "{dialect}");
        let lowered = schema_in(&translated.definition.unwrap().to_value()).unwrap().to_string();
        assert!(lowered.len() < 100_000, "{dialect}: {} bytes", lowered.len());
        for n in 0..25 {
            assert!(lowered.contains(&format!("\"v{n}\"")), "{dialect}: v{n} is hidden");
        }
    }
}

#[test]
fn values_of_mutually_recursive_definitions_come_back() {
    let tagged = mutual(25, tagged);
    let closed = mutual(12, |n, child| {
        json!({"anyOf": [
            {"type": "array", "items": child},
            {"type": "object", "properties": {format!("o{n}"): child}, "additionalProperties": false}
        ]})
    });
    let mut value = json!({"t": "v24", "m": {}});
    let mut list = json!([]);
    for n in 0..12 {
        value = json!({"t": format!("v{}", (n * 7) % 25), "m": {"a": n}, "child": value});
        list = if n % 2 == 0 { json!([list]) } else { json!({format!("o{n}"): list}) };
        for translator in DECLARED.iter() {
            let dialect = translator.dialect();
            if writes_null(translator) {
                check_expressible_by(&DECLARED, &dialect.name, &tagged, &json!({ "k": value }));
                check_expressible_by(&DECLARED, &dialect.name, &closed, &json!({ "k": list }));
            }
        }
    }
}
