//! One entry that is wrong harms no other.

use std::path::Path;

use gateway_config::{Endpoint, GatewayConfig, Lookup, OnInvalidServer, Problems, load, parse};

use crate::config::{FILE, environment};

fn read(text: &str) -> Result<GatewayConfig, Problems> {
    parse(Path::new(FILE), text, &environment(&[], &[]))
}

/// The problems of all servers by name; empty for one that is used.
fn problems(config: &GatewayConfig) -> Vec<(&str, Vec<String>)> {
    let servers = config.servers.iter();
    servers
        .map(|server| {
            let problems: Vec<String> = server.problems.iter().map(ToString::to_string).collect();
            assert_eq!(server.endpoint == Endpoint::Invalid, !problems.is_empty(), "{server:?}");
            (server.id.as_str(), problems)
        })
        .collect()
}

#[test]
fn an_invalid_entry_is_left_out_and_the_others_are_used() {
    let entries = [
        (r#"{"command": "c", "args": ["${NOPE}"]}"#, "bad.args.0: variable `NOPE` is not set"),
        (
            r#"{"command": "c", "env": {"NODE_OPTIONS": "-r x"}}"#,
            "bad.env.NODE_OPTIONS: Server \"bad\": variable NODE_OPTIONS is refused",
        ),
        (r#"{"command": "c", "env": {"UV_INDEX": "x"}}"#, "variable UV_INDEX is refused"),
        ("{}", r#"bad: Server "bad": stdio transport requires "command" field"#),
        ("7", "bad: must be an object"),
        (r#"{"url": "ftp://h"}"#, "must be an address with http:// or https://"),
        (r#"{"command": "c", "callTimeout": "soon"}"#, "bad.callTimeout: "),
        (r#"{"command": "c", "command": "d"}"#, "bad.command: stands here twice"),
        (r#"{"command": "c", "fallback": "nobody"}"#, "bad.fallback: no server is called \"nobody\""),
        (r#"{"command": "c", "envFile": "/nope"}"#, "bad.envFile: cannot be read"),
    ];
    for (entry, expected) in entries {
        let text = format!("{{\"mcpServers\": {{\"good\": {{\"command\": \"g\"}},\n\"bad\": {entry}}}}}");
        let config = read(&text).unwrap_or_else(|problems| panic!("{entry}: {problems}"));
        let found = problems(&config);
        assert_eq!(
            (found[0].0, found[0].1.len(), found[1].0, found[1].1.len()),
            ("good", 0, "bad", 1),
            "{entry}"
        );
        let problem = &found[1].1[0];
        assert!(
            problem.starts_with(&format!("{FILE}:2: mcpServers.bad")) && problem.contains(expected),
            "{problem}"
        );
        assert!(config.servers[1].is_off() && !config.servers[0].is_off());
    }
}

#[test]
fn a_server_that_stands_twice_is_left_out_because_nobody_knows_which_is_meant() {
    let blocks = read(
        r#"{"servers": {"x": {"command": "a"}, "y": {"command": "y"}}, "mcpServers": {"x": {"command": "b"}}}"#,
    );
    let twice = read(r#"{"servers": {"x": {"command": "a"}, "x": {"command": "b"}, "y": {"command": "y"}}}"#);
    for config in [blocks.unwrap(), twice.unwrap()] {
        let found = problems(&config);
        let of = |name: &str| found.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        assert!(of("x").len() == 1 && of("x")[0].contains("twice") && of("y").is_empty(), "{found:?}");
    }
}

#[test]
fn an_entry_without_a_name_and_a_disabled_one_harm_nobody() {
    let config =
        read(r#"{"servers": {" ": {"command": "a"}, "off": {"disabled": true}, "y": {"command": "y"}}}"#)
            .unwrap();
    let names: Vec<_> = config
        .servers
        .iter()
        .map(|server| (server.id.as_str(), server.is_off(), server.problems.len()))
        .collect();
    assert_eq!(names, [("(unnamed)", true, 1), ("off", true, 0), ("y", false, 0)]);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("servers.off: Server \"off\": stdio transport"),
        "{warnings:?}"
    );
}

/// What is required, and how, is read also if the rest is wrong.
#[test]
fn an_invalid_server_may_be_required() {
    let config = read(r#"{"servers": {"x": {"required": true, "url": 1}, "y": {"command": "y"}}}"#).unwrap();
    assert!(config.servers[0].required && config.servers[0].endpoint == Endpoint::Invalid);
}

#[test]
fn what_is_wrong_with_the_whole_file_stays_an_error() {
    let files = [
        r#"{"servers": {"x": {"command": "x"}}, "port": "none"}"#,
        r#"{"servers": {"x": {"command": "x"}}, "port": 1, "port": 2}"#,
        r#"{"servers": {"x": {"command": "x"}}, "apiKeys": ["${NOPE}"]}"#,
        r#"{"servers": {"x": {"command": "x"}}, "servers": {"y": {"command": "y"}}}"#,
    ];
    for text in files {
        assert_eq!(read(text).unwrap_err().errors.len(), 1, "{text}");
    }
    assert!(read(r#"{"servers": 7}"#).is_err());
    // Nothing would be left to use.
    let nothing = read(r#"{"servers": {"x": {}, "off": {"command": "c", "disabled": true}}}"#).unwrap_err();
    assert!(nothing.to_string().contains("servers.x: Server \"x\""), "{nothing}");
    // All problems are reported at once, in the order of the file.
    let all = read("{\"servers\": {\n\"x\": {},\n\"y\": {\"command\": \"y\"}},\n\"port\": -1}").unwrap_err();
    assert_eq!(all.errors.iter().map(|error| error.line).collect::<Vec<_>>(), [Some(2), Some(4)]);
}

#[test]
fn all_or_nothing_is_a_choice() {
    let text = r#"{"onInvalidServer": "fail", "servers": {"x": {}, "y": {"command": "y"}}}"#;
    assert_eq!(read(text).unwrap_err().errors.len(), 1);
    let lenient = text.replace("fail", "skip");
    assert!(read(&lenient).is_ok());
    let files = [("/p/mcp-gateway-config.json", lenient.as_str())];
    let lookup = |choice| Lookup { directory: "/p".into(), on_invalid_server: choice, ..Lookup::default() };
    assert!(load(&lookup(None), &environment(&[], &files)).is_ok());
    assert!(load(&lookup(Some(OnInvalidServer::Fail)), &environment(&[], &files)).is_err());
}
