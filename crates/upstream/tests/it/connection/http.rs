//! Streamable HTTP in both eras.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gateway_upstream::{
    CallError, Connection, Endpoint, HttpMode, OutgoingRequest, ServerEvent, UpstreamSpec, UpstreamState,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::http_peer::{HttpPeer, Reply, Seen, event};
use super::peer::{PATIENCE, call, open, options, request, text};

pub(crate) fn spec(url: &str) -> UpstreamSpec {
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer s3cr3t-token".to_owned())]);
    UpstreamSpec::new("peer", Endpoint::Http { url: url.to_owned(), headers, mode: HttpMode::Auto })
}

fn plain(words: &str) -> serde_json::Value {
    json!({"content": [{"type": "text", "text": words}]})
}

/// A legacy server: refuses the probe, opens the session `one`, has no stream.
fn legacy(seen: &Seen) -> Option<Reply> {
    match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => Some(Reply::status(405)),
        ("DELETE", _) => Some(Reply::status(200)),
        (_, "server/discover") => {
            Some(seen.error(400, -32600, "Bad Request: Server not initialized", &json!(null)))
        }
        (_, "initialize") => Some(seen.initialized("one")),
        (_, method) if method.starts_with("notifications/") => Some(Reply::status(202)),
        _ => None,
    }
}

#[tokio::test]
async fn a_modern_server_is_spoken_to_with_headers_and_without_a_session() {
    let peer = HttpPeer::start(|seen| match seen.rpc() {
        "server/discover" => seen.discovered(&json!({"tools": {}})),
        _ => seen.result(&plain("hello")),
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    assert_eq!((connection.transport(), connection.era().version()), ("http", "2026-07-28"));
    assert_eq!(connection.server_info().name, "modern");
    let params = [("name", b"\"gr\xc3\xb6\xc3\x9fe\"".as_slice())];
    let mirrored = [("mcp-param-region".to_owned(), "eu".to_owned())];
    let outgoing =
        OutgoingRequest { name: Some("größe"), headers: &mirrored, ..request("tools/call", &params) };
    assert_eq!(text(&connection.request(outgoing).await.expect("a result")), "hello");
    connection.close().await;
    assert_eq!(peer.methods(), ["POST server/discover", "POST tools/call"]);
    let seen = peer.seen();
    let last = seen.last().expect("a call came");
    assert_eq!(
        ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region", "accept", "authorization"]
            .map(|name| last.header(name)),
        [
            "2026-07-28",
            "tools/call",
            "=?base64?Z3LDtsOfZQ==?=",
            "eu",
            "application/json, text/event-stream",
            "Bearer s3cr3t-token"
        ]
    );
    let meta = &last.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "tests");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
}

#[tokio::test]
async fn a_legacy_server_gets_a_session_and_a_farewell() {
    let peer = HttpPeer::start(|seen| legacy(seen).unwrap_or_else(|| seen.result(&plain("hello")))).await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    assert_eq!((connection.transport(), connection.era().version()), ("http", "2025-11-25"));
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "hello");
    connection.close().await;
    assert_eq!(
        peer.methods(),
        [
            "POST server/discover",
            "POST initialize",
            "POST notifications/initialized",
            // Before the first call: the server may ask on this stream only.
            "GET",
            "POST tools/call",
            "DELETE"
        ]
    );
    let seen = peer.seen();
    let session =
        |rpc: &str| seen.iter().find(|seen| seen.rpc() == rpc).map(|seen| seen.header("mcp-session-id"));
    assert_eq!(session("initialize"), Some(""));
    assert_eq!(session("notifications/initialized"), Some("one"));
    assert_eq!(session("tools/call"), Some("one"));
    assert_eq!(seen.last().map(|seen| seen.header("mcp-protocol-version")), Some("2025-11-25"));
}

