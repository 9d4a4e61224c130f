//! Servers of a configuration file: what is accepted, what is refused, and with which words.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_config::jsonc::Document;
use gateway_config::{
    ClashPolicy, ConnectMode, Endpoint, Fallback, HttpMode, OnDefinitionChange, ProtocolChoice, UpstreamId,
    UpstreamSpec,
};
use gateway_config::{Environment, GatewayConfig, Problems, Secret, json_schema, parse};
use serde_json::json;

pub(crate) const FILE: &str = "mcp-gateway-config.json";

/// An environment of these variables and files.
pub(crate) fn environment(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Environment<'static> {
    let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let (variables, files) = (owned(variables), owned(files));
    Environment::new(
        move |name| variables.get(name).cloned(),
        move |path: &Path| {
            let text = path.to_str().and_then(|path| files.get(path)).cloned();
            text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
        },
    )
}

fn read(text: &str) -> Result<GatewayConfig, Problems> {
    let environment = environment(
        &[("TOKEN", "s3cret-token"), ("EMPTY", ""), ("HOME", "/home/me"), ("API_KEY_X", "from-input")],
        &[("/run/secret", "  s3cret-file\n"), ("/srv/.env", "A=1\nB=2\n")],
    );
    parse(Path::new(FILE), text, &environment)
}

