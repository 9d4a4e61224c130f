//! MCP from a page in a browser.

use crate::client::Service;

const PAGE: &str = "origin: https://app.example\r\n";

async fn service() -> Service {
    Service::with(|config| config.allowed_origins = vec!["https://app.example".to_owned()]).await
}

#[track_caller]
fn check(listed: Option<&str>, wanted: &[&str]) {
    let listed: Vec<&str> = listed.unwrap_or_default().split(',').map(str::trim).collect();
    let missing: Vec<&&str> = wanted.iter().filter(|name| !listed.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} not in {listed:?}");
}

#[tokio::test]
async fn a_page_may_send_what_mcp_needs() {
    let service = service().await;
    let asked = format!(
        "{PAGE}access-control-request-method: POST\r\naccess-control-request-headers: content-type, Mcp-Param-Region, \
         X-Stainless-Lang, mcp-param-a b, x-other\r\n"
    );
    let answer = service.send("OPTIONS", "/mcp", &asked, "").await;
    assert_eq!(answer.status, 204);
    let allowed = answer.header("access-control-allow-headers");
    check(
        allowed,
        &[
            "authorization",
            "content-type",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-param-region",
            "mcp-protocol-version",
            "mcp-session-id",
            "x-gateway-continue",
            "x-gateway-events",
            "x-gateway-tools",
            "x-stainless-lang",
        ],
    );
    assert!(!allowed.unwrap_or_default().contains("x-other"), "{allowed:?}");
    assert!(!allowed.unwrap_or_default().contains("mcp-param-a"), "{allowed:?}");
    check(answer.header("access-control-allow-methods"), &["GET", "POST", "DELETE"]);
}

#[tokio::test]
async fn a_page_reads_the_session_that_it_got() {
    let service = service().await;
    let headers = format!(
        "{PAGE}content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2025-11-25\r\n"
    );
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}"#;
    let answer = service.send("POST", "/mcp", &headers, body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.header("mcp-session-id").is_some());
    check(
        answer.header("access-control-expose-headers"),
        &[
            "mcp-session-id",
            "etag",
            "x-correlation-id",
            "www-authenticate",
            "retry-after",
            "x-tools-omitted",
            "x-tools-not-strict",
        ],
    );
}
