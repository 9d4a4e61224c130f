//! `record` and `replay`

use serde_json::Value;

use crate::run;
use crate::sandbox::{Sandbox, ad_hoc, words};

/// Records a call of the fixture into `cassette.json` of the sandbox.
fn record(sandbox: &Sandbox) -> String {
    let path = sandbox.folder().join("cassette.json");
    let calls = sandbox.folder().join("calls.jsonl");
    std::fs::write(&calls, "{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n").unwrap();
    let (path, calls) = (path.to_str().unwrap().to_owned(), calls.to_str().unwrap().to_owned());
    let recorded = sandbox
        .run(&ad_hoc(&["record", "--calls", &calls, &path], &words(&gateway_testkit::Fixture::stdio())));
    assert_eq!((recorded.status, recorded.stdout.as_str()), (0, ""), "{}", recorded.stderr);
    path
}

#[test]
fn the_mark_of_secrets_is_the_same_in_logs_and_cassettes() {
    assert_eq!(gateway_cassette::REDACTED, gateway_store::REDACTED);
}

#[test]
fn a_recorded_server_answers_as_the_server_did() {
    let sandbox = Sandbox::new();
    let path = record(&sandbox);
    let cassette: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(cassette["cassette"], 1);
    let binary = assert_cmd::cargo::cargo_bin!("mcp-tool-gateway").to_str().unwrap();
    let again = |arguments: &str| {
        sandbox.run(&["call", "--no-validate", "add", arguments, "--", binary, "replay", &path])
    };
    let direct = sandbox
        .run(&ad_hoc(&["call", "add", r#"{"a": 1, "b": 2}"#], &words(&gateway_testkit::Fixture::stdio())));
    let replayed = again(r#"{"b": 2, "a": 1.0}"#);
    assert_eq!((replayed.status, replayed.json()), (0, direct.json()), "{}", replayed.stderr);
    let other = again(r#"{"a": 1, "b": 3}"#);
    assert_eq!(other.status, 2, "{}", other.stdout);
    assert!(other.stderr.contains("/arguments/b is 3, recorded 2"), "{}", other.stderr);
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_refused() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], input: &str, part: &str| {
        let run = if input.is_empty() { sandbox.run(arguments) } else { run(arguments, input) };
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part:?} is not in {}", run.stderr);
    };
    refused(&["replay", "nowhere.json"], "", "reading nowhere.json");
    refused(&["replay", "-"], "{\"tools\": []}", "this is no cassette");
    refused(&["replay", "-"], "{\"cassette\": 7}", "has the format 7");
    refused(&["replay", "x.json", "--port", "1"], "", "--http");
    refused(&["record", "http://127.0.0.1:1/mcp"], "", "the cassette comes first");
    refused(&["record", "x.json"], "", "no server is named");
    refused(&["record", "/", "--", "cat"], "", "is a directory");
    refused(&["record", "nowhere/x.json", "--", "cat"], "", "writing the cassette nowhere/x.json");
    refused(&["record", "--tools", "x.json", "--", "no-such-program"], "", "no-such-program");
    refused(
        &["record", "--calls", "-", "x.json", "--", "cat"],
        "{\"tool\": 1}",
        "standard input:1: a call is a line such as",
    );
}
