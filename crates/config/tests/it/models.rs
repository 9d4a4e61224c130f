//! Models and the loop.

use std::path::Path;
use std::time::Duration;

use gateway_config::{GatewayConfig, ModelKind, OnLimit, Secret, ToolDialect, ToolUse, UpstreamSpec, parse};
use serde_json::json;

use crate::config::environment;

fn read(text: &str, variables: &[(&str, &str)]) -> Result<GatewayConfig, String> {
    let environment = environment(variables, &[("/etc/gateway/key", "from-a-file\n")]);
    parse(Path::new("/etc/gateway/gateway.json"), text, &environment).map_err(|problems| problems.to_string())
}

#[test]
fn everything_can_be_set() {
    let text = r#"{
        "models": {
            "mine": {
                "kind": "azure", "baseUrl": "https://azure.example", "apiKey": "${file:/etc/gateway/key}", "model": "gpt-4o",
                "dialect": "azure-openai", "toolDialect": "functions", "toolUse": "prompt", "maxRetries": 4, "text": ["hermes", "fence"],
                "apiVersion": "2024-10-21", "headers": {"X-Team": "${TEAM}"}, "fallbacks": ["other"], "retries": 5,
                "timeout": "20s", "settings": {"temperature": 0.2},
                "tools": {"max": 8, "maxTokens": 1000, "maxBytes": "15KB", "pinned": ["files/*"]},
            },
            "other": {"models": "auto", "text": false},
        },
        "loop": {
            "model": "other", "maxRounds": 4, "onLimit": "error", "maxCalls": 5, "maxTime": "1m", "maxTokens": 9000,
            "resultCharacters": 1000, "maxBadCalls": 2, "maxRepeats": 6, "systemPrompt": "Be brief.",
            "keepResults": "5m", "keptResultBytes": "2MB",
        },
    }"#;
    let GatewayConfig { service, warnings, .. } =
        read(text, &[("TEAM", "a-team"), ("OPENAI_API_KEY", "k")]).unwrap();
    assert_eq!(warnings, []);
    let [mine, other] = service.models.as_slice() else { panic!("{:?}", service.models) };
    assert_eq!((mine.name.as_str(), mine.kind), ("mine", ModelKind::Azure));
    assert_eq!(mine.base_url, "https://azure.example");
    assert_eq!(mine.api_key, Some(Secret::new("from-a-file")));
    assert_eq!(mine.model.as_deref(), Some("gpt-4o"));
    assert_eq!(mine.dialect.as_deref(), Some("azure-openai"));
    assert_eq!((mine.tool_dialect, mine.tool_use), (ToolDialect::Functions, ToolUse::Prompt));
    assert_eq!((mine.max_retries, other.max_retries), (4, 2));
    assert_eq!(mine.text, Some(vec!["hermes".to_owned(), "fence".to_owned()]));
    assert_eq!(mine.api_version.as_deref(), Some("2024-10-21"));
    assert_eq!(mine.headers["X-Team"], Secret::new("a-team"));
    assert_eq!((mine.fallbacks.as_slice(), mine.retries), (["other".to_owned()].as_slice(), 5));
    assert_eq!(mine.timeout, Duration::from_secs(20));
    assert_eq!(json!(mine.settings), json!({"temperature": 0.2}));
    assert_eq!((mine.tools.most, mine.tools.tokens, mine.tools.bytes), (Some(8), Some(1000), Some(15 << 10)));
    assert_eq!(mine.tools.pinned, ["files/*"]);
    assert!(other.lists_models && !mine.lists_models);
    assert_eq!(other.text, Some(vec!["off".to_owned()]));
    let agent = &service.agent;
    assert_eq!((agent.model.as_deref(), agent.rounds, agent.calls), (Some("other"), 4, 5));
    assert_eq!(
        (agent.on_limit, agent.time, agent.tokens),
        (OnLimit::Error, Duration::from_mins(1), Some(9000))
    );
    assert_eq!((agent.result_characters, agent.bad_calls, agent.repeats), (1000, 2, 6));
    assert_eq!(agent.system_prompt.as_deref(), Some("Be brief."));
    assert_eq!((agent.keep_results, agent.kept_result_bytes), (Duration::from_mins(5), 2 << 20));
}

#[test]
fn kinds_have_addresses_and_keys_of_their_own() {
    let variables = [
        ("OPENAI_API_KEY", "openai-key"),
        ("ANTHROPIC_API_KEY", "anthropic-key"),
        ("GEMINI_API_KEY", "gemini-key"),
        ("DIAL_API_KEY", "dial-key"),
        ("OLLAMA_HOST", "box:10000"),
    ];
    let text = r#"{"models": {
        "a": {}, "b": {"kind": "anthropic"}, "c": {"kind": "gemini"}, "d": {"kind": "ollama"},
        "e": {"kind": "dial", "baseUrl": "http://dial.example"}, "f": {"baseUrl": "http://localhost:8000/v1"}
    }}"#;
    let config = read(text, &variables).unwrap();
    let found: Vec<(&str, Option<&str>)> = config
        .service
        .models
        .iter()
        .map(|model| (model.base_url.as_str(), model.api_key.as_ref().map(Secret::expose)))
        .collect();
    assert_eq!(
        found,
        [
            ("https://api.openai.com/v1", Some("openai-key")),
            ("https://api.anthropic.com/v1", Some("anthropic-key")),
            ("https://generativelanguage.googleapis.com/v1beta", Some("gemini-key")),
            ("http://box:10000", None),
            ("http://dial.example", Some("dial-key")),
            // Nobody else gets the vendor's key.
            ("http://localhost:8000/v1", None),
        ]
    );
}