#[tokio::test]
async fn a_stream_whose_head_never_comes_does_not_keep_a_server_from_opening() {
    let peer = HttpPeer::start(|seen| match seen.method.as_str() {
        "GET" => Reply::Silence,
        _ => legacy(seen).unwrap_or_else(|| seen.result(&plain("hello"))),
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "hello");
    connection.close().await;
}

#[tokio::test]
async fn answers_may_be_streams_with_other_things_before() {
    let peer = HttpPeer::start(|seen| {
        legacy(seen).unwrap_or_else(|| {
            let token = &seen.body["params"]["_meta"]["progressToken"];
            Reply::events(&[
                ": a comment\n\n".to_owned(),
                "id: 0\ndata:\n\n".to_owned(),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})),
                event(&json!({"jsonrpc": "2.0", "id": "s1", "method": "ping"})),
                // Without the empty line at its end.
                seen.event(&plain("streamed")).trim_end().to_owned(),
            ])
        })
    })
    .await;
    let (options, mut events) = options();
    let connection = Connection::open(&spec(&peer.url), options).await.expect("the peer answers");
    let (progress, mut seen) = mpsc::channel(8);
    let params = [("name", b"\"x\"".as_slice())];
    let outgoing = OutgoingRequest { progress: Some(progress), ..request("tools/call", &params) };
    assert_eq!(text(&connection.request(outgoing).await.expect("a result")), "streamed");
    assert_eq!(seen.recv().await.map(|progress| progress.method).as_deref(), Some("notifications/progress"));
    let event = timeout(PATIENCE, events.recv()).await.expect("in time");
    assert!(
        matches!(&event, Some(ServerEvent::Notification(n)) if n.method == "notifications/tools/list_changed"),
        "{event:?}"
    );
    let pong = |seen: &Seen| seen.body == json!({"jsonrpc": "2.0", "id": "s1", "result": {}});
    while !peer.seen().iter().any(pong) {
        gateway_testkit::pause().await;
    }
    connection.close().await;
}

#[tokio::test]
async fn a_forgotten_session_is_opened_anew_and_the_call_sent_again() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&sessions);
    let peer = HttpPeer::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        (_, "initialize") => seen.initialized(&format!("s{}", opened.fetch_add(1, Ordering::SeqCst) + 1)),
        ("POST", "tools/call") if seen.header("mcp-session-id") == "s1" => Reply::status(404),
        ("POST", "tools/call") => seen.result(&plain(seen.header("mcp-session-id"))),
        _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
    })
    .await;
    let (options, mut events) = options();
    let connection = Connection::open(&spec(&peer.url), options).await.expect("the peer answers");
    let calls = (0..20).map(|_| call(&connection, "any"));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(text(&outcome.expect("a result")), "s2");
    }
    assert_eq!(sessions.load(Ordering::SeqCst), 2, "many callers share one new session");
    let event = timeout(PATIENCE, events.recv()).await.expect("the lists are to be read anew");
    assert!(matches!(event, Some(ServerEvent::Notification(_))));
    connection.close().await;
}

#[tokio::test]
async fn only_a_known_refusal_of_the_session_sends_a_call_again() {
    for (code, message, again) in [
        (-32000, "Bad Request: No valid session ID provided", true),
        (-32600, " session not found ", true),
        (-32001, "Bad Request: Server not initialized", true),
        (-32602, "Session not found", false),
        (-32000, "The login session of the user has expired", false),
    ] {
        let opened = AtomicUsize::new(0);
        let peer = HttpPeer::start(move |seen| match seen.rpc() {
            "initialize" => seen.initialized(&format!("s{}", opened.fetch_add(1, Ordering::SeqCst) + 1)),
            "tools/call" if seen.header("mcp-session-id") == "s1" => {
                seen.error(400, code, message, &json!(null))
            }
            "tools/call" => seen.result(&plain("again")),
            _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
        })
        .await;
        let connection = open(&spec(&peer.url)).await.expect("the peer answers");
        match call(&connection, "any").await {
            Ok(result) => assert!(again && text(&result) == "again", "{message}"),
            Err(CallError::Refused { error, .. }) => assert!(!again && error.code == code, "{message}"),
            Err(error) => panic!("{message}: {error}"),
        }
        connection.close().await;
    }
}

#[tokio::test]
async fn a_stream_that_is_opened_again_may_have_missed_changes() {
    let opened = Arc::new(std::sync::Mutex::new(Vec::new()));
    let moments = Arc::clone(&opened);
    let (open_stream, waiting) = mpsc::unbounded_channel();
    let waiting = std::sync::Mutex::new(Some(waiting));
    let peer = HttpPeer::start(move |seen| {
        if seen.method != "GET" {
            return legacy(seen).unwrap_or_else(|| Reply::status(202));
        }
        let mut moments = moments.lock().expect("no test panics here");
        moments.push(Instant::now());
        if moments.len() == 1 {
            return Reply::Broken(vec!["id: 1\nretry: 0\ndata:\n\n".to_owned()]);
        }
        waiting.lock().expect("no test panics here").take().map_or_else(|| Reply::status(405), Reply::Events)
    })
    .await;
    let (options, mut events) = options();
    let connection = Connection::open(&spec(&peer.url), options).await.expect("the peer answers");
    for _ in 0..3 {
        let event = timeout(PATIENCE, events.recv()).await.expect("the lists are to be read anew");
        assert!(
            matches!(&event, Some(ServerEvent::Notification(n)) if n.method.ends_with("/list_changed")),
            "{event:?}"
        );
    }
    let moments = opened.lock().expect("no test panics here").clone();
    assert_eq!(moments.len(), 2);
    assert!(moments[1] - moments[0] >= Duration::from_millis(900), "not at once, whatever the server wants");
    drop(open_stream);
    connection.close().await;
}

