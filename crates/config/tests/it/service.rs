//! The settings of the gateway itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_config::{
    Approval, ApprovalConfig, Approver, CacheConfig, ClashPolicy, GatewayConfig, LogLevel, Lookup, McpConfig,
    RateLimit, SearchMode, Secret, json_schema, load, parse,
};

use crate::config::{FILE, environment};

const DAY: Duration = Duration::from_hours(24);

/// Reads these members, in a file that needs no servers.
fn settings(text: &str, variables: &[(&str, &str)]) -> Result<GatewayConfig, Vec<String>> {
    let text = text.replacen('{', "{\"tools\": {}, ", 1);
    parse(Path::new("/etc/gateway/gateway.json"), &text, &environment(variables, &[])).map_err(|problems| {
        problems.to_string().replace("/etc/gateway/", "").lines().map(str::to_owned).collect()
    })
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let errors = settings(text, &[]).map(drop).unwrap_err();
    assert_eq!(errors, [expected]);
}

#[test]
fn everything_can_be_set() {
    let text = r#"{
        // where
        "listen": "0.0.0.0:9000",
        "apiKeys": {"alice": "${ALICE_KEY}", "bob": "0123456789abcdef"},
        "adminKeys": {"root": "${ALICE_KEY}-admin"},
        "allowedHosts": ["gateway.internal"],
        "cors": ["https://app.example"],
        "limits": {"bodyBytes": "2MB", "bodiesBytes": "20MB", "concurrentRequests": 10, "concurrentCallsPerTurn": 2, "logStreams": 3, "resultBytes": "64MB"},
        "timeouts": {"read": "5s", "write": "6s", "list": 1.5},
        "rateLimit": {"perSecond": 5, "burst": 20},
        "drain": "3s",
        "mcp": {"pageSize": 20, "sessions": 30, "sessionsPerCaller": 9, "sessionIdle": "1m", "inputExpiry": 90, "parkedCalls": 40, "lineBytes": "1MB", "search": 300},
        "cache": {"tools": {"docs/secret": false, "docs/*": "5m"}, "maxBytes": "2MB"},
        "defaultServer": "files",
        "validate": false,
        "log": {"directory": "log", "readers": ["alice"], "redact": ["ssn", "bank/*:/account"], "maxValueBytes": 1024, "keepDays": 7, "keepBytes": "10MB"},
        "dialects": ["mine.toml"],
        "logLevel": "warn",
    }"#;
    let variables = [("ALICE_KEY", "a-long-enough-key"), ("HOME", "/home/me")];
    let GatewayConfig { service: config, warnings, .. } = settings(text, &variables).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.listen, "0.0.0.0:9000".parse().unwrap());
    assert_eq!(config.keys["alice"], Secret::new("a-long-enough-key"));
    assert_eq!(config.admin_keys["root"], Secret::new("a-long-enough-key-admin"));
    assert_eq!(config.allowed_origins, ["https://app.example"]);
    assert_eq!((config.body_bytes, config.concurrent_requests, config.log_streams), (2 << 20, 10, 3));
    assert_eq!((config.bodies_bytes, config.result_bytes), (Some(20 << 20), 64 << 20));
    assert_eq!(
        (config.read_timeout, config.list_wait),
        (Duration::from_secs(5), Duration::from_millis(1_500))
    );
    assert_eq!(config.rate_limit, Some(RateLimit { per_second: 5.0, burst: 20.0 }));
    let kept = [("docs/secret", Duration::ZERO), ("docs/*", Duration::from_mins(5))];
    let tools = kept.map(|(pattern, time)| (pattern.to_owned(), time)).into();
    assert_eq!(config.cache, CacheConfig { tools, bytes: 2 << 20 });
    let mut mcp = McpConfig::default();
    (mcp.page, mcp.sessions, mcp.sessions_per_caller) = (20, 30, Some(9));
    (mcp.session_idle, mcp.input_expiry) = (Duration::from_mins(1), Duration::from_secs(90));
    (mcp.parked_calls, mcp.line_bytes, mcp.search) = (40, 1 << 20, SearchMode::Above(300));
    assert_eq!(config.mcp, mcp);
    assert_eq!((config.drain, config.validate), (Duration::from_secs(3), false));
    assert_eq!(config.log.directory.as_deref(), Some(Path::new("/etc/gateway/log")));
    assert_eq!(config.log.readers, ["alice"]);
    assert_eq!(
        (&config.log.redact_keys[..], &config.log.redact_paths[..]),
        (&["ssn".to_owned()][..], &["bank/*:/account".to_owned()][..])
    );
    assert_eq!((config.log.value_bytes, config.log.keep, config.log.keep_bytes), (1_024, DAY * 7, 10 << 20));
    assert_eq!(config.dialect_files, [Path::new("/etc/gateway/mine.toml")]);
    assert_eq!(config.data.as_deref(), Some(Path::new("/home/me/.local/state/mcp-tool-gateway")));
    assert_eq!(config.log_level, Some(LogLevel::Warn));
    assert!(!format!("{config:?}").contains("a-long-enough-key"), "keys are not shown");
}

