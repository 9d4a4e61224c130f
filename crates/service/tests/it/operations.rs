//! Health, servers, metrics and the description of it all.

use std::time::Instant;

use gateway_config::{Approval, Secret};
use gateway_store::CallLog;
use gateway_upstream::{ConnectMode, Endpoint, UpstreamSpec};
use serde_json::{Value, json};

use crate::client::Service;
use crate::mcp::wire::PATIENCE;

#[tokio::test]
async fn health_tells_how_each_server_is() {
    let service = Service::start().await;
    let before = service.get("/health").await.json();
    assert_eq!(
        (&before["ok"], &before["status"], &before["serverCount"]),
        (&json!(true), &json!("healthy"), &json!(2))
    );
    assert_eq!(before["configSource"], "none");
    assert_eq!(before["servers"][0]["status"], "disconnected", "nobody used it yet");
    assert_eq!(service.add(1, 2).await.status, 200);
    let after = service.get("/health").await.json();
    let demo = &after["servers"][0];
    assert_eq!(
        (
            &demo["name"],
            &demo["transport"],
            &demo["connected"],
            &demo["status"],
            &demo["state"],
            &demo["tools"]
        ),
        (
            &json!("demo"),
            &json!("builtin"),
            &json!(true),
            &json!("connected"),
            &json!("connected"),
            &json!(5)
        )
    );
    assert_eq!(after["servers"][1]["status"], "disabled");
    assert!(after["log"]["queued"].as_u64().is_some_and(|count| count >= 1), "{after}");
    assert!(after["uptimeMs"].is_u64() && after["version"].is_string());
    let probed = service.get("/health?probe=1").await.json();
    assert_eq!(probed["servers"][0]["probe"]["ok"], true, "{probed}");
    assert_eq!(service.get("/livez").await.json(), json!({"ok": true}));
}

#[tokio::test]
async fn readiness_follows_required_servers() {
    let mut gone = UpstreamSpec::new(
        "gone",
        Endpoint::Stdio {
            command: "no-such-program-anywhere".to_owned(),
            args: Vec::new(),
            env: std::collections::BTreeMap::new(),
            cwd: None,
        },
    );
    gone.connect = ConnectMode::Eager;
    let servers = || vec![UpstreamSpec::new("demo", Endpoint::Demo), gone.clone()];
    let service = Service::with_servers(servers(), |_| {}).await;
    let refused = service.post("/servers/gone/connect", "{}").await;
    assert_eq!((refused.status, refused.code().as_str()), (502, "CONNECTION_ERROR"), "{}", refused.body);
    let health = service.get("/health").await.json();
    assert_eq!(
        (&health["ok"], &health["status"]),
        (&json!(true), &json!("degraded")),
        "one of two is enough"
    );
    assert!(
        health["servers"][1]["reason"].as_str().is_some_and(|text| text.contains("no-such-program")),
        "{health}"
    );
    assert_eq!(service.get("/ready").await.status, 200);
    gone.required = true;
    let service = Service::with_servers(vec![UpstreamSpec::new("demo", Endpoint::Demo), gone], |_| {}).await;
    let ready = service.get("/ready").await;
    assert_eq!(ready.status, 503);
    assert!(
        ready.json()["reasons"][0].as_str().is_some_and(|text| text.starts_with("server `gone` is ")),
        "{}",
        ready.body
    );
    assert_eq!(service.get("/readyz").await.status, 503);
    let health = service.get("/health").await;
    assert_eq!((health.status, health.json()["status"].clone()), (200, json!("unhealthy")));
}

