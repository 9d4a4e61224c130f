//! What callers may say and how they are answered: eras, media, ids, batches.

use serde_json::{Value, json};

use super::wire::{Caller, ERAS, Era, Front, Reply, Way, everything};

async fn front() -> Front {
    Front::of((Era::Legacy, Way::Http), everything).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_old_times_does_not_make_a_request_an_old_one() {
    let front = front().await;
    let caller = front.caller(Era::Modern).await;
    let (_, body) = caller.message("tools/list", json!({}));
    let mut reply = caller.post(&body, "mcp-session-id: long-gone\r\n").await;
    assert_eq!(reply.status, 200, "{}", reply.head);
    assert!(reply.next().await.unwrap().text.contains("\"resultType\":\"complete\""));
    for verb in ["DELETE", "GET"] {
        let request = format!(
            "{verb} /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: x\r\nmcp-protocol-version: 2026-07-28\r\n\r\n"
        );
        let reply = Reply::to(&front.service, &request).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{verb}");
    }
}

/// The same message of a caller who takes only JSON.
async fn only_json(caller: &Caller<'_>, body: &str) -> Reply {
    let headers = caller.headers(body).replace(", text/event-stream", "");
    let length = body.len();
    let request = format!("POST {} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n{body}", caller.path);
    Reply::to(caller.service, &request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_stream_gets_none() {
    for upstream in ERAS {
        let front = Front::of((upstream, Way::Http), everything).await;
        for era in ERAS {
            let caller = front.caller(era).await;
            let params =
                json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": 7}});
            let (id, body) = caller.message("tools/call", params);
            let mut reply = only_json(&caller, &body).await;
            assert_eq!(reply.header("content-type"), Some("application/json"), "{era:?}: {}", reply.head);
            let answer = reply.next().await.unwrap();
            assert_eq!(answer.value["id"], id, "{era:?}: {}", answer.text);
            assert!(answer.value.get("result").is_some(), "{era:?}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_stream_is_asked_on_the_one_that_is_open() {
    let front = front().await;
    let caller = front.caller(Era::Legacy).await;
    let mut news = caller.bare("GET", "").await;
    let (id, body) =
        caller.message("tools/call", json!({"name": "test_elicitation", "arguments": {"message": "Who?"}}));
    let asking = async {
        let question = news.until("elicitation/create").await;
        caller.respond(&question["id"], json!({"action": "decline"})).await;
    };
    let (mut reply, ()) = tokio::join!(only_json(&caller, &body), asking);
    let answer = reply.next().await.unwrap();
    assert_eq!(answer.value["id"], id, "{}", answer.text);
    assert!(answer.text.contains("action=decline"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn listening_needs_a_stream() {
    let front = front().await;
    let caller = front.caller(Era::Modern).await;
    let (_, body) = caller.message("subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(only_json(&caller, &body).await.status, 406);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_may_come_before_everything() {
    let front = front().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answer = front.service.post("/mcp", ping).await;
    assert_eq!((answer.status, answer.json()), (200, json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    let mut events = Reply::to(&front.service, "GET /mcp/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let address = events.endpoint().await;
    assert_eq!(front.service.post(&address, ping).await.status, 202);
    assert_eq!(events.next().await.unwrap().value, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_request_under_one_id_is_refused_and_the_first_can_be_cancelled() {
    let front = front().await;
    let caller = front.caller(Era::Legacy).await;
    let slow = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "slow_compute", "arguments": {"seconds": 60, "label": "x"}}
    })
    .to_string();
    let mut first = caller.post(&slow, "").await;
    assert!(first.is_stream(), "{}", first.head);
    let mut second = caller.post(&slow, "").await;
    let refused = second.next().await.unwrap();
    assert_eq!(refused.value["error"]["code"], -32600, "{}", refused.text);
    caller.notify("notifications/cancelled", json!({"requestId": 7})).await;
    assert!(first.next().await.is_none(), "a request that was cancelled has no answer");
}

async fn session_of(front: &Front, version: &str) -> String {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let answer = front.service.post("/mcp", &body).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], version, "{}", answer.body);
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_answered_in_the_version_that_has_them() {
    let front = front().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "greet", "arguments": {"name": "x"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 4, "method": "ping"},
    ])
    .to_string();
    let send = async |session: &str, body: &str| {
        let headers = format!(
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n"
        );
        front.service.send("POST", "/mcp", &headers, body).await
    };
    let session = session_of(&front, "2025-03-26").await;
    let answer = send(&session, &batch).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answers = answer.json();
    let of = |id: Value| answers.as_array().unwrap().iter().find(|answer| answer["id"] == id).cloned();
    assert_eq!(answers.as_array().map(Vec::len), Some(4), "{answers}");
    assert_eq!(of(json!("a")).unwrap()["result"]["content"][0]["text"], "Hello, x!", "{answers}");
    assert_eq!(of(json!(2)).unwrap()["error"]["code"], -32601, "{answers}");
    assert_eq!(of(json!(3)).unwrap()["error"]["code"], -32600, "{answers}");
    assert_eq!(of(json!(4)).unwrap()["result"], json!({}), "{answers}");
    let notes = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]).to_string();
    assert_eq!(send(&session, &notes).await.status, 202);
    let later = session_of(&front, "2025-06-18").await;
    let refused = send(&later, &batch).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32600)), "{}", refused.body);
    assert!(refused.body.contains("one message at a time"), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_a_session_are_bounded() {
    let front = front().await;
    let caller = front.caller(Era::Legacy).await;
    for number in 0..1_000 {
        let uri = format!("gateway:up:test://static-text?{number}");
        caller.ask("resources/subscribe", json!({"uri": uri})).await.result();
    }
    let more = caller.ask("resources/subscribe", json!({"uri": "gateway:up:test://one-more"})).await;
    assert_eq!(more.error().0, -32602, "{}", more.text);
    let again = caller.ask("resources/subscribe", json!({"uri": "gateway:up:test://static-text?0"})).await;
    assert_eq!(*again.result(), json!({}), "one that is there already");
}
