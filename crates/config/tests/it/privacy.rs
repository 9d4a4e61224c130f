//! Personal data.

use std::path::Path;

use gateway_config::{GatewayConfig, PrivacyConfig, ScreenModes, parse};
use gateway_privacy::{Kind, Mode};

use crate::config::environment;

fn read(text: &str, variables: &[(&str, &str)]) -> Result<GatewayConfig, String> {
    let environment =
        environment(variables, &[]);
    parse(Path::new("/etc/gateway/gateway.json"), text, &environment).map_err(|problems| problems.to_string())
}

/// The section `privacy` with this text.
fn privacy(text: &str) -> PrivacyConfig {
    let config = read(&format!("{{\"mcpServers\": {{}}, \"privacy\": {text}}}"), &[]).unwrap();
    assert_eq!(config.warnings, [], "{text}");
    config.service.privacy
}

#[test]
fn personal_data_is_not_looked_for_unless_it_is_configured() {
    for config in [read("{\"mcpServers\": {}}", &[]).unwrap().service.privacy, privacy("{}")] {
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
    let by_variables = read("{\"mcpServers\": {}}", &variables).unwrap().service.privacy;
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
        let problems = read(&format!("{{\"mcpServers\": {{}}, \"privacy\": {text}}}"), &[]).unwrap_err();
        assert!(problems.contains(expected), "{text}: {problems}");
    }
}
