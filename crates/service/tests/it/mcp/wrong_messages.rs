//! Whatever is sent: the error says what is wrong, and nothing panics or hangs.

use serde_json::{Value, json};

use super::wire::{CAPABILITIES_META, Caller, Era, Front, MODERN, Reply, VERSION_META, Way, everything};

const KINDS: &str = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

async fn demo() -> crate::client::Service {
    crate::client::Service::with(|config| config.body_bytes = 10_000).await
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_no_messages_are_refused() {
    let service = demo().await;
    let deep = format!("{}1{}", "[".repeat(4_000), "]".repeat(4_000));
    let cases = [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("\u{0}", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700),
        (deep.as_str(), -32600),
        ("{}", -32600),
        ("null", -32600),
        ("7", -32600),
        (r#""text""#, -32600),
        ("[]", -32600),
        (r#"["a","ping"]"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","method":null,"id":1}"#, -32600),
    ];
    for (body, code) in cases {
        let answer = service.send("POST", "/mcp", KINDS, body).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        let error = answer.json();
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(code), &Value::Null), "{body}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_another_kind_or_size_are_refused() {
    let service = demo().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (headers, body, status) in [
        ("content-type: text/plain\r\n", ping.to_owned(), 415),
        ("content-type: application/x-www-form-urlencoded\r\n", ping.to_owned(), 415),
        (KINDS, format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(20_000)), 413),
    ] {
        for target in ["/mcp", "/mcp/demo", "/mcp/api?sessionId=x"] {
            let answer = service.send("POST", target, headers, &body).await;
            assert_eq!(answer.status, status, "{target} {headers}: {}", answer.body);
        }
    }
    for verb in ["PUT", "PATCH"] {
        assert_eq!(service.send(verb, "/mcp", KINDS, ping).await.status, 405, "{verb}");
    }
    let plain = service.send("GET", "/mcp", "accept: application/json\r\n", "").await;
    assert_eq!(plain.status, 406, "{}", plain.body);
    let alone = service.send("GET", "/mcp", "accept: text/event-stream\r\n", "").await;
    assert_eq!((alone.status, alone.header("allow")), (405, Some("POST")), "{}", alone.body);
    assert_eq!(service.send("DELETE", "/mcp", "", "").await.status, 400);
}

/// A modern request with these headers and this `_meta`.
async fn modern(
    service: &crate::client::Service,
    headers: &str,
    method: &str,
    params: Value,
) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).to_string();
    let answer = service.send("POST", "/mcp", &format!("{KINDS}{headers}"), &body).await;
    (answer.status, answer.json())
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_requests_must_say_who_they_are_and_their_headers_must_agree() {
    let service = demo().await;
    let version = format!("mcp-protocol-version: {MODERN}\r\n");
    let meta = json!({VERSION_META: MODERN, CAPABILITIES_META: {}});
    let with = |method: &str| format!("{version}mcp-method: {method}\r\n");
    let call = json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta});
    let cases: Vec<(&str, String, &str, Value, u16, i64)> = vec![
        (
            "no version header",
            "mcp-method: tools/list\r\n".into(),
            "tools/list",
            json!({"_meta": meta}),
            400,
            -32020,
        ),
        ("no method header", version.clone(), "tools/list", json!({"_meta": meta}), 400, -32020),
        ("another method", with("tools/call"), "tools/list", json!({"_meta": meta}), 400, -32020),
        ("no name header", with("tools/call"), "tools/call", call.clone(), 400, -32020),
        (
            "another name",
            format!("{}mcp-name: multiply\r\n", with("tools/call")),
            "tools/call",
            call.clone(),
            400,
            -32020,
        ),
        (
            "another version",
            "mcp-protocol-version: 2025-11-25\r\nmcp-method: tools/list\r\n".into(),
            "tools/list",
            json!({"_meta": meta}),
            400,
            -32020,
        ),
        (
            "a version that nobody speaks",
            "mcp-protocol-version: 2099-01-01\r\nmcp-method: tools/list\r\n".into(),
            "tools/list",
            json!({"_meta": {VERSION_META: "2099-01-01", CAPABILITIES_META: {}}}),
            400,
            -32022,
        ),
        ("no meta", with("tools/list"), "tools/list", json!({}), 400, -32602),
        (
            "no capabilities",
            with("tools/list"),
            "tools/list",
            json!({"_meta": {VERSION_META: MODERN}}),
            400,
            -32602,
        ),
        (
            "capabilities of a wrong type",
            with("tools/list"),
            "tools/list",
            json!({"_meta": {VERSION_META: MODERN, CAPABILITIES_META: []}}),
            400,
            -32602,
        ),
        ("meta of a wrong type", with("tools/list"), "tools/list", json!({"_meta": []}), 400, -32602),
        ("params of a wrong type", with("tools/list"), "tools/list", json!([1]), 400, -32602),
        ("an unknown method", with("no/such"), "no/such", json!({"_meta": meta}), 404, -32601),
        ("a method of the other era", with("ping"), "ping", json!({"_meta": meta}), 404, -32601),
        ("no name", with("tools/call"), "tools/call", json!({"_meta": meta}), 400, -32602),
        (
            "a name of a wrong type",
            with("tools/call"),
            "tools/call",
            json!({"name": 7, "_meta": meta}),
            400,
            -32602,
        ),
        (
            "an unknown resource",
            format!("{}mcp-name: x://y\r\n", with("resources/read")),
            "resources/read",
            json!({"uri": "x://y", "_meta": meta}),
            400,
            -32602,
        ),
        (
            "a filter of a wrong type",
            with("subscriptions/listen"),
            "subscriptions/listen",
            json!({"notifications": 7, "_meta": meta}),
            400,
            -32602,
        ),
        (
            "a state of a wrong type",
            format!("{}mcp-name: add\r\n", with("tools/call")),
            "tools/call",
            json!({"name": "add", "requestState": 7, "_meta": meta}),
            400,
            -32602,
        ),
    ];
    for (what, headers, method, params, status, code) in cases {
        let (found, answer) = modern(&service, &headers, method, params).await;
        assert_eq!((found, &answer["error"]["code"]), (status, &json!(code)), "{what}: {answer}");
        assert_eq!(answer["id"], 5, "{what}: {answer}");
    }
    let right = format!("{}mcp-name: =?base64?YWRk?=\r\n", with("tools/call"));
    let (status, answer) = modern(&service, &right, "tools/call", call).await;
    assert_eq!((status, &answer["result"]["resultType"]), (200, &json!("complete")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_of_a_session_are_answered_with_errors() {
    let front = Front::of((Era::Legacy, Way::Stdio), everything).await;
    let caller = front.caller(Era::Legacy).await;
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": {"a": 1}, "arguments": []}), -32602),
        ("prompts/get", json!({"name": "nobody"}), -32602),
        ("resources/read", json!({}), -32602),
        ("resources/subscribe", json!({"uri": []}), -32602),
        ("logging/setLevel", json!({"level": "loud"}), -32602),
        ("logging/setLevel", json!({}), -32602),
        ("completion/complete", json!({}), -32602),
        ("completion/complete", json!({"ref": {"type": "ref/other"}, "argument": {}}), -32602),
        ("tools/list", json!({"cursor": "nonsense"}), -32602),
        ("tasks/get", json!({"taskId": "x"}), -32601),
    ] {
        let outcome = caller.ask(method, params.clone()).await;
        assert_eq!(outcome.error().0, code, "{method} {params}: {}", outcome.text);
    }
    for params in [json!([]), json!("x"), json!(7)] {
        let outcome = caller.ask("tools/list", params.clone()).await;
        assert_eq!(outcome.error().0, -32602, "{params}: {}", outcome.text);
    }
    for body in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/nobody"}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}),
    ] {
        assert_eq!(caller.post(&body.to_string(), "").await.status, 202, "{body}");
    }
    let (_, list) = caller.message("tools/list", json!({}));
    for (headers, status) in [
        (
            format!(
                "mcp-session-id: {}\r\nmcp-protocol-version: 1999-01-01\r\n",
                caller.session.as_ref().unwrap()
            ),
            400,
        ),
        (format!("mcp-session-id: {}\r\n", caller.session.as_ref().unwrap()), 200),
        (String::new(), 400),
        ("mcp-session-id: nobody\r\n".to_owned(), 404),
    ] {
        let answer = front.service.send("POST", "/mcp", &format!("{KINDS}{headers}"), &list).await;
        assert_eq!(answer.status, status, "{headers}: {}", answer.body);
    }
    for params in [json!({}), json!({"protocolVersion": 7}), json!([])] {
        let (_, reply) =
            Caller::open(&front.service, Era::Legacy, "/mcp", "").await.send("initialize", params).await;
        assert!(reply.header("mcp-session-id").is_none(), "{}", reply.head);
        let text = reply.whole().await;
        assert!(text.contains("-32602"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_refused_everywhere() {
    let service = demo().await;
    let init = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    for attack in [
        "host: evil.example\r\n",
        "host: localhost.evil.example\r\n",
        "host: 10.0.0.1:8787\r\n",
        "host: localhost\r\norigin: https://evil.example\r\n",
        "host: localhost\r\norigin: null\r\n",
        "host: localhost\r\norigin: http://localhost.evil.example\r\n",
    ] {
        for (verb, target) in [
            ("POST", "/mcp"),
            ("GET", "/mcp"),
            ("DELETE", "/mcp"),
            ("POST", "/mcp/demo"),
            ("GET", "/mcp/demo"),
            ("GET", "/mcp/events"),
            ("GET", "/mcp/demo/events"),
            ("POST", "/mcp/api?sessionId=x"),
            ("POST", "/mcp/demo/api?sessionId=x"),
        ] {
            let body = if verb == "POST" { init } else { "" };
            let answer = service.send(verb, target, &format!("{attack}{KINDS}"), body).await;
            assert_eq!(answer.status, 403, "{verb} {target} {attack}: {}", answer.body);
            assert_eq!(answer.header("mcp-session-id"), None);
        }
    }
    // Another port of this machine is another origin: any program may serve a page there.
    let near = format!("host: localhost\r\norigin: http://localhost:3000\r\n{KINDS}");
    assert_eq!(service.send("POST", "/mcp", &near, init).await.status, 403);
    let own = format!("host: localhost:8787\r\norigin: http://localhost:8787\r\n{KINDS}");
    assert_eq!(service.send("POST", "/mcp", &own, init).await.status, 200);
    let events = "GET /mcp/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(Reply::to(&service, events).await.status, 200);
}
