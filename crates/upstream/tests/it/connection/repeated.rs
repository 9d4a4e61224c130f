//! Servers that repeat members in streams of events and in batches: the last one counts, and nobody sees the others.

use gateway_upstream::{Fleet, FleetOptions, UpstreamId};
use serde_json::json;

use super::http::spec;
use super::http_peer::{HttpPeer, Reply, Seen};
use super::peer::PATIENCE;

/// What the server means with its answer to a request.
fn answer(seen: &Seen) -> String {
    let id = &seen.body["id"];
    let result = match seen.rpc() {
        "initialize" => {
            r#"{"protocolVersion":"none","protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#
        }
        "tools/list" => {
            r#"{"tools":[],"tools":[{"name":"zz","description":"first","name":"t","\u0064escription":"last"}]}"#
        }
        _ => r#"{"content":[]}"#,
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":-1,"result":{{"tools":[{{"name":"no"}}]}},"id":{id},"result":{result}}}"#
    )
}

/// The definitions that are known of such a server, and what a call of its tool gives.
async fn listed(peer: &HttpPeer) -> (Vec<String>, String) {
    let fleet = Fleet::start(vec![spec(&peer.url)], FleetOptions::default());
    fleet.listed(&[UpstreamId::new("peer")], PATIENCE).await;
    let catalogue = fleet.catalogue();
    let definitions = catalogue.tools().iter().map(|tool| tool.definition.as_str().to_owned()).collect();
    let called = crate::fleet::call(&fleet, "peer", "t", "{}").await.unwrap();
    fleet.shutdown(PATIENCE).await;
    (definitions, called.as_str().to_owned())
}

fn expected() -> (Vec<String>, String) {
    (vec![r#"{"name":"t","description":"last"}"#.to_owned()], r#"{"content":[]}"#.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_stream_of_events_the_last_of_repeated_members_counts() {
    let peer = HttpPeer::start(|seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => Reply::status(405),
        ("DELETE", _) => Reply::status(200),
        (_, "server/discover") => seen.error(400, -32600, "Server not initialized", &json!(null)),
        (_, method) if method.starts_with("notifications/") => Reply::status(202),
        _ => Reply::events(&[format!("data: {}\n\n", answer(seen))]),
    })
    .await;
    assert_eq!(listed(&peer).await, expected());
}

/// Over the transport of 2024-11-05, where a message may be a batch.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_batch_of_a_stream_the_last_of_repeated_members_counts() {
    let stream = std::sync::Mutex::new(None);
    let peer = HttpPeer::start(move |seen| {
        let mut stream = stream.lock().expect("no test panics here");
        if seen.method == "GET" {
            let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
            sender.send("event: endpoint\ndata: /messages\n\n".to_owned()).expect("the receiver is here");
            *stream = Some(sender);
            return Reply::Events(receiver);
        }
        if seen.path == "/mcp" {
            return Reply::status(405);
        }
        if let Some(sender) = stream.as_ref().filter(|_| !seen.body["id"].is_null()) {
            let _ = sender.send(format!("data: [{}]\n\n", answer(seen)));
        }
        Reply::status(202)
    })
    .await;
    assert_eq!(listed(&peer).await, expected());
}
