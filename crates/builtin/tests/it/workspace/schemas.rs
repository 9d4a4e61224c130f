//! The definitions, compared with the text that they come from.

use std::path::Path;

use gateway_protocol::{RpcError, code};
use serde_json::{Map, Value, json};

use super::workbench::Bench;

async fn definitions() -> Vec<Value> {
    Bench::new().ask("tools/list", &json!({})).await["tools"].as_array().unwrap().clone()
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap()
}

/// What the origin says, for where its text is not at hand.
fn facts() -> Vec<(&'static str, &'static str, Value)> {
    let field = |kind: &str, description: &str| json!({"type": kind, "description": description});
    vec![
        (
            "read_file",
            "Request to read the contents of a file at the specified path",
            json!({
                "type": "object",
                "properties": {
                    "path": field("string", "The path of the file to read (relative to the current workspace directory)"),
                    "start_line": field("integer", "The starting line number to read from (1-based)"),
                    "end_line": field("integer", "The ending line number to read to (1-based, inclusive)"),
                },
                "required": ["path"],
            }),
        ),
        (
            "write_to_file",
            "Request to write full content to a file at the specified path",
            json!({
                "type": "object",
                "properties": {
                    "path": field("string", "The path of the file to write to (relative to the current workspace directory)"),
                    "content": field("string", "The content to write to the file"),
                    "line_count": field("integer", "The number of lines in the file"),
                },
                "required": ["path", "content", "line_count"],
            }),
        ),
    ]
}

#[tokio::test]
async fn the_first_two_tools_are_those_of_the_origin() {
    let tools = definitions().await;
    for (name, description, schema) in facts() {
        let tool = named(&tools, name);
        assert_eq!((&tool["description"], &tool["inputSchema"]), (&json!(description), &schema), "{name}");
    }
}

/// The facts above are read out of the origin's text, where that lies beside the project.
#[test]
fn the_facts_are_those_of_the_text() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let Ok(entries) = std::fs::read_dir(&seeds) else {
        let is_ci = std::env::var("CI").is_ok_and(|word| word == "true");
        assert!(!is_ci, "no {}", seeds.display());
        return;
    };
    let text = entries
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .find(|text| text.contains("name: 'write_to_file'"))
        .expect("one of the texts has the tools");
    for (name, description, schema) in facts() {
        let tool =
            text.split("registerTool(").find(|part| part.contains(&format!("name: '{name}'"))).unwrap();
        let (head, rest) = tool.split_once("paramSchema:").unwrap();
        assert!(head.contains(&format!("description: '{description}'")), "{head}");
        let (literal, _) = rest.split_once("handler:").unwrap();
        assert_eq!(object_literal(literal), schema, "{name}");
    }
}

/// An object as a script has it: names without quotes, texts in single ones.
fn object_literal(text: &str) -> Value {
    let mut json = String::new();
    let mut word = String::new();
    let mut is_text = false;
    for letter in text.trim().trim_end_matches(',').chars() {
        match letter {
            '\'' => {
                is_text = !is_text;
                json.push('"');
            }
            letter if is_text => json.push(letter),
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            ':' => json.extend(["\"", &std::mem::take(&mut word), "\":"]),
            letter => json.push(letter),
        }
    }
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[tokio::test]
async fn the_other_tools_have_the_parameters_of_the_origin() {
    let tools = definitions().await;
    for (name, parameters, required) in [
        ("list_files", vec!["path", "recursive"], vec!["path"]),
        ("search_files", vec!["path", "regex", "file_pattern"], vec!["path", "regex"]),
        ("apply_diff", vec!["path", "diff"], vec!["path", "diff"]),
        ("insert_content", vec!["path", "operations"], vec!["path", "operations"]),
        ("search_and_replace", vec!["path", "operations"], vec!["path", "operations"]),
        ("ask_followup_question", vec!["question", "follow_up"], vec!["question"]),
    ] {
        let schema = &named(&tools, name)["inputSchema"];
        let properties: &Map<String, Value> = schema["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), parameters, "{name}");
        assert_eq!(schema["required"], json!(required), "{name}");
        assert!(properties.values().all(|property| property["description"].is_string()), "{name}");
        // The origin has these as texts.
        for member in ["operations", "follow_up"] {
            if let Some(property) = properties.get(member) {
                assert!(jsonschema::is_valid(property, &json!("a text")), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn annotations_say_what_a_call_does() {
    let tools = definitions().await;
    let hints: Vec<(&str, [bool; 3])> = tools
        .iter()
        .map(|tool| {
            let hint = |name: &str| tool["annotations"][name].as_bool().unwrap();
            (
                tool["name"].as_str().unwrap(),
                [hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint")],
            )
        })
        .collect();
    let expected = [
        ("read_file", [true, false, true]),
        ("write_to_file", [false, true, true]),
        ("list_files", [true, false, true]),
        ("search_files", [true, false, true]),
        ("apply_diff", [false, true, false]),
        ("insert_content", [false, false, false]),
        ("search_and_replace", [false, true, false]),
        ("ask_followup_question", [true, false, false]),
    ];
    assert_eq!(hints, expected);
}

#[tokio::test]
async fn wrong_requests_are_refused_with_a_code() {
    let bench = Bench::new();
    let ask = async |method: &str, params: Value| {
        let params = gateway_protocol::RawJson::of(&params).unwrap();
        bench.server.handle(method, Some(&params)).await
    };
    let unknown = ask("tools/call", json!({"name": "delete_everything"})).await.unwrap_err();
    assert_eq!(unknown, RpcError::new(code::INVALID_PARAMS, "Unknown tool: delete_everything"));
    let method = ask("resources/list", json!({})).await.unwrap_err();
    assert_eq!(method.code, code::METHOD_NOT_FOUND);
    let responses =
        json!({"name": "ask_followup_question", "arguments": {"question": "x"}, "inputResponses": [1]});
    assert_eq!(ask("tools/call", responses).await.unwrap_err().code, code::INVALID_PARAMS);
    let discovered = bench.ask("server/discover", &json!({})).await;
    assert_eq!(discovered["_meta"][gateway_protocol::meta::SERVER_INFO]["name"], "workspace");
}