/// Waits until `/health` has a status.
async fn eventually_healthy(service: &Service, status: &str) -> Value {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let health = service.get("/health").await.json();
        if health["status"] == status {
            return health;
        }
        gateway_testkit::pause().await;
    }
    panic!("{status} did not come: {}", service.get("/health").await.body);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_degrades_until_it_can() {
    let directory = tempfile::tempdir().unwrap();
    let log = CallLog::open(directory.path(), &gateway_store::Options::default()).unwrap();
    let service = Service::with_log(log).await;
    let database = rusqlite::Connection::open(directory.path().join(gateway_store::FILE_NAME)).unwrap();
    database.execute_batch("ALTER TABLE calls RENAME TO elsewhere").unwrap();
    assert_eq!(service.add(1, 2).await.status, 200, "calls run as long as there is room for their entries");
    let health = eventually_healthy(&service, "degraded").await;
    assert_eq!((&health["ok"], &health["log"]["failing"]), (&json!(true), &json!(true)), "{health}");
    let reason = format!("the call log cannot be written: {}", health["log"]["lastError"].as_str().unwrap());
    assert_eq!(health["reasons"], json!([reason]));
    database.execute_batch("ALTER TABLE elsewhere RENAME TO calls").unwrap();
    let health = eventually_healthy(&service, "healthy").await;
    assert!(health.get("reasons").is_none() && health["log"]["failing"] == false, "{health}");
    let entries: Value = service.get("/logs").await.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "nothing is lost: {entries}");
}

#[tokio::test]
async fn servers_are_connected_and_restarted() {
    let service = Service::start().await;
    let connected = service.post("/servers/demo/connect", "{}").await;
    assert_eq!(
        (connected.status, &connected.json()["server"]["status"]),
        (200, &json!("connected")),
        "{}",
        connected.body
    );
    for round in 1..=20 {
        let restarted = service.send("POST", "/servers/demo/restart", "", "").await;
        assert_eq!(
            (restarted.status, &restarted.json()["server"]["connected"]),
            (200, &json!(true)),
            "{round}: {}",
            restarted.body
        );
    }
    let listed = service.get("/servers").await.json();
    assert_eq!(listed["servers"].as_array().map(Vec::len), Some(2));
    assert_eq!(service.add(2, 3).await.status, 200);
}

#[tokio::test]
async fn metrics_count_requests_and_calls() {
    let service = Service::start().await;
    assert_eq!(service.add(1, 2).await.status, 200);
    assert_eq!(service.get("/tools/gemini").await.status, 200);
    assert_eq!(service.get("/tools/nobody").await.status, 400);
    let execute = r#"{"provider":"openai","call":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}"#;
    assert_eq!(service.post("/execute", execute).await.status, 200);
    let summary = service.send("GET", "/metrics", "accept: application/json\r\n", "").await;
    assert_eq!(summary.header("content-type"), Some("application/json"));
    let summary = summary.json();
    assert_eq!(summary["requests"]["total"], 4);
    assert_eq!(summary["requests"]["byEndpoint"]["/tools/{provider}"], 2);
    assert_eq!(summary["requests"]["byProvider"], json!({"gemini": 1, "openai-chat": 1}));
    assert_eq!(
        summary["errors"],
        json!({"total": 1, "byProvider": {}, "byEndpoint": {"/tools/{provider}": 1}})
    );
    assert!(summary["latencies"]["byEndpoint"]["/call_tool"]["p99"].is_number());
    let far =
        service.send("GET", "/metrics?since=99999999999999", "accept: application/json\r\n", "").await.json();
    assert_eq!(far["requests"]["total"], 0);
    for target in ["/metrics", "/metrics/prometheus"] {
        let answer = service.get(target).await;
        assert!(
            answer.header("content-type").is_some_and(|media| media.starts_with("text/plain; version=0.0.4"))
        );
        for line in [
            r#"gateway_calls_total{server="demo",tool="add",outcome="OK"} 2"#,
            r#"gateway_http_requests_total{method="POST",route="/call_tool",status="200"} 1"#,
            r#"gateway_upstream_up{server="demo"} 1"#,
            r#"gateway_upstream_state{server="off",state="disabled"} 1"#,
            "# TYPE gateway_call_duration_seconds histogram",
        ] {
            assert!(answer.body.lines().any(|found| found == line), "{line}\n{}", answer.body);
        }
    }
}

