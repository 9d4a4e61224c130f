//! `tools`

use gateway_testkit::{Fault, Fixture, RunningFixture};
use serde_json::{Value, json};

use crate::run;
use crate::sandbox::{Sandbox, ad_hoc, fixture, words};

/// A fixture over HTTP, and the runtime that keeps it.
pub(crate) fn over_http(fixture: Fixture) -> (tokio::runtime::Runtime, RunningFixture) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(fixture.start()).unwrap();
    (runtime, server)
}

#[test]
fn people_see_a_table() {
    let run = Sandbox::new().run(&["tools"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["name", "server", "tokens", "description"]);
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((cells[0], cells[1], &cells[3..]), ("add", "demo", &["Add", "two", "numbers."][..]));
    assert!(cells[2].parse::<usize>().unwrap() > 50, "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("5 tools, about "), "{lines:#?}");
}

#[test]
fn any_command_is_listed_without_a_configuration() {
    let words = words(&Fixture::stdio());
    let run = Sandbox::new().run(&ad_hoc(&["tools", "--json"], &words));
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert_eq!(run.json()["tools"].as_array().unwrap().len(), 18);
    assert_eq!(run.json()["tools"][0]["name"], "add");
}

#[test]
fn any_url_is_listed_without_a_configuration() {
    let (_runtime, server) = over_http(Fixture::http().option("--require-token", "s3cret"));
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["tools", "--json", "--header", "Authorization: Bearer s3cret", server.url()]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert_eq!(run.json()["tools"].as_array().unwrap().len(), 18);
    let run = sandbox.run(&["tools", "--", server.url()]);
    assert_eq!(run.status, 1);
    assert!(run.stderr.starts_with("server `127.0.0.1` failed: "), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_dialect_gives_what_convert_gives() {
    let sandbox = Sandbox::new();
    let raw = sandbox.run(&["tools", "--json"]);
    for flags in
        [&["--to", "gemini"][..], &["--model", "gpt-5"], &["--to", "openai-chat-strict", "--hide", "b"]]
    {
        let listed = sandbox.run(&[&["tools"], flags].concat());
        let converted = run(&[&["convert"], flags].concat(), &raw.stdout);
        assert_eq!((listed.status, &listed.stdout), (0, &converted.stdout), "{}", listed.stderr);
    }
}

#[test]
fn raw_tools_are_as_they_came() {
    let words = words(&Fixture::stdio().mode(Fault::UnknownFields));
    let run = Sandbox::new().run(&ad_hoc(&["tools", "--json"], &words));
    // Numbers that `Value` cannot represent, in unknown fields.
    let first = "{\"tools\":[{\"x-unknown\":{\"deep\":[1.50,1e400]},\"name\":\"add\",";
    assert!(run.stdout.starts_with(first), "{}", run.stdout);
    // What cannot be translated is left out by name, and the rest of the list survives: of the tool that has the unknown field
    // twice, the last value counts, which can be read.
    let run = Sandbox::new().run(&ad_hoc(&["tools", "--to", "openai"], &words));
    let lossless = r#"[{"type":"function","function":{"name":"lossless","description":"Give a result that is easily damaged","parameters":{"type":"object","properties":{},"additionalProperties":false}}}]"#;
    assert_eq!((run.status, run.stdout.trim_end()), (1, lossless));
    assert!(
        run.stderr.starts_with("left out `add`: it cannot be read: number out of range"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_server_that_fails_does_not_hide_the_others() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "bad": {"command": "/nowhere/server"},
        "crash": fixture(&Fixture::stdio().mode(Fault::CrashBeforeInitialize)),
        "good": {"type": "builtin"},
        "off": {"command": "x", "disabled": true},
    }}));
    let run = sandbox.run(&["tools"]);
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("5 tools, about "), "{}", run.stdout);
    let mut failed: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("server `")).collect();
    failed.sort_unstable();
    assert_eq!(failed.len(), 2, "{}", run.stderr);
    assert!(failed[0].starts_with("server `bad` failed: starting `/nowhere/server`: "), "{failed:?}");
    assert!(failed[1].starts_with("server `crash` failed: the server ended before"), "{failed:?}");
    // One of them alone is no failure of the others.
    let run = sandbox.run(&["tools", "--server", "good"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

#[test]
fn names_that_clash_have_their_servers_before_them() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"servers": {"one": {"type": "builtin"}, "two": {"type": "builtin"}}}));
    let names = |run: crate::Run| -> Vec<String> {
        let tools = run.json();
        let tools = tools["tools"].as_array().unwrap();
        tools.iter().map(|tool: &Value| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(sandbox.run(&["tools", "--json"]));
    assert_eq!((all.len(), all[0].as_str(), all[5].as_str()), (10, "one__add", "two__add"));
    let one = names(sandbox.run(&["tools", "--json", "--server", "two"]));
    assert_eq!((one.len(), one[0].as_str()), (5, "add"));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], word: &str| {
        let run = sandbox.run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    };
    refused(&["tools", "--server", "dmeo"], "no server is called `dmeo`; did you mean `demo`?");
    refused(&["tools", "demo"], "`demo` is not a URL");
    refused(&["tools", "--to", "gemni", "--", "/nowhere"], "did you mean `gemini`");
    refused(&["tools", "--json", "--to", "gemini"], "cannot be used with");
    refused(&["tools", "--config", "nowhere.json"], "nowhere.json: cannot be read");
    refused(&["tools", "--timeout", "0"], "above 0");
}

#[test]
fn a_server_that_stays_silent_is_given_up() {
    let words = words(&Fixture::stdio().mode(Fault::SilentList));
    let run = Sandbox::new().run(&ad_hoc(&["tools", "--timeout", "0.3"], &words));
    assert_eq!(run.status, 1);
    assert_eq!(
        run.stderr,
        "server `gateway-fixture` failed: it does not list its tools; --timeout lets it take longer\n"
    );
}
