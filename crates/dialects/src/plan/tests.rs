//! How many steps it takes to distinguish alternatives.

use super::*;
use crate::{Dialects, Options, Translator};
use serde_json::json;

/// Steps that it takes to encode and to decode `arguments`, however many are allowed.
fn steps(plan: &Plan, arguments: &Value) -> (usize, usize) {
    let count = |work: &dyn Fn(&Pass<'_>) -> Result<Value, PlanError>| {
        let left = Cell::new(usize::MAX);
        let _ = plan.pass_within(&left, work);
        usize::MAX - left.get()
    };
    (
        count(&|pass| pass.encode_with(&plan.root, arguments)),
        count(&|pass| pass.decode_with(&plan.root, arguments)),
    )
}

#[track_caller]
fn check_ends_soon(schema: &Value, arguments: &Value, most: usize) {
    let tool = json!({"name": "t", "inputSchema": schema});
    let dialects = Dialects::builtin();
    for name in dialects.names() {
        let translator = Translator::new(&dialects, name, Options::default()).expect("a dialect of ours");
        let (encoding, decoding) = steps(&translator.translate_one(&tool).plan, arguments);
        assert!(encoding < most && decoding < most, "{name}: {encoding} and {decoding} steps");
    }
}

fn nested(levels: usize, innermost: Value, step: impl Fn(Value) -> Value) -> Value {
    json!({"a": (0..levels).fold(innermost, |inner, _| step(inner))})
}

#[test]
fn alternatives_inside_alternatives_end_soon() {
    let branch = |key: &str, of: &str| {
        json!({"type": "object", "properties": {
            "a": {"$ref": "#/$defs/A"},
            key: {"type": "object", "additionalProperties": {"type": of}}
        }})
    };
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"anyOf": [branch("m", "string"), branch("n", "integer"), branch("o", "boolean")]}}
    });
    // No alternative takes what is innermost, so all are tried everywhere.
    let deep = nested(60, json!(5), |inner| json!({ "a": inner }));
    check_ends_soon(&schema, &deep, 5_000);
}

#[test]
fn a_word_behind_the_recursion_distinguishes_alternatives() {
    let branch = |index: usize| {
        json!({"type": "object", "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/$defs/A"},
            "note": {"type": ["string", "null"]},
            "kind": {"const": format!("k{index}")}
        }, "required": ["kind"], "additionalProperties": false})
    };
    let branches: Vec<Value> = (0..10).map(|index| json!({"$ref": format!("#/$defs/B{index}")})).collect();
    let mut definitions: Map<String, Value> =
        (0..10).map(|index| (format!("B{index}"), branch(index))).collect();
    definitions.insert("A".to_owned(), json!({ "oneOf": branches }));
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": definitions
    });
    let leaf = json!({"kind": "k9"});
    let deep = nested(40, leaf.clone(), |inner| json!({"kind": "k9", "a": inner, "b": leaf}));
    check_ends_soon(&schema, &deep, 200_000);
}
