use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::REDACTED;
use crate::redact::{Form, Redaction};

fn rules() -> Rules {
    let redaction = Redaction {
        keys: vec!["*_pin".to_owned()],
        paths: vec![
            "bank/*:/account/number".to_owned(),
            "bank/pay:/cards/*/n".to_owned(),
            "bank/pay:/list/1".to_owned(),
            "*/echo:/a~1b".to_owned(),
        ],
        ..Redaction::default()
    };
    Rules::parse(&redaction).unwrap()
}

#[track_caller]
fn check(tool: (&str, &str), json: &str, expected: &str) {
    assert_eq!(Form::of(json), Form::Json, "{json}");
    let rules = rules();
    let paths = rules.paths_of(tool.0, tool.1);
    let clean = redact(json, &rules, &paths);
    assert_eq!(clean.as_deref().unwrap_or(json), expected);
}

#[test]
fn values_of_sensitive_keys_are_taken_out_at_any_depth() {
    for (json, expected) in [
        (r#"{"password":"x"}"#, r#"{"password":"[redacted]"}"#),
        (r#"{"a":[{"b":{"API_KEY" : 12.50 }}]}"#, r#"{"a":[{"b":{"API_KEY" : "[redacted]" }}]}"#),
        (r#"{"token":{"a":[1,"}"]},"n":1e400}"#, r#"{"token":"[redacted]","n":1e400}"#),
        (r#"{"secret":null,"cookie":true}"#, r#"{"secret":null,"cookie":true}"#),
        (r#"{"p\u0061ssword":"x"}"#, r#"{"p\u0061ssword":"[redacted]"}"#),
        (r#"{"card_pin":"1234","pin":1}"#, r#"{"card_pin":"[redacted]","pin":1}"#),
        (r#"[["token","x"],{"tokens":5}]"#, r#"[["token","[redacted]"],{"tokens":5}]"#),
        (r#"{"token":[],"secret":{}}"#, r#"{"token":[],"secret":{}}"#),
    ] {
        check(("demo", "add"), json, expected);
    }
}

#[test]
fn secrets_inside_strings_and_nested_json_are_taken_out() {
    for (json, expected) in [
        (r#"{"header":"Bearer xyz"}"#, r#"{"header":"Bearer [redacted]"}"#),
        (r#""token=abc""#, r#""token=[redacted]""#),
        (
            r#"{"\u043f\u0430\u0440\u043e\u043b\u044c":"Samovar-2210"}"#,
            r#"{"\u043f\u0430\u0440\u043e\u043b\u044c":"[redacted]"}"#,
        ),
        (
            r#"{"a":"postgres:\/\/bob:s3cret@db\/x","b":"pw=hunter2"}"#,
            r#"{"a":"postgres:\/\/bob:[redacted]@db\/x","b":"pw=[redacted]"}"#,
        ),
        (
            r#"{"content":[{"type":"text","text":"{\"password\":\"hunter2\",\"n\":1}"}]}"#,
            r#"{"content":[{"type":"text","text":"{\"password\":\"[redacted]\",\"n\":1}"}]}"#,
        ),
        (
            r#"{"text":"{\"inner\":\"{\\\"secret\\\":1}\"}"}"#,
            r#"{"text":"{\"inner\":\"{\\\"secret\\\":\\\"[redacted]\\\"}\"}"}"#,
        ),
    ] {
        check(("demo", "add"), json, expected);
    }
}

#[test]
fn paths_of_a_tool_are_redacted_in_that_tool_only() {
    let json = r#"{"account":{"number":"1"},"cards":[{"n":1,"m":2},{"n":2}],"list":[1,2,3],"a/b":5}"#;
    check(("demo", "add"), json, json);
    check(("bank", "see"), json, &json.replace(r#""number":"1""#, r#""number":"[redacted]""#));
    check(
        ("bank", "pay"),
        json,
        r#"{"account":{"number":"[redacted]"},"cards":[{"n":"[redacted]","m":2},{"n":"[redacted]"}],"list":[1,"[redacted]",3],"a/b":5}"#,
    );
    check(("demo", "echo"), json, &json.replace(r#""a/b":5"#, r#""a/b":"[redacted]""#));
}

#[test]
fn long_base64_is_replaced_by_its_size() {
    let blob = "QUJD".repeat(100);
    for (json, expected) in [
        (
            format!(r#"{{"type":"image","data":"{blob}","mimeType":"image/png"}}"#),
            r#"{"type":"image","data":"[300 bytes of base64]","mimeType":"image/png"}"#.to_owned(),
        ),
        (
            format!(r#"{{"resource":{{"blob":"{blob}"}}}}"#),
            r#"{"resource":{"blob":"[300 bytes of base64]"}}"#.to_owned(),
        ),
        (
            format!(r#"{{"url":"data:image/png;base64,{blob}"}}"#),
            r#"{"url":"data:image/png;base64,[300 bytes of base64]"}"#.to_owned(),
        ),
        (format!(r#"{{"text":"{blob}"}}"#), format!(r#"{{"text":"{blob}"}}"#)),
        (r#"{"data":"QUJD"}"#.to_owned(), r#"{"data":"QUJD"}"#.to_owned()),
    ] {
        check(("demo", "add"), &json, &expected);
    }
}

#[test]
fn depth_does_not_matter() {
    let deep = format!("{}{{\"token\":\"abc\"}}{}", "[".repeat(100_000), "]".repeat(100_000));
    let clean = redact(&deep, &rules(), &[]).unwrap();
    assert!(clean.contains(r#"{"token":"[redacted]"}"#));
    assert_eq!(clean.len(), deep.len() + REDACTED.len() - 3);
}

#[test]
fn broken_json_neither_hangs_nor_panics() {
    for text in [
        "{\"token\"",
        "{\"token\":",
        "{\"token\":\"",
        "[\"token",
        "}token",
        "{token:1}",
        "{\"token\":}",
        "\"\\",
    ] {
        let _ = redact(text, &rules(), &[]);
    }
}

/// Any JSON value in which some keys are sensitive and their values carry a mark.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z\"\\\\é]{1,6}", inner.clone()), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            inner.prop_map(
                |value| serde_json::json!({"x": 1, "Access-Token": {"mark": "MARK", "v": value}, "y": [2]})
            ),
        ]
    })
}

proptest! {
    #[test]
    fn no_secret_is_left_and_the_rest_is_kept(value in json()) {
        fn expected(value: &Value) -> Value {
            match value {
                Value::Object(members) => members
                    .iter()
                    .map(|(key, value)| (key.clone(), if key == "Access-Token" { REDACTED.into() } else { expected(value) }))
                    .collect(),
                Value::Array(items) => items.iter().map(expected).collect(),
                other => other.clone(),
            }
        }
        let text = value.to_string();
        let clean = redact(&text, &rules(), &[]).unwrap_or(text);
        prop_assert_eq!(serde_json::from_str::<Value>(&clean).unwrap(), expected(&value));
    }
}