#[test]
fn variables_win() {
    let text = r#"{"host": "192.168.1.1", "port": 9000, "logLevel": "warn", "dataDirectory": "~/data"}"#;
    let variables =
        [("HOST", "127.0.0.2"), ("PORT", "0"), ("LOG_LEVEL", "DEBUG"), ("MCP_GATEWAY_DATA", "/var/data")];
    let config = settings(text, &variables).unwrap().service;
    assert_eq!(config.listen, "127.0.0.2:0".parse().unwrap());
    assert_eq!((config.log_level, config.data), (Some(LogLevel::Debug), Some(PathBuf::from("/var/data"))));
    let settings = settings(text, &[("HOST", "my-laptop"), ("HOME", "/home/me")]).unwrap();
    assert_eq!(settings.service.listen, "192.168.1.1:9000".parse().unwrap());
    assert_eq!(settings.service.data, Some(PathBuf::from("/home/me/data")));
    assert_eq!(settings.warnings[0].to_string(), "environment: HOST: is no address, so it is not used");
}

#[test]
fn nothing_means_the_defaults() {
    let config = settings("{}", &[("XDG_STATE_HOME", "/state")]).unwrap().service;
    assert_eq!(config.listen, "127.0.0.1:8787".parse().unwrap());
    assert_eq!(config.log.directory, Some(PathBuf::from("/state/mcp-tool-gateway")));
    assert!(config.keys.is_empty() && config.rate_limit.is_none() && config.validate);
    assert_eq!(settings("{\"log\": false}", &[]).unwrap().service.log.directory, None);
}

