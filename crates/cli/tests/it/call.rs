//! `call`

use gateway_testkit::{Fixture, LOSSLESS_RESULT, count_lines};
use serde_json::json;

use crate::Run;
use crate::sandbox::{Sandbox, ad_hoc, words};
use crate::tools::over_http;

#[track_caller]
fn refused(run: &Run, words: &[&str]) {
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
}

#[test]
fn pairs_are_typed_by_the_schema() {
    let sandbox = Sandbox::new();
    let sum = sandbox.run(&["call", "demo", "add", "a=1", "b=2.5"]);
    assert_eq!((sum.status, &sum.json()["structuredContent"]["result"]), (0, &json!(3.5)), "{}", sum.stderr);
    // What the schema wants as text stays text.
    let stored = sandbox.run(&["call", "store_value", "key=k", "value=1"]);
    assert_eq!(stored.status, 0, "{}", stored.stderr);
    assert_eq!(stored.json()["structuredContent"]["value"], "1");
    let wrong = sandbox.run(&["call", "demo", "add", "a=one", "b=2"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("`a`: expected number"), "{}", wrong.stderr);
}

#[test]
fn a_tool_of_a_configured_server_is_called() {
    let sandbox = Sandbox::new();
    for words in [&["demo", "add"][..], &["add"], &["mcp__demo__add"]] {
        let run = sandbox.run(&[&["call"], words, &["{\"a\": 1, \"b\": 2}"]].concat());
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        assert_eq!(run.json()["structuredContent"], json!({"result": 3, "operation": "add", "a": 1, "b": 2}));
    }
}

#[test]
fn a_result_is_printed_as_it_came() {
    let words = words(&Fixture::stdio());
    let run = Sandbox::new().run(&ad_hoc(&["call", "lossless"], &words));
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (0, format!("{LOSSLESS_RESULT}\n").as_str()),
        "{}",
        run.stderr
    );
}

#[test]
fn a_url_stands_before_or_behind() {
    let (_runtime, server) = over_http(Fixture::http());
    let sandbox = Sandbox::new();
    let arguments = "{\"a\": 20, \"b\": 22}";
    for words in [
        &[server.url(), "add", arguments][..],
        &["add", arguments, server.url()],
        &["add", arguments, "--", server.url()],
    ] {
        let run = sandbox.run(&[&["call", "--result", "parsed"], words].concat());
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        assert_eq!(run.json()["result"], 42);
    }
}

#[test]
fn arguments_come_from_a_file_or_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("arguments.json", "{\"a\": 2, \"b\": 3}\n");
    let run = sandbox.run(&["call", "demo", "multiply", "@arguments.json", "--result", "parsed"]);
    assert_eq!(run.json()["result"], 6);
    let run = sandbox.run_with(
        &["call", "demo", "multiply", "-", "--result", "parsed"],
        "{\"a\": 4, \"b\": 5}",
        &[],
    );
    assert_eq!(run.json()["result"], 20);
}

#[test]
fn results_have_several_forms() {
    let sandbox = Sandbox::new();
    let words = words(&Fixture::stdio());
    let form = |flags: &[&str]| {
        let arguments = [&["call", "mixed", "{}"], flags].concat();
        let run = sandbox.run(&ad_hoc(&arguments, &words));
        assert_eq!(run.status, 0, "{}", run.stderr);
        run
    };
    assert_eq!(form(&["--result", "first-text"]).stdout, "one of each\n");
    assert_eq!(form(&["--result", "first-text", "--json"]).stdout, "\"one of each\"\n");
    assert!(form(&["--result", "joined"]).stdout.starts_with("one of each\n"));
    assert_eq!(form(&["--result", "rich"]).json()["attachments"][0]["contentType"], "image/png");
}

#[test]
fn a_tool_that_fails_is_status_one() {
    let words = words(&Fixture::stdio());
    let run = Sandbox::new().run(&ad_hoc(&["call", "fail", "{\"message\": \"no luck\"}"], &words));
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    assert_eq!(
        (&run.json()["isError"], &run.json()["content"][0]["text"]),
        (&json!(true), &json!("no luck"))
    );
}

#[test]
fn wrong_arguments_never_reach_the_tool() {
    let sandbox = Sandbox::new();
    let counter = sandbox.path("counter");
    let words = words(&Fixture::stdio().counter(&counter));
    let wrong = "{\"token\": 5}";
    let run = sandbox.run(&ad_hoc(&["call", "count", wrong], &words));
    refused(
        &run,
        &[
            "tool `count` of server `gateway-fixture` was not called",
            "- `token`: expected string, got integer 5",
        ],
    );
    assert_eq!(count_lines(&counter), 0);
    let run = sandbox.run(&ad_hoc(&["call", "--no-validate", "count", wrong], &words));
    assert_ne!(run.status, 2, "{}", run.stderr);
    assert_eq!(count_lines(&counter), 1);
}

#[test]
fn what_gives_no_result_says_why() {
    let sandbox = Sandbox::new();
    let words = words(&Fixture::stdio());
    refused(
        &sandbox.run(&ad_hoc(&["call", "rpc_error", "{\"message\": \"not today\"}"], &words)),
        &["not today"],
    );
    let slow = ["call", "--timeout", "3", "slow", "{\"ms\": 60000}"];
    refused(&sandbox.run(&ad_hoc(&slow, &words)), &["gave no answer within 3"]);
    refused(
        &sandbox.run(&["call", "add", "{}", "--", "/nowhere/x"]),
        &["server `x` cannot be reached: starting `/nowhere/x`"],
    );
    refused(
        &sandbox.run(&["call", "http://127.0.0.1:1/mcp", "add"]),
        &["server `127.0.0.1` cannot be reached"],
    );
    refused(
        &sandbox.run(&["call", "demo", "ad", "{}"]),
        &["server `demo` has no tool `ad`; did you mean `add`?"],
    );
    refused(
        &sandbox.run(&["call", "dmo", "add", "{}"]),
        &["no server is called `dmo`; did you mean `demo`?"],
    );
    refused(&sandbox.run(&["call", "demo", "add", "[1]"]), &["expected a JSON object"]);
    refused(&sandbox.run(&["call", "demo", "add", "{\"a\""]), &["reading the arguments as JSON"]);
    refused(&sandbox.run(&["call", "demo", "add", "@nowhere.json"]), &["reading nowhere.json"]);
    refused(&sandbox.run(&["call", "demo", "add", "{}", "--", "/nowhere/x"]), &["only one server"]);
    refused(&sandbox.run(&["call"]), &["no tool is named"]);
}

#[test]
fn a_name_of_several_servers_is_ambiguous() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"servers": {"one": {"type": "builtin"}, "two": {"type": "builtin"}}}));
    let run = sandbox.run(&["call", "add", "{\"a\": 1, \"b\": 2}"]);
    refused(&run, &["tool `add` is offered by several servers", "use one of: one__add, two__add"]);
    assert_eq!(sandbox.run(&["call", "two__add", "{\"a\": 1, \"b\": 2}"]).status, 0);
}
