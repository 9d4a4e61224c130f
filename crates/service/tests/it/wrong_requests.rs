//! Every wrong request gives the documented status, code and text.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use crate::client::{Service, read_answer};

struct Case {
    method: &'static str,
    target: &'static str,
    headers: &'static str,
    body: &'static str,
    status: u16,
    code: &'static str,
    text: &'static str,
}

const JSON: &str = "content-type: application/json\r\n";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // method and path
    Case { method: "DELETE", target: "/tools", headers: "", body: "", status: 405, code: "METHOD_NOT_ALLOWED", text: "DELETE is not allowed here; allowed: GET, HEAD, OPTIONS" },
    Case { method: "GET", target: "/execute", headers: "", body: "", status: 405, code: "METHOD_NOT_ALLOWED", text: "GET is not allowed here; allowed: POST, OPTIONS" },
    Case { method: "PUT", target: "/call_tool", headers: JSON, body: "{}", status: 405, code: "METHOD_NOT_ALLOWED", text: "PUT is not allowed" },
    Case { method: "BREW", target: "/health", headers: "", body: "", status: 405, code: "METHOD_NOT_ALLOWED", text: "BREW is not allowed" },
    Case { method: "GET", target: "/nowhere", headers: "", body: "", status: 404, code: "NOT_FOUND", text: "no route /nowhere; see /docs" },
    Case { method: "GET", target: "/tools/", headers: "", body: "", status: 404, code: "NOT_FOUND", text: "no route" },
    Case { method: "GET", target: "/../etc/passwd", headers: "", body: "", status: 404, code: "NOT_FOUND", text: "no route" },
    // content type
    Case { method: "POST", target: "/call_tool", headers: "content-type: text/plain\r\n", body: "{}", status: 415, code: "UNSUPPORTED_MEDIA_TYPE", text: "application/json" },
    Case { method: "POST", target: "/call_tool", headers: "", body: "{}", status: 415, code: "UNSUPPORTED_MEDIA_TYPE", text: "application/json" },
    Case { method: "POST", target: "/execute", headers: "content-type: application/x-www-form-urlencoded\r\n", body: "a=b", status: 415, code: "UNSUPPORTED_MEDIA_TYPE", text: "application/json" },
    // options of another type
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"call":{"name":"add","args":{"a":1,"b":2}},"coerce":{"a":1}}"#, status: 400, code: "VALIDATION_ERROR", text: "\"coerce\": expected a string, a number or a boolean, not an object" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"call":{"name":"add","args":{"a":1,"b":2}},"model":["gpt-5"]}"#, status: 400, code: "VALIDATION_ERROR", text: "\"model\": expected one value, not a list" },
    Case { method: "POST", target: "/convert", headers: JSON, body: r#"{"to":"gemini","tools":[],"defaults":{}}"#, status: 400, code: "VALIDATION_ERROR", text: "\"defaults\": expected" },
    Case { method: "POST", target: "/history", headers: JSON, body: r#"{"from":"openai","to":"gemini","messages":[],"mode":["a"]}"#, status: 400, code: "VALIDATION_ERROR", text: "\"mode\": expected" },
    Case { method: "GET", target: "/tools/openai?compat=gemini", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "compat=gemini: `gemini` is not a layer; use auto, off or one of anthropic-compat, " },
    // JSON
    Case { method: "POST", target: "/call_tool", headers: JSON, body: "{", status: 400, code: "VALIDATION_ERROR", text: "reading the body as JSON" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: "", status: 400, code: "VALIDATION_ERROR", text: "reading the body as JSON" },
    Case { method: "POST", target: "/execute", headers: JSON, body: "nonsense", status: 400, code: "VALIDATION_ERROR", text: "reading the body as JSON" },
    Case { method: "POST", target: "/execute", headers: JSON, body: "[]", status: 400, code: "VALIDATION_ERROR", text: "" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"["openai",["c1","function",["add","{\"a\":1,\"b\":2}"]]]"#, status: 400, code: "VALIDATION_ERROR", text: "must be a JSON object" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"provider":"openai","call":["c1","function",["add","{}"]]}"#, status: 400, code: "VALIDATION_ERROR", text: "" },
    Case { method: "POST", target: "/convert", headers: JSON, body: "{\"provider\":", status: 400, code: "VALIDATION_ERROR", text: "" },
    Case { method: "POST", target: "/check", headers: JSON, body: "7", status: 400, code: "VALIDATION_ERROR", text: "" },
    // unknown provider, server, tool
    Case { method: "GET", target: "/tools/nobody", headers: "", body: "", status: 400, code: "UNKNOWN_PROVIDER", text: "Unknown provider: nobody" },
    Case { method: "GET", target: "/tools/nobody/context", headers: "", body: "", status: 400, code: "UNKNOWN_PROVIDER", text: "Unknown provider: nobody" },
    Case { method: "GET", target: "/providers/nobody", headers: "", body: "", status: 400, code: "UNKNOWN_PROVIDER", text: "Unknown provider: nobody" },
    Case { method: "GET", target: "/tools?server=x", headers: "", body: "", status: 400, code: "SERVER_NOT_FOUND", text: "Unknown server: x. Available servers: demo, off" },
    Case { method: "GET", target: "/tools/gemini?server=x", headers: "", body: "", status: 400, code: "SERVER_NOT_FOUND", text: "Unknown server: x. Available servers: demo, off" },
    Case { method: "GET", target: "/logs?server=x", headers: "", body: "", status: 400, code: "SERVER_NOT_FOUND", text: "Unknown server: x. Available servers: demo, off" },
    Case { method: "POST", target: "/servers/x/restart", headers: "", body: "", status: 404, code: "SERVER_NOT_FOUND", text: "Unknown server: x. Available servers: demo, off" },
    Case { method: "POST", target: "/servers/x/accept", headers: "", body: "", status: 403, code: "FORBIDDEN", text: "run `mcp-tool-gateway servers accept NAME FINGERPRINT` on the gateway's machine" },
    Case { method: "POST", target: "/servers/off/connect", headers: "", body: "", status: 409, code: "CONNECTION_ERROR", text: "disabled" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"x","tool":"add","arguments":{}}"#, status: 400, code: "SERVER_NOT_FOUND", text: "Unknown server: x. Available servers: demo, off" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"demo","tool":"nothing","arguments":{}}"#, status: 400, code: "TOOL_NOT_FOUND", text: "nothing" },
    Case { method: "POST", target: "/call_tool?errors=precise", headers: JSON, body: r#"{"server":"demo","tool":"nothing","arguments":{}}"#, status: 404, code: "TOOL_NOT_FOUND", text: "nothing" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"provider":"nobody","call":{}}"#, status: 400, code: "UNKNOWN_PROVIDER", text: "Unknown provider: nobody" },
    // wrong types
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"demo","tool":5}"#, status: 400, code: "VALIDATION_ERROR", text: "\"tool\"" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"demo"}"#, status: 400, code: "VALIDATION_ERROR", text: "Missing or invalid \"tool\" field" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"demo","tool":"add","arguments":[1,2]}"#, status: 400, code: "VALIDATION_ERROR", text: "\"arguments\"" },
    Case { method: "POST", target: "/call_tool", headers: JSON, body: r#"{"server":"demo","tool":"add","arguments":{"a":"x","b":1}}"#, status: 400, code: "VALIDATION_ERROR", text: "a" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"provider":7,"call":{}}"#, status: 400, code: "VALIDATION_ERROR", text: "Missing or invalid \"provider\" field" },
    Case { method: "POST", target: "/execute", headers: JSON, body: r#"{"provider":"gemini"}"#, status: 400, code: "VALIDATION_ERROR", text: "Missing or invalid \"call\" field" },
    // parameters
    Case { method: "GET", target: "/tools/gemini?report=perhaps", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "report=perhaps: expected true or false" },
    Case { method: "GET", target: "/tools/gemini?defaults=maybe", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "keep, strip, describe" },
    Case { method: "GET", target: "/logs?since=yesterday", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "since: expected 15m, 2h, 3d" },
    Case { method: "GET", target: "/logs?until=12", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "until: expected 15m, 2h, 3d" },
    Case { method: "GET", target: "/logs?limit=0", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "limit=0: expected a number from 1 to 10000" },
    Case { method: "GET", target: "/logs?limit=10001", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "limit=10001" },
    Case { method: "GET", target: "/logs?limit=ten", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "limit=ten" },
    Case { method: "GET", target: "/logs?limit=-1", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "limit=-1" },
    Case { method: "GET", target: "/logs?after=x", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "after=x" },
    Case { method: "GET", target: "/logs?status=fine", headers: "", body: "", status: 400, code: "VALIDATION_ERROR", text: "ok, success, error" },
    Case { method: "GET", target: "/logs?follow=true", headers: "last-event-id: x\r\n", body: "", status: 400, code: "VALIDATION_ERROR", text: "Last-Event-ID" },
    Case { method: "GET", target: "/metrics?since=x", headers: "accept: application/json\r\n", body: "", status: 400, code: "VALIDATION_ERROR", text: "since=x" },
    Case { method: "POST", target: "/call_tool", headers: "content-type: application/json\r\nidempotency-key: a b\r\n", body: "{}", status: 400, code: "VALIDATION_ERROR", text: "Idempotency-Key" },
];

#[tokio::test]
async fn each_wrong_request_gets_its_answer() {
    let service = Service::start().await;
    for case in CASES {
        let answer = service.send(case.method, case.target, case.headers, case.body).await;
        let name = format!("{} {} {}: {}", case.method, case.target, case.body, answer.body);
        assert_eq!(answer.status, case.status, "{name}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
        let body = answer.json();
        assert_eq!(body["code"], case.code, "{name}");
        assert!(body["error"].as_str().is_some_and(|text| text.contains(case.text)), "{name}");
        assert_eq!(body["correlationId"].as_str(), answer.header("x-correlation-id"), "{name}");
        if case.status == 405 {
            assert!(answer.header("allow").is_some(), "{name}");
        }
    }
    assert_eq!(service.add(1, 2).await.status, 200, "and it still works");
}

#[tokio::test]
async fn an_oversized_body_is_refused_announced_or_not() {
    let service = Service::with(|config| config.body_bytes = 1_024).await;
    let long = "x".repeat(2_000);
    let announced = service.post("/call_tool", &long).await;
    assert_eq!((announced.status, announced.code().as_str()), (413, "BODY_TOO_LARGE"));
    assert_eq!(announced.json()["error"], "the body has more than 1024 bytes");
    let chunked = format!(
        "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\
         connection: close\r\n\r\n7d0\r\n{long}\r\n0\r\n\r\n"
    );
    let chunked = service.raw(&chunked).await;
    assert_eq!((chunked.status, chunked.code().as_str()), (413, "BODY_TOO_LARGE"));
}

#[tokio::test]
async fn a_slow_body_is_given_up() {
    let service = Service::with(|config| config.read_timeout = Duration::from_millis(200)).await;
    let mut stream = service.connect().await;
    let head = "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "TIMEOUT"));
}

#[tokio::test]
async fn a_slow_head_is_given_up() {
    let service = Service::with(|config| config.read_timeout = Duration::from_millis(200)).await;
    let mut stream = service.connect().await;
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: local").await.unwrap();
    let mut rest = Vec::new();
    let ended = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
    assert!(ended.is_ok(), "the connection is closed");
}

#[tokio::test]
async fn headers_cannot_be_injected() {
    let service = Service::start().await;
    for id in ["a%0d%0aset-cookie:%20x", "two words", "", "é", "a\tb"] {
        let answer = service.send("GET", "/livez", &format!("x-correlation-id: {id}\r\n"), "").await;
        assert!(answer.header("set-cookie").is_none());
        let given = answer.header("x-correlation-id").unwrap();
        assert!(!given.contains(' ') && !given.is_empty() && given.is_ascii(), "{given}");
    }
    let target = "/tools/x%0d%0aset-cookie:%20a=b";
    let answer = service.get(target).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (400, None));
    let many = "x-a: 1\r\n".repeat(200);
    assert_eq!(service.send("GET", "/livez", &many, "").await.status, 431);
    for broken in [
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nbad header: x\r\n\r\n",
        "NONSENSE\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n",
    ] {
        assert_eq!(service.raw(broken).await.status, 400, "{broken}");
    }
    let smuggled =
        "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef";
    assert_eq!(service.raw(smuggled).await.status, 400);
}
