//! Repeated members in documents.

use crate::run;

#[test]
fn a_document_with_a_repeated_member_is_unreadable_input() {
    let tools = r#"[{"name":"t","description":"a","description":"b","inputSchema":{"type":"object"}}]"#;
    let schema = r#"{"type":"object","properties":{"a":{},"a":{}}}"#;
    let cases: [(&[&str], &str, &str); 5] = [
        (&["convert", "--to", "openai"], tools, "\"description\" is repeated in the object at /0"),
        (&["check"], tools, "\"description\" is repeated in the object at /0"),
        (&["transform", "--to", "openai"], schema, "\"a\" is repeated in the object at /properties"),
        (&["tokens"], tools, "\"description\" is repeated in the object at /0"),
        (&["call", "t", "-"], r#"{"x":{"a":1,"a":2}}"#, "\"a\" is repeated in the object at /x"),
    ];
    for (arguments, input, message) in cases {
        let run = run(arguments, input);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_line_with_a_repeated_member_is_answered_with_an_error() {
    let line = r#"{"tool":{"name":"t","inputSchema":{"type":"object"}},"arguments":{"a":1,"a":2}}"#;
    let decoded = run(&["arguments", "decode", "--to", "openai", "--jsonl"], line);
    assert_eq!(decoded.status, 1, "{}", decoded.stderr);
    let message = "line 1: the member \"a\" is repeated in the object at /arguments; send each member once";
    assert_eq!(decoded.lines(), [serde_json::json!({"error": {"message": message}})]);
    let converted = run(&["convert", "--to", "openai", "--jsonl"], r#"{"name":"t","name":"u"}"#);
    assert_eq!(converted.status, 1, "{}", converted.stderr);
    assert!(converted.stdout.contains("is repeated"), "{}", converted.stdout);
}
