//! `dialects`, and dialects from files.

use serde_json::{Value, json};

use crate::{Scratch, repository, run};

#[test]
fn the_list_names_all_dialects() {
    let list = run(&["dialects"], "");
    assert_eq!(list.status, 0);
    let rows = run(&["dialects", "--json"], "").json();
    for row in rows.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        assert!(list.stdout.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let openai = rows.as_array().unwrap().iter().find(|row| row["name"] == "openai-chat").unwrap();
    let expected = json!({"name": "openai-chat", "title": "OpenAI Chat Completions", "aliases": ["openai"],
        "extends": null, "layer": false});
    assert_eq!(*openai, expected);
}

#[test]
fn one_dialect_is_readable() {
    let text = run(&["dialects", "gemini"], "").stdout;
    for line in [
        "tool names           letters, digits and _ - ., starting with a letter or _, at most 64",
        "nullable",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn one_dialect_is_data_under_the_keys_of_the_file() {
    let rules = run(&["dialects", "openai-chat-strict", "--json"], "").json();
    assert_eq!((&rules["tool"]["strict"], &rules["schema"]["null"]), (&json!("true"), &json!("type-list")));
    assert_eq!(
        (&rules["schema"]["keywords"]["not"], &rules["names"]["max"]),
        (&json!("describe"), &json!(64))
    );
}

const ACME: &str = "docs/examples/acme.toml";

#[test]
fn a_file_alone_adds_an_endpoint_with_its_own_rules() {
    let tools = json!([{"name": "9-orders.list/by-customer-and-by-date", "description": "List orders", "inputSchema": {
        "type": "object",
        "properties": {
            "since": {"type": ["string", "null"], "format": "date"},
            "limit": {"type": "integer", "multipleOf": 5, "minimum": 5},
        },
        "required": ["since"],
    }}]);
    let converted = run(&["convert", "--to", "acme-chat", "--dialect-file", ACME], &tools.to_string());
    assert_eq!(converted.status, 0, "{}", converted.stderr);
    let function = &converted.json()[0]["function"];
    let name = function["name"].as_str().unwrap();
    assert!(name.len() <= 32 && name.starts_with('_') && !name.contains(['-', '.', '/']), "{name}");
    let properties = json!({
        "since": {"type": "string", "nullable": true, "description": "Constraints: format: date"},
        "limit": {"type": "integer", "minimum": 5, "description": "Constraints: number must be a multiple of 5"},
    });
    assert_eq!(function["parameters"]["properties"], properties);
    let report =
        run(&["check", "--to", "acme", "--dialect-file", ACME, "--format", "json"], &tools.to_string());
    assert_eq!(report.json()["dialects"][0]["described"], Value::Null);
    assert_eq!(report.json()["dialects"][0]["counts"]["described"], 2);
    assert!(run(&["dialects", "acme", "--dialect-file", ACME], "").stdout.contains("Acme inference server"));
}

#[test]
fn the_documentation_shows_that_very_file() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    assert!(read("docs/reference/dialects.md").contains(&read(ACME)));
}

#[test]
fn a_bad_file_is_refused_with_its_name_and_fault() {
    for (text, fault) in [
        ("name = ", "TOML"),
        ("title = \"x\"", "`name` is missing"),
        (
            "name = \"x\"\ntitle = \"x\"\nextends = \"openai\"\n[schema]\nnul = \"branch\"",
            "unknown field `nul`",
        ),
        ("name = \"x\"\ntitle = \"x\"\nextends = \"nowhere\"", "extends `nowhere`, which does not exist"),
        (
            "name = \"x\"\ntitle = \"x\"\nextends = \"openai\"\n[schema.keywords]\nfoo = \"keep\"",
            "`foo` is not a known",
        ),
    ] {
        let file = Scratch::new(&format!("bad-{}.toml", text.len()), text);
        let run = run(&["convert", "--to", "openai", "--dialect-file", file.path()], "[]");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{text}");
        assert!(run.stderr.contains(fault), "{text}: {}", run.stderr);
    }
}

#[test]
fn a_model_is_detected() {
    let found = run(&["detect", "gpt-4"], "");
    let expected = json!({"provider": "openai", "modelId": "gpt-4", "supportsStructuredOutputs": true,
        "isReasoningModel": false, "dialect": "openai-chat", "layer": null});
    assert_eq!((found.status, found.json()), (0, expected));
    let unknown = run(&["detect", "acme-large"], "");
    assert_eq!((unknown.status, &unknown.json()["provider"]), (1, &json!("unknown")));
}
