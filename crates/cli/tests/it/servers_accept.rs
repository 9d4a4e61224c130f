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

#[test]
fn an_unknown_server_is_an_error_that_names_those_that_are_there() {
    let sandbox = Sandbox::new();
    let servers = json!({"files": entry(&sandbox), "web": entry(&sandbox)});
    sandbox.configure(&json!({"dataDirectory": sandbox.path("data"), "mcpServers": servers}));
    for more in [&[][..], &["0123"], &["--new-tools"]] {
        let run = sandbox.run(&[&["servers", "accept", "nobody"], more].concat());
        let expected = "error: no server is called `nobody`; there are: files, web\n";
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (2, "", expected));
    }
    let none = sandbox.run(&["servers", "accept", "files"]);
    assert_eq!(
        (none.status, none.stdout.as_str()),
        (0, "no tool of server `files` waits for somebody to accept it\n")
    );
}

#[test]
fn after_a_loss_new_tools_are_taken_as_they_are_once_somebody_says_so() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"dataDirectory": sandbox.path("data"), "mcpServers": {"a": entry(&sandbox)}}));
    std::fs::write(sandbox.path("word"), "one").unwrap();
    std::fs::create_dir(sandbox.path("data")).unwrap();
    std::fs::write(sandbox.path("data/servers.json"), "{").unwrap();
    let mut gateway = sandbox.serve(&[]);
    gateway.line("a: 1 tool");
    gateway.stop();
    let lost = "what was remembered of server `a` is lost, so each tool that it lists has to be accepted; \
                --new-tools ends that once its tools are listed and accepted\n";
    let shown = sandbox.run(&["servers", "accept", "a"]);
    assert!(shown.status == 1 && shown.stdout.ends_with(lost), "{}", shown.stdout);
    let early = sandbox.run(&["servers", "accept", "a", "--new-tools"]);
    let waits = "error: 1 of the tools of server `a` wait for somebody to accept them; accept them first\n";
    assert_eq!((early.status, early.stdout.as_str(), early.stderr.as_str()), (1, "", waits));
    let all = shown.stdout.lines().find_map(|line| line.strip_prefix("all of them: ")).unwrap();
    assert_eq!(sandbox.run(&["servers", "accept", "a", all]).status, 0);
    let nothing = "no tool of server `a` waits for somebody to accept it\n";
    let shown = sandbox.run(&["servers", "accept", "a"]);
    assert_eq!((shown.status, shown.stdout), (0, format!("{nothing}{lost}")));
    for when in ["from now on", "already"] {
        let ended = sandbox.run(&["servers", "accept", "a", "--new-tools"]);
        let expected = format!("new tools of server `a` are taken as they are {when}\n");
        assert_eq!((ended.status, ended.stdout, ended.stderr.as_str()), (0, expected, ""));
    }
    let shown = sandbox.run(&["servers", "accept", "a"]);
    assert_eq!((shown.status, shown.stdout.as_str()), (0, nothing));
}
