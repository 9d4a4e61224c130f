//! `convert`

use serde_json::{Value, json};

use crate::{Scratch, run};

fn tool() -> Value {
    json!({"name": "add", "description": "Add two numbers", "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }})
}

#[track_caller]
fn check(input: &Value) {
    let run = run(&["convert", "--to", "openai"], &input.to_string());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let function = json!({"type": "function", "function": {
        "name": "add", "description": "Add two numbers", "parameters": tool()["inputSchema"],
    }});
    assert_eq!(run.json(), json!([function]));
}

#[test]
fn tools_come_as_array_object_or_reply() {
    check(&json!([tool()]));
    check(&json!({"tools": [tool()]}));
    check(&json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool()]}}));
    check(&tool());
    let function =
        json!({"name": "add", "description": "Add two numbers", "parameters": tool()["inputSchema"]});
    check(&json!({"type": "function", "function": function}));
    check(&json!({"tools": [{"functionDeclarations": [function]}]}));
}

#[test]
fn the_seeds_own_tools_are_converted_as_they_stand() {
    let functions =
        |tool: Value| run(&["convert", "--to", "openai-functions"], &json!([tool]).to_string()).json();
    let schema = json!({"type": "object", "properties": {"param": {"type": "string", "description":
        "A test parameter"}}, "required": ["param"]});
    let expected = json!([{"name": "test_tool", "description": "A test tool", "parameters": schema}]);
    for key in ["paramSchema", "input_schema"] {
        assert_eq!(
            functions(json!({"name": "test_tool", "description": "A test tool", key: schema})),
            expected
        );
    }
    let simple = json!({"name": "simple_tool", "description": "A simple tool without schema"});
    let parameters = json!({"type": "object", "properties": {}, "required": []});
    let described = json!({"name": "simple_tool", "description": "A simple tool without schema", "parameters": parameters});
    assert_eq!(functions(simple), json!([described]));
}

#[test]
fn verbatim_leaves_schemas_alone_and_warns() {
    let schema = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let list = json!([{"name": "t", "description": "d", "inputSchema": schema}]).to_string();
    let converted = run(&["convert", "--to", "dial", "--verbatim"], &list);
    assert_eq!((converted.status, &converted.json()[0]["function"]["parameters"]), (0, &schema));
    assert!(
        converted.stderr.starts_with("warning: verbatim: schemas stay as they came"),
        "{}",
        converted.stderr
    );
    let transformed = run(&["transform", "--to", "argo", "--verbatim"], &schema.to_string());
    assert_eq!((transformed.status, transformed.json()), (0, schema));
    assert!(transformed.stderr.starts_with("warning: verbatim: "), "{}", transformed.stderr);
    for command in ["convert", "transform"] {
        let refused = run(&[command, "--to", "gemini", "--verbatim"], &list);
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{command}");
        let message = "--verbatim: `gemini` has no verbatim form; use one of argo, dial, openai-functions";
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
    }
}

