//! Repeated members in what models write.

use gateway_dialects::arguments::{ArgumentError, BadArguments, parse_arguments};
use gateway_dialects::calls::{Arguments, CallError, ReadOptions, parse_reply};
use serde_json::{Value, json};

#[test]
fn arguments_with_a_repeated_member_are_refused_and_never_repaired() {
    let texts = [
        r#"{"a":1,"a":2}"#,
        r#"{"x":[{"a":1,"\u0061":1}]}"#,
        r#"{"a":{"b":1},"a":2}"#,
        "{a: 1, 'a': 2}",
        "```json\n{\"a\":1,\"a\":2}\n```",
        r#""{\"a\":1,\"a\":2}""#,
        r#"{"x":{"a":1,"a":2},}"#,
    ];
    for text in texts {
        let given = Arguments::Text(text.to_owned());
        let refused = parse_arguments(&given, BadArguments::Repair);
        assert!(
            matches!(&refused, Err(ArgumentError::Repeated { cause }) if cause.contains("the member \"a\" is repeated")),
            "{text}: {refused:?}"
        );
        assert!(parse_arguments(&given, BadArguments::Error).is_err(), "{text}");
        let raw = parse_arguments(&given, BadArguments::Raw).unwrap();
        assert_eq!((Value::Object(raw.object), raw.raw), (json!({ "raw": text }), true));
    }
}

#[test]
fn a_reply_in_json_text_names_its_members_once() {
    let text = r#"{"type":"tool_use","id":"1","name":"t","name":"u","input":{}}"#;
    let refused = parse_reply(&json!(text), &ReadOptions::default());
    assert!(
        matches!(&refused, Err(CallError::Json { cause }) if cause.contains("the member \"name\" is repeated")),
        "{refused:?}"
    );
}

#[test]
fn what_repeats_nothing_is_read_as_ever() {
    let texts = [
        r#"{"a":{"a":[1,-1,1.5,18446744073709551615,true,null,"x\n"]},"b":{"a":{}}}"#,
        "[]",
        "\"text\"",
        "null",
        "1e400",
        "{",
        "{} {}",
    ];
    for text in texts {
        let ours = gateway_dialects::from_slice(text.as_bytes()).map_err(|error| error.to_string());
        let theirs = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        assert_eq!(ours, theirs, "{text}");
    }
}
