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
fn any_schema_is_taken() {
    let run =
        run(&["transform", "--to", "universal"], r#"{"type": "string", "format": "uri", "minLength": 5}"#);
    let expected = json!({"type": "string", "description": "{\"format\":\"uri\",\"minLength\":5}"});
    assert_eq!((run.status, run.json(), run.stderr.as_str()), (0, expected, ""));
}

#[test]
fn a_broken_schema_comes_back_with_a_note() {
    for input in [r##"{"$ref":"#/nope"}"##, r#"{"enum":"abc"}"#, r#"{"anyOf":{}}"#] {
        let run = run(&["transform", "--to", "gemini"], input);
        assert_eq!((run.status, run.stdout.trim()), (1, input), "{input}");
        assert!(run.stderr.contains("so it comes back unchanged"), "{}", run.stderr);
    }
    let nothing = run(&["transform", "--to", "gemini"], r#"{"type":"object","properties":{}}"#);
    assert_eq!((nothing.status, nothing.stdout.trim()), (0, "null"));
}

#[test]
fn what_is_no_schema_comes_back_with_a_note() {
    for input in ["true", "null", "\"x\"", "[]"] {
        let run = run(&["transform", "--to", "openai"], input);
        assert_eq!((run.status, run.stdout.trim()), (0, input), "{input}");
        let note = "note: standard input: it is not a JSON object, so it comes back unchanged\n";
        assert_eq!(run.stderr, note, "{input}");
    }
}

#[test]
fn an_unknown_model_changes_nothing() {
    let (original, schema) = (schema(), schema().to_string());
    let unknown = run(&["transform", "--model", "acme-large"], &schema);
    assert_eq!((unknown.status, unknown.json()), (0, original));
    assert!(unknown.stderr.contains("no rule knows the model `acme-large`"), "{}", unknown.stderr);
    let both = run(&["transform", "--to", "gemini", "--model", "acme-large"], &schema);
    assert_eq!(both.json(), run(&["transform", "--to", "gemini"], &schema).json());
    assert!(both.stderr.contains("no rule knows the model `acme-large`"), "{}", both.stderr);
}

#[test]
fn a_model_adds_its_layer_to_a_dialect() {
    let schema = json!({"type": "string", "format": "uri", "minLength": 5}).to_string();
    let both = run(&["transform", "--to", "anthropic", "--model", "o3-mini"], &schema);
    assert_eq!((both.status, both.stderr.as_str()), (0, ""));
    assert!(both.json()["description"].as_str().unwrap().starts_with("IMPORTANT: "), "{}", both.stdout);
}

#[test]
fn a_schema_that_is_too_deep_comes_back_as_it_was() {
    let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(200), "}".repeat(200));
    let run = run(&["transform", "--to", "openai"], &deep);
    assert_eq!((run.status, run.stdout.trim()), (1, deep.as_str()));
    assert!(run.stderr.contains("comes back unchanged: recursion limit"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (input, part) in [
        ("{", "reading standard input as JSON"),
        (r#"{"type":"a","type":"b"}"#, "the member \"type\" is repeated"),
        (
            r#"{"tools":[{"name":"a"}]}"#,
            "standard input holds tools, not a schema; `convert` translates tools",
        ),
        (r#"{"name":"a","inputSchema":{}}"#, "holds tools, not a schema"),
    ] {
        let run = run(&["transform", "--to", "openai"], input);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{input}");
        assert!(run.stderr.contains(part), "{input}: {}", run.stderr);
    }
}

#[test]
fn a_dialect_that_wants_no_schema_says_so() {
    let run = run(&["transform", "--to", "gemini"], r#"{"type":"object","properties":{}}"#);
    assert_eq!((run.status, run.stdout.as_str()), (0, "null\n"));
    assert!(run.stderr.contains("`gemini` wants no schema where there are no parameters"), "{}", run.stderr);
}