#[test]
fn argo_needs_only_its_variables() {
    let config = read(
        r#"{"mcpServers": {}}"#,
        &[("ARGO_BASE_URL", "http://argo:1/v1"), ("ARGO_DEFAULT_MODEL", "argo:gpt-4o")],
    )
    .unwrap();
    let [argo] = config.service.models.as_slice() else { panic!("{:?}", config.service.models) };
    assert_eq!(
        (argo.name.as_str(), argo.base_url.as_str(), argo.lists_models),
        ("argo", "http://argo:1/v1", true)
    );
    assert_eq!(
        (argo.dialect.as_deref(), argo.api_key.clone()),
        (Some("argo"), Some(Secret::new("not-needed")))
    );
    assert_eq!(config.service.agent.model.as_deref(), Some("argo:gpt-4o"));
    let own = read(r#"{"models": {"mine": {"dialect": "argo"}}}"#, &[]).unwrap();
    assert_eq!(own.service.models[0].base_url, "http://localhost:8000/v1");
    let moved =
        read(r#"{"models": {"mine": {"dialect": "argo"}}}"#, &[("ARGO_BASE_URL", "http://argo:2/v1")])
            .unwrap();
    assert_eq!(
        (moved.service.models.len(), moved.service.models[0].base_url.as_str()),
        (1, "http://argo:2/v1")
    );
}

/// What a model's key is taken from is withheld from servers.
#[test]
fn variables_of_keys_are_hidden_from_servers() {
    let text = r#"{"mcpServers": {"files": {"command": "files"}}, "models": {
        "a": {"apiKey": "${MY_KEY}", "baseUrl": "http://x"}, "b": {}, "c": {"baseUrl": "${ADDRESS}", "headers": {"h": "${HEADER}"}}}}"#;
    let variables =
        [("MY_KEY", "k"), ("OPENAI_API_KEY", "o"), ("ADDRESS", "http://user:pass@y"), ("HEADER", "v")];
    let config = read(text, &variables).unwrap();
    let UpstreamSpec { hidden_env, .. } = &config.servers[0];
    let hidden: Vec<&str> = hidden_env.iter().map(String::as_str).collect();
    for name in ["MY_KEY", "OPENAI_API_KEY", "ADDRESS", "HEADER"] {
        assert!(hidden.contains(&name), "{name}: {hidden:?}");
    }
    assert!(!format!("{:?}", config.service.models[0].api_key).contains('k'.to_string().repeat(2).as_str()));
}

#[test]
fn what_is_wrong_is_said() {
    for (text, expected) in [
        (r#"{"models": {"a": {"kind": "dial"}}}"#, "`models.a.baseUrl` is missing"),
        (r#"{"models": {"a": {"baseUrl": "localhost:1"}}}"#, "must be an address with http or https"),
        (r#"{"models": {"a": {"kind": "gpt"}}}"#, "must be one of \"openai\""),
        (r#"{"models": {"a": {"models": "all"}}}"#, "must be \"auto\""),
        (r#"{"models": {"a": {"apiKey": "${NOT_SET}"}}}"#, "NOT_SET"),
        (r#"{"models": {"": {}}}"#, "needs a name"),
        (r#"{"models": [], "loop": {"maxRounds": 0}}"#, "must be an object"),
    ] {
        let problems = read(text, &[]).unwrap_err();
        let problems = problems.replace("models.a.baseUrl: ", "`models.a.baseUrl` ");
        assert!(problems.contains(expected), "{text}: {problems}");
    }
}

#[test]
fn what_will_not_work_is_warned_of() {
    let key = [("OPENAI_API_KEY", "k")];
    let no_key = "apiKey: is missing, and `OPENAI_API_KEY` is not set, so the API will refuse requests";
    for (text, variables, expected) in [
        (r#"{"models": {"a": {"fallbacks": ["b"]}}}"#, &key[..], &["no model is called `b`"][..]),
        (r#"{"models": {"a": {}}}"#, &key, &[]),
        (r#"{"models": {"a": {}}}"#, &[], &[no_key]),
        (r#"{"models": {"a": {"headers": {"Authorization": "Bearer k"}}}}"#, &[], &[]),
        (r#"{"models": {"a": {"baseUrl": "http://localhost:8000/v1"}}}"#, &[], &[]),
        (r#"{"models": {"a": {"kind": "ollama"}}}"#, &[], &[]),
        (r#"{"models": {"a": {"dialect": "argo"}}}"#, &[], &[]),
        (
            r#"{"models": {"a": {"kind": "dial", "baseUrl": "http://x"}}}"#,
            &[],
            &["apiKey: is missing, and `DIAL_API_KEY` is not set"],
        ),
        (
            r#"{"models": {"a": {"baseUrl": "http://x/v1/chat/completions"}}}"#,
            &[],
            &["models.a.baseUrl: ends in `/chat/completions`"],
        ),
        (
            r#"{"models": {"gpt": {}}, "loop": {"model": "gtp"}}"#,
            &key,
            &["loop.model: no model is called `gtp`; did you mean `gpt`?"],
        ),
        (r#"{"models": {"gpt": {}, "all": {"models": "auto"}}, "loop": {"model": "gtp"}}"#, &key, &[]),
    ] {
        let warnings = read(text, variables).unwrap().warnings;
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), expected.len(), "{text}: {warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{text}: {warning}");
        }
    }
}

#[test]
fn ollama_s_variable_may_name_a_host_or_a_port_alone() {
    for (host, address) in [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":4000", "http://127.0.0.1:4000"),
        ("box", "http://box:11434"),
        ("http://box:10000/", "http://box:10000"),
    ] {
        let config = read(r#"{"models": {"a": {"kind": "ollama"}}}"#, &[("OLLAMA_HOST", host)]).unwrap();
        assert_eq!(config.service.models[0].base_url, address, "{host}");
    }
}