/// The lines of the metrics that begin so.
async fn metrics(service: &Service, begin: &str) -> Vec<String> {
    let text = service.get("/metrics").await.body;
    text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
}

#[tokio::test]
async fn calls_that_nobody_lets_run_have_outcomes_of_their_own() {
    let service = Service::with(|config| {
        config.approval.tools =
            vec![("demo/add".to_owned(), Approval::Deny), ("demo/multiply".to_owned(), Approval::Ask)];
        config.approval.wait = std::time::Duration::ZERO;
    })
    .await;
    service.add(1, 2).await;
    service.post("/call_tool", r#"{"server":"demo","tool":"multiply","arguments":{"a":1,"b":2}}"#).await;
    assert_eq!(
        metrics(&service, "gateway_calls_total{").await,
        [
            r#"gateway_calls_total{server="demo",tool="add",outcome="TOOL_DENIED"} 1"#,
            r#"gateway_calls_total{server="demo",tool="multiply",outcome="APPROVAL_REQUIRED"} 1"#,
        ]
    );
}

#[tokio::test]
async fn one_dialect_is_one_provider_however_it_is_named() {
    let service = Service::start().await;
    let call = |arguments: &str| json!({"name": "add", "arguments": arguments});
    let whole = json!({"id": "c", "type": "function", "function": call(r#"{"a":1,"b":2}"#)});
    for body in [
        json!({"provider": "openai", "call": whole}),
        json!({"provider": "openai-chat", "call": whole}),
        json!({"call": whole}),
    ] {
        let answer = service.post("/execute", &body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(service.get("/tools/openai").await.status, 200);
    // Wrong requests are the provider's too, whatever is wrong with them.
    let unknown =
        json!({"provider": "openai", "call": {"name": "nothing", "arguments": "{}"}, "errors": "precise"});
    assert_eq!(service.post("/execute", &unknown.to_string()).await.status, 404);
    assert_eq!(service.post("/execute", r#"{"provider":"openai","call":{"foo":1}}"#).await.status, 400);
    assert_eq!(
        metrics(&service, "gateway_provider").await,
        [
            r#"gateway_provider_requests_total{provider="openai-chat"} 6"#,
            r#"gateway_provider_request_errors_total{provider="openai-chat"} 2"#,
            r#"gateway_provider_calls_total{provider="openai-chat"} 4"#,
        ]
    );
    for filter in ["openai", "openai-chat", "openai*"] {
        let entries = service.get(&format!("/logs?provider={filter}&since=5m")).await.json();
        let providers: Vec<&str> =
            entries.as_array().unwrap().iter().map(|entry| entry["provider"].as_str().unwrap()).collect();
        assert_eq!(providers, ["openai-chat"; 4], "{filter}");
    }
    assert_eq!(service.get("/logs?provider=gemini").await.json(), json!([]));
}

#[tokio::test]
async fn invented_names_are_no_labels() {
    let service = Service::start().await;
    for number in 0..30 {
        service.get(&format!("/tools/invented-{number}")).await;
        let call = json!({"name": format!("invented_{number}"), "arguments": "{}"});
        let body = json!({"provider": format!("invented-{number}"), "call": call});
        service.post("/execute", &body.to_string()).await;
        let body = json!({"server": format!("invented-{number}"), "tool": "add", "arguments": {}});
        service.post("/call_tool", &body.to_string()).await;
        let body = json!({"server": "demo", "tool": format!("invented_{number}"), "arguments": {}});
        service.post("/call_tool", &body.to_string()).await;
    }
    let text = service.get("/metrics").await.body;
    let invented: Vec<&str> = text.lines().filter(|line| line.contains("invented")).collect();
    assert_eq!(invented, [""; 0]);
    let unknown = r#"gateway_calls_total{server="demo",tool="unknown",outcome="TOOL_NOT_FOUND"} 30"#;
    assert!(text.lines().any(|line| line == unknown), "{text}");
}

#[tokio::test]
async fn calls_of_servers_that_are_not_there_share_a_label() {
    let service = Service::start().await;
    for number in 0..3 {
        let call = json!({"name": format!("mcp__invented-{number}__add"), "arguments": "{}"});
        let answer = service.post("/execute", &json!({"provider": "openai", "call": call}).to_string()).await;
        assert_eq!(answer.json()["code"], "TOOL_NOT_FOUND", "{}", answer.body);
    }
    let body = r#"{"tool":"invented","arguments":{}}"#;
    assert_eq!(service.post("/call_tool", body).await.code(), "TOOL_NOT_FOUND");
    assert_eq!(
        metrics(&service, "gateway_calls_total{").await,
        [r#"gateway_calls_total{server="unknown",tool="unknown",outcome="TOOL_NOT_FOUND"} 4"#]
    );
}

#[tokio::test]
async fn every_route_of_the_document_is_there() {
    let service = Service::start().await;
    let document = service.get("/openapi.json").await.json();
    assert_eq!(document, gateway_service::openapi_document());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let target =
                path.replace("{provider}", "gemini").replace("{name}", "demo").replace("{group}", "demo");
            // A stream that does not end by itself.
            if target.ends_with("/events") {
                continue;
            }
            let answer = service
                .send(&method.to_ascii_uppercase(), &target, "content-type: application/json\r\n", "{}")
                .await;
            // The endpoint of MCP has its own reasons, and tells them in its own words; what is looked for need not be there.
            let is_told = answer.body.starts_with(r#"{"jsonrpc":"2.0","#)
                || answer.status == 404 && answer.body.contains(r#""code":"model_not_found""#)
                || answer.status == 404
                    && ["RESOURCE_NOT_FOUND", "CONVERSATION_NOT_FOUND"].contains(&answer.code().as_str());
            assert!(
                is_told || ![404, 405, 500].contains(&answer.status),
                "{method} {target}: {} {}",
                answer.status,
                answer.body
            );
            let documented = operations[method]["responses"].as_object().unwrap();
            assert!(
                documented.contains_key(&answer.status.to_string()),
                "{method} {target}: {}",
                answer.status
            );
        }
    }
    let page = service.get("/docs").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let service = Service::start().await;
    let answer = service.send("HEAD", "/livez", "", "").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let value: Value = service.get("/livez").await.json();
    assert_eq!(value, json!({"ok": true}));
}

#[tokio::test]
async fn an_unknown_provider_is_told_all_names() {
    let service = Service::start().await;
    let answer = service.get("/tools/nobody").await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "UNKNOWN_PROVIDER"));
    let known = answer.json()["availableProviders"].as_array().unwrap().clone();
    for name in ["openai", "openai-chat", "gemini"] {
        assert!(known.contains(&name.into()), "{name}: {known:?}");
    }
}

#[tokio::test]
async fn the_root_leads_to_the_page_for_people() {
    let service = Service::with(|config| {
        config.keys.insert("ann".to_owned(), Secret::new("key"));
    })
    .await;
    for method in ["GET", "HEAD"] {
        let answer = service.send(method, "/", "", "").await;
        assert_eq!((answer.status, answer.header("location")), (302, Some("docs")), "{method}");
        assert_eq!(answer.body.is_empty(), method == "HEAD", "{method}");
    }
}

#[tokio::test]
async fn limits_that_do_not_exist_are_absent() {
    let service = Service::start().await;
    let list = service.get("/providers").await.json();
    let rows = list["providers"].as_array().unwrap();
    let limits = rows.iter().flat_map(|row| row["limits"].as_object().unwrap().values());
    assert!(limits.clone().count() > 10 && limits.clone().all(|limit| *limit != 0), "{list}");
    let openai = rows.iter().find(|row| row["name"] == "openai-chat").unwrap();
    assert_eq!((&openai["limits"]["tools"], openai["limits"].get("depth")), (&128.into(), None), "{openai}");
    let one = service.get("/providers/openai-chat").await.json();
    assert_eq!(one["limits"], openai["limits"]);
}
