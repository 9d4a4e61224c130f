//! What stays private: personal data in the log, and the variables behind keys and addresses.

use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use gateway_testkit::{Fixture, eventually_blocking};
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Sandbox, words};

#[test]
fn the_log_masks_personal_data_and_results_stay_raw() {
    let sandbox = Sandbox::new();
    sandbox
        .configure(&json!({"mcpServers": {"demo": {"type": "builtin"}}, "privacy": {"log": "mask"}, "logLevel": "error"}));
    let mut gateway = sandbox.serve(&["--json"]);
    let value = "Card 4242 4242 4242 4242 of anna@example.com";
    let answer = gateway.call("demo", "store_value", &json!({"key": "k", "value": value}));
    assert_eq!(answer["result"]["structuredContent"]["value"], value);
    let entry = || gateway.get("/logs")[0].take();
    eventually_blocking(DEADLINE, "the entry of the log", || entry()["tool"] == "store_value").unwrap();
    let entry = entry();
    let masked = "Card [card] of [email]";
    assert_eq!(entry["input"], json!({"key": "k", "value": masked}));
    assert_eq!(entry["result"]["structuredContent"]["value"], masked);
    gateway.stop();
    let errors = gateway.running.errors();
    assert!(!errors.contains("4242") && !errors.contains("anna@"), "{errors}");
    let audit: Vec<Value> = errors.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<(&Value, &Value, &Value)> = audit
        .iter()
        .filter(|line| line["message"] == "Personal data found.")
        .map(|line| (&line["context"]["kind"], &line["context"]["face"], &line["context"]["correlationId"]))
        .collect();
    let (log, id) = (json!("log"), &entry["correlation_id"]);
    assert_eq!(found, [(&json!("email"), &log, id), (&json!("card"), &log, id)], "{errors}");
}

/// A server and a command are started with the variables of the gateway, but for those behind keys and addresses.
#[test]
fn variables_behind_keys_and_addresses_are_withheld() {
    const WITHHELD: [(&str, &str); 6] = [
        ("MODEL_KEY", "sk-model-key-1"),
        ("OPENAI_API_KEY", "sk-openai-key-2"),
        ("MODEL_HEADER", "header-value-3"),
        ("MODEL_ADDRESS", "http://user:address-password-4@127.0.0.1:9/v1"),
        ("CALLERS_KEY", "callers-key-5-and-long-enough"),
        ("MCP_GATEWAY_API_KEY", "another-callers-key-6"),
    ];
    const ORDINARY: (&str, &str) = ("ORDINARY", "visible-value");
    let sandbox = Sandbox::new();
    let seen = sandbox.path("seen-by-the-server");
    let script = format!("/usr/bin/env > '{}'; exec \"$0\" \"$@\"", seen.display());
    let mut arguments = vec!["-c".to_owned(), script];
    arguments.extend(words(&Fixture::stdio()));
    sandbox.configure(&json!({
        "mcpServers": {"watching": {"command": "/bin/sh", "args": arguments, "connect": "eager"}},
        "tools": {"variables": {
            "description": "Its variables", "inputSchema": {"type": "object"},
            "handler": {"type": "command", "command": "/usr/bin/env"},
        }},
        "models": {
            "a": {"apiKey": "${MODEL_KEY}", "baseUrl": "${MODEL_ADDRESS}", "headers": {"x-h": "${MODEL_HEADER}"}},
            "b": {"kind": "openai"},
        },
        "apiKeys": {"me": "${CALLERS_KEY}"},
    }));
    let data = sandbox.path("data");
    let mut command = sandbox.command(&["serve", "--port", "0", "--data", data.to_str().unwrap()]);
    command.envs(WITHHELD.into_iter().chain([ORDINARY]));
    let mut gateway = Gateway::start(command);
    gateway.line("watching: connected");
    let of_server = std::fs::read_to_string(&seen).unwrap();
    let variables: Vec<(&str, &str)> = WITHHELD.into_iter().chain([ORDINARY]).collect();
    let run = sandbox.run_with(&["call", "variables"], "", &variables);
    let of_command = run.stdout;
    for (whose, text) in [("server", &of_server), ("command", &of_command)] {
        assert!(text.contains(ORDINARY.1), "{whose}: {text} {}", run.stderr);
        for (name, value) in WITHHELD {
            assert!(!text.contains(name) && !text.contains(value), "{whose}: {name}: {text}");
        }
    }
    let (_, rest) = gateway.stop();
    let errors = gateway.running.errors();
    let all = format!("{:?} {rest:?} {errors}", gateway.running.seen);
    for (name, value) in WITHHELD {
        assert!(!all.contains(value), "{name} is in the output: {all}");
    }
}

/// One entry for each finding: where, what and whose, never the data.
#[tokio::test(flavor = "multi_thread")]
async fn what_models_are_sent_is_masked_and_audited() {
    let script = Script::new().last(Reply::new().text("Done."));
    let model = ModelServer::start(Wire::Chat, script).await.unwrap();
    let sandbox = Sandbox::new();
    let entry = json!({"baseUrl": model.url(), "apiKey": "k", "model": "gpt-4.1", "retries": 0});
    sandbox.configure(&json!({
        "mcpServers": {"demo": {"type": "builtin"}}, "models": {"m": entry}, "privacy": {"completions": "mask"},
    }));
    let errors = tokio::task::block_in_place(|| {
        let mut gateway = sandbox.serve(&["--json"]);
        let question = json!({"messages": [{"role": "user", "content": "Pay with 4242 4242 4242 4242"}]});
        let answer = gateway.post("/v1/chat/completions", &question);
        let found = json!([{"part": "messages", "mode": "mask", "kinds": {"card": 1}}]);
        assert_eq!(answer["gateway"]["personalData"], found, "{answer}");
        gateway.stop();
        gateway.running.errors()
    });
    assert_eq!(model.requests()[0].body["messages"][0]["content"], "Pay with [card]");
    assert!(!errors.contains("4242"), "{errors}");
    let mut entries: Vec<Value> = errors.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    entries.retain(|line| line["message"] == "Personal data found.");
    let [entry] = entries.as_mut_slice() else { panic!("{errors}") };
    let id = entry["context"].as_object_mut().unwrap().remove("correlationId");
    assert!(id.is_some_and(|id| id.as_str().is_some_and(|id| id.len() == 36)), "{errors}");
    let mut expected =
        json!({"face": "completions", "part": "messages", "mode": "mask", "kind": "card", "count": 1});
    for (name, value) in entry["context"].as_object().unwrap().iter().filter(|(_, value)| value.is_null()) {
        // A caller without a key has no name.
        expected[name] = value.clone();
    }
    assert_eq!(entry["context"], expected, "{errors}");
}
