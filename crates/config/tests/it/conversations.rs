//! Conversations and where they are kept.

use std::path::Path;
use std::time::Duration;

use gateway_config::{ConversationsConfig, GatewayConfig, Secret, StoreLocation, UpstreamSpec, parse};

use crate::config::environment;

fn read(text: &str, variables: &[(&str, &str)]) -> Result<GatewayConfig, String> {
    let environment = environment(variables, &[]);
    parse(Path::new("/etc/gateway/gateway.json"), text, &environment).map_err(|problems| problems.to_string())
}

fn conversations(members: &str, variables: &[(&str, &str)]) -> ConversationsConfig {
    let text = format!(r#"{{"mcpServers": {{"a": {{"command": "a"}}}}, "conversations": {members}}}"#);
    let config = read(&text, variables).unwrap();
    assert_eq!(config.warnings, [], "{members}");
    config.service.conversations
}

#[test]
fn everything_can_be_set() {
    let members = r#"{"store": "memory", "ttl": "30d", "maxBytes": "1MB", "deadline": "2s", "summarizeAfter": 9, "keepRecent": 3}"#;
    let mut expected = ConversationsConfig::default();
    expected.store = StoreLocation::Memory;
    expected.ttl = Some(Duration::from_hours(30 * 24));
    expected.bytes = 1 << 20;
    expected.deadline = Duration::from_secs(2);
    (expected.summarize_after, expected.keep_recent) = (9, 3);
    assert_eq!(conversations(members, &[]), expected);
    assert_eq!(conversations("{}", &[]), ConversationsConfig::default());
    let usual = ConversationsConfig::default();
    assert_eq!((usual.summarize_after, usual.store), (50, StoreLocation::DataDirectory));
}

#[test]
fn addresses_take_variables_which_servers_do_not_get() {
    let secret = |text: &str| Secret::new(text.to_owned());
    for (store, expected) in [
        ("redis://:${PASSWORD}@cache/0", StoreLocation::Redis(secret("redis://:hunter2@cache/0"))),
        ("rediss://cache", StoreLocation::Redis(secret("rediss://cache"))),
        ("${ADDRESS}", StoreLocation::Postgres(secret("postgres://me:pw@db/x"))),
        ("postgresql://db", StoreLocation::Postgres(secret("postgresql://db"))),
    ] {
        let text = format!(
            r#"{{"mcpServers": {{"files": {{"command": "files"}}}}, "conversations": {{"store": "{store}"}}}}"#
        );
        let variables = [("PASSWORD", "hunter2"), ("ADDRESS", "postgres://me:pw@db/x")];
        let config = read(&text, &variables).unwrap();
        assert_eq!(config.service.conversations.store, expected, "{store}");
        let UpstreamSpec { hidden_env, .. } = &config.servers[0];
        for (name, _) in variables {
            assert_eq!(
                hidden_env.iter().any(|hidden| hidden == name),
                store.contains(name),
                "{store} {name}"
            );
        }
        assert!(!format!("{:?}", config.service.conversations).contains("hunter2"), "{store}");
    }
    let variable = ("MCP_GATEWAY_CONVERSATIONS_STORE", "redis://:hunter2@cache");
    let config = read(r#"{"mcpServers": {"files": {"command": "files"}}}"#, &[variable]).unwrap();
    assert_eq!(config.service.conversations.store, StoreLocation::Redis(secret(variable.1)));
    assert!(config.servers[0].hidden_env.iter().any(|hidden| hidden == variable.0));
}

#[test]
fn what_is_wrong_is_said_without_the_address() {
    for (members, expected) in [
        (r#"{"store": "mysql://me:hunter2@db"}"#, "must begin with `redis://`"),
        (r#"{"store": "${NOT_SET}"}"#, "NOT_SET"),
        (r#"{"ttl": "0s"}"#, "ttl"),
        (r#"{"keepRecent": 50}"#, "must be less than `summarizeAfter`"),
        (r#"{"maxBytes": 1}"#, "maxBytes"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "a"}}}}, "conversations": {members}}}"#);
        let problems = read(&text, &[]).unwrap_err();
        assert!(problems.contains(expected) && !problems.contains("hunter2"), "{members}: {problems}");
    }
}