#[tokio::test]
async fn a_refused_new_session_ends_the_connection() {
    let opened = AtomicUsize::new(0);
    let peer = HttpPeer::start(move |seen| match seen.rpc() {
        "initialize" if opened.fetch_add(1, Ordering::SeqCst) > 0 => Reply::status(503),
        "tools/call" => Reply::status(404),
        _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    let outcome = call(&connection, "any").await;
    assert!(matches!(outcome, Err(CallError::Unreachable { .. })), "{outcome:?}");
    let reason = timeout(PATIENCE, connection.ended()).await.expect("it has ended");
    assert!(reason.contains("refuses a new one") && reason.contains("503"), "{reason}");
}

#[tokio::test]
async fn statuses_are_told_without_secrets() {
    let peer = HttpPeer::start(|seen| match seen.rpc() {
        "tools/call" => match seen.body["params"]["name"].as_str() {
            Some("unauthorized") => Reply::text(401, "bad token s3cr3t-token"),
            Some("broken") => Reply::text(502, "<html>long</html>"),
            Some("hangup") => Reply::Hangup,
            Some("empty") => Reply::status(202),
            Some("wrong") => Reply::json(200, &json!({"jsonrpc": "2.0", "id": 999_999, "result": {}})),
            _ => seen.error(400, -32602, "Unknown tool", &json!(null)),
        },
        _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    let mut told = Vec::new();
    for name in ["unauthorized", "broken", "hangup", "empty", "wrong", "unknown"] {
        let error = call(&connection, name).await.expect_err("every one of them fails");
        told.push((error.may_have_run(), error.to_string()));
    }
    let hangup = told.remove(2);
    assert!(hangup.0 && hangup.1.contains("went away during the call"), "{hangup:?}");
    assert_eq!(
        told,
        [
            (
                false,
                "server `peer` cannot be reached: it answered 401 Unauthorized; it wants credentials, check the \
                 configured headers: bad token ***"
                    .to_owned()
            ),
            (true, "server `peer` went away during the call: it answered 502 Bad Gateway".to_owned()),
            (true, "server `peer` answered with something that is not a result: the answer is empty".to_owned()),
            (
                true,
                "server `peer` answered with something that is not a result: the answer is for another request"
                    .to_owned()
            ),
            (true, "Unknown tool (code -32602)".to_owned()),
        ]
    );
    connection.close().await;
}

#[tokio::test]
async fn a_stream_that_breaks_loses_the_call_or_is_taken_up_again() {
    let peer = HttpPeer::start(|seen| {
        let call = seen.body["params"]["name"].as_str().unwrap_or_default();
        match (seen.method.as_str(), seen.rpc(), call) {
            ("GET", _, _) if seen.header("last-event-id").starts_with("r-") => {
                let id: u64 = seen.header("last-event-id")[2..].parse().expect("a number");
                Reply::events(&[event(&json!({"jsonrpc": "2.0", "id": id, "result": plain("resumed")}))])
            }
            (_, "tools/call", "lost") => Reply::Broken(vec![": nothing\n\n".to_owned()]),
            (_, "tools/call", _) => {
                Reply::Broken(vec![format!("id: r-{}\nretry: 1\ndata:\n\n", seen.body["id"])])
            }
            _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
        }
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    let lost = call(&connection, "lost").await;
    assert!(matches!(lost, Err(CallError::Lost { .. })), "{lost:?}");
    assert_eq!(text(&call(&connection, "resumed").await.expect("a result")), "resumed");
    connection.close().await;
}

#[tokio::test]
async fn long_answers_are_refused() {
    let peer = HttpPeer::start(|seen| {
        let call = seen.body["params"]["name"].as_str().unwrap_or_default();
        match (seen.rpc(), call) {
            ("tools/call", "json") => seen.result(&plain(&"x".repeat(5_000))),
            ("tools/call", _) => Reply::events(&[seen.event(&plain(&"x".repeat(5_000)))]),
            _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
        }
    })
    .await;
    let mut spec = spec(&peer.url);
    spec.limits.message_bytes = 2_000;
    let connection = open(&spec).await.expect("the peer answers");
    for name in ["json", "events"] {
        let outcome = call(&connection, name).await;
        assert!(matches!(outcome, Err(CallError::TooLong { limit: 2_000, .. })), "{name}: {outcome:?}");
    }
    connection.close().await;
}

/// Opens a connection whose calls are never answered, and leaves one.
async fn leave(modern: bool) -> HttpPeer {
    let peer = HttpPeer::start(move |seen| match seen.rpc() {
        "server/discover" if modern => seen.discovered(&json!({})),
        "tools/call" => Reply::Silence,
        _ => legacy(seen).unwrap_or_else(|| Reply::status(500)),
    })
    .await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    let params = [("name", b"\"x\"".as_slice())];
    let short = Duration::from_millis(500);
    let outgoing = OutgoingRequest { idle: short, maximum: short, ..request("tools/call", &params) };
    let outcome = connection.request(outgoing).await;
    assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
    let mut left = peer.left.clone();
    timeout(PATIENCE, left.wait_for(|count| *count > 0)).await.expect("in time").expect("the peer runs");
    if !modern {
        while !peer.methods().contains(&"POST notifications/cancelled".to_owned()) {
            gateway_testkit::pause().await;
        }
    }
    connection.close().await;
    peer
}

#[tokio::test]
async fn leaving_closes_the_stream_and_tells_a_legacy_server() {
    let peer = leave(false).await;
    let seen = peer.seen();
    let id = |rpc: &str| {
        seen.iter().find(|seen| seen.rpc() == rpc).map(|seen| seen.body.clone()).unwrap_or_default()
    };
    assert_eq!(id("notifications/cancelled")["params"]["requestId"], id("tools/call")["id"]);
    let peer = leave(true).await;
    assert!(!peer.methods().contains(&"POST notifications/cancelled".to_owned()));
}

#[tokio::test]
async fn a_modern_server_tells_what_changed() {
    let peer = HttpPeer::start(|seen| match seen.rpc() {
        "server/discover" => seen.discovered(&json!({"tools": {"listChanged": true}, "prompts": {}})),
        "subscriptions/listen" => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.body["id"]});
            let message =
                |method: &str| event(&json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}));
            let (sender, receiver) = mpsc::unbounded_channel();
            for method in ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"] {
                sender.send(message(method)).expect("the receiver is here");
            }
            // The stream stays open.
            std::mem::forget(sender);
            Reply::Events(receiver)
        }
        _ => Reply::status(500),
    })
    .await;
    let (options, mut events) = options();
    let connection = Connection::open(&spec(&peer.url), options).await.expect("the peer answers");
    let event = timeout(PATIENCE, events.recv()).await.expect("in time");
    assert!(
        matches!(&event, Some(ServerEvent::Notification(n)) if n.method == "notifications/tools/list_changed"),
        "{event:?}"
    );
    let seen = peer.seen();
    let listen = seen.iter().find(|seen| seen.rpc() == "subscriptions/listen").expect("it listens");
    assert_eq!(listen.body["params"]["notifications"], json!({"toolsListChanged": true}));
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_noticed() {
    let peer = HttpPeer::start(|seen| match seen.rpc() {
        "server/discover" => seen.discovered(&json!({})),
        _ => seen.result(&plain("hello")),
    })
    .await;
    let spec = spec(&peer.url);
    let connection = open(&spec).await.expect("the peer answers");
    drop(peer);
    // The first calls may find the old connection closed; then nothing listens there any more.
    while !connection.is_ended() {
        call(&connection, "any").await.expect_err("nobody is there");
    }
    let reason = connection.ended().await;
    assert!(reason.contains("cannot be reached"), "{reason}");
    let error = open(&spec).await.expect_err("nobody is there");
    assert!(error.to_string().starts_with("connecting to http://127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_legacy_server_may_tell_things_on_its_own_stream() {
    let (stream, waiting) = mpsc::unbounded_channel();
    let waiting = std::sync::Mutex::new(Some(waiting));
    let sender = stream.clone();
    let peer = HttpPeer::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => match waiting.lock().expect("no test panics here").take() {
            Some(events) => Reply::Events(events),
            None => Reply::status(405),
        },
        (_, "tools/call") => {
            // Progress on the wrong stream, and no answer.
            let token = &seen.body["params"]["_meta"]["progressToken"];
            let params = json!({"progressToken": token, "progress": 1});
            let _ = sender.send(event(
                &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
            ));
            Reply::Silence
        }
        _ => legacy(seen).unwrap_or_else(|| Reply::status(202)),
    })
    .await;
    let (options, mut events) = options();
    let connection = Connection::open(&spec(&peer.url), options).await.expect("the peer answers");
    for method in ["notifications/tools/list_changed", "notifications/resources/list_changed"] {
        stream.send(event(&json!({"jsonrpc": "2.0", "method": method}))).expect("the stream is open");
        let event = timeout(PATIENCE, events.recv()).await.expect("in time");
        assert!(matches!(&event, Some(ServerEvent::Notification(n)) if n.method == method), "{event:?}");
    }
    stream
        .send(event(&json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})))
        .expect("the stream is open");
    let Some(ServerEvent::Request { answer, .. }) = events.recv().await else { panic!("no request") };
    drop(answer);
    let refused = |seen: &Seen| seen.body["id"] == 7 && seen.body["error"]["code"] == -32601;
    while !peer.seen().iter().any(refused) {
        gateway_testkit::pause().await;
    }
    let (progress, mut seen) = mpsc::channel(4);
    let params = [("name", b"\"x\"".as_slice())];
    let outgoing = OutgoingRequest { progress: Some(progress), ..request("tools/call", &params) };
    tokio::select! {
        outcome = connection.request(outgoing) => panic!("answered: {outcome:?}"),
        progress = seen.recv() => assert!(progress.is_some()),
    }
    connection.close().await;
}

