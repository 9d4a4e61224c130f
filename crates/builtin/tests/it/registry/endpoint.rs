//! HTTP endpoints: what they are sent, what their answers become, and where they may be.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway_builtin::{Handler, RegisterError, RegisteredTool, Registry};
use gateway_config::{EndpointHandler, RegistryConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{run, text};

/// A server that answers every request with the same bytes and keeps what it was sent.
struct Peer {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    async fn start(answer: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&seen), answer.to_owned());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                while !is_whole(&bytes) && stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {}
                kept.lock().unwrap().push(String::from_utf8_lossy(&bytes).into_owned());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn registry(url: &str) -> Registry {
    let headers = BTreeMap::from([("authorization".to_owned(), "Bearer s3cret-token".to_owned())]);
    let mut handler = EndpointHandler::new(url, &headers).unwrap();
    handler.max_bytes = 1_000;
    let registry = Registry::new();
    let tool = RegisteredTool::new("x", &json!({}), Handler::Endpoint(handler)).unwrap();
    registry.register(tool.with_timeout(Duration::from_secs(20))).unwrap();
    registry
}

async fn outcome(answer: &str) -> Result<Value, String> {
    let peer = Peer::start(answer).await;
    let outcome = run(&registry(&peer.url), "x", &json!({"a": 1})).await;
    assert_eq!(peer.seen().len(), 1, "it is asked once");
    outcome.map_err(|error| error.replace("Error executing tool 'x': ", ""))
}

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

#[tokio::test]
async fn an_endpoint_gets_the_tool_and_its_arguments() {
    let peer = Peer::start(&answer("200 OK", JSON, r#"{"sum":3}"#)).await;
    let result = run(&registry(&peer.url), "x", &json!({"z": 1, "a": [2]})).await.unwrap();
    assert_eq!(
        result,
        json!({"content": [{"type": "text", "text": "{\"sum\":3}"}], "structuredContent": {"sum": 3}})
    );
    let [request] = &peer.seen()[..] else { panic!("{:?}", peer.seen()) };
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains("\r\nauthorization: bearer s3cret-token\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"tool\":\"x\",\"arguments\":{\"z\":1,\"a\":[2]}}"), "{request}");
}

#[tokio::test]
async fn answers_become_results() {
    let mcp = r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true}"#;
    assert_eq!(outcome(&answer("200 OK", JSON, mcp)).await, Ok(serde_json::from_str(mcp).unwrap()));
    assert_eq!(
        outcome(&answer("201 Created", "content-type: text/plain\r\n", "{\"a\":1}")).await,
        Ok(text("{\"a\":1}"))
    );
    assert_eq!(outcome(&answer("204 No Content", "", "")).await, Ok(json!({"content": []})));
    assert_eq!(
        outcome(&answer("200 OK", JSON, "[1]")).await,
        Ok(json!({"content": [{"type": "text", "text": "[1]"}], "structuredContent": {"result": [1]}}))
    );
    let failures = [
        (
            answer("500 Internal Server Error", JSON, "{\"why\":\n\"Bearer s3cret-token is bad\"}"),
            "the endpoint answered 500 Internal Server Error: {\"why\": \"*** *** is bad\"}",
        ),
        (answer("404 Not Found", "", "<html>"), "the endpoint answered 404 Not Found"),
        (
            answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
            "the endpoint answered 302 Found; redirects are not followed",
        ),
        (
            answer("200 OK", JSON, "{"),
            "the endpoint answered with JSON that cannot be read: EOF while parsing an object at line 1 column 1",
        ),
        (answer("200 OK", JSON, &"x".repeat(1_001)), "the endpoint answered with more than 1000 bytes"),
    ];
    for (bytes, expected) in failures {
        assert_eq!(outcome(&bytes).await, Err(expected.to_owned()), "{bytes}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_told() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = run(&registry(&format!("http://{address}/")), "x", &json!({})).await.unwrap_err();
    assert!(error.contains("Connection refused"), "{error}");
}

fn body(url: &str) -> serde_json::Map<String, Value> {
    let body =
        json!({"description": "d", "handler": {"url": url, "headers": {"x-a": "b"}}, "timeout": "20s"});
    body.as_object().unwrap().clone()
}

#[tokio::test]
async fn the_network_may_not_name_private_addresses() {
    let peer = Peer::start(&answer("200 OK", JSON, "1")).await;
    let registry = Registry::new();
    let error = registry.register_remote("x", &body(&peer.url)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "127.0.0.1 is a loopback address; such addresses are refused unless the configuration sets `registry.allowPrivate`"
    );
    let name = peer.url.replace("127.0.0.1", "localhost");
    assert!(matches!(registry.register_remote("x", &body(&name)).await, Err(RegisterError::Handler(_))));
    assert!(!registry.has("x"));
    let mut config = RegistryConfig::default();
    config.allow_private = true;
    registry.configure(&config);
    assert_eq!(registry.register_remote("x", &body(&name)).await, Ok(false));
    assert_eq!(registry.register_remote("x", &body(&peer.url)).await, Ok(true), "it replaces");
    assert_eq!(registry.register_remote("named", &body(&name)).await, Ok(false));
    for tool in ["x", "named"] {
        assert!(run(&registry, tool, &json!({})).await.is_ok());
    }
    assert_eq!(peer.seen().len(), 2);
    // What is no longer allowed is refused also where it stands already, as a name and as an address.
    registry.configure(&RegistryConfig::default());
    for tool in ["x", "named"] {
        assert!(run(&registry, tool, &json!({})).await.unwrap_err().contains("loopback"), "{tool}");
    }
    assert_eq!(peer.seen().len(), 2, "nothing was sent");
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_later_is_refused_when_the_connection_is_made() {
    let peer = Peer::start(&answer("200 OK", JSON, "1")).await;
    let port = peer.url.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    // The first two answers are for the registration and for the check before the call; then the name turns.
    for good in [1, 2] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let registry = Registry::with_lookup(move |_| {
            let times = count.fetch_add(1, Ordering::SeqCst);
            let address: IpAddr =
                if times < good { [93, 184, 216, 34].into() } else { [127, 0, 0, 1].into() };
            std::future::ready(Ok(vec![address]))
        });
        registry.register_remote("x", &body(&format!("http://rebind.example:{port}/"))).await.unwrap();
        let error = run(&registry, "x", &json!({})).await.unwrap_err();
        assert!(error.contains("leads to 127.0.0.1"), "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), good + 1);
    }
    assert_eq!(peer.seen(), [""; 0], "nothing reached it");
}

#[tokio::test]
async fn the_network_registers_endpoints_only() {
    let registry = Registry::new();
    let check = async |body: Value, expected: &str| {
        let error = registry.register_remote("x", body.as_object().unwrap()).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{body}: {error}");
    };
    let only = "`handler` must be an HTTP endpoint";
    check(json!({}), only).await;
    check(json!({"handler": {"command": "sh", "args": ["-c", "id"]}}), only).await;
    check(json!({"handler": {"url": "http://1.1.1.1/", "command": "sh"}}), only).await;
    check(json!({"handler": {"url": "http://1.1.1.1/", "env": {}}}), only).await;
    check(json!({"handler": ["sh"]}), only).await;
    check(json!({"handler": {"url": "file:///etc/passwd"}}), "`handler.url` the address must begin with")
        .await;
    check(json!({"handler": {"url": "http://u:p@1.1.1.1/"}}), "`handler.url` the address must not hold")
        .await;
    for name in ["host", "Expect", "upgrade", "TE", "trailer", "content-encoding", "transfer-encoding"] {
        check(
            json!({"handler": {"url": "http://1.1.1.1/", "headers": {name: "x"}}}),
            &format!("`handler.headers` the header `{name}` is decided by the gateway"),
        )
        .await;
    }
    let long = json!({"url": "http://1.1.1.1/", "headers": {"x-a": "b".repeat(64 << 10)}});
    check(json!({"handler": long}), "the definition and its endpoint have 65").await;
    check(json!({"handler": {"url": "http://1.1.1.1/"}, "comand": 1}), "`comand` is not known here").await;
    check(json!({"handler": {"url": "http://1.1.1.1/"}, "name": "y"}), "`name` is another").await;
    check(json!({"handler": {"url": "http://1.1.1.1/"}, "timeout": "2h"}), "`timeout` must be").await;
    assert!(registry.get_all().is_empty());
    assert_eq!(registry.unregister_remote("x"), Ok(false));
}
