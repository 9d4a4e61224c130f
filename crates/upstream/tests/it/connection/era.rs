//! How the era of a child process is found out.

use std::time::{Duration, Instant};

use gateway_protocol::Era;
use gateway_upstream::{ConnectError, Connection, ProtocolChoice, UpstreamSpec};

use super::peer::{call, open, options, python, text};

/// What a modern server answers to `server/discover`.
const DISCOVERED: &str = r#"{"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "hi", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "2"}}}"#;

/// Opens the peer, makes a call that answers its `_meta`, and closes.
async fn open_and_call(spec: &UpstreamSpec) -> (Era, String) {
    let connection = open(spec).await.expect("the peer answers");
    let meta = text(&call(&connection, "meta").await.expect("a result"));
    let era = connection.era().clone();
    connection.close().await;
    (era, meta)
}

fn modern() -> Era {
    Era::Modern { version: "2026-07-28".to_owned() }
}

fn legacy() -> Era {
    Era::Legacy { version: "2025-06-18".to_owned() }
}

const META: &str = r#"
elif method == "tools/call":
    result(message, text(json.dumps(message["params"].get("_meta", {}))))
"#;

#[tokio::test]
async fn a_discovery_is_modern() {
    let spec = python(&format!("if method == 'server/discover':\n    result(message, {DISCOVERED}){META}"));
    let (era, meta) = open_and_call(&spec).await;
    assert_eq!(era, modern());
    for part in
        ["protocolVersion\": \"2026-07-28", "clientCapabilities\": {}", "clientInfo\": {\"name\": \"tests"]
    {
        assert!(meta.contains(part), "{part} in {meta}");
    }
}

#[tokio::test]
async fn modern_errors_are_modern_and_name_the_versions() {
    let spec =
        python(&format!("if method == 'server/discover':\n    error(message, -32021, 'missing'){META}"));
    assert_eq!(open_and_call(&spec).await.0, modern());
    let only_newer = python("error(message, -32022, 'unsupported', {'supported': ['2031-01-01']})");
    let outcome = open(&only_newer).await;
    assert!(
        matches!(&outcome, Err(ConnectError::Version { offered }) if offered == "2031-01-01"),
        "{outcome:?}"
    );
    let also_older = python(&format!(
        "if method == 'server/discover':\n    error(message, -32022, 'unsupported', {{'supported': ['2025-06-18']}})\nelif legacy(message):\n    pass{META}"
    ));
    assert_eq!(open_and_call(&also_older).await.0, legacy());
}

#[tokio::test]
async fn any_other_answer_is_legacy() {
    for refusal in [
        "error(message, -32601)",
        "error(message, -32000, 'not initialized')",
        "result(message, {})",
        "send('what?')",
    ] {
        let mut spec = python(&format!(
            "if method == 'server/discover':\n    {refusal}\nelif legacy(message):\n    pass{META}"
        ));
        spec.timeouts.probe = Duration::from_millis(300);
        let (era, meta) = open_and_call(&spec).await;
        assert_eq!(era, legacy(), "{refusal}");
        assert!(!meta.contains("clientInfo"), "{meta}");
    }
}

