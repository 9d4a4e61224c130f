//! `arguments`

use serde_json::{Value, json};

use crate::run;

fn tool() -> Value {
    json!({"name": "t", "inputSchema": {
        "type": "object",
        "properties": {
            "first name": {"type": "string", "minLength": 2},
            "size": {"enum": [1, 2]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["first name"],
        "additionalProperties": false,
    }})
}

/// Decodes each of `arguments`.
#[track_caller]
fn decode(flags: &[&str], arguments: &[Value]) -> (i32, Vec<Value>) {
    let lines: Vec<String> = arguments
        .iter()
        .map(|arguments| json!({"tool": tool(), "arguments": arguments}).to_string())
        .collect();
    let run =
        run(&[&["arguments", "decode", "--to", "gemini", "--jsonl"], flags].concat(), &lines.join("\n"));
    (run.status, run.lines())
}

#[test]
fn arguments_travel_there_and_back() {
    let given = json!({"first name": "Ada", "size": 2, "labels": {"a": "b"}});
    let line = json!({"tool": tool(), "arguments": given}).to_string();
    let encoded = run(&["arguments", "encode", "--to", "gemini", "--jsonl"], &line).lines();
    let wire = json!({"first_name": "Ada", "size": "2", "labels": [{"key": "a", "value": "b"}]});
    assert_eq!(encoded, [json!({ "arguments": wire })]);
    assert_eq!(decode(&[], &[wire]), (0, vec![json!({ "arguments": given })]));
}

#[test]
fn defaults_are_filled_in_on_request() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}});
    let line = json!({"tool": {"name": "t", "inputSchema": schema}, "arguments": {}}).to_string();
    let decode = |flags: &[&str]| {
        run(&[&["arguments", "decode", "--to", "argo", "--jsonl"], flags].concat(), &line).lines()
    };
    assert_eq!(decode(&["--fill-defaults"]), [json!({"arguments": {"a": "x"}, "filled": ["/a"]})]);
    assert_eq!(decode(&[]), [json!({"arguments": {}})]);
}

#[test]
fn all_errors_are_reported_in_the_names_that_the_model_saw() {
    let (status, rows) = decode(&[], &[json!({"first_name": "A"}), json!({"size": "1"})]);
    assert_eq!(status, 1);
    let message = "The arguments do not fit the tool's parameters. Correct this and call it again:\n- \
                   `first_name`: expected at least 2 characters, got string \"A\"";
    let issue = json!({"path": "/first_name", "expected": "at least 2 characters", "got": "string \"A\"",
        "message": "expected at least 2 characters, got string \"A\""});
    assert_eq!(rows[0], json!({"error": {"message": message, "issues": [issue]}}));
    assert_eq!(rows[1]["error"]["issues"][0]["path"], "/first_name");
}

#[test]
fn text_is_read_as_json_and_repaired_only_on_request() {
    let bad = json!("{'first_name': 'Ada',}");
    let good = json!({"first name": "Ada"});
    assert_eq!(decode(&[], &[json!(r#"{"first_name": "Ada"}"#)]), (0, vec![json!({"arguments": good})]));
    let (status, rows) = decode(&[], std::slice::from_ref(&bad));
    assert_eq!(status, 1);
    assert!(rows[0]["error"]["message"].as_str().unwrap().starts_with("arguments field is not valid JSON"));
    let repaired = json!({"arguments": good, "repairs": ["trailing-commas", "single-quotes"]});
    assert_eq!(decode(&["--bad-arguments", "repair"], std::slice::from_ref(&bad)), (0, vec![repaired]));
    let raw = json!({"arguments": {"raw": "{'first_name': 'Ada',}"}, "raw": true});
    assert_eq!(decode(&["--bad-arguments", "raw"], &[bad]), (0, vec![raw]));
}

#[test]
fn types_are_coerced_only_on_request() {
    let line = json!({"tool": {"name": "t", "inputSchema": {"type": "object", "properties": {
        "n": {"type": "integer"}}}}, "arguments": {"n": "5"}})
    .to_string();
    let decode = ["arguments", "decode", "--to", "openai", "--jsonl"];
    assert_eq!(run(&decode, &line).status, 1);
    let coerced = run(&[&decode[..], &["--coerce"]].concat(), &line).lines();
    assert_eq!(
        coerced,
        [json!({"arguments": {"n": 5}, "coercions": [{"path": "/n", "rule": "text-to-number"}]})]
    );
}

#[test]
fn bad_lines_and_tools_are_answered_in_order() {
    let quarantined = json!({"tool": {"name": "t", "inputSchema": false}, "arguments": {}});
    let good = json!({"tool": tool(), "arguments": {"first_name": "Ada"}});
    let input = format!("{good}\nnonsense\n{{\"arguments\": {{}}}}\n{quarantined}\n{good}\n");
    let run = run(&["arguments", "decode", "--to", "gemini", "--jsonl"], &input);
    assert_eq!(run.status, 1);
    let rows = run.lines();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0], rows[4]);
    assert!(rows[1]["error"]["message"].as_str().unwrap().starts_with("line 2 is not {\"tool\""));
    assert_eq!(rows[2], json!({"error": {"message": "line 3 has no `tool`"}}));
    assert_eq!(rows[3]["error"]["code"], "QUARANTINED");
}

#[test]
fn a_tool_that_is_too_deep_fails_only_its_own_line() {
    let deep = format!(r#"{{"name":"t","inputSchema":{}{{}}{}}}"#, r#"{"not":"#.repeat(200), "}".repeat(200));
    let function = json!({"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}});
    let input =
        format!("{{\"tool\":{deep},\"arguments\":{{}}}}\n{{\"tool\":{function},\"arguments\":{{}}}}\n");
    let run = run(&["arguments", "decode", "--to", "openai", "--jsonl"], &input);
    let rows = run.lines();
    assert_eq!((run.status, rows.len()), (1, 2), "{}", run.stderr);
    assert!(rows[0]["error"]["message"].as_str().unwrap().contains("levels deep"), "{}", rows[0]);
    assert_eq!(rows[1], json!({"arguments": {}}));
}
