//! Who may call, from where, and how much.

use gateway_service::{RateLimit, Secret, ServeError, ServiceConfig};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Service, read_answer};

#[tokio::test]
async fn foreign_hosts_are_refused() {
    let service = Service::with(|config| config.allowed_hosts = vec!["gateway.internal".to_owned()]).await;
    let port = service.running.address().port();
    let cases = [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        ("[::1]:1".to_owned(), 200),
        ("gateway.internal".to_owned(), 200),
        ("evil.example".to_owned(), 403),
        (format!("evil.example:{port}"), 403),
        ("localhost.evil.example".to_owned(), 403),
        ("192.168.1.5".to_owned(), 403),
    ];
    for (host, status) in cases {
        for target in ["/health", "/tools", "/docs"] {
            let answer = service.send("GET", target, &format!("host: {host}\r\n"), "").await;
            assert_eq!(answer.status, status, "{host} {target}: {}", answer.body);
            if status == 403 {
                assert_eq!(answer.code(), "FORBIDDEN");
            }
        }
    }
    let target = service.send("GET", "http://evil.example/health", "host: localhost\r\n", "").await;
    assert_eq!(target.status, 403, "the target counts as well");
    assert_eq!(service.raw("GET /health HTTP/1.1\r\nconnection: close\r\n\r\n").await.status, 400);
    let twice = "GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(service.raw(twice).await.status, 400);
}

#[tokio::test]
async fn foreign_origins_are_refused_and_none_may_read() {
    let service = Service::start().await;
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:8787", 200),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        let answer = service.send("GET", "/tools", &format!("origin: {origin}\r\n"), "").await;
        assert_eq!(answer.status, status, "{origin}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "CORS is off");
    }
    let preflight = "origin: http://localhost:3000\r\naccess-control-request-method: POST\r\n";
    let answer = service.send("OPTIONS", "/execute", preflight, "").await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, None));
    assert_eq!(answer.header("allow"), Some("POST, OPTIONS"));
}

#[tokio::test]
async fn listed_origins_may_read() {
    let service = Service::with(|config| {
        config.allowed_origins = vec!["https://app.example".to_owned()];
        config.keys.insert("app".to_owned(), Secret::new("key"));
    })
    .await;
    let preflight = "origin: https://app.example\r\naccess-control-request-method: POST\r\n";
    let answer = service.send("OPTIONS", "/execute", preflight, "").await;
    assert_eq!(answer.status, 204, "a preflight has no key");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(
        answer
            .header("access-control-allow-headers")
            .is_some_and(|headers| headers.contains("authorization"))
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let answer = service.send("GET", "/tools", "origin: https://app.example\r\nx-api-key: key\r\n", "").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, Some("https://app.example"))
    );
    let answer = service.send("GET", "/tools", "origin: https://app.example\r\n", "").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (401, Some("https://app.example"))
    );
    let foreign = "origin: https://other.example\r\naccess-control-request-method: POST\r\n";
    assert_eq!(service.send("OPTIONS", "/execute", foreign, "").await.status, 403);
}

#[tokio::test]
async fn keys_are_asked_for() {
    let service = Service::with(|config| {
        config.keys.insert("alice".to_owned(), Secret::new("alice-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    for (target, open) in [
        ("/health", true),
        ("/livez", true),
        ("/ready", true),
        ("/readyz", true),
        ("/openapi.json", true),
        ("/docs", true),
        ("/tools", false),
        ("/logs", false),
        ("/servers", false),
        ("/metrics", false),
        ("/nowhere", false),
    ] {
        let answer = service.get(target).await;
        assert_eq!(answer.status == 401, !open, "{target} {}", answer.status);
        if !open {
            assert_eq!(answer.code(), "UNAUTHORIZED");
            assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
        }
        let wrong = service.send("GET", target, "authorization: Bearer nonsense\r\n", "").await;
        assert_eq!(wrong.status == 401, !open, "{target}");
    }
    let health = service.get("/health").await.json();
    let names: Vec<&String> = health.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["ok", "status", "version", "conversation_manager_initialized"],
        "no details without a key"
    );
    let health = service.send("GET", "/health", "authorization: Bearer alice-key\r\n", "").await.json();
    assert_eq!(health["serverCount"], 2);
    let call = r#"{"server":"demo","tool":"add","arguments":{"a":1,"b":2}}"#;
    let headers = "content-type: application/json\r\nx-api-key: bob-key\r\n";
    assert_eq!(service.send("POST", "/call_tool", headers, call).await.status, 200);
    let entry =
        crate::logs::eventually_logged(&service, "/logs?caller=bob", "x-api-key: bob-key\r\n", 1).await;
    assert_eq!(entry[0]["caller"], "bob");
}

#[tokio::test]
async fn an_open_address_needs_keys() {
    let mut config = ServiceConfig::default();
    config.listen = "0.0.0.0:0".parse().unwrap();
    let fleet = gateway_upstream::Fleet::start(Vec::new(), gateway_upstream::FleetOptions::default());
    let log = gateway_store::CallLog::in_memory(&gateway_store::Options::default()).unwrap();
    let gateway = gateway_service::Gateway::new(config, fleet, gateway_dialects::Dialects::builtin(), log);
    let error = gateway_service::serve(gateway).await.unwrap_err();
    assert!(matches!(error, ServeError::Unprotected { .. }));
    assert!(error.to_string().contains("apiKeys") && error.to_string().contains("127.0.0.1"), "{error}");
    let protected = Service::with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.keys.insert("a".to_owned(), Secret::new("key"));
    })
    .await;
    assert_eq!(protected.running.address().ip().to_string(), "0.0.0.0");
}

