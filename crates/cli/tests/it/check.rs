//! `check`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, ad_hoc, words};
use crate::{Scratch, run};

/// One tool for each thing that is looked for.
fn troubled() -> Value {
    json!({"tools": [
        {"name": "list.orders", "description": "Ok", "inputSchema": {"type": "object", "properties": {
            "since": {"type": "date", "description": "Start"},
            "status": {"type": "string", "description": "One of 'open', 'closed' or 'all'; defaults to open"},
            "ids": {"type": "array", "description": "Which"},
            "filter": {"type": "object", "description": "More"},
            "arg1": {"description": "?"},
            "customer id": {"$ref": "#/$defs/nothing"},
            "code": {"type": "string", "pattern": "(?<year>\\d+)", "description": "Code"},
            "page": {"type": "integer", "minimum": 1, "default": 0, "description": "Page"},
        }, "required": ["since", "until"]}},
        {"name": "list_orders", "inputSchema": {"oneOf": [{"properties": {"x": {"type": "string"}}}]}},
        {"name": "list_orders", "description": "The same once more, by mistake"},
        {"description": "A tool that nobody can call", "inputSchema": {"type": "object"}},
        {"name": "text", "description": "Arguments that are text", "inputSchema": {"type": "string"}},
        7,
    ]})
}

fn good() -> Value {
    json!([{"name": "get_weather", "description": "Current weather of a city", "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name"}},
        "required": ["city"],
    }}])
}

fn found(report: &Value) -> BTreeSet<(String, String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|one| (text(one, "level"), text(one, "rule"), text(one, "pointer"))).collect()
}

#[test]
fn every_lack_is_found() {
    let run = run(&["check", "--format", "json"], &troubled().to_string());
    assert_eq!(run.status, 1);
    let report = run.json();
    let expected = [
        ("error", "name-duplicate", "/name"),
        ("error", "name-missing", ""),
        ("error", "ref-dangling", "/inputSchema/properties/customer id/$ref"),
        ("error", "schema-invalid", "/inputSchema/properties/since/type"),
        ("error", "tool-left-out", ""),
        ("error", "tool-not-object", ""),
        ("note", "default-in-prose", "/inputSchema/properties/status"),
        ("note", "description-short", "/description"),
        ("note", "enum-in-prose", "/inputSchema/properties/status"),
        ("note", "name-unclear", "/inputSchema/properties/arg1"),
        ("note", "object-free", "/inputSchema/properties/filter"),
        ("note", "required-missing", "/inputSchema/oneOf/0"),
        ("warning", "default-invalid", "/inputSchema/properties/page/default"),
        ("warning", "description-missing", ""),
        ("warning", "items-missing", "/inputSchema/properties/ids"),
        ("warning", "key-illegal", "/inputSchema/properties/customer id"),
        ("warning", "name-clash", "/name"),
        ("warning", "name-illegal", "/name"),
        ("warning", "parameter-undescribed", "/inputSchema/oneOf/0/properties/x"),
        ("warning", "parameter-undescribed", "/inputSchema/properties/customer id"),
        ("warning", "pattern-not-portable", "/inputSchema/properties/code/pattern"),
        ("warning", "required-unknown", "/inputSchema/required"),
        ("warning", "root-type-missing", "/inputSchema"),
        ("warning", "root-union", "/inputSchema/oneOf"),
        ("warning", "schema-missing", ""),
        ("warning", "type-missing", "/inputSchema/properties/arg1"),
    ];
    let found = found(&report);
    let missing: Vec<_> = expected
        .iter()
        .filter(|(level, rule, pointer)| {
            !found.contains(&((*level).to_owned(), (*rule).to_owned(), (*pointer).to_owned()))
        })
        .collect();
    assert!(missing.is_empty(), "missing: {missing:#?}\nfound: {found:#?}");
    assert_eq!(report["totals"]["tools"], 6);
}