#[test]
fn errors_name_file_line_and_field() {
    check_error("{\n\"port\": 99999}", "gateway.json:2: port: must be a whole number from 0 to 65535");
    check_error(
        "{\"listen\": \"gateway.internal:80\"}",
        "gateway.json:1: listen: must be `address:port`, such as `127.0.0.1:8787` or `[::1]:8787`",
    );
    check_error(
        "{\"limits\": {\n\n\"concurrentRequests\": 0}}",
        "gateway.json:3: limits.concurrentRequests: must be a whole number from 1 to 1000000",
    );
    check_error("{\"apiKeys\": {\"a\": 5}}", "gateway.json:1: apiKeys.a: must be a text");
    check_error(
        "{\"apiKeys\": {\"admin:a\": \"a-long-enough-key\"}}",
        "gateway.json:1: apiKeys.admin:a: the name of an owner must not begin with `admin:`, which tells admins from \
         callers in the log",
    );
    check_error(
        "{\"adminKeys\": {\"a\\u001b[2J\": \"a-long-enough-key\"}}",
        "gateway.json:1: adminKeys.a\\u{1b}[2J: the name of an owner must not have control or invisible characters",
    );
    check_error("{\"apiKeys\": [\"\"]}", "gateway.json:1: apiKeys.0: must not be empty");
    let hash = "must have 64 hexadecimal digits after `sha256:`";
    check_error(
        "{\"adminKeys\": {\"root\": \"sha256:abc\"}}",
        &format!("gateway.json:1: adminKeys.root: {hash}"),
    );
    for digits in ["g".repeat(64), "+f".repeat(32), "0".repeat(63)] {
        check_error(
            &format!("{{\"apiKeys\": [\"sha256:{digits}\"]}}"),
            &format!("gateway.json:1: apiKeys.0: {hash}"),
        );
    }
    let errors = settings("{}", &[("MCP_GATEWAY_API_KEY", "sha256:")]).map(|_| ()).unwrap_err();
    assert_eq!(errors, [format!("environment: MCP_GATEWAY_API_KEY: {hash}")]);
    check_error(
        "{\"cors\": true}",
        "gateway.json:1: cors: must list the origins; `[\"*\"]` allows every page to read",
    );
    check_error(
        "{\"cors\": \"app.example\"}",
        "gateway.json:1: allowedOrigins: `app.example` must look like `https://app.example.org`",
    );
    check_error("{\"rateLimit\": {}}", "gateway.json:1: rateLimit.perSecond: is missing");
    check_error(
        "{\"logLevel\": \"loud\"}",
        "gateway.json:1: logLevel: `loud` is no level; expected debug, info, warn or error",
    );
    check_error(
        "{\"cache\": {\"tools\": {\"search\": 5}}}",
        "gateway.json:1: cache.tools.search: must name a server and a tool, such as `docs/search` or `docs/*`",
    );
    check_error("{\"validate\": \"yes\"}", "gateway.json:1: validate: must be true or false");
}

