//! Defaults that are filled in for what a model left out.

use gateway_dialects::arguments::Validator;
use serde_json::{Value, json};

#[track_caller]
fn check(schema: &Value, arguments: &Value, expected: &Value, paths: &[&str]) {
    let (filled, found) = Validator::new(schema).with_defaults(arguments);
    assert_eq!(
        (&filled, found),
        (expected, paths.iter().map(|path| (*path).to_owned()).collect()),
        "{schema}"
    );
}

fn of(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn what_is_left_out_gets_its_default() {
    let template =
        of(&json!({"model_id": {"type": "string"}, "template": {"type": "string", "default": "auto"}}));
    check(
        &template,
        &json!({"model_id": "m"}),
        &json!({"model_id": "m", "template": "auto"}),
        &["/template"],
    );
    check(&template, &json!({"template": "t"}), &json!({"template": "t"}), &[]);
    let named = json!({"type": "object", "properties": {"a/b": {"$ref": "#/$defs/mode"}, "c": {"$ref": "#/$defs/mode", "default": "own"}},
        "$defs": {"mode": {"type": "string", "default": "shared"}}});
    check(&named, &json!({}), &json!({"a/b": "shared", "c": "own"}), &["/a~1b", "/c"]);
}

#[test]
fn objects_that_are_there_are_completed_and_others_are_not_made() {
    let inner = of(&json!({"timeout": {"type": "number", "default": 30}}));
    let nullable = json!({"anyOf": [inner, {"type": "null"}]});
    let schema = of(&json!({"options": inner, "maybe": nullable, "list": {"type": "array", "items": inner}}));
    check(
        &schema,
        &json!({"options": {}, "maybe": {}, "list": [{}, {"timeout": 1}]}),
        &json!({"options": {"timeout": 30}, "maybe": {"timeout": 30}, "list": [{"timeout": 30}, {"timeout": 1}]}),
        &["/options/timeout", "/maybe/timeout", "/list/0/timeout"],
    );
    check(&schema, &json!({}), &json!({}), &[]);
    check(&schema, &json!({"maybe": null}), &json!({"maybe": null}), &[]);
}

#[test]
fn null_is_a_value() {
    let schema = of(&json!({"a": {"type": ["string", "null"], "default": "x"}}));
    check(&schema, &json!({"a": null}), &json!({"a": null}), &[]);
}

#[test]
fn defaults_that_do_not_fit_are_left_out() {
    let schema = of(&json!({
        "wrong": {"type": "string", "default": null},
        "right": {"type": "integer", "default": 5},
        "short": {"type": "string", "minLength": 3, "default": "x"}
    }));
    check(&schema, &json!({}), &json!({"right": 5}), &["/right"]);
    let mut one = of(&json!({"a": {"default": 1}, "b": {"default": 2}}));
    one["maxProperties"] = json!(1);
    check(&one, &json!({}), &json!({"a": 1}), &["/a"]);
    let mut required = schema;
    required["required"] = json!(["id"]);
    check(&required, &json!({}), &json!({}), &[]);
}

#[test]
fn alternatives_that_could_both_be_meant_fill_nothing() {
    let branch = |name: &str| of(&json!({name: {"default": 1}}));
    let schema = of(&json!({"either": {"oneOf": [branch("a"), branch("b")]}}));
    check(&schema, &json!({"either": {"c": 1}}), &json!({"either": {"c": 1}}), &[]);
    let all = json!({"type": "object", "allOf": [branch("a"), branch("b"), branch("a")]});
    check(&all, &json!({}), &json!({"a": 1, "b": 1}), &["/a", "/b"]);
}

#[test]
fn arguments_that_lack_too_much_stay_as_they_came() {
    let item = of(&json!({"k": {"type": "string", "default": "d"}}));
    let schema = of(&json!({"list": {"type": "array", "items": item}}));
    let of_length = |length: usize| json!({"list": vec![json!({}); length]});
    let (filled, paths) = Validator::new(&schema).with_defaults(&of_length(256));
    assert_eq!((&filled["list"][255], paths.len()), (&json!({"k": "d"}), 256));
    check(&schema, &of_length(257), &of_length(257), &[]);
}

#[test]
fn endless_schemas_come_to_an_end() {
    let schema = json!({"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"default": 1}}});
    let arguments = json!({});
    let (_, paths) = Validator::new(&schema).with_defaults(&arguments);
    assert!(paths.len() <= 1);
}