#[tokio::test]
async fn a_taken_port_is_told() {
    let service = Service::start().await;
    let mut config = ServiceConfig::default();
    config.listen = service.running.address();
    let fleet = gateway_upstream::Fleet::start(Vec::new(), gateway_upstream::FleetOptions::default());
    let log = gateway_store::CallLog::in_memory(&gateway_store::Options::default()).unwrap();
    let gateway = gateway_service::Gateway::new(config, fleet, gateway_dialects::Dialects::builtin(), log);
    let error = gateway_service::serve(gateway).await.unwrap_err();
    assert!(error.to_string().contains("another program has it"), "{error}");
}

#[tokio::test]
async fn too_many_requests_of_one_caller_are_refused() {
    let service = Service::with(|config| {
        config.rate_limit = Some(RateLimit { per_second: 0.01, burst: 2.0 });
        config.keys.insert("alice".to_owned(), Secret::new("alice-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(service.send("GET", "/providers", "x-api-key: alice-key\r\n", "").await);
    }
    assert_eq!(statuses.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 200, 429]);
    assert_eq!((statuses[2].code().as_str(), statuses[2].header("retry-after")), ("OVERLOADED", Some("100")));
    assert_eq!(service.send("GET", "/providers", "x-api-key: bob-key\r\n", "").await.status, 200);
    assert_eq!(
        service.send("GET", "/health", "x-api-key: alice-key\r\n", "").await.status,
        200,
        "operators see why"
    );
}

#[tokio::test]
async fn whoever_guesses_keys_is_refused_and_owners_are_not() {
    let service = Service::with(|config| {
        config.rate_limit = Some(RateLimit { per_second: 0.01, burst: 2.0 });
        config.keys.insert("alice".to_owned(), Secret::new("alice-key"));
    })
    .await;
    let mut statuses = Vec::new();
    for headers in ["x-api-key: guess-1\r\n", "", "x-api-key: guess-2\r\n", ""] {
        statuses.push(service.send("GET", "/providers", headers, "").await.status);
    }
    assert_eq!(statuses, [401, 401, 429, 429]);
    assert_eq!(service.send("GET", "/providers", "x-api-key: alice-key\r\n", "").await.status, 200);
}

#[tokio::test]
async fn too_much_at_once_is_refused() {
    let service = Service::with(|config| config.concurrent_requests = 1).await;
    // A body that never comes keeps the only place taken.
    let mut slow = service.connect().await;
    let head = "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    loop {
        let answer = service.get("/providers").await;
        if answer.status == 503 {
            assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("OVERLOADED", Some("1")));
            break;
        }
        gateway_testkit::pause().await;
    }
    for target in ["/health", "/livez", "/ready", "/metrics"] {
        assert_eq!(service.get(target).await.status, 200, "{target}");
    }
    drop(slow);
    while service.get("/providers").await.status != 200 {
        gateway_testkit::pause().await;
    }
}

#[tokio::test]
async fn ids_and_connections_are_kept() {
    let service = Service::start().await;
    let mut stream = service.connect().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for number in 0..3 {
        let request = format!(
            "GET /livez HTTP/1.1\r\nhost: localhost\r\nx-correlation-id: id-{number}\r\ntraceparent: {parent}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert_eq!(answer.header("x-correlation-id"), Some(format!("id-{number}").as_str()));
        assert!(
            answer
                .header("traceparent")
                .is_some_and(|value| value.contains("4bf92f3577b34da6a3ce929d0e0e4736"))
        );
    }
    let made = service.get("/livez").await;
    assert_eq!(made.header("x-correlation-id").map(str::len), Some(36));
    let concurrent = (0..20).map(|number| {
        let service = &service;
        async move {
            let answer =
                service.send("GET", "/nowhere", &format!("x-correlation-id: many-{number}\r\n"), "").await;
            assert_eq!(answer.json()["correlationId"], format!("many-{number}"));
        }
    });
    futures_util::future::join_all(concurrent).await;
}

#[tokio::test]
async fn the_same_key_runs_once() {
    let service = Service::start().await;
    let call = |key: &str, value: &str| {
        let headers = format!("content-type: application/json\r\nidempotency-key: {key}\r\n");
        let body = format!(
            r#"{{"server":"demo","tool":"store_value","arguments":{{"key":"k","value":"{value}"}}}}"#
        );
        let service = &service;
        async move { service.send("POST", "/call_tool", &headers, &body).await }
    };
    let first = call("one", "a").await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{}", first.body);
    let again = call("one", "a").await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(again.body, first.body);
    assert_ne!(again.header("x-correlation-id"), first.header("x-correlation-id"));
    let other = call("one", "b").await;
    assert_eq!((other.status, other.code().as_str()), (422, "IDEMPOTENCY_CONFLICT"));
    let both = futures_util::future::join(call("two", "c"), call("two", "c")).await;
    assert_eq!((both.0.status, both.1.status), (200, 200));
    let replays =
        [&both.0, &both.1].iter().filter(|answer| answer.header("idempotent-replayed").is_some()).count();
    assert_eq!(replays, 1);
    let logged = crate::logs::eventually_logged(&service, "/logs?tool=store_value", "", 2).await;
    assert_eq!(logged.len(), 2, "two keys, two calls");
}
