//! `approvals`

use gateway_testkit::eventually_blocking;
use serde_json::json;

use crate::sandbox::{DEADLINE, Gateway, Sandbox, call, free_port};

#[test]
fn calls_are_listed_approved_and_denied() {
    let sandbox = Sandbox::new();
    let port = free_port();
    sandbox.configure(&json!({
        "port": port, "dataDirectory": "data", "adminKeys": {"root": "admin-key-of-the-test"}, "mcpServers": {"demo": {"type": "builtin"}},
        "approval": {"tools": {"demo/add": "ask"}},
    }));
    let _gateway = Gateway::start(sandbox.command(&["serve"]));
    let key = [("MCP_GATEWAY_KEY", "admin-key-of-the-test")];
    let run = |arguments: &[&str]| sandbox.run_with(arguments, "", &key);
    assert_eq!(run(&["approvals"]).stdout, "no call waits\n");
    let keyless = sandbox.run(&["approvals"]);
    assert_eq!(keyless.status, 2);
    assert!(keyless.stderr.contains("--key or MCP_GATEWAY_KEY"), "{}", keyless.stderr);
    for (word, done) in [("approve", "approved: "), ("deny", "denied: ")] {
        let caller = std::thread::spawn(move || call(port, "demo", "add", &json!({"a": 1, "b": 2})));
        let waiting =
            || run(&["approvals", "--json"]).json()["approvals"][0]["id"].as_str().map(str::to_owned);
        let mut id = None;
        eventually_blocking(DEADLINE, "a call that waits", || {
            id = waiting();
            id.is_some()
        })
        .unwrap();
        let id = id.unwrap();
        let listed = run(&["approvals"]);
        assert!(listed.stdout.contains(&id) && listed.stdout.contains("add"), "{}", listed.stdout);
        assert!(!listed.stdout.contains("\\n"), "{}", listed.stdout);
        let decided = sandbox.run(&["approvals", word, &id, "--key", "admin-key-of-the-test"]);
        assert_eq!((decided.status, decided.stdout), (0, format!("{done}{id}\n")), "{}", decided.stderr);
        let answer = caller.join().unwrap();
        assert_eq!(answer.get("result").is_some(), word == "approve", "{answer}");
    }
    let unknown = run(&["approvals", "approve", "nobody"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("no call with this id waits"), "{}", unknown.stderr);
}
