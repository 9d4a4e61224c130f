//! Where the configuration comes from: files, `.env`, variables; and the text that is JSON with comments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gateway_config::Endpoint;
use gateway_config::jsonc::{Document, to_json};
use gateway_config::{
    ConfigSource, DotenvScope, GatewayConfig, Lookup, Problems, Secret, load, load_settings, parse,
    parse_dotenv,
};

use crate::config::{FILE, environment};

type Variables<'a> = &'a [(&'a str, &'a str)];

fn find(
    variables: &[(&str, &str)],
    files: &[(&str, &str)],
    lookup: Lookup,
) -> Result<GatewayConfig, Problems> {
    let lookup = Lookup { directory: PathBuf::from("/project/a/b"), ..lookup };
    let environment = environment(variables, files).with_dotenv(&lookup.directory, DotenvScope::Directory);
    load(&lookup, &environment)
}

fn names(config: &GatewayConfig) -> Vec<&str> {
    config.servers.iter().map(|server| server.id.as_str()).collect()
}

const DEFAULT: &str = "/project/a/b/mcp-gateway-config.json";

fn file(name: &str) -> String {
    format!(r#"{{"servers": {{"{name}": {{"command": "x"}}}}}}"#)
}

#[test]
fn the_file_is_found_in_this_order() {
    let (named, variable, here) = (file("named"), file("variable"), file("here"));
    let files = [("/project/a/b/named.json", &*named), ("/etc/v.json", &*variable), (DEFAULT, &*here)];
    let legacy = [("MCP_SERVER_DIST", "/d/index.js"), ("MCP_BASE_PATH", "/data")];
    let with_variable: Vec<(&str, &str)> =
        legacy.into_iter().chain([("MCP_CONFIG_PATH", "/etc/v.json")]).collect();
    let named = Lookup { config: Some("named.json".into()), ..Lookup::default() };

    let config = find(&with_variable, &files, named).unwrap();
    assert_eq!(
        (names(&config), config.source.clone()),
        (vec!["named"], ConfigSource::File("/project/a/b/named.json".into()))
    );
    let config = find(&with_variable, &files, Lookup::default()).unwrap();
    assert_eq!(
        (names(&config), config.source.clone()),
        (vec!["variable"], ConfigSource::File("/etc/v.json".into()))
    );
    let config = find(&legacy, &files, Lookup::default()).unwrap();
    assert_eq!((names(&config), config.source.clone()), (vec!["here"], ConfigSource::File(DEFAULT.into())));
    let config = find(&legacy, &[], Lookup::default()).unwrap();
    assert_eq!((names(&config), config.source.clone()), (vec!["default"], ConfigSource::Environment));
    let config = find(&[], &[], Lookup::default()).unwrap();
    assert_eq!(
        (names(&config), config.source.clone(), config.warnings.len()),
        (vec![], ConfigSource::Nothing, 1)
    );
}

#[test]
fn a_named_file_must_exist() {
    let named = Lookup { config: Some("nope.json".into()), ..Lookup::default() };
    assert_eq!(find(&[], &[], named).unwrap_err().to_string(), "nope.json: cannot be read: no such file");
    let error = find(&[("MCP_CONFIG_PATH", "/nope.json")], &[], Lookup::default()).unwrap_err();
    assert_eq!(error.to_string(), "/nope.json: cannot be read: no such file");
    let more = Lookup { mcp_config: Some("more.json".into()), ..Lookup::default() };
    assert_eq!(find(&[], &[], more).unwrap_err().to_string(), "more.json: cannot be read: no such file");
}

#[test]
fn servers_of_a_second_file_are_added() {
    let files = [
        (DEFAULT, r#"{"port": 1, "clash": "error"}"#),
        ("/c.json", r#"{"mcpServers": {"x": {"command": "x"}}, "globalShortcut": "F1", "clash": "what"}"#),
    ];
    let lookup = Lookup { mcp_config: Some("/c.json".into()), ..Lookup::default() };
    let config = find(&[], &files, lookup).unwrap();
    assert_eq!(names(&config), ["x"]);
    assert_eq!(config.settings.keys().collect::<Vec<_>>(), ["port"]);
    assert_eq!(config.service.listen.port(), 1);
    // Without the second file the first one has no servers.
    assert!(
        find(&[], &files, Lookup::default())
            .unwrap_err()
            .to_string()
            .contains("must have a \"servers\" object")
    );
}

#[test]
fn settings_of_other_clients_are_no_mistakes() {
    let warnings = |members: &str| {
        let text = format!(r#"{{"mcpServers": {{"x": {{"command": "x"}}}}, {members}}}"#);
        let config = find(&[], &[(DEFAULT, &text)], Lookup::default()).unwrap();
        config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(warnings(r#""globalShortcut": "F1", "preferences": {"menuBarEnabled": false}"#), [""; 0]);
    assert_eq!(warnings(r#""theme": "GitHub", "selectedAuthType": "oauth", "editor.fontSize": 12"#), [""; 0]);
    let misspelt = warnings(r#""globalShortcut": "F1", "prot": 1"#);
    assert_eq!(misspelt.len(), 1, "{misspelt:?}");
    assert!(misspelt[0].ends_with("prot: unknown field, ignored; did you mean `port`?"), "{misspelt:?}");
}

#[test]
fn dotted_names_of_our_fields_are_warned_of() {
    for (member, hint) in [
        (r#""log.redact": ["token"]"#, r#"did you mean `{"log": {"redact": …}}`?"#),
        (r#""limits.resultBytes": 1000"#, r#"did you mean `{"limits": {"resultBytes": …}}`?"#),
    ] {
        let text = format!(r#"{{"mcpServers": {{"x": {{"command": "x"}}}}, {member}}}"#);
        let config = find(&[], &[(DEFAULT, &text)], Lookup::default()).unwrap();
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("unknown field, ignored") && warnings[0].ends_with(hint),
            "{warnings:?}"
        );
    }
}

#[test]
fn one_server_can_be_described_by_variables() {
    let stdio = |command: &str, args: &[&str], env: &[(&str, &str)]| Endpoint::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
    };
    let cases: [(Variables<'_>, Option<Endpoint>); 7] = [
        (
            &[("MCP_SERVER_DIST", "/d/index.js"), ("MCP_BASE_PATH", "/data"), ("MCP_LOG_PATH", "/l.log")],
            Some(stdio("node", &["/d/index.js"], &[("BASE_PATH", "/data"), ("MCP_CALL_LOG", "/l.log")])),
        ),
        (
            &[("MCP_SERVER_DIST", "/d/index.js"), ("MCP_BASE_PATH", "/data")],
            Some(stdio("node", &["/d/index.js"], &[("BASE_PATH", "/data"), ("MCP_CALL_LOG", "")])),
        ),
        (
            &[("MCP_SERVER_DIST", "/d.ts"), ("MCP_BASE_PATH", "/data"), ("MCP_SERVER_RUNTIME", "bun")],
            Some(stdio("bun", &["/d.ts"], &[("BASE_PATH", "/data"), ("MCP_CALL_LOG", "")])),
        ),
        (&[("MCP_SERVER_DIST", "/d/index.js")], None),
        (&[("MCP_BASE_PATH", "/data")], None),
        (
            &[("MCP_SERVER_COMMAND", "python -m 'my server' --flag")],
            Some(stdio("python", &["-m", "my server", "--flag"], &[("MCP_CALL_LOG", "")])),
        ),
        (&[("MCP_SERVER_COMMAND", "")], None),
    ];
    for (variables, expected) in cases {
        let config = find(variables, &[], Lookup::default()).unwrap();
        assert_eq!(config.servers.first().map(|server| server.endpoint.clone()), expected, "{variables:?}");
        let log =
            variables.iter().find(|(name, _)| *name == "MCP_LOG_PATH").map(|(_, path)| Path::new(*path));
        assert_eq!(config.servers.first().and_then(|server| server.log_path.as_deref()), log);
    }
    let error = find(&[("MCP_SERVER_COMMAND", "python 'oops")], &[], Lookup::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment: MCP_SERVER_COMMAND: must be a command line with every quote closed"
    );
}

#[test]
fn dotenv_files_fill_what_is_not_set() {
    let files = [
        ("/project/a/b/.env", "A=here\nSET=no\n"),
        ("/project/a/.env", "A=parent\nB=parent\n"),
        ("/project/.env", "B=grandparent\nC=grandparent\n"),
        ("/.env", "D=too far\n"),
    ];
    let found = |scope| environment(&[("SET", "yes")], &files).with_dotenv(Path::new("/project/a/b"), scope);
    let check = |scope, expected: [Option<&str>; 5]| {
        let values = ["A", "B", "C", "D", "SET"].map(|name| found(scope).variable(name));
        assert_eq!(values, expected.map(|value| value.map(str::to_owned)), "{scope:?}");
    };
    check(DotenvScope::Directory, [Some("here"), None, None, None, Some("yes")]);
    check(DotenvScope::Parents, [Some("here"), Some("parent"), Some("grandparent"), None, Some("yes")]);
    let found = found(DotenvScope::Parents);
    assert!(!format!("{found:?}").contains("grandparent"));
}

#[test]
fn dotenv_lines_are_read_as_usual() {
    let cases: [(&str, &[(&str, &str)]); 18] = [
        ("A=1", &[("A", "1")]),
        ("A=1\r\nB=2\r\n", &[("A", "1"), ("B", "2")]),
        ("export A=1", &[("A", "1")]),
        ("export\tA = 1 ", &[("A", "1")]),
        ("exported=1", &[("exported", "1")]),
        ("# A=1\n  # B=2\nC=3", &[("C", "3")]),
        ("A=\"two words\"", &[("A", "two words")]),
        ("A='two words'", &[("A", "two words")]),
        ("A=\"x\" # comment", &[("A", "x")]),
        ("A=x # comment\nB=x#y\nC=#z", &[("A", "x"), ("B", "x#y"), ("C", "")]),
        ("A='#1'", &[("A", "#1")]),
        ("A=", &[("A", "")]),
        ("A=b=c", &[("A", "b=c")]),
        ("not a line\n1A=2\nA-B=3\n=4", &[]),
        ("A=\"l1\\nl2\\t\\\"q\\\" \\x\"", &[("A", "l1\nl2\t\"q\" \\x")]),
        ("A='l1\\nl2'", &[("A", "l1\\nl2")]),
        ("A=\"l1\nl2\" # end\nB=2", &[("A", "l1\nl2"), ("B", "2")]),
        ("A=\"open\nB=2", &[("A", "\"open"), ("B", "2")]),
    ];
    for (text, expected) in cases {
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(parse_dotenv(text), expected, "{text:?}");
    }
}

#[test]
fn comments_and_trailing_commas_become_spaces() {
    let cases = [
        ("{}", "{}"),
        ("// x\n{}", "    \n{}"),
        ("{\"a\": 1,}", "{\"a\": 1 }"),
        ("[1, 2, /* x */ ]", "[1, 2          ]"),
        ("[1,\n// x\n]", "[1 \n    \n]"),
        ("{\"u\": \"http://x/*y*/,}\"}", "{\"u\": \"http://x/*y*/,}\"}"),
        ("{\"q\": \"\\\"// no\"}", "{\"q\": \"\\\"// no\"}"),
        ("{/* ü\nü */}", "{     \n     }"),
        ("\u{feff}{}", "   {}"),
        ("[[1,],{\"a\":[],},]", "[[1 ],{\"a\":[] } ]"),
        ("{} // end", "{}       "),
    ];
    for (text, expected) in cases {
        let plain = to_json(text).unwrap();
        assert_eq!(plain, expected, "{text}");
        assert_eq!(plain.len(), text.len(), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&plain).is_ok(), "{plain}");
    }
    // Not everything is forgiven.
    for text in ["[1,,2]", "{,}", "[,]", "{\"a\" 1}", "/", "'a'"] {
        assert!(Document::parse(text).is_err(), "{text}");
    }
}

#[test]
fn every_member_has_its_line() {
    let document = Document::parse(
        "// one\n{\n  \"a\": {\n    \"b/c\": [\n      1,\n      {\"d\": 2}\n    ],\n    \"e~f\":\n      3\n  },\n  \"a2\": 1, \"t\": 1,\n  \"t\": 2\n}",
    )
    .unwrap();
    let cases = [
        ("", 2),
        ("/a", 3),
        ("/a/b~1c", 4),
        ("/a/b~1c/0", 5),
        ("/a/b~1c/1/d", 6),
        ("/a/e~0f", 8),
        ("/a2", 11),
        ("/t", 12),
        ("/a/nope/deeper", 3),
        ("/nope", 2),
    ];
    for (pointer, line) in cases {
        assert_eq!(document.line_of(pointer), line, "{pointer}");
    }
    assert_eq!(document.duplicates, ["/t"]);
}

#[test]
fn a_repeated_field_is_an_error_with_its_line() {
    let text =
        "{\n  \"servers\": {\n    \"x\": {\"command\": \"a\",\n      \"\\u0063ommand\": \"b\"}\n  }\n}";
    let errors = keyed(text).unwrap_err().errors;
    let errors: Vec<(Option<usize>, &str, &str)> =
        errors.iter().map(|error| (error.line, error.field.as_str(), error.message.as_str())).collect();
    assert_eq!(errors, [(Some(4), "servers.x.command", "stands here twice; keep one of them")]);
}

fn keyed(text: &str) -> Result<GatewayConfig, Problems> {
    let variables = [("TOKEN", "s3cret-token"), ("API_KEY_X", "from-input"), ("HOME", "/home/me")];
    parse(Path::new(FILE), text, &environment(&variables, &[("/run/secret", "s3cret-file")]))
}

#[test]
fn variables_that_keys_are_taken_from_are_hidden_from_servers() {
    let keys = r#""apiKeys": {"a": "${TOKEN}", "b": "plain", "c": "${env:NEXT:-${OLD:-x}}"},
        "adminKeys": ["${input:api-key-x}", "$${NOT}", "${file:/run/secret}"],"#;
    let text = format!(r#"{{{keys} "servers": {{"x": {{"command": "x"}}, "y": {{"url": "http://h/"}}}}}}"#);
    let config = keyed(&text).unwrap_or_else(|errors| panic!("{errors}"));
    for server in &config.servers {
        assert_eq!(&*server.hidden_env, ["API_KEY_X", "MCP_INPUT_API_KEY_X", "NEXT", "OLD", "TOKEN"]);
    }
    let other = keyed(r#"{"servers": {"x": {"command": "${TOKEN}"}}, "note": "${HOME}"}"#);
    assert_eq!(&*other.unwrap().servers[0].hidden_env, [""; 0], "others are not");
    let wrong = keyed(r#"{"servers": {"x": {"command": "x"}}, "apiKeys": ["${TOKEN} ${UNSET}"]}"#);
    let errors = wrong.unwrap_err().to_string();
    assert!(errors.contains("apiKeys.0: variable `UNSET` is not set"), "no server starts with it: {errors}");
}

#[test]
fn paths_start_at_the_directory_of_the_file() {
    let text = r#"{"servers": {}, "dataDirectory": "data", "dialects": ["d.toml"]}"#;
    let service = find(&[], &[(DEFAULT, text)], Lookup::default()).unwrap().service;
    assert_eq!(service.data, Some(PathBuf::from("/project/a/b/data")));
    assert_eq!(service.dialect_files, [Path::new("/project/a/b/d.toml")]);
    let named = Lookup { config: Some("../c/named.json".into()), ..Lookup::default() };
    let service = find(&[], &[("/project/a/b/../c/named.json", text)], named).unwrap().service;
    assert_eq!(service.data, Some(PathBuf::from("/project/a/b/../c/data")));
}

#[cfg(unix)]
#[test]
fn a_directory_need_not_be_unicode() {
    use std::os::unix::ffi::OsStrExt as _;

    let directory = Path::new(std::ffi::OsStr::from_bytes(b"/etc/g\xff"));
    let text = r#"{"servers": {}, "dataDirectory": "data"}"#;
    let config = parse(&directory.join("gateway.json"), text, &environment(&[], &[])).unwrap();
    assert_eq!(config.service.data, Some(directory.join("data")));
}

#[test]
fn settings_are_read_as_far_as_they_are_valid() {
    let settings = |text: &str| {
        let lookup = Lookup { directory: PathBuf::from("/project/a/b"), ..Lookup::default() };
        let environment = environment(&[("PORT", "9")], &[(DEFAULT, text)]);
        assert!(load(&lookup, &environment).is_err(), "{text}");
        let service = load_settings(&lookup, &environment);
        (service.listen.port(), service.validate)
    };
    assert_eq!(settings(r#"{"servers": {"x": {}}, "validate": false}"#), (9, false));
    assert_eq!(settings(r#"{"servers": {}, "validate": false, "drain": "soon"}"#), (9, false));
    assert_eq!(settings("{"), (9, true));
}

#[test]
fn a_file_of_another_client_without_servers_is_warned_of() {
    let main = r#"{"servers": {"x": {"command": "x"}}}"#;
    let lookup = |more: &str| Lookup {
        mcp_config: Some(more.into()),
        directory: PathBuf::from("/p"),
        ..Lookup::default()
    };
    let cases = [
        (
            r#"{"theme": "dark"}"#,
            "more.json:1: Config file must have a \"servers\" object (or \"mcpServers\")",
        ),
        (
            "{\n\"mcpServer\": {\"y\": {\"command\": \"y\"}}}",
            "more.json:2: mcpServer: Config file must have a \"servers\" object (or \"mcpServers\"); `mcpServer` is not known, \
             did you mean `mcpServers`?",
        ),
    ];
    for (more, expected) in cases {
        let files = [("/p/mcp-gateway-config.json", main), ("/p/more.json", more)];
        let config = load(&lookup("more.json"), &environment(&[], &files)).unwrap();
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!((config.servers.len(), warnings), (1, vec![expected.to_owned()]), "{more}");
        // Alone it is an error, with the same words and what would do instead.
        let alone = Lookup { config: Some("more.json".into()), directory: "/p".into(), ..Lookup::default() };
        let expected =
            expected.replace("(or \"mcpServers\")", "(or \"mcpServers\"), \"models\" or \"tools\"");
        assert_eq!(load(&alone, &environment(&[], &files)).unwrap_err().errors[0].to_string(), expected);
    }
}

/// Its current files have `servers` in `mcp`, older ones do not.
#[test]
fn servers_of_opencode_are_taken() {
    let file = |servers: &str| {
        format!("{{\"$schema\": \"https://opencode.ai/config.json\", \"theme\": \"x\",\n\"mcp\": {servers}}}")
    };
    let servers = r#"{
        "local": {"type": "local", "command": ["npx", "-y", "pkg"], "environment": {"KEY": "{env:TOKEN}"}, "timeout": 5000, "enabled": true},
        "remote": {"type": "remote", "url": "https://h/mcp", "headers": {"Authorization": "Bearer {env:TOKEN}"}},
        "off": {"type": "local", "command": ["x"], "enabled": false}}"#;
    let newer = format!("{{\"servers\": {servers}}}");
    for text in [file(servers), file(&newer)] {
        let files = [
            ("/p/opencode.json", text.as_str()),
            ("/p/mcp-gateway-config.json", r#"{"servers": {"x": {"command": "x"}}}"#),
        ];
        let lookup =
            Lookup { mcp_config: Some("opencode.json".into()), directory: "/p".into(), ..Lookup::default() };
        let config = load(&lookup, &environment(&[("TOKEN", "s3cret-token")], &files)).unwrap();
        assert_eq!(config.warnings, [], "{text}");
        let [_, local, remote, off] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
        let Endpoint::Stdio { command, args, env, .. } = &local.endpoint else { panic!("{local:?}") };
        assert_eq!(
            (command.as_str(), args.join(" "), env["KEY"].as_str()),
            ("npx", "-y pkg".to_owned(), "s3cret-token")
        );
        assert_eq!(local.timeouts.list, std::time::Duration::from_secs(5));
        let Endpoint::Http { headers, .. } = &remote.endpoint else { panic!("{remote:?}") };
        assert_eq!(headers["Authorization"], "Bearer s3cret-token");
        assert!(off.disabled && config.location(&local.id).line == Some(3));
    }
    // Our own settings beside them stay ours.
    let text = r#"{"mcp": {"pageSize": 7, "a": {"type": "local", "command": ["a"]}, "typo": 1}}"#;
    let files = [("/p/mcp-gateway-config.json", text)];
    let config =
        load(&Lookup { directory: "/p".into(), ..Lookup::default() }, &environment(&[], &files)).unwrap();
    assert_eq!((config.service.mcp.page, config.servers.len(), config.warnings.len()), (7, 1, 1));
    let own = Secret::new(r#"{"pageSize":7,"typo":1}"#);
    assert_eq!(config.settings, BTreeMap::from([("mcp".to_owned(), own)]));
}

const CODEX: &str = r#"model = "gpt-5"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
env = { "KEY" = "value" }
env_vars = ["TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled_tools = ["search"]
disabled_tools = ["delete"]

[mcp_servers.remote]
url = "https://h/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "OTHER" }
enabled = true

[mcp_servers.off]
command = "x"
enabled = false

[mcp_servers.bad]
url = "https://h/mcp"
bearer_token_env_var = "NOPE"
"#;

fn of_client(file: &str, text: &str, variables: Variables<'_>) -> GatewayConfig {
    let path = format!("/p/{file}");
    let files = [(path.as_str(), text), ("/p/mcp-gateway-config.json", r#"{"servers": {}}"#)];
    let lookup = Lookup { mcp_config: Some(file.into()), directory: "/p".into(), ..Lookup::default() };
    load(&lookup, &environment(variables, &files)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn servers_of_codex_are_read_from_toml() {
    let config = of_client("config.toml", CODEX, &[("TOKEN", "s3cret-token"), ("OTHER", "s3cret-other")]);
    let [docs, remote, off, bad] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
    let Endpoint::Stdio { command, args, env, .. } = &docs.endpoint else { panic!("{docs:?}") };
    assert_eq!((command.as_str(), args.join(" ")), ("npx", "-y docs-server".to_owned()));
    let expected = [("KEY", "value"), ("TOKEN", "s3cret-token")];
    assert_eq!(env, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    let millis = std::time::Duration::from_millis;
    assert_eq!((docs.timeouts.connect, docs.timeouts.call), (millis(20_000), millis(45_500)));
    assert_eq!(
        (&docs.tools.allow, &docs.tools.deny),
        (&vec!["search".to_owned()], &vec!["delete".to_owned()])
    );
    let Endpoint::Http { headers, .. } = &remote.endpoint else { panic!("{remote:?}") };
    let expected = [("Authorization", "Bearer s3cret-token"), ("X-Key", "s3cret-other"), ("X-Region", "eu")];
    assert_eq!(headers, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert!(off.disabled);
    let problems: Vec<String> = bad.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["config.toml:25: mcp_servers.bad.bearer_token_env_var: variable `NOPE` is not set; set it"]
    );
    assert_eq!(config.location(&docs.id).line, Some(3));
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["mcp-gateway-config.json:1: Config file has no servers defined"]);
}

#[test]
fn a_server_that_writes_a_log_learns_where() {
    let text = r#"{"servers": {"a": {"command": "a", "logPath": "/l.jsonl"}, "b": {"command": "b", "logPath": "/l", "env": {"MCP_CALL_LOG": "own"}}, "c": {"command": "c"}}}"#;
    let config = parse(Path::new(FILE), text, &environment(&[], &[])).unwrap();
    let logs: Vec<Option<&str>> = config
        .servers
        .iter()
        .map(|server| match &server.endpoint {
            Endpoint::Stdio { env, .. } => env.get("MCP_CALL_LOG").map(String::as_str),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(logs, [Some("/l.jsonl"), Some("own"), None]);
}

const GOOSE: &str = r#"GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  github:
    cmd: npx
    args:
      - -y
      - "@scope/server-github"
    description: ''
    display_name: GitHub
    enabled: true
    envs: {HOST: example.com}
    env_keys: [TOKEN, NOPE]
    name: github
    timeout: 120
    type: stdio
    available_tools: [search]
  web:
    type: streamable_http
    uri: https://h/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    enabled: true
    timeuot: 5
  old:
    type: sse
    uri: https://h/sse
    enabled: false
"#;

#[test]
fn servers_of_goose_are_read_from_yaml() {
    let config = of_client("config.yaml", GOOSE, &[("TOKEN", "s3cret-token")]);
    let [github, web, old] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
    let Endpoint::Stdio { command, args, env, .. } = &github.endpoint else { panic!("{github:?}") };
    assert_eq!((command.as_str(), args.join(" ")), ("npx", "-y @scope/server-github".to_owned()));
    let expected = [("HOST", "example.com"), ("TOKEN", "s3cret-token")];
    assert_eq!(env, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert_eq!(
        (github.timeouts.call.as_secs(), github.tools.allow.as_slice()),
        (120, ["search".to_owned()].as_slice())
    );
    let Endpoint::Http { url, headers, .. } = &web.endpoint else { panic!("{web:?}") };
    assert_eq!((url.as_str(), headers["Authorization"].as_str()), ("https://h/mcp", "Bearer s3cret-token"));
    assert!(old.disabled);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "mcp-gateway-config.json:1: Config file has no servers defined",
        "config.yaml:18: extensions.github.env_keys: variable `NOPE` is not set, so the program does not get it",
        "config.yaml:28: extensions.web.timeuot: unknown field, ignored; did you mean `timeout`?",
        "config.yaml:30: extensions.old.type: Server \"old\": the sse transport is deprecated; use \"http\" if the server can",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn other_notations_are_refused_with_their_line() {
    let cases = [
        ("a.toml", "[x]\ny = = 1\n", "a.toml:2: not TOML: "),
        ("a.yaml", "x:\n  - [\n", "a.yaml:3: not YAML: "),
        ("a.yml", "- 1\n", "a.yml:1: must be a YAML object"),
        ("a.json", "x: 1", "a.json:1: not JSON: "),
        ("a.yaml", "extensions: {a: {type: builtin}}\n", "a.yaml:1: Config file must have a"),
    ];
    for (file, text, expected) in cases {
        let path = format!("/p/{file}");
        let lookup = Lookup { config: Some(file.into()), directory: "/p".into(), ..Lookup::default() };
        let problems = load(&lookup, &environment(&[], &[(path.as_str(), text)])).unwrap_err();
        assert!(problems.errors[0].to_string().starts_with(expected), "{problems}");
    }
}