/// A key that somebody forgot to fill in must not leave the gateway open to all.
#[test]
fn a_key_without_a_value_is_an_error() {
    check_error(r#"{"apiKeys": {"ann": null}}"#, "gateway.json:1: apiKeys.ann: must be a text");
    check_error(r#"{"adminKeys": {"ann": null}}"#, "gateway.json:1: adminKeys.ann: must be a text");
    check_error(r#"{"apiKeys": [null]}"#, "gateway.json:1: apiKeys.0: must be a text");
    check_error(
        r#"{"cache": {"tools": {"search": null}}}"#,
        "gateway.json:1: cache.tools.search: must name a server and a tool, such as `docs/search` or `docs/*`",
    );
}

#[test]
fn texts_are_nothing_but_texts() {
    let empty = "must be a text that is not empty";
    check_error(r#"{"defaultServer": ""}"#, &format!("gateway.json:1: defaultServer: {empty}"));
    for (text, field) in [
        (r#"{"allowedHosts": [1]}"#, "allowedHosts"),
        (r#"{"allowedOrigins": [true]}"#, "allowedOrigins"),
        (r#"{"cors": [1]}"#, "cors"),
        (r#"{"cors": {"origins": [1]}}"#, "cors.origins"),
        (r#"{"dialects": ["a.toml", 1]}"#, "dialects"),
        (r#"{"log": {"readers": [1]}}"#, "log.readers"),
        (r#"{"log": {"redact": [1]}}"#, "log.redact"),
        (r#"{"log": {"redact": {"keys": [1]}}}"#, "log.redact.keys"),
    ] {
        check_error(text, &format!("gateway.json:1: {field}: must be a text or a list of texts"));
        let whole = serde_json::from_str(text).unwrap();
        assert!(!jsonschema::is_valid(&json_schema(), &whole), "{text}");
    }
    let hosts = settings(r#"{"allowedHosts": "one.example"}"#, &[]).unwrap().service.allowed_hosts;
    assert_eq!(hosts, ["one.example"]);
}

#[test]
fn keys_without_a_name_are_named_by_their_hash() {
    let names = |text: &str, variables: &[(&str, &str)]| {
        let config = settings(text, variables).unwrap().service;
        let names = |keys: &BTreeMap<String, Secret>| keys.keys().cloned().collect::<Vec<String>>();
        (names(&config.keys), names(&config.admin_keys))
    };
    let key = "a-long-enough-key";
    let hash = "sha256:b5681434f49f4f18969301e96a28b295a0e1f62be556c2ed2f902d53a872f6d9";
    let (first, _) = names(&format!(r#"{{"apiKeys": ["{key}"]}}"#), &[]);
    assert!(first[0].len() == 20 && first[0].starts_with("key-"), "{first:?}");
    let variables = [("MCP_GATEWAY_API_KEY", key), ("MCP_GATEWAY_ADMIN_KEY", key)];
    assert_eq!(names("{}", &variables), (first.clone(), first.clone()), "wherever the key comes from");
    let variables = [("MCP_GATEWAY_API_KEY", hash)];
    assert_eq!(names("{}", &variables).0, first, "also as its hash");
    let (second, _) = names(r#"{"apiKeys": ["another-long-key"]}"#, &[]);
    assert_ne!(first, second, "another key at the same index is another owner");
}

#[test]
fn a_missing_variable_of_a_key_is_an_error_without_its_value() {
    let errors = settings("{\"apiKeys\": {\"a\": \"x${NOT_THERE}\"}}", &[]).map(|_| ()).unwrap_err();
    assert!(
        errors[0].starts_with("gateway.json:1: apiKeys.a: ") && errors[0].contains("NOT_THERE"),
        "{errors:?}"
    );
}

#[test]
fn a_key_is_not_made_of_what_the_file_itself_says() {
    let text = r#"{"inputs": [{"id": "key", "default": "a-long-enough-key"}], "apiKeys": {"a": "${input:key}", "b": "${workspaceFolder}"}}"#;
    let errors = settings(text, &[]).map(drop).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("apiKeys.a: `${input:key}` is asked for by an editor"), "{errors:?}");
    assert!(errors[1].contains("apiKeys.b: variable `workspaceFolder` is not set"), "{errors:?}");
    let variables = [("KEY", "another-long-key"), ("workspaceFolder", "a-third-long-key")];
    let keys = settings(text, &variables).unwrap().service.keys;
    assert_eq!(keys["a"], Secret::new("another-long-key"));
    assert_eq!(keys["b"], Secret::new("a-third-long-key"));
}

#[test]
fn unknown_fields_and_short_keys_are_warned_of() {
    let text = r#"{"lisen": 1, "log": {"folder": "x", "readers": ["nobody"]}, "apiKeys": ["short"], "approval": {"approver": "admin"}}"#;
    let warnings = settings(text, &[]).unwrap().warnings;
    let fields: Vec<&str> = warnings.iter().map(|warning| warning.field.as_str()).collect();
    assert_eq!(fields, ["lisen", "apiKeys.0", "approval.approver", "log.folder", "log.readers"]);
    assert_eq!(warnings[0].message, "unknown field, ignored; did you mean `listen`?");
}

#[test]
fn a_policy_is_read() {
    let text = r#"{"approval": {"default": "ask", "tools": {"files/read*": "allow", "*": "deny"}, "approver": "admin", "wait": "2m", "expiry": 60, "pending": 5, "pendingPerCaller": 2}}"#;
    let tools = vec![("files/read*".to_owned(), Approval::Allow), ("*".to_owned(), Approval::Deny)];
    let expected = ApprovalConfig {
        default: Approval::Ask,
        tools,
        approver: Approver::Admin,
        wait: Duration::from_mins(2),
        expiry: Duration::from_mins(2),
        pending: 5,
        pending_per_caller: Some(2),
    };
    assert_eq!(settings(text, &[]).unwrap().service.approval, expected);
    let wrong =
        r#"{"approval": {"default": "maybe", "approver": "me", "tools": {"write": "ask", "a/b": true}}}"#;
    assert_eq!(
        settings(wrong, &[]).map(drop).unwrap_err(),
        [
            "gateway.json:1: approval.default: must be one of \"allow\", \"ask\", \"deny\"",
            "gateway.json:1: approval.approver: must be one of \"caller\", \"admin\"",
            "gateway.json:1: approval.tools.write: must name a server and a tool, such as `files/write` or `files/*`",
            "gateway.json:1: approval.tools.a/b: must be one of \"allow\", \"ask\", \"deny\"",
        ]
    );
}

#[test]
fn every_setting_has_a_variable() {
    let text = r#"{"servers": {"x": {"command": "x"}}, "limits": {"bodyBytes": "1MB", "logStreams": 3}, "clash": "prefix", "drain": "1s"}"#;
    let variables = [
        ("MCP_GATEWAY_LIMITS_BODY_BYTES", "2MB"),
        ("MCP_GATEWAY_APPROVAL_DEFAULT", "ask"),
        ("MCP_GATEWAY_CLASH", "first"),
        ("MCP_GATEWAY_ALLOWED_HOSTS", r#"["a", "b"]"#),
        ("MCP_GATEWAY_VALIDATE", "false"),
        ("MCP_GATEWAY_DEFAULT_SERVER", "7"),
        ("MCP_GATEWAY_MCP_PAGE_SIZE", "9"),
        ("MCP_GATEWAY_API_KEYS", r#"{"me": "a-key-that-is-long-enough"}"#),
        ("MCP_GATEWAY_LOG", "false"),
        ("MCP_GATEWAY_DRAIN", ""),
    ];
    let config = parse(Path::new(FILE), text, &environment(&variables, &[])).unwrap();
    let service = &config.service;
    assert_eq!((service.body_bytes, service.log_streams, service.mcp.page), (2 << 20, 3, 9));
    assert_eq!((service.approval.default, config.catalogue.clash), (Approval::Ask, ClashPolicy::First));
    assert_eq!(
        (service.allowed_hosts.as_slice(), service.validate),
        (["a".to_owned(), "b".to_owned()].as_slice(), false)
    );
    assert_eq!((service.default_server.as_deref(), service.drain.as_secs()), (Some("7"), 1));
    assert_eq!((service.keys.len(), &service.log.directory), (1, &None));
    assert!(
        config.servers[0].hidden_env.contains(&"MCP_GATEWAY_API_KEYS".to_owned()),
        "no program inherits keys"
    );
    // Without a file too.
    let lookup = Lookup { directory: "/p".into(), ..Lookup::default() };
    let bare = load(&lookup, &environment(&[("MCP_GATEWAY_MCP_PAGE_SIZE", "9")], &[])).unwrap();
    assert_eq!(bare.service.mcp.page, 9);
}

#[test]
fn what_is_wrong_with_a_variable_names_it_and_not_its_value() {
    let text = r#"{"servers": {"x": {"command": "x"}}, "log": false}"#;
    let variables = [("MCP_GATEWAY_DRAIN", "whenever-s3cret"), ("MCP_GATEWAY_LOG_KEEP_DAYS", "3")];
    let problems = parse(Path::new(FILE), text, &environment(&variables, &[])).unwrap_err();
    let errors: Vec<String> = problems.errors.iter().map(ToString::to_string).collect();
    assert!(
        errors.len() == 1 && errors[0].starts_with("environment: MCP_GATEWAY_DRAIN: must be a time"),
        "{errors:?}"
    );
    assert!(!errors[0].contains("s3cret"));
    let warnings: Vec<String> = problems.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["environment: MCP_GATEWAY_LOG_KEEP_DAYS: `log` is no object in the file, so it is not used"]
    );
}

/// The schema names each variable, and no two settings share one.
#[test]
fn the_schema_names_the_variables() {
    let text = json_schema().to_string();
    let mut names: Vec<&str> =
        text.split("Variable: `").skip(1).filter_map(|rest| rest.split('`').next()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in [
        "MCP_GATEWAY_PORT",
        "MCP_GATEWAY_LIMITS_BODY_BYTES",
        "MCP_GATEWAY_LOG",
        "MCP_GATEWAY_LOG_KEEP_DAYS",
        "MCP_GATEWAY_REGISTRY_NAME",
        "MCP_GATEWAY_GROUPS",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("SERVERS")), "{names:?}");
}