#[tokio::test]
async fn silence_is_legacy_after_the_probe_time() {
    let mut spec =
        python(&format!("if method == 'server/discover':\n    pass\nelif legacy(message):\n    pass{META}"));
    spec.timeouts.probe = Duration::from_millis(100);
    let started = Instant::now();
    assert_eq!(open_and_call(&spec).await.0, legacy());
    assert!(started.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn a_slow_modern_server_is_not_taken_for_a_legacy_one() {
    for initialize in ["error(message, -32022, 'unsupported', {'supported': ['2026-07-28']})", "pass"] {
        let mut spec = python(&format!(
            "if method == 'server/discover':\n    time.sleep(0.3)\n    result(message, {DISCOVERED})\nelif method == 'initialize':\n    {initialize}{META}"
        ));
        spec.timeouts.probe = Duration::from_millis(100);
        assert_eq!(open_and_call(&spec).await.0, modern(), "{initialize}");
    }
    let mut newer =
        python("time.sleep(0.3)\nerror(message, -32022, 'unsupported', {'supported': ['2031-01-01']})");
    newer.timeouts.probe = Duration::from_millis(100);
    let outcome = open(&newer).await;
    assert!(
        matches!(&outcome, Err(ConnectError::Version { offered }) if offered == "2031-01-01"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again() {
    let spec = python(&format!(
        "if method == 'server/discover':\n    sys.exit(1)\nelif legacy(message):\n    pass{META}"
    ));
    assert_eq!(open_and_call(&spec).await.0, legacy());
}

#[tokio::test]
async fn a_server_that_always_dies_is_told_with_its_last_words() {
    let spec = python("print('no licence', file=sys.stderr)\nsys.exit(7)");
    let error = open(&spec).await.expect_err("it dies");
    assert_eq!(
        error.to_string(),
        "the server ended before the handshake was over: it exited with status 7; its last words: no licence"
    );
}

#[tokio::test]
async fn a_remembered_era_saves_the_probe_and_is_asked_anew_when_it_fails() {
    let no_probe = python(&format!(
        "if method == 'server/discover':\n    sys.exit(1)\nelif legacy(message):\n    pass{META}"
    ));
    let (mut remembering, _events) = options();
    remembering.remembered = Some(legacy());
    let connection = Connection::open(&no_probe, remembering.clone()).await.expect("no probe was needed");
    assert_eq!(connection.era(), &legacy());
    connection.close().await;
    let now_modern = python(&format!(
        "if method == 'server/discover':\n    result(message, {DISCOVERED})\nelif method == 'initialize':\n    error(message, -32601){META}"
    ));
    let connection = Connection::open(&now_modern, remembering).await.expect("it was asked anew");
    assert_eq!(connection.era(), &modern());
    connection.close().await;
}

#[tokio::test]
async fn the_configured_era_is_kept_to() {
    let mut spec = python(&format!(
        "if method == 'server/discover':\n    sys.exit(1)\nelif legacy(message):\n    pass{META}"
    ));
    spec.protocol = ProtocolChoice::Legacy;
    assert_eq!(open_and_call(&spec).await.0, legacy());
    let mut spec = python("legacy(message)");
    spec.protocol = ProtocolChoice::Modern;
    let outcome = open(&spec).await;
    assert!(
        matches!(&outcome, Err(ConnectError::Handshake { error }) if error.code == -32601),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn unknown_versions_and_late_answers_are_told() {
    let spec = python(
        "if method == 'server/discover':\n    error(message, -32601)\nelse:\n    result(message, {'protocolVersion': '1999-01-01', 'capabilities': {}, 'serverInfo': {}})",
    );
    let outcome = open(&spec).await;
    assert!(
        matches!(&outcome, Err(ConnectError::Version { offered }) if offered == "1999-01-01"),
        "{outcome:?}"
    );
    let mut spec = python("pass");
    spec.timeouts.probe = Duration::from_millis(50);
    spec.timeouts.connect = Duration::from_secs(1);
    let outcome = open(&spec).await;
    assert!(matches!(outcome, Err(ConnectError::Timeout { step: "initialize", .. })), "{outcome:?}");
}

#[tokio::test]
async fn changed_lists_are_subscribed_to() {
    let discovered = DISCOVERED.replace(r#"{"tools": {}}"#, r#"{"tools": {"listChanged": True}}"#);
    let spec = python(&format!(
        "if method == 'server/discover':\n    result(message, {discovered})\nelif method == 'subscriptions/listen':\n    assert message['params']['notifications'] == {{'toolsListChanged': True}}\n    send({{'jsonrpc': '2.0', 'method': 'notifications/tools/list_changed'}}){META}"
    ));
    let (options, mut events) = options();
    let connection = Connection::open(&spec, options).await.expect("the peer answers");
    let event = tokio::time::timeout(super::peer::PATIENCE, events.recv()).await.expect("in time");
    assert!(
        matches!(&event, Some(gateway_upstream::ServerEvent::Notification(n)) if n.method == "notifications/tools/list_changed"),
        "{event:?}"
    );
    connection.close().await;
}
