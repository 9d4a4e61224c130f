//! Personal data, and where the call log is kept.

use std::path::Path;

use gateway_config::{GatewayConfig, PrivacyConfig, ScreenModes, parse};
use gateway_privacy::{Kind, Mode};

use crate::config::environment;

fn read(text: &str, variables: &[(&str, &str)]) -> Result<GatewayConfig, String> {
    let environment =
        environment(variables, &[("/etc/gateway/log-store", "postgres://me:from-file@db/log\n")]);
    parse(Path::new("/etc/gateway/gateway.json"), text, &environment).map_err(|problems| problems.to_string())
}

/// The section `privacy` with this text.
fn privacy(text: &str) -> PrivacyConfig {
    let config =
        read(&format!("{{\"mcpServers\": {{\"d\": {{\"type\": \"builtin\"}}}}, \"privacy\": {text}}}"), &[])
            .unwrap();
    assert_eq!(config.warnings, [], "{text}");
    config.service.privacy
}

#[test]
fn personal_data_is_not_looked_for_unless_it_is_configured() {
    for config in [
        read("{\"mcpServers\": {\"d\": {\"type\": \"builtin\"}}}", &[]).unwrap().service.privacy,
        privacy("{}"),
    ] {
        assert_eq!(config, PrivacyConfig::default());
        let off = ScreenModes::default();
        assert_eq!(
            (config.completions, config.conversations, config.chat, config.log),
            (off, off, off, None)
        );
        assert_eq!(config.kinds, Kind::ALL);
    }
}

#[test]
fn a_mode_holds_everywhere_unless_a_face_has_its_own() {
    let mask = Some(Mode::Mask);
    let mut expected = PrivacyConfig::default();
    let all = ScreenModes::all(mask);
    (expected.completions, expected.conversations, expected.chat, expected.log) = (all, all, all, mask);
    assert_eq!(privacy(r#"{"mode": "mask"}"#), expected);

    expected.kinds = vec![Kind::Card, Kind::Email];
    expected.completions = ScreenModes { messages: Some(Mode::Block), results: mask, answers: None };
    expected.chat = ScreenModes::default();
    expected.log = Some(Mode::Mark);
    let text = r#"{"mode": "mask", "kinds": ["card", "email"], "completions": {"messages": "block", "answers": "off"}, "chat": "off", "log": "mark"}"#;
    assert_eq!(privacy(text), expected);

    let mut only_log = PrivacyConfig::default();
    only_log.log = mask;
    assert_eq!(privacy(r#"{"log": "mask"}"#), only_log);
    // No entry of the log is left out.
    assert_eq!(privacy(r#"{"mode": "block"}"#).log, mask);
    assert_eq!(privacy(r#"{"kinds": "ssn"}"#).kinds, [Kind::Ssn]);

    let variables =
        [("MCP_GATEWAY_PRIVACY_MODE", "mask"), ("MCP_GATEWAY_PRIVACY_COMPLETIONS_ANSWERS", "off")];
    let by_variables =
        read("{\"mcpServers\": {\"d\": {\"type\": \"builtin\"}}}", &variables).unwrap().service.privacy;
    assert_eq!(by_variables.completions, ScreenModes { answers: None, ..all });
}

#[test]
fn what_is_wrong_with_personal_data_is_said() {
    for (text, expected) in [
        (r#"{"mode": "hide"}"#, r#"must be one of "off", "mark", "mask", "block""#),
        (r#"{"kinds": ["name"]}"#, r#"must be one of "card", "iban", "ssn", "phone", "email""#),
        (r#"{"log": "block"}"#, r#"must be one of "off", "mark", "mask""#),
        (r#"{"chat": 1}"#, r#"must be one of "off""#),
    ] {
        let problems = read(
            &format!("{{\"mcpServers\": {{\"d\": {{\"type\": \"builtin\"}}}}, \"privacy\": {text}}}"),
            &[],
        )
        .unwrap_err();
        assert!(problems.contains(expected), "{text}: {problems}");
    }
}

/// The address of a store is a secret, and programs do not get the variables behind it.
#[test]
fn the_variables_of_a_store_are_hidden_from_programs() {
    let text = |store: &str| {
        format!(
            r#"{{"mcpServers": {{"files": {{"command": "files"}}}}, "log": {{"store": "{store}"}},
                "tools": {{"run": {{"description": "x", "inputSchema": {{"type": "object"}}, "handler": {{"type": "command", "command": "true"}}}}}}}}"#
        )
    };
    let hidden = |config: &GatewayConfig| -> Vec<String> { config.servers[0].hidden_env.to_vec() };
    let config = read(&text("${LOG_DB}"), &[("LOG_DB", "postgres://me:hunter2@db/log")]).unwrap();
    assert_eq!(config.service.log.store.as_ref().unwrap().expose(), "postgres://me:hunter2@db/log");
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(hidden(&config), ["LOG_DB"]);
    let gateway_config::ToolHandler::Command(command) = &config.registry.tools[0].handler else {
        panic!("{:?}", config.registry.tools)
    };
    assert_eq!(command.hidden_env.to_vec(), ["LOG_DB"]);

    let parts = [("DB_USER", "me"), ("DB_PASSWORD", "hunter2")];
    let config = read(&text("postgres://${DB_USER}:${DB_PASSWORD}@db/log"), &parts).unwrap();
    assert_eq!(hidden(&config), ["DB_PASSWORD", "DB_USER"]);

    let config = read(&text("${file:/etc/gateway/log-store}"), &[]).unwrap();
    assert_eq!(config.service.log.store.unwrap().expose(), "postgres://me:from-file@db/log");

    let own = [("MCP_GATEWAY_LOG_STORE", "postgres://me:hunter2@db/log")];
    let config = read(r#"{"mcpServers": {"files": {"command": "files"}}}"#, &own).unwrap();
    assert!(config.service.log.store.is_some());
    assert_eq!(hidden(&config), ["MCP_GATEWAY_LOG_STORE"]);
}

#[test]
fn an_address_of_a_store_that_is_wrong_is_not_repeated() {
    let of = |log: &str| {
        read(
            &format!("{{\"mcpServers\": {{\"d\": {{\"type\": \"builtin\"}}}}, \"log\": {log}}}"),
            &[("SECRET", "hunter2")],
        )
    };
    let problems = of(r#"{"store": "redis://me:${SECRET}@db"}"#).unwrap_err();
    assert!(problems.contains("log.store: must be an address such as `postgres://"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
    let both = of(r#"{"store": "postgres://db/log", "directory": "x"}"#).unwrap();
    assert!(
        both.warnings[0].to_string().contains("is not used, because `store` is set"),
        "{:?}",
        both.warnings
    );
    assert_eq!(of(r#"{"store": ""}"#).unwrap().service.log.store, None);
}