#[test]
fn a_good_tool_has_no_findings_and_changes_nowhere_in_plain_dialects() {
    let run = run(
        &["check", "--to", "openai,anthropic,gemini", "--format", "json", "--fail-on", "note"],
        &good().to_string(),
    );
    assert_eq!((run.status, &run.json()["findings"]), (0, &json!([])));
    let statuses: Vec<_> = run.json()["tools"][0]["dialects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["status"].clone())
        .collect();
    assert_eq!(statuses, ["ok", "ok", "ok"]);
}

#[test]
fn the_exit_status_follows_the_level() {
    let mut tools = good();
    tools[0]["inputSchema"]["properties"]["city"] = json!({"type": "string"});
    let status = |level: &str| run(&["check", "--fail-on", level], &tools.to_string()).status;
    assert_eq!(["error", "warning", "note", "never"].map(status), [0, 1, 1, 0]);
    assert_eq!(run(&["check", "--fail-on", "never"], &troubled().to_string()).status, 0);
}

#[test]
fn the_table_is_plain_and_aligned() {
    let run = run(&["check", "--to", "openai,gemini", "--details"], &good().to_string());
    assert!(!run.stdout.contains('\u{1b}'));
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn findings_come_first_grouped_by_advice_with_lines() {
    let text = "[\n {\"name\": \"a.b\", \"description\": \"Something useful\", \"inputSchema\": {\"type\": \"object\",\n  \"properties\": {\n   \"x\": {\"type\": \"string\"},\n   \"y\": {\"type\": \"strng\"}}, \"required\": []}},\n 7]";
    let file = Scratch::new("grouped.json", text);
    let run = run(&["check", "--to", "openai,gemini", file.path()], "");
    assert_eq!(run.status, 1);
    let path = file.path();
    let expected = format!(
        "{path}: 2 tools in 2 dialects, 3 errors, 3 warnings, 0 notes

error: A keyword has a value that JSON Schema does not allow [schema-invalid]
  do: write what the keyword asks for; until then it is repaired or not checked
  {path}:5:18: a.b/inputSchema/properties/y/type: \"strng\" is no type of JSON Schema

error: An entry of the list is not a tool [tool-not-object]
  do: give a JSON object with name, description and inputSchema
  {path}:6:2: (tool #2): the entry is not a JSON object
"
    );
    let shown: Vec<&str> = run.stdout.lines().collect();
    let advice = |rule: &str| run.stdout.find(&format!("[{rule}]")).unwrap_or(usize::MAX);
    assert!(
        run.stdout.starts_with(expected.lines().next().unwrap().rsplit_once(", 3 errors").unwrap().0),
        "{shown:#?}"
    );
    for line in expected.lines().skip(2) {
        assert!(shown.contains(&line), "{line:?} is not in {shown:#?}");
    }
    assert_eq!(run.stdout.matches("say what the value means").count(), 1, "one advice once: {shown:#?}");
    assert!(run.stdout.contains("[parameter-undescribed] (2)\n"), "{shown:#?}");
    assert!(advice("schema-invalid") < advice("parameter-undescribed"), "{shown:#?}");
    assert!(advice("name-illegal") < run.stdout.find("\ndialect ").unwrap(), "{shown:#?}");
    assert!(run.stdout.contains("do: use letters, digits, _ and -, at most 64 characters"), "{shown:#?}");
    assert!(!run.stdout.contains("quarantined") && run.stdout.contains("  left out "), "{shown:#?}");
}

#[test]
fn the_advice_on_names_follows_the_dialects_that_refuse_them() {
    let dialect = Scratch::new(
        "short.toml",
        "name = \"short\"\ntitle = \"Short names\"\nextends = \"openai-chat\"\n[names]\nmax = 32\n",
    );
    let mut tools = good();
    tools[0]["name"] = json!("get_weather_of_a_city_with_a_long_name");
    let flags = ["check", "--to", "openai,short", "--dialect-file", dialect.path(), "--format", "json"];
    let report = run(&flags, &tools.to_string()).json();
    assert_eq!(report["findings"][0]["dialects"], json!(["short"]));
    assert_eq!(report["findings"][0]["help"], "use letters, digits, _ and -, at most 32 characters");
}

#[test]
fn a_servers_own_tools_are_checked() {
    let words = words(&gateway_testkit::Fixture::stdio());
    let sandbox = Sandbox::new();
    let checked = sandbox.run(&ad_hoc(&["check", "--to", "openai", "--format", "json"], &words));
    assert_eq!(checked.json()["totals"]["tools"], 18, "{}", checked.stderr);
    let text = sandbox.run(&ad_hoc(&["check", "--to", "openai"], &words)).stdout;
    assert!(text.lines().next().unwrap().contains(": 18 tools in 1 dialect, "), "{text}");
    let (_runtime, server) = crate::tools::over_http(gateway_testkit::Fixture::http());
    let over_http = sandbox.run(&["check", "--to", "openai", "--format", "json", server.url()]);
    assert_eq!(over_http.json()["findings"], checked.json()["findings"], "{}", over_http.stderr);
    let broken = sandbox.run(&["check", "--", "no-such-program-anywhere"]);
    assert_eq!((broken.status, broken.stdout.as_str()), (2, ""));
    assert!(broken.stderr.contains("listing the tools of `no-such-program-anywhere`"), "{}", broken.stderr);
    let both = sandbox.run(&["check", "tools.json", "--", "program"]);
    assert!(both.stderr.contains("only one"), "{}", both.stderr);
}

#[test]
fn fingerprints_do_not_move_with_lines() {
    let fingerprints = |text: &str| -> Vec<Value> {
        let results = run(&["check", "--to", "openai", "--format", "sarif"], text).json();
        let results = results["runs"][0]["results"].as_array().unwrap().clone();
        results.iter().map(|result| result["partialFingerprints"]["finding/v1"].clone()).collect()
    };
    let tools =
        json!([{"name": "a.b", "description": "Something useful", "inputSchema": {"type": "object"}}]);
    assert_eq!(fingerprints(&tools.to_string()), ["name-illegal:a.b/name"]);
    let pretty = format!("\n\n{}", serde_json::to_string_pretty(&tools).unwrap());
    assert_eq!(fingerprints(&pretty), fingerprints(&tools.to_string()));
}

#[test]
fn markdown_has_tables_and_findings() {
    let run = run(&["check", "--to", "anthropic", "--format", "markdown"], &troubled().to_string());
    assert!(run.stdout.starts_with("# Tools in `standard input`\n"), "{}", run.stdout);
    assert!(run.stdout.contains("| dialect | ok | changed |"));
    assert!(
        run.stdout.contains("- **error** `text`: the input schema describes type `string`"),
        "{}",
        run.stdout
    );
}

#[test]
fn sarif_points_at_line_and_column() {
    let text = "{\n \"tools\": [\n  {\"name\": \"a.b\",\n   \"description\": \"Something useful\",\n   \"inputSchema\": {\"type\": \"object\"}}]}";
    let file = Scratch::new("tools with blank.json", text);
    let run = run(&["check", "--to", "openai", "--format", "sarif", file.path()], "");
    let document = run.json();
    assert_eq!(document["version"], "2.1.0");
    let driver = &document["runs"][0]["tool"]["driver"];
    assert_eq!(driver["name"], "mcp-tool-gateway");
    let result = &document["runs"][0]["results"][0];
    let rule = &driver["rules"][usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
    assert_eq!(
        (&rule["id"], &rule["defaultConfiguration"]["level"]),
        (&json!("name-illegal"), &json!("warning"))
    );
    assert_eq!((&result["ruleId"], &result["level"]), (&rule["id"], &json!("warning")));
    let location = &result["locations"][0];
    assert_eq!(location["physicalLocation"]["region"], json!({"startLine": 3, "startColumn": 12}));
    let uri = location["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/tools%20with%20blank.json"), "{uri}");
    let logical = json!({"name": "a.b", "fullyQualifiedName": "a.b/name", "kind": "function"});
    assert_eq!(location["logicalLocations"][0], logical);
}

#[test]
fn too_many_tools_are_reported_for_the_list() {
    let tools: Vec<Value> = (0..129)
        .map(|at| {
            let mut tool = good()[0].clone();
            tool["name"] = json!(format!("get_weather_of_city_{at:03}"));
            tool
        })
        .collect();
    let report =
        run(&["check", "--to", "openai,anthropic", "--format", "json"], &json!(tools).to_string()).json();
    let over: Vec<&Value> =
        report["findings"].as_array().unwrap().iter().filter(|one| one["rule"] == "too-many-tools").collect();
    assert_eq!(over.len(), 1);
    assert_eq!(
        (&over[0]["tool"], &over[0]["message"], &over[0]["dialects"]),
        (&Value::Null, &json!("129 tools, but one request takes 128"), &json!(["openai-chat"])),
    );
    let report =
        run(&["check", "--to", "anthropic-strict", "--format", "json"], &json!(tools).to_string()).json();
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|one| one["rule"] != "too-many-tools"), "{report}");
    let note = findings.iter().find(|one| one["rule"] == "not-all-strict").unwrap();
    let message = "one request takes 20 strict tools, so at least 109 tools of 129 go in the plain form";
    assert_eq!((&note["level"], &note["message"]), (&json!("note"), &json!(message)));
}
