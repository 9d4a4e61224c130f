//! HTTP with SSE, the transport of 2024-11-05.

use std::sync::{Arc, Mutex};

use gateway_upstream::{CallError, Connection, Endpoint, HttpMode};
use serde_json::json;
use tokio::sync::mpsc;

use super::http::spec;
use super::http_peer::{HttpPeer, Reply, Seen, event};
use super::peer::{call, open, options, text};

type Stream = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

/// A server that names `endpoint` and answers on its stream of events.
async fn start(endpoint: &'static str) -> (HttpPeer, Stream) {
    let stream: Stream = Arc::default();
    let shared = Arc::clone(&stream);
    let peer = HttpPeer::start(move |seen: &Seen| {
        let mut stream = shared.lock().expect("no test panics here");
        if seen.method == "GET" && seen.path == "/mcp" {
            let (sender, receiver) = mpsc::unbounded_channel();
            sender.send(format!("event: endpoint\ndata: {endpoint}\n\n")).expect("the receiver is here");
            *stream = Some(sender);
            return Reply::Events(receiver);
        }
        if seen.path == "/mcp" {
            return Reply::status(405);
        }
        let result = match seen.rpc() {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "0"}}),
            "tools/call" if seen.body["params"]["name"] == "die" => {
                *stream = None;
                return Reply::status(202);
            }
            "tools/call" => json!({"content": [{"type": "text", "text": seen.path}]}),
            _ => return Reply::status(202),
        };
        let message = event(&json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result}));
        if let Some(sender) = stream.as_ref() {
            let _ = sender.send(message);
        }
        Reply::text(202, "Accepted")
    })
    .await;
    (peer, stream)
}

#[tokio::test]
async fn the_ladder_ends_at_the_oldest_transport() {
    let (peer, _stream) = start("/messages?session=7").await;
    let connection = open(&spec(&peer.url)).await.expect("the peer answers");
    assert_eq!((connection.transport(), connection.era().version()), ("sse", "2024-11-05"));
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "/messages?session=7");
    assert_eq!(
        peer.methods(),
        [
            "POST server/discover",
            "POST initialize",
            "GET",
            "POST initialize",
            "POST notifications/initialized",
            "POST tools/call"
        ]
    );
    assert!(peer.seen().iter().all(|seen| seen.header("authorization") == "Bearer s3cr3t-token"));
    let lost = call(&connection, "die").await;
    assert!(matches!(lost, Err(CallError::Lost { .. })), "{lost:?}");
    assert_eq!(connection.ended().await, "it ended the stream of events");
}

#[tokio::test]
async fn sse_can_be_asked_for_and_excluded() {
    let (peer, _stream) = start("messages").await;
    let mut spec = spec(&peer.url);
    let set = |spec: &mut gateway_upstream::UpstreamSpec, wanted: HttpMode| {
        if let Endpoint::Http { mode, .. } = &mut spec.endpoint {
            *mode = wanted;
        }
    };
    set(&mut spec, HttpMode::Sse);
    let connection = open(&spec).await.expect("the peer answers");
    assert_eq!(peer.methods()[0], "GET");
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "/messages");
    connection.close().await;
    set(&mut spec, HttpMode::Streamable);
    let error = open(&spec).await.expect_err("there is no such transport");
    assert!(error.to_string().contains("405"), "{error}");
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let (peer, _stream) = start("http://127.0.0.2:1/steal").await;
    let (options, _events) = options();
    let error = Connection::open(&spec(&peer.url), options).await.expect_err("it is another origin");
    assert!(error.to_string().contains("another origin"), "{error}");
    assert!(!peer.seen().iter().any(|seen| seen.path == "/steal"));
}

#[tokio::test]
async fn a_server_that_asks_without_end_and_takes_no_answers_gets_few() {
    let stream: Stream = Arc::default();
    let shared = Arc::clone(&stream);
    let peer = HttpPeer::start(move |seen: &Seen| {
        let mut stream = shared.lock().expect("no test panics here");
        if seen.method == "GET" {
            let (sender, receiver) = mpsc::unbounded_channel();
            sender.send("event: endpoint\ndata: messages\n\n".to_owned()).expect("the receiver is here");
            *stream = Some(sender);
            return Reply::Events(receiver);
        }
        let tell = |message: &serde_json::Value| {
            if let Some(sender) = stream.as_ref() {
                let _ = sender.send(event(message));
            }
        };
        let result = match seen.rpc() {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "0"}}),
            "tools/call" => {
                for id in 0..1_000 {
                    tell(&json!({"jsonrpc": "2.0", "id": format!("p{id}"), "method": "ping"}));
                }
                json!({"content": [{"type": "text", "text": "asked"}]})
            }
            "" => return Reply::Silence,
            _ => return Reply::status(202),
        };
        tell(&json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result}));
        Reply::status(202)
    })
    .await;
    let mut spec = spec(&peer.url);
    if let Endpoint::Http { mode, .. } = &mut spec.endpoint {
        *mode = HttpMode::Sse;
    }
    let connection = open(&spec).await.expect("the peer answers");
    // The second call finds its way although all those answers are stuck.
    for _ in 0..2 {
        assert_eq!(text(&call(&connection, "any").await.expect("a result")), "asked");
    }
    let answers = peer.seen().iter().filter(|seen| seen.body.get("result").is_some()).count();
    assert!(answers <= 256, "{answers}");
    connection.close().await;
}