fn server(entry: &str) -> Result<GatewayConfig, Problems> {
    read(&format!(r#"{{"mcpServers": {{"x": {entry}}}}}"#))
}

/// The one server of an entry that is right.
#[track_caller]
fn spec(entry: &str) -> UpstreamSpec {
    let config = server(entry).unwrap_or_else(|errors| panic!("{errors}"));
    config.servers.into_iter().next().unwrap()
}

fn stdio(command: &str, args: &[&str], env: &[(&str, &str)]) -> Endpoint {
    Endpoint::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
    }
}

fn http(url: &str, mode: HttpMode) -> Endpoint {
    Endpoint::Http { url: url.to_owned(), headers: BTreeMap::new(), mode }
}

/// The errors of a text, as people see them.
fn errors(text: &str) -> Vec<String> {
    read(text).map_or_else(|found| found.errors.iter().map(ToString::to_string).collect(), |_| Vec::new())
}

fn warnings(text: &str) -> Vec<String> {
    read(text).unwrap_or_else(|errors| panic!("{errors}")).warnings.iter().map(ToString::to_string).collect()
}

/// An entry's errors without file, line and field.
fn refusals(entry: &str) -> Vec<String> {
    server(entry)
        .map_or_else(|found| found.errors.into_iter().map(|error| error.message).collect(), |_| Vec::new())
}

#[test]
fn endpoints_of_every_client_are_understood() {
    let cases = [
        (r#"{"command": "node", "args": ["a.js", 1]}"#, stdio("node", &["a.js", "1"], &[])),
        (r#"{"transport": "stdio", "command": "node"}"#, stdio("node", &[], &[])),
        (
            r#"{"type": "local", "command": ["node", "a.js"], "args": ["b"]}"#,
            stdio("node", &["a.js", "b"], &[]),
        ),
        (
            r#"{"command": "x", "env": {"N": 1, "F": true, "T": "t", "Z": null}}"#,
            stdio("x", &[], &[("F", "true"), ("N", "1"), ("T", "t")]),
        ),
        (
            r#"{"command": {"path": "zed", "args": ["-x"], "env": {"A": "b"}}, "source": "custom"}"#,
            stdio("zed", &["-x"], &[("A", "b")]),
        ),
        (r#"{"command": "~/bin/server"}"#, stdio("/home/me/bin/server", &[], &[])),
        (
            r#"{"command": "x", "envFile": "/srv/.env", "env": {"B": "3"}}"#,
            stdio("x", &[], &[("A", "1"), ("B", "3")]),
        ),
        (
            r#"{"command": {"path": "x", "env": {"A": "z", "C": "z"}}, "envFile": "/srv/.env"}"#,
            stdio("x", &[], &[("A", "1"), ("B", "2"), ("C", "z")]),
        ),
        (r#"{"image": "mcp/fetch"}"#, stdio("docker", &["run", "--rm", "-i", "mcp/fetch"], &[])),
        (
            r#"{"image": "mcp/fetch", "args": ["--flag"], "env": {"K": "v"}}"#,
            stdio("docker", &["run", "--rm", "-i", "-e", "K", "mcp/fetch", "--flag"], &[("K", "v")]),
        ),
        (
            r#"{"docker": {"image": "i", "options": ["--network=none"], "args": ["a"], "command": "podman"}}"#,
            stdio("podman", &["run", "--rm", "-i", "--network=none", "i", "a"], &[]),
        ),
        (r#"{"docker": {"image": "a"}, "image": "b"}"#, stdio("docker", &["run", "--rm", "-i", "a"], &[])),
        (r#"{"docker": "a", "image": "b"}"#, stdio("docker", &["run", "--rm", "-i", "b"], &[])),
        (r#"{"docker": "a"}"#, stdio("docker", &["run", "--rm", "-i", "a"], &[])),
        (
            r#"{"docker": {"options": ["--network=none"], "command": "podman"}, "image": "a", "args": ["b"]}"#,
            stdio("podman", &["run", "--rm", "-i", "--network=none", "a", "b"], &[]),
        ),
        (r#"{"url": "http://h/mcp"}"#, http("http://h/mcp", HttpMode::Auto)),
        (
            r#"{"transport": "http", "url": "http://localhost:3001/sse"}"#,
            http("http://localhost:3001/sse", HttpMode::Auto),
        ),
        (r#"{"serverUrl": "https://h"}"#, http("https://h", HttpMode::Auto)),
        (r#"{"httpUrl": "https://h/mcp"}"#, http("https://h/mcp", HttpMode::Streamable)),
        (r#"{"type": "streamable-http", "url": "https://h"}"#, http("https://h", HttpMode::Streamable)),
        (r#"{"type": "streamableHttp", "url": "https://h"}"#, http("https://h", HttpMode::Streamable)),
        (r#"{"type": "streamable_http", "url": "https://h"}"#, http("https://h", HttpMode::Streamable)),
        (r#"{"type": "sse", "url": "https://h/sse"}"#, http("https://h/sse", HttpMode::Sse)),
        (r#"{"type": "builtin"}"#, Endpoint::Demo),
        (r#"{"transport": "demo"}"#, Endpoint::Demo),
    ];
    for (entry, endpoint) in cases {
        assert_eq!(spec(entry).endpoint, endpoint, "{entry}");
    }
}

/// Files of other clients have all kinds of values in fields that do not count.
#[test]
fn fields_that_the_transport_does_not_use_need_not_be_right() {
    let program = r#""args": 1, "env": [], "environment": "x", "envFile": 1, "allowUnsafeEnv": 1, "cwd": []"#;
    let workspace = r#""root": 1, "readOnly": 1, "maxFileBytes": "x", "maxResults": 0"#;
    let cases = [
        (format!(r#"{{"type": "demo", "headers": 1, {program}, {workspace}}}"#), Endpoint::Demo),
        (r#"{"type": "demo", "command": {"env": 1}, "docker": {"x": 1}}"#.to_owned(), Endpoint::Demo),
        (
            format!(r#"{{"url": "http://h", "serverUrl": 1, {program}, {workspace}}}"#),
            http("http://h", HttpMode::Auto),
        ),
        (
            format!(r#"{{"command": "x", "image": 1, "docker": [], "headers": 1, {workspace}}}"#),
            stdio("x", &[], &[]),
        ),
    ];
    for (entry, endpoint) in cases {
        let config = server(&entry).unwrap_or_else(|errors| panic!("{entry}: {errors}"));
        assert_eq!((&config.servers[0].endpoint, config.warnings), (&endpoint, Vec::new()), "{entry}");
    }
    let fallback = r#"{"servers": {"x": {"command": "x", "fallback": {"server": "y", "env": []}}, "y": {"command": "y"}}}"#;
    assert_eq!(errors(fallback), [""; 0]);
}

#[test]
fn every_block_of_servers_is_found() {
    let cases = [
        r#"{"mcpServers": {"x": {"command": "c"}}}"#,
        r#"{"servers": {"x": {"command": "c"}}}"#,
        r#"{"context_servers": {"x": {"command": "c"}}}"#,
        r#"{"mcp": {"servers": {"x": {"command": "c"}}}}"#,
    ];
    for text in cases {
        assert_eq!(read(text).unwrap().servers[0].id, UpstreamId::new("x"), "{text}");
    }
    let twice = r#"{"mcpServers": {"x": {"command": "c"}}, "servers": {"x": {"command": "d"}}}"#;
    assert_eq!(errors(twice), [r#"mcp-gateway-config.json:1: servers.x: Server "x" is configured twice"#]);
}

#[test]
fn wrong_endpoints_are_refused_with_these_words() {
    let cases = [
        (
            r#"{"transport": "stdio", "args": ["a"]}"#,
            r#"Server "x": stdio transport requires "command" field"#,
        ),
        (r"{}", r#"Server "x": stdio transport requires "command" field"#),
        (r#"{"command": " "}"#, r#"Server "x": stdio transport requires "command" field"#),
        (
            r#"{"transport": "stdio", "url": "http://h"}"#,
            r#"Server "x": stdio transport requires "command" field"#,
        ),
        (r#"{"transport": "http"}"#, r#"Server "x": http transport requires "url" field"#),
        (r#"{"type": "sse", "command": "x"}"#, r#"Server "x": http transport requires "url" field"#),
        (
            r#"{"transport": "websocket", "command": "node"}"#,
            r#"Server "x": invalid transport type "websocket". Must be "stdio" or "http". Also accepted: "streamable-http", "sse", "builtin", "workspace""#,
        ),
        (
            r#"{"command": "node", "url": "http://h"}"#,
            r#"Server "x": has both "command" and "url". Keep "command" if the gateway shall start the server, or "url" if it is running already"#,
        ),
        (r#"{"url": "localhost:3000"}"#, r#"Server "x": "url" must be an address with http:// or https://"#),
        (
            r#"{"serverUrl": "ws://h"}"#,
            r#"Server "x": "serverUrl" must be an address with http:// or https://"#,
        ),
        (r#"{"command": 5}"#, "must be a list of texts"),
        (r#"{"url": "http://h", "headers": {"bad name": "v"}}"#, "is no name of a header"),
        (r#"{"url": "http://h", "headers": {"X": "a\nb"}}"#, "has a value that no header can have"),
    ];
    for (entry, expected) in cases {
        assert!(refusals(entry).contains(&expected.to_owned()), "{entry}: {:?}", refusals(entry));
    }
    let placed = "{\"servers\": {\"x\": {\"url\": \"http://h\",\n\"headers\": {\n\"a b\": 1}}}}";
    assert_eq!(errors(placed), ["mcp-gateway-config.json:3: servers.x.headers.a b: is no name of a header"]);
    assert_eq!(
        errors(r#"{"servers": {"x": 5}}"#),
        ["mcp-gateway-config.json:1: servers.x: must be an object"]
    );
}

#[test]
fn every_error_has_its_line_and_all_are_told() {
    let text = r#"// The servers of my machine
{
  "servers": {
    "one": {
      "command": "node", /* a
      comment of two lines */
      "timeout": 4000,
    },
    "two": {
      "transport": "carrier-pigeon",
      "tools": {"allow": 5},
    },
    "three": {
      "command": "x",
      "env": {
        "OK": "1",
        "NPM_CONFIG_REGISTRY": "http://evil"
      },
      "args": ["fine", "${NOT_SET}"]
    },
  },
  "clash": "maybe",
}
"#;
    insta::assert_snapshot!(errors(text).join("\n"));
}

#[test]
fn broken_json_names_file_and_line() {
    let cases = [
        ("not valid json {", "mcp-gateway-config.json:1: not JSON: expected ident, column 2"),
        (
            "{\n\"servers\": {\n}",
            "mcp-gateway-config.json:3: not JSON: EOF while parsing an object, column 1",
        ),
        ("{\n /* open", "mcp-gateway-config.json:2: not JSON: the comment is not closed, column 2"),
        ("[]", "mcp-gateway-config.json:1: must be a JSON object"),
        (
            r#"{"notServers": {}}"#,
            r#"mcp-gateway-config.json:1: notServers: Config file must have a "servers" object (or "mcpServers"), "models" or "tools"; `notServers` is not known, did you mean `servers`?"#,
        ),
        (
            r#"{"modls": {}}"#,
            r#"mcp-gateway-config.json:1: modls: Config file must have a "servers" object (or "mcpServers"), "models" or "tools"; `modls` is not known, did you mean `models`?"#,
        ),
        (
            r#"{"model": {"m": {}}}"#,
            r#"mcp-gateway-config.json:1: model: Config file must have a "servers" object (or "mcpServers"), "models" or "tools"; `model` is not known, did you mean `models`?"#,
        ),
        (
            r#"{"other": {}}"#,
            r#"mcp-gateway-config.json:1: Config file must have a "servers" object (or "mcpServers"), "models" or "tools""#,
        ),
        (
            r#"{"tools": null, "resources": null}"#,
            r#"mcp-gateway-config.json:1: Config file must have a "servers" object (or "mcpServers"), "models" or "tools""#,
        ),
        (r#"{"servers": []}"#, "mcp-gateway-config.json:1: servers: must be an object"),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text)[0], expected, "{text}");
    }
}

#[test]
fn an_empty_block_is_allowed_with_a_warning() {
    let text = r#"{"servers": {}}"#;
    assert_eq!(read(text).unwrap().servers, []);
    assert_eq!(warnings(text), ["mcp-gateway-config.json:1: Config file has no servers defined"]);
}

#[test]
fn variables_are_expanded_everywhere() {
    let spec = spec(
        r#"{"command": "${CMD:-node}", "args": ["${TOKEN}", "$${TOKEN}", "$HOME", "${EMPTY:-none}", "${EMPTY}", "a${env:TOKEN}b", "${NO:-${TOKEN}}"],
            "env": {"SECRET": "${file:/run/secret}", "KEY": "${input:api-key-x}"}, "cwd": "~/work",
            "tools": {"injected": {"*": {"token": "${TOKEN}"}}}}"#,
    );
    let Endpoint::Stdio { command, args, env, cwd } = &spec.endpoint else { panic!() };
    assert_eq!(command, "node");
    assert_eq!(args, &["s3cret-token", "${TOKEN}", "$HOME", "none", "", "as3cret-tokenb", "s3cret-token"]);
    assert_eq!(env["SECRET"], "s3cret-file");
    assert_eq!(env["KEY"], "from-input");
    assert_eq!(cwd.as_deref(), Some(Path::new("/home/me/work")));
    assert_eq!(spec.tools.injected["*"]["token"], "s3cret-token");
    let debug = format!("{spec:?}");
    assert!(!debug.contains("s3cret") && debug.contains("SECRET"), "{debug}");
}

#[test]
fn editors_own_variables_are_known() {
    let config = parse(
        Path::new("/project/app/.vscode/mcp.json"),
        r#"{"servers": {"x": {"command": "x", "args": ["${workspaceFolder}/a", "${userHome}"]}}}"#,
        &environment(&[("HOME", "/home/me")], &[]),
    );
    assert_eq!(config.unwrap().servers[0].endpoint, stdio("x", &["/project/app/a", "/home/me"], &[]));
}

#[test]
fn what_cannot_be_expanded_is_named() {
    let cases = [
        ("${NOPE}", "variable `NOPE` is not set; set it, or give a default: `${NOPE:-...}`"),
        ("${env:NOPE}", "variable `NOPE` is not set; set it, or give a default: `${NOPE:-...}`"),
        ("${file:/nope}", "`${file:/nope}` cannot be read: no such file"),
        ("${open", "`${` is not closed; write `$${` for the characters themselves"),
        ("${a b}", "`${a b}` is not a variable; write `$${` for the characters themselves"),
        ("${command:pick}", "`${command:pick}` is not a variable; write `$${` for the characters themselves"),
        ("${input:my-key}", "`${input:my-key}` is asked for by an editor; set the variable `MY_KEY` instead"),
    ];
    for (text, expected) in cases {
        assert_eq!(refusals(&format!(r#"{{"command": "c", "args": ["{text}"]}}"#)), [expected], "{text}");
    }
    let described = r#"{"inputs": [{"id": "k", "type": "promptString", "description": "Key of the service", "password": true}],
        "servers": {"x": {"command": "c", "env": {"K": "${input:k}"}}}}"#;
    assert_eq!(
        errors(described),
        [
            "mcp-gateway-config.json:2: servers.x.env.K: `${input:k}` (Key of the service) is asked for by an editor; set the variable `K` instead"
        ]
    );
    let default = described.replace(r#""password": true"#, r#""default": "d""#);
    assert_eq!(read(&default).unwrap().servers[0].endpoint, stdio("c", &[], &[("K", "d")]));
}

/// A value that was put in never comes back in a message.
#[test]
fn secrets_are_in_no_message() {
    let entries = [
        r#"{"type": "${TOKEN}", "command": "x"}"#,
        r#"{"url": "${TOKEN}"}"#,
        r#"{"url": "http://h", "headers": {"X": "${TOKEN}\n"}}"#,
        r#"{"command": "x", "protocol": "${TOKEN}"}"#,
        r#"{"command": "x", "fallback": "${TOKEN}"}"#,
        r#"{"command": "x", "timeout": "${TOKEN}"}"#,
    ];
    for entry in entries {
        let found = server(entry).unwrap_err();
        assert!(!found.errors.is_empty() && !format!("{found:?}").contains("s3cret"), "{entry}: {found:?}");
    }
    let config = read(r#"{"servers": {}, "keys": ["literal-secret"]}"#).unwrap();
    assert!(!format!("{config:?}").contains("literal-secret"));
    let spec = spec(
        r#"{"url": "https://me:pass@h/mcp?key=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}}"#,
    );
    let debug = format!("{spec:?}");
    assert!(
        !debug.contains("s3cret") && !debug.contains("pass@") && debug.contains("https://h/mcp"),
        "{debug}"
    );
}

#[test]
fn unsafe_variables_are_refused_unless_named() {
    let refused = [
        "NPM_CONFIG_REGISTRY",
        "npm_config_registry",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
        "LD_PRELOAD",
        "NODE_OPTIONS",
    ];
    for name in refused {
        let entry = format!(r#"{{"command": "npx", "env": {{"{name}": "v"}}}}"#);
        let found = refusals(&entry);
        assert!(
            found[0].starts_with(&format!("Server \"x\": variable {name} is refused: it can ")),
            "{found:?}"
        );
        let allowed =
            format!(r#"{{"command": "npx", "env": {{"{name}": "v"}}, "allowUnsafeEnv": ["{name}"]}}"#);
        assert_eq!(spec(&allowed).endpoint, stdio("npx", &[], &[(name, "v")]));
    }
    assert_eq!(refusals(r#"{"command": "x", "env": {"UV_A": "1"}, "allowUnsafeEnv": ["UV_*"]}"#), [""; 0]);
    assert_eq!(
        refusals(r#"{"command": "x", "env": {"": "1", "A=B": "2"}}"#),
        ["is no name of a variable"; 2]
    );
}

#[test]
fn times_are_read_in_every_unit() {
    let seconds = Duration::from_secs_f64;
    let cases = [
        (r#""timeout": 30"#, Some(30.0)),
        (r#""timeout": 1"#, Some(1.0)),
        (r#""timeout": 3600"#, Some(3600.0)),
        (r#""timeout": 0"#, None),
        (r#""timeout": 3601"#, None),
        (r#""timeout": "soon""#, None),
        (r#""timeoutInMillis": 1500"#, Some(1.5)),
        (r#""timeoutInMillis": 0"#, None),
        (r#""callTimeout": "250ms""#, Some(0.25)),
        (r#""callTimeout": "2m""#, Some(120.0)),
        (r#""callTimeout": 0.5"#, Some(0.5)),
        (r#""callTimeout": "2 weeks""#, None),
        (r#""callTimeout": -1"#, None),
        (r#""timeout": 5, "callTimeout": 7"#, Some(7.0)),
        (r#""trust": true, "timeout": 600000"#, Some(600.0)),
    ];
    for (fields, expected) in cases {
        let entry = format!(r#"{{"command": "x", {fields}}}"#);
        let found = server(&entry).ok().map(|config| config.servers[0].timeouts.call);
        assert_eq!(found, expected.map(seconds), "{fields}");
    }
    assert_eq!(spec(r#"{"command": "x"}"#).timeouts.call, seconds(60.0));
    assert_eq!(
        refusals(r#"{"command": "x", "timeout": 30000}"#),
        [r#"must be a number of seconds from 1 to 3600; for milliseconds use "timeoutInMillis""#]
    );
    assert_eq!(spec(r#"{"command": "x", "timeout": 3600}"#).timeouts.call_maximum, seconds(3600.0));
}

#[test]
fn our_own_fields_are_read() {
    let spec = spec(
        r#"{
          "command": "x", "protocol": "legacy", "connect": "eager", "required": true, "disabled": false,
          "idleStop": "10m", "probeTimeout": "500ms", "connectTimeout": 5, "listTimeout": 6, "callTimeout": 7,
          "maxCallTimeout": 80, "closeTimeout": 1, "toolTimeouts": {"slow": "5m"},
          "restart": {"first": 1, "longest": 30, "attempts": 9, "pingEvery": false, "pingTimeout": 2, "pingFailures": 4},
          "limits": {"messageBytes": "4MB", "inFlight": 8, "stderrBytes": 1024, "pages": 10, "entries": 100},
          "prefix": true, "logPath": "~/x.log", "watchPaths": ["build/index.js"],
          "alwaysAllow": ["a"], "autoApprove": ["b"], "disabledTools": ["c"], "hiddenParams": ["h"], "injectParams": {"i": 1},
          "tools": {
            "allow": ["*"], "deny": "d", "idempotent": ["e*"], "alwaysAllow": ["f"], "hidden": {"t": ["p"]},
            "injected": {"t": {"q": [1]}}, "categories": {"t": "io"}, "importance": {"t": "high"}, "pin": ["t"], "tags": {"t": ["x"]},
            "overrides": {"t": {"description": "better"}}, "onDefinitionChange": "block"
          }
        }"#,
    );
    assert_eq!(
        (spec.protocol, spec.connect, spec.required),
        (ProtocolChoice::Legacy, ConnectMode::Eager, true)
    );
    assert_eq!((spec.prefix.as_deref(), spec.idle_stop), (Some("x"), Some(Duration::from_mins(10))));
    assert_eq!(
        (spec.log_path, spec.watch_paths),
        (Some(PathBuf::from("/home/me/x.log")), vec![PathBuf::from("build/index.js")])
    );
    assert_eq!(spec.tools.on_definition_change, OnDefinitionChange::Block);
    insta::assert_debug_snapshot!((spec.timeouts, spec.restart, spec.limits, spec.tools));
}

#[test]
fn wrong_fields_are_refused() {
    let cases = [
        (r#""protocol": "ancient""#, r#"must be one of "auto", "modern", "legacy""#),
        (r#""connect": true"#, r#"must be one of "eager", "lazy""#),
        (r#""required": "yes""#, "must be true or false"),
        (r#""disabled": "yes""#, "must be true or false"),
        (r#""limits": {"inFlight": 0}"#, "must be a whole number from 1 to 1000000"),
        (r#""limits": {"messageBytes": "many"}"#, r#"must be a number of bytes, such as 65536 or "32MB""#),
        (r#""tools": {"importance": {"t": "huge"}}"#, r#"must be one of "low", "normal", "high""#),
        (r#""tools": {"injected": {"token": "v"}}"#, "must be an object"),
        (
            r#""tools": {"overrides": {"t": {"name": "n"}}}"#,
            r#"cannot be overridden; only "title", "description" and "annotations" can"#,
        ),
        (
            r#""tools": {"overrides": {"s": null, "t": {"inputSchema": null}}}"#,
            r#"cannot be overridden; only "title", "description" and "annotations" can"#,
        ),
        (r#""fallback": "x""#, "must be another server"),
        (r#""fallback": "gone""#, r#"no server is called "gone""#),
        (
            r#""fallback": {"server": "y", "on": ["rain"]}"#,
            r#"must be a list of "unreachable" (or "connect"), "timeout" and "lost""#,
        ),
        (
            r#""fallback": {"on": ["timeout"]}"#,
            r#"must name the other server, or "command" a program to start"#,
        ),
        (r#""fallback": {"server": "y", "command": "z"}"#, r#"has "server" beside it; keep one of them"#),
        (r#""fallback": {"command": ""}"#, r#"Server "x": stdio transport requires "command" field"#),
        (r#""env": {"A": {}}"#, "must be a text"),
        (r#""args": [{}]"#, "must be a list of texts"),
    ];
    for (fields, expected) in cases {
        let servers = format!(r#"{{"y": {{"command": "y"}}, "x": {{"command": "x", {fields}}}}}"#);
        let text = format!(r#"{{"onInvalidServer": "fail", "servers": {servers}}}"#);
        let found: Vec<String> =
            read(&text).unwrap_err().errors.into_iter().map(|error| error.message).collect();
        assert_eq!(found, [expected], "{fields}");
    }
}

#[test]
fn a_fallback_can_be_a_name_or_more() {
    let text = |fallback: &str| {
        format!(
            r#"{{"servers": {{"y": {{"command": "y"}}, "x": {{"command": "x", "fallback": {fallback}}}}}}}"#
        )
    };
    let plain = read(&text(r#""y""#)).unwrap().servers.remove(1);
    let other = Some(Fallback::Server(UpstreamId::new("y")));
    assert_eq!(plain.fallback, other);
    assert!(plain.fallback_on.unreachable && plain.fallback_on.timeout && plain.fallback_on.lost);
    let narrow = read(&text(r#"{"server": "y", "on": ["timeout"]}"#)).unwrap().servers.remove(1);
    assert_eq!(narrow.fallback, other);
    assert!(!narrow.fallback_on.unreachable && narrow.fallback_on.timeout && !narrow.fallback_on.lost);
    let command = r#"{"command": "spare", "args": ["-v"], "env": {"KEY": "${TOKEN}"}, "cwd": "/srv", "on": ["timeout", "connect"]}"#;
    let command = read(&text(command)).unwrap().servers.remove(1);
    let endpoint = Endpoint::Stdio {
        command: "spare".to_owned(),
        args: vec!["-v".to_owned()],
        env: BTreeMap::from([("KEY".to_owned(), "s3cret-token".to_owned())]),
        cwd: Some(PathBuf::from("/srv")),
    };
    assert_eq!(command.fallback, Some(Fallback::Command(endpoint)));
    assert!(command.fallback_on.unreachable && command.fallback_on.timeout && !command.fallback_on.lost);
}

#[test]
fn unknown_fields_are_warnings_with_the_nearest_name() {
    let text = "{\"servers\": {\n\"x\": {\n\"command\": \"c\",\n\"comand\": 1,\n\"always_allow\": [],\n\"zebra\": 1,\n\"description\": \"d\",\n\"tools\": {\"allowed\": []}}},\n\"port\": 1}";
    assert_eq!(
        warnings(text),
        [
            "mcp-gateway-config.json:4: servers.x.comand: unknown field, ignored; did you mean `command`?",
            "mcp-gateway-config.json:5: servers.x.always_allow: unknown field, ignored; did you mean `alwaysAllow`?",
            "mcp-gateway-config.json:6: servers.x.zebra: unknown field, ignored",
            "mcp-gateway-config.json:8: servers.x.tools.allowed: unknown field, ignored; did you mean `allow`?",
        ]
    );
}

#[test]
fn other_things_worth_a_look_are_warnings() {
    let cases = [
        (r#"{"servers": {"x": {"type": "sse", "url": "http://h"}}}"#, "the sse transport is deprecated"),
        (
            r#"{"servers": {"x": {"command": "a"}}, "groups": {"g": {"servers": ["nope"]}}}"#,
            r#"groups.g: no server is called "nope""#,
        ),
        (
            r#"{"servers": {"x": {"command": "a", "callTimeout": 60, "maxCallTimeout": 5}}}"#,
            "is shorter than",
        ),
        (r#"{"servers": {"x": {"command": "a"}}, "mcp": true}"#, "mcp: is no object, so it is not used"),
        (
            r#"{"servers": {"y": {"disabled": true, "command": "y"}, "x": {"command": "a", "fallback": "y"}}}"#,
            r#"server "y" is disabled"#,
        ),
    ];
    for (text, expected) in cases {
        let found = warnings(text);
        assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
    }
}

#[test]
fn disabled_servers_need_not_have_their_variables() {
    for entry in [r#""disabled": true"#, r#""enabled": false"#, r#""isActive": false"#] {
        let text = format!(r#"{{"servers": {{"x": {{"command": "c", "args": ["${{NOPE}}"], {entry}}}}}}}"#);
        assert!(read(&text).unwrap().servers[0].disabled, "{entry}");
        assert!(warnings(&text)[0].contains("variable `NOPE` is not set"), "{entry}");
    }
}

#[test]
fn the_top_of_the_file_is_read() {
    let config = read(
        r#"{"servers": {"b": {"command": "b"}, "a": {"command": "a"}}, "clash": "first", "mcp": {"servers": {}, "sessions": 1}, "apiKeys": ["literal-secret-of-a-key"],
            "groups": {"g": {"servers": ["a"], "tools": ["r*"], "tags": ["t"]}, "short": ["one", "two"]}}"#,
    )
    .unwrap();
    assert_eq!(config.catalogue.clash, ClashPolicy::First);
    assert_eq!(config.catalogue.order, ["b", "a"].map(UpstreamId::new));
    assert_eq!(config.catalogue.groups["g"].servers, ["a"]);
    assert_eq!(config.catalogue.groups["short"].tools, ["one", "two"]);
    let settings = [("apiKeys", r#"["literal-secret-of-a-key"]"#), ("mcp", r#"{"sessions":1}"#)];
    assert_eq!(config.settings, settings.map(|(name, json)| (name.to_owned(), Secret::new(json))).into());
    assert_eq!((config.service.mcp.sessions, config.service.source), (1, "file"));
    assert!(!format!("{config:?}").contains("literal-secret"));
    assert_eq!(read(r#"{"servers": {}}"#).unwrap().catalogue.clash, ClashPolicy::Prefix);
}

/// Files as the clients' own documents show them.
#[test]
fn files_of_well_known_clients_are_taken_as_they_are() {
    let files = [
        (
            "claude desktop",
            r#"{"mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}}}"#,
        ),
        (
            "claude code",
            r#"{"mcpServers": {"api": {"type": "http", "url": "${API_BASE:-https://api.example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}"#,
        ),
        (
            "cursor",
            r#"{"mcpServers": {"s": {"type": "stdio", "command": "npx", "args": ["-y", "s"], "env": {"K": "${env:TOKEN}"}, "envFile": "/srv/.env"}}}"#,
        ),
        (
            "windsurf",
            r#"{"mcpServers": {"s": {"serverUrl": "https://h/mcp", "headers": {"A": "b"}, "disabledTools": ["x"]}}}"#,
        ),
        (
            "cline",
            r#"{"mcpServers": {"s": {"command": "node", "args": ["a.js"], "env": {"K": "v"}, "alwaysAllow": ["t"], "autoApprove": [], "disabled": false, "timeout": 60}}}"#,
        ),
        (
            "gemini",
            r#"{"mcpServers": {"s": {"httpUrl": "https://h/mcp", "timeout": 3000, "trust": true, "includeTools": ["a"], "excludeTools": ["b"]}}, "theme": "x"}"#,
        ),
        (
            "vscode",
            "{\n// a comment\n\"inputs\": [{\"id\": \"token\", \"type\": \"promptString\", \"description\": \"T\", \"password\": true}], \"servers\": {\"s\": {\"type\": \"stdio\", \"command\": \"npx\", \"env\": {\"K\": \"${input:token}\"}, \"dev\": {\"watch\": \"x\"}},}}",
        ),
        (
            "zed",
            r#"{"context_servers": {"s": {"source": "custom", "command": "x", "args": [], "env": {}}, "old": {"command": {"path": "p", "args": [], "env": null}, "settings": {}}}}"#,
        ),
        (
            "copilot",
            r#"{"mcpServers": {"s": {"type": "local", "command": "x", "args": [], "tools": ["*"]}}}"#,
        ),
        (
            "seed",
            r#"{"servers": {"a": {"transport": "stdio", "command": "node", "args": ["/s.js"], "env": {"BASE_PATH": "/data"}, "logPath": "/var/log/a.log"}, "b": {"transport": "http", "url": "http://localhost:3001/sse", "logPath": "/b.log"}}}"#,
        ),
    ];
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    for (client, text) in files {
        let config = read(text).unwrap_or_else(|errors| panic!("{client}: {errors}"));
        assert_eq!(config.warnings, [], "{client}");
        assert!(!config.servers.is_empty(), "{client}");
        // The editor's schema accepts what the reader accepts.
        let document = Document::parse(text).unwrap();
        let complaints: Vec<String> =
            schema.iter_errors(&document.value).map(|error| error.to_string()).collect();
        assert_eq!(complaints, [""; 0], "{client}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = json_schema();
    for entry in [
        json!({"type": "pigeon", "command": "x"}),
        json!({"command": "x", "timeout": 4000}),
        json!({"command": "x", "protocol": "old"}),
        json!({"command": "x", "limits": {"inFlight": 0}}),
        json!({"command": "x", "callTimeout": "long"}),
        json!({"command": "x", "tools": {"allow": 5}}),
    ] {
        assert!(!jsonschema::is_valid(&schema, &json!({"servers": {"x": entry}})), "{entry}");
        assert!(!refusals(&entry.to_string()).is_empty(), "{entry}");
    }
    insta::assert_json_snapshot!(schema);
}