/// A modern server with one tool, whose connections serve one request each. Calls are held back: what would answer them
/// is given to the test.
async fn holding() -> (HttpPeer, mpsc::UnboundedReceiver<(mpsc::UnboundedSender<String>, String)>) {
    let (held, calls) = mpsc::unbounded_channel();
    let peer = HttpPeer::start(move |seen| {
        let reply = match seen.rpc() {
            "server/discover" => seen.discovered(&json!({"tools": {}})),
            "tools/list" => {
                let tool = json!({"name": "any", "inputSchema": {"type": "object"}});
                seen.result(&json!({"resultType": "complete", "tools": [tool]}))
            }
            _ => {
                let (sender, receiver) = mpsc::unbounded_channel();
                held.send((sender, seen.event(&plain("late")))).expect("the test waits");
                return Reply::Events(receiver);
            }
        };
        match reply {
            Reply::Whole { status, mut headers, body } => {
                headers.push("Connection: close".to_owned());
                Reply::Whole { status, headers, body }
            }
            other => other,
        }
    });
    (peer.await, calls)
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_connects_end_no_call_in_flight() {
    let (mut peer, mut calls) = holding().await;
    let fleet = crate::fleet::start(vec![crate::fleet::http("peer", &peer.url)]);
    let slow = tokio::spawn({
        let fleet = fleet.clone();
        async move { crate::fleet::call(&fleet, "peer", "any", "{}").await }
    });
    let (answer, event) = calls.recv().await.expect("the slow call");
    peer.stop_listening().await;
    let state = || fleet.health_of("peer").expect("it is configured").state;
    while state() == UpstreamState::Connected {
        let refused = crate::fleet::call(&fleet, "peer", "any", "{}").await;
        assert!(matches!(refused, Err(CallError::Unreachable { .. })), "{refused:?}");
        gateway_testkit::pause().await;
    }
    // By now the connection is given up and attempts at a new one fail.
    gateway_testkit::eventually(PATIENCE, "the failures", || {
        fleet.health_of("peer").expect("it is configured").failures > 1
    })
    .await
    .expect("nobody listens");
    assert!(!slow.is_finished(), "its own connection lives");
    answer.send(event).expect("the connection lives");
    let result = slow.await.expect("no panic").expect("a result");
    assert_eq!(text(&result), "late");
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_fleet_ends_calls_over_connections_that_were_given_up() {
    let (mut peer, mut calls) = holding().await;
    let fleet = crate::fleet::start(vec![crate::fleet::http("peer", &peer.url)]);
    let slow = tokio::spawn({
        let fleet = fleet.clone();
        async move { crate::fleet::call(&fleet, "peer", "any", "{}").await }
    });
    let _held = calls.recv().await.expect("the slow call");
    peer.stop_listening().await;
    while fleet.health_of("peer").expect("it is configured").state == UpstreamState::Connected {
        let _ = crate::fleet::call(&fleet, "peer", "any", "{}").await;
        gateway_testkit::pause().await;
    }
    fleet.shutdown(Duration::from_millis(50)).await;
    let outcome = slow.await.expect("no panic");
    assert!(matches!(outcome, Err(CallError::Lost { .. })), "{outcome:?}");
}
