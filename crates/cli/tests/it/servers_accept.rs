//! `servers accept`: changed definitions are accepted on the gateway's machine, without a key.

use serde_json::json;

use crate::sandbox::Sandbox;

/// A server whose only tool has the description of the file `word`.
fn entry(sandbox: &Sandbox) -> serde_json::Value {
    let script = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*) answer "{\"tools\":[{\"name\":\"t\",\"description\":\"$(cat "$WORD")\"}]}";;
    *) answer '{}';;
  esac
done"#;
    sandbox.write("server.sh", script);
    json!({
        "command": "/bin/sh",
        "args": [sandbox.path("server.sh")],
        "env": {"WORD": sandbox.path("word")},
        "protocol": "legacy",
        "connect": "eager",
        "tools": {"onDefinitionChange": "block"},
    })
}

#[test]
fn a_changed_definition_is_shown_and_accepted_by_its_fingerprint() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"dataDirectory": sandbox.path("data"), "mcpServers": {"a": entry(&sandbox)}}));
    // Escaped as JSON has it, so that the server sends what would steer a terminal.
    for word in ["one", r"two \u001b[2J"] {
        std::fs::write(sandbox.path("word"), word).unwrap();
        let mut gateway = sandbox.serve(&[]);
        gateway.line("a: 1 tool");
        gateway.stop();
    }
    let shown = sandbox.run(&["servers", "accept", "a"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (1, ""), "{}", shown.stdout);
    assert!(
        shown.stdout.starts_with("tool `t` changed its description\n  fingerprint: "),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("two ") && !shown.stdout.contains('\u{1b}'), "{:?}", shown.stdout);
    let fingerprint =
        shown.stdout.lines().find_map(|line| line.trim().strip_prefix("fingerprint: ")).unwrap();

    let other = sandbox.run(&["servers", "accept", "a", "0123"]);
    let expected = "error: no definition of server `a` that waits has the fingerprint `0123`; it may have changed since it was reviewed\n";
    assert_eq!((other.status, other.stdout.as_str(), other.stderr.as_str()), (1, "", expected));
    let accepted = sandbox.run(&["servers", "accept", "a", fingerprint]);
    assert_eq!(
        (accepted.status, accepted.stdout.as_str()),
        (0, "accepted: tool `t` of server `a`\n"),
        "{}",
        accepted.stderr
    );
    let none = sandbox.run(&["servers", "accept", "a"]);
    assert_eq!(
        (none.status, none.stdout.as_str()),
        (0, "no tool of server `a` waits for somebody to accept it\n")
    );
}
