//! `transform`

use serde_json::{Value, json};

use crate::{Scratch, run};

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "number", "exclusiveMinimum": 0}}, "required": ["a"]})
}

#[test]
fn a_schema_is_written_as_the_model_takes_it() {
    let transformed = run(&["transform", "--model", "gemini-2.5-flash"], &schema().to_string());
    assert_eq!(transformed.status, 0, "{}", transformed.stderr);
    let tools = json!([{"name": "x", "inputSchema": schema()}]).to_string();
    let converted = run(&["convert", "--model", "gemini-2.5-flash"], &tools);
    let declared = converted.json();
    let declared = declared.pointer("/0/parameters").or_else(|| declared.pointer("/0/parametersJsonSchema"));
    assert_eq!(Some(&transformed.json()), declared, "{}", converted.stdout);
    for (dialect, pointer) in [
        ("openai", "/0/function/parameters"),
        ("anthropic", "/0/input_schema"),
        ("bedrock", "/0/toolSpec/inputSchema/json"),
        ("openai-responses", "/0/parameters"),
        ("mcp", "/0/inputSchema"),
    ] {
        let transformed = run(&["transform", "--to", dialect], &schema().to_string());
        let converted = run(&["convert", "--to", dialect], &tools).json();
        assert_eq!(Some(&transformed.json()), converted.pointer(pointer), "{dialect}: {converted}");
    }
}

#[test]
fn a_file_is_read_and_changes_are_reported() {
    let file = Scratch::new("transform-schema.json", &schema().to_string());
    let report = Scratch::new("transform-report.json", "");
    let run = run(&["transform", "--to", "gemini", "--report", report.path(), file.path()], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let changes: Value = serde_json::from_str(&std::fs::read_to_string(report.path()).unwrap()).unwrap();
    assert!(changes.to_string().contains("exclusiveMinimum"), "{changes}");
}

#[test]
fn what_is_no_schema_is_refused() {
    for (input, part) in [
        ("[]", "standard input holds no schema: expected an object"),
        ("{", "reading standard input as JSON"),
        (
            r#"{"type":"string"}"#,
            "the schema cannot be transformed: the input schema describes type `string`",
        ),
    ] {
        let run = run(&["transform", "--to", "openai"], input);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{input}");
        assert!(run.stderr.contains(part), "{input}: {}", run.stderr);
    }
}
