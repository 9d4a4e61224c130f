//! Defaults that are filled in for what a model left out.

use gateway_dialects::arguments::{FilledArguments, UnfilledDefault, UnfilledReason, Validator};
use serde_json::{Value, json};

#[track_caller]
fn check(schema: &Value, arguments: &Value, expected: &Value, paths: &[&str]) {
    let FilledArguments { arguments: filled, filled: found, .. } =
        Validator::new(schema).fill_defaults(arguments);
    assert_eq!(
        (&filled, found),
        (expected, paths.iter().map(|path| (*path).to_owned()).collect()),
        "{schema}"
    );
}

/// Nothing is filled in, and that is said.
#[track_caller]
fn check_unfilled(schema: &Value, arguments: &Value, path: &str, reason: UnfilledReason) {
    let unfilled = vec![UnfilledDefault { path: path.to_owned(), reason }];
    let expected = FilledArguments { arguments: arguments.clone(), filled: Vec::new(), unfilled };
    assert_eq!(Validator::new(schema).fill_defaults(arguments), expected, "{schema}");
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
    let FilledArguments { arguments: filled, filled: paths, .. } =
        Validator::new(&schema).fill_defaults(&of_length(256));
    assert_eq!((&filled["list"][255], paths.len()), (&json!({"k": "d"}), 256));
    check_unfilled(&schema, &of_length(257), "", UnfilledReason::TooMany);
    check_unfilled(&schema, &of_length(20_000), "", UnfilledReason::TooMany);
}

#[test]
fn a_search_that_is_given_up_is_reported_where_there_are_defaults() {
    let item = of(&json!({"k": {"type": "string", "default": "d"}}));
    let schema = of(&json!({"list": {"type": "array", "items": item}, "other": {"type": "string"}}));
    let arguments = json!({"list": vec![json!({"k": "v"}); 10_001]});
    check_unfilled(&schema, &arguments, "", UnfilledReason::TooLarge);
    let schema = of(&json!({"list": {"type": "array", "items": {"type": "object"}}}));
    let filled = FilledArguments { arguments: arguments.clone(), filled: Vec::new(), unfilled: Vec::new() };
    assert_eq!(Validator::new(&schema).fill_defaults(&arguments), filled, "there is no default");
}

#[test]
fn numbers_beyond_64_bits_are_never_rounded() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    for number in
        ["18446744073709551616", "-9223372036854775809", "1e300", "[{\"n\": 99999999999999999999999}]"]
    {
        let schema = of(&json!({"big": {"default": read(number)}}));
        check_unfilled(&schema, &json!({}), "/big", UnfilledReason::LosesDigits);
    }
    for number in ["18446744073709551615", "-9223372036854775808", "0.5", "1e15"] {
        let schema = of(&json!({"exact": {"default": read(number)}}));
        check(&schema, &json!({}), &json!({"exact": read(number)}), &["/exact"]);
    }
    let schema = of(&json!({"big": {"default": read("18446744073709551616")}, "small": {"default": 1}}));
    check(&schema, &json!({}), &json!({"small": 1}), &["/small"]);
}

#[test]
fn a_default_that_is_said_twice_counts_once() {
    let named = |number: usize| (format!("p{number}"), json!({"default": number}));
    let properties: Value = Value::Object((0..256).map(named).collect());
    let twice = json!({"type": "object", "allOf": [of(&properties), of(&properties)]});
    let FilledArguments { arguments: filled, filled: paths, .. } =
        Validator::new(&twice).fill_defaults(&json!({}));
    assert_eq!((&filled["p255"], paths.len()), (&json!(255), 256), "a default is counted once");
}

#[test]
fn endless_schemas_come_to_an_end() {
    let schema = json!({"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"default": 1}}});
    let arguments = json!({});
    let FilledArguments { filled: paths, .. } = Validator::new(&schema).fill_defaults(&arguments);
    assert!(paths.len() <= 1);
}
