//! `config`: the format of the configuration file.

use serde_json::json;

use crate::run;
use crate::sandbox::Sandbox;

#[test]
fn the_schema_is_published() {
    let run = run(&["config", "schema"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let schema = run.json();
    assert_eq!(schema["properties"]["port"]["default"], 8787, "{schema}");
    assert!(schema["$defs"]["server"]["properties"]["command"]["description"].is_string(), "{schema}");
}

#[test]
fn config_check_is_servers_check() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"models": {"gpt": {"apiKey": "k"}}, "loop": {"model": "gtp"}}));
    let checks = ["config", "servers"].map(|command| sandbox.run(&[command, "check"]));
    for check in &checks {
        assert_eq!((check.status, check.stderr.as_str()), (1, ""));
        let expected = "warning: mcp-gateway-config.json:1: loop.model: no model is called `gtp`; did you mean `gpt`?\n\
                        0 servers: 0 errors, 1 warning\n";
        assert_eq!(check.stdout, expected);
    }
}