/// A tool that costs much where references are written out: each of its definitions refers to all others.
fn recursive() -> Value {
    let part = |n: usize| {
        let mut properties =
            json!({"name": {"type": "string", "description": format!("What part {n} is called")}});
        for other in (0..4).filter(|other| *other != n) {
            properties[format!("to_{other}")] = json!({"$ref": format!("#/$defs/d{other}")});
        }
        json!({"type": "object", "properties": properties})
    };
    let table: serde_json::Map<String, Value> = (0..4).map(|n| (format!("d{n}"), part(n))).collect();
    json!({"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"item": {"$ref": "#/$defs/d0"}}, "$defs": table}})
}

#[test]
fn a_budget_bounds_what_is_written_out() {
    let tool = recursive().to_string();
    let length = |budget: &[&str]| {
        let run = run(&[&["convert", "--to", "gemini"], budget].concat(), &tool);
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.stdout.len()
    };
    let (least, usual, most) = (length(&["--budget", "0"]), length(&[]), length(&["--budget", "off"]));
    assert!(least < usual && usual < most, "{least}, {usual}, {most}");
    let schema = recursive()["inputSchema"].to_string();
    let transformed = run(&["transform", "--to", "gemini", "--budget", "0"], &schema);
    assert!(transformed.stdout.len() < least, "{}", transformed.stdout);
    let refused = run(&["convert", "--to", "gemini", "--budget", "much"], &tool);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("expected a number of tokens, off or auto"), "{}", refused.stderr);
}

#[test]
fn a_schema_under_an_unknown_name_is_warned_about() {
    let report = Scratch::new("warned.json", "");
    let list = json!([{"name": "t", "args_schema": {"type": "object", "properties": {"a": {}}}}]);
    let run = run(&["convert", "--to", "openai", "--report", report.path()], &list.to_string());
    assert_eq!(run.status, 0);
    let warning =
        "the tool has no `inputSchema`, but `args_schema` looks like one; rename it to `inputSchema`";
    assert_eq!(run.stderr, format!("warning: `t`: {warning}\n"));
    let rows: Value = serde_json::from_str(&std::fs::read_to_string(report.path()).unwrap()).unwrap();
    assert_eq!(rows[0]["warnings"], json!([warning]));
}

#[test]
fn a_tool_without_a_name_is_named_by_its_number() {
    let run = run(&["convert", "--to", "openai"], &json!([tool(), {"description": "d"}]).to_string());
    assert_eq!((run.status, run.stderr.as_str()), (1, "left out tool #2: the tool has no name\n"));
}

#[test]
fn a_tool_that_is_too_deep_does_not_spoil_the_document() {
    let deep = format!(r#"{{"name":"deep","inputSchema":{}1{}}}"#, r#"{"not":"#.repeat(100), "}".repeat(100));
    let deeper =
        format!(r#"{{"name":"deeper","inputSchema":{}1{}}}"#, r#"{"not":"#.repeat(9000), "}".repeat(9000));
    let run = run(&["convert", "--to", "openai"], &format!("[{deep},{},{deeper}]", tool()));
    assert_eq!((run.status, run.json().as_array().unwrap().len()), (1, 1));
    assert_eq!(run.stderr.matches("MCP_TOOL_SCHEMA_UNBOUNDED").count(), 2, "{}", run.stderr);
    let check =
        crate::run(&["check", "--to", "openai", "--format", "json"], &format!("[{},{deeper}]", tool()));
    assert_eq!(check.status, 1, "{}", check.stderr);
    let left_out: Vec<Value> = check.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["rule"] == "tool-left-out")
        .map(|finding| finding["tool"].clone())
        .collect();
    assert_eq!(left_out, ["deeper"]);
}

#[test]
fn a_document_wraps_the_list_under_the_request_key() {
    let input = json!([tool()]).to_string();
    let gemini = run(&["convert", "--to", "gemini", "--document"], &input).json();
    assert_eq!(gemini["function_declarations"][0]["name"], "add");
    let anthropic = run(&["convert", "--to", "anthropic", "--document", "-"], &input).json();
    assert_eq!(anthropic["tools"][0]["input_schema"], tool()["inputSchema"]);
}

#[test]
fn a_model_chooses_the_dialect() {
    let run = run(&["convert", "--model", "us.anthropic.claude-opus-4"], &json!([tool()]).to_string());
    assert_eq!(run.json()[0]["input_schema"]["type"], "object");
}

#[test]
fn the_report_tells_of_every_change() {
    let file = Scratch::new("report.json", "");
    let mut tool = tool();
    tool["inputSchema"]["properties"]["a"]["multipleOf"] = json!(5);
    let run = run(&["convert", "--to", "gemini", "--report", file.path()], &json!([tool]).to_string());
    assert_eq!(run.status, 0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&file.0).unwrap()).unwrap();
    let change = &report[0]["changes"][0];
    assert_eq!(
        (&report[0]["name"], &change["path"], &change["keyword"], &change["value"], &change["fate"]),
        (&json!("add"), &json!("/properties/a"), &json!("multipleOf"), &json!(5), &json!("described")),
    );
}

#[test]
fn lines_go_on_after_a_bad_one() {
    let input = format!("{}\n{{\"name\": \n\n{}\n", tool(), tool());
    let run = run(&["convert", "--to", "openai", "--jsonl"], &input);
    assert_eq!(run.status, 1);
    let rows = run.lines();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0], rows[2]);
    assert_eq!((&rows[0]["name"], &rows[0]["quarantine"]), (&json!("add"), &Value::Null));
    assert_eq!((&rows[1]["name"], &rows[1]["tool"]), (&Value::Null, &Value::Null));
    assert!(rows[1]["quarantine"].as_str().unwrap().starts_with("line 2 is not JSON"));
}

#[test]
fn lines_come_out_as_they_go_in() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    // Enough lines to fill every buffer: the first answer must come before the input ends.
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("mcp-tool-gateway"))
        .args(["convert", "--to", "openai", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let line = format!("{}\n", tool());
        for _ in 0..2000 {
            stdin.write_all(line.as_bytes()).unwrap();
        }
        stdin
    });
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(answers.next().unwrap().unwrap().starts_with(r#"{"name":"add""#));
    let counted = std::thread::spawn(move || answers.count());
    drop(writer.join().unwrap());
    assert_eq!(counted.join().unwrap(), 1999);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_tool_that_cannot_be_sent_is_left_out_and_named() {
    let list = json!([tool(), {"name": "bad", "inputSchema": {"type": "string"}}, tool()]);
    let run = run(&["convert", "--to", "openai"], &list.to_string());
    assert_eq!(run.status, 1);
    assert_eq!(run.json().as_array().unwrap().len(), 1);
    assert!(
        run.stderr.contains("left out `bad`: the input schema describes type `string`"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("left out `add`: another tool is called `add`"), "{}", run.stderr);
}

#[test]
fn options_are_flags() {
    let list = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {
        "key": {"type": "string"}, "unit": {"type": "string", "default": "C"},
    }, "required": []}}]);
    let run = run(
        &[
            "convert",
            "--to",
            "openai",
            "--inject",
            "key=\"secret\"",
            "--defaults",
            "strip",
            "--empty-required",
            "omit",
            "--description-fallback",
            "About {name}",
        ],
        &list.to_string(),
    );
    let expected = json!([{"type": "function", "function": {"name": "t", "description": "About t", "parameters":
        {"type": "object", "properties": {"unit": {"type": "string"}}}}}]);
    assert_eq!(run.json(), expected, "{}", run.stderr);
}
