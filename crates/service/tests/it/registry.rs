//! Tools that are not a server's: over HTTP, through the facade, and as an MCP client sees them.

use std::time::Duration;

use gateway_service::{RouteOptions, Secret, SystemParts, ToolSystem};
use gateway_upstream::{Endpoint, FleetOptions, Handler, RegisteredTool, RegistryConfig, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Service, read_until};

/// A tool that says `text`.
fn says(name: &str, text: &'static str) -> RegisteredTool {
    let handler = Handler::function(move |_| async move { Ok(json!(text)) });
    RegisteredTool::new(name, &json!({"description": text}), handler).unwrap()
}

/// A gateway that takes tools over HTTP, also at private addresses.
async fn service(allow_private: bool) -> Service {
    let options = FleetOptions::default();
    let mut config = RegistryConfig::default();
    (config.allow_private, config.max_tools) = (allow_private, 3);
    options.registry.configure(&config);
    let servers = vec![UpstreamSpec::new("demo", Endpoint::Demo)];
    Service::with_fleet(servers, options, |config| {
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await
}

const ADMIN: &str = "content-type: application/json\r\nauthorization: Bearer admin-key\r\n";

fn tool(url: &str) -> String {
    json!({"description": "Adds", "handler": {"url": url, "headers": {"x-secret": "hidden-value"}}})
        .to_string()
}

#[tokio::test]
async fn only_owners_of_an_admin_key_may_register() {
    let requests = [("GET", "/registry", ""), ("PUT", "/registry/x", "{}"), ("DELETE", "/registry/x", "")];
    let without = Service::with(|config| {
        config.keys.insert("alice".to_owned(), Secret::new("alice-key"));
    })
    .await;
    for (method, target, body) in requests {
        let headers = "content-type: application/json\r\nx-api-key: alice-key\r\n";
        let answer = without.send(method, target, headers, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{method}");
        assert!(answer.body.contains("no admin key is configured"), "{}", answer.body);
    }
    let with = Service::with(|config| {
        config.keys.insert("alice".to_owned(), Secret::new("alice-key"));
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await;
    for (method, target, body) in requests {
        for key in ["", "x-api-key: alice-key\r\n", "x-api-key: admin-ke\r\n"] {
            let headers = format!("content-type: application/json\r\n{key}");
            let answer = with.send(method, target, &headers, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "UNAUTHORIZED"), "{method} {key}");
        }
    }
    assert_eq!(with.send("GET", "/registry", ADMIN, "").await.status, 200);
    assert_eq!(with.send("GET", "/tools", ADMIN, "").await.status, 200, "it opens the rest as well");
    assert_eq!(with.get("/tools").await.status, 401);
    let open = service(false).await;
    assert_eq!(open.get("/tools").await.status, 200, "an admin key closes nothing else");
    assert_eq!(open.get("/registry").await.status, 401);
}

#[tokio::test]
async fn a_tool_that_is_registered_over_http_is_listed_and_called_like_all_others() {
    let service = service(true).await;
    // The gateway's own demo does the work: any address that takes JSON and gives JSON will do.
    let url = format!("http://{}/route?server=demo", service.running.address());
    let body = tool(&url);
    let answer = service.send("PUT", "/registry/adder", ADMIN, &body).await;
    assert_eq!((answer.status, answer.json()), (201, json!({"name": "adder", "replaced": false})));
    assert_eq!(service.send("PUT", "/registry/adder", ADMIN, &body).await.status, 200, "it replaces");
    let listed = service.get("/tools?server=registry").await.json();
    assert_eq!(listed["tools"][0]["name"], "adder", "at once: {listed}");
    let rendered = service.get("/tools/openai?server=*").await.body;
    assert!(rendered.contains("\"adder\""), "{rendered}");
    let result = service.post("/call_tool", r#"{"server":"registry","tool":"adder","arguments":{}}"#).await;
    assert_eq!(result.status, 200, "{}", result.body);
    assert!(result.body.contains("tool_result"), "what the endpoint said: {}", result.body);
    let described = service.send("GET", "/registry", ADMIN, "").await;
    let entry = &described.json()["tools"][0];
    assert_eq!((&entry["origin"], &entry["handler"]["kind"]), (&json!("network"), &json!("endpoint")));
    assert!(
        !described.body.contains("hidden-value") && !described.body.contains("server=demo"),
        "no secrets"
    );
    let logged = crate::logs::eventually_logged(&service, "/logs?server=registry", "", 1).await;
    assert_eq!(logged[0]["tool"], "adder");
    assert_eq!(service.send("DELETE", "/registry/adder", ADMIN, "").await.status, 204);
    let again = service.send("DELETE", "/registry/adder", ADMIN, "").await;
    assert_eq!((again.status, again.code().as_str()), (404, "TOOL_NOT_FOUND"));
    assert_eq!(again.json()["error"], "Tool 'adder' not found");
    assert_eq!(service.get("/tools?server=registry").await.json()["tools"], json!([]));
}

#[tokio::test]
async fn registering_never_runs_a_command_and_never_reaches_inside() {
    let service = service(false).await;
    let refused = [
        (
            r#"{"handler":{"command":"sh","args":["-c","id"]}}"#.to_owned(),
            "commands are taken from the configuration file",
        ),
        (tool("http://169.254.169.254/latest/meta-data"), "is a link-local address"),
        (tool("http://localhost:1/"), "which is a loopback address"),
        (tool("http://0x7f.1/"), "127.0.0.1 is a loopback address"),
        (tool("http://[::ffff:10.0.0.1]/"), "is a private address"),
        ("[]".to_owned(), "reading the body as a JSON object"),
    ];
    for (body, message) in refused {
        let answer = service.send("PUT", "/registry/x", ADMIN, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_ERROR"), "{body}");
        assert!(answer.body.contains(message), "{body}: {}", answer.body);
    }
    assert_eq!(service.send("PUT", "/registry/a%20b", ADMIN, &tool("http://1.1.1.1/")).await.status, 400);
    for name in ["a", "b", "c"] {
        assert_eq!(
            service.send("PUT", &format!("/registry/{name}"), ADMIN, &tool("http://1.1.1.1/")).await.status,
            201
        );
    }
    let full = service.send("PUT", "/registry/d", ADMIN, &tool("http://1.1.1.1/")).await;
    assert_eq!((full.status, full.code().as_str()), (507, "REGISTRY_FULL"));
}

#[tokio::test]
async fn an_mcp_client_hears_of_new_tools() {
    let options = FleetOptions::default();
    let registry = options.registry.clone();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let headers = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let answer = service.send("POST", "/mcp", headers, initialize).await;
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let headers = format!("{headers}mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n");
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(service.send("POST", "/mcp", &headers, ready).await.status, 202);
    let mut stream = service.connect().await;
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n\r\n"
    );
    stream.write_all(get.as_bytes()).await.unwrap();
    let mut heard = String::new();
    read_until(&mut stream, &mut heard, |text| text.contains("200 OK")).await;
    registry.register(says("greet", "hello")).unwrap();
    read_until(&mut stream, &mut heard, |text| text.contains("notifications/tools/list_changed")).await;
    let list =
        service.send("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert!(list.body.contains("\"greet\""), "{}", list.body);
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{}}}"#;
    let result = service.send("POST", "/mcp", &headers, call).await;
    assert!(result.body.contains("hello"), "{}", result.body);
}

fn call(name: &str) -> Value {
    json!({"type": "tool_use", "id": "t1", "name": name, "input": {}})
}

#[tokio::test]
async fn one_registry_is_seen_through_facade_gateway_and_fleet() {
    let system = ToolSystem::new(SystemParts::default());
    system.register_tool(says("before", "one")).unwrap();
    let gateway = system.initialize().await.unwrap();
    assert!(gateway.registry() == system.registry() && gateway.fleet().registry() == system.registry());
    gateway.registry().register(says("through-gateway", "two")).unwrap();
    gateway.fleet().registry().register(says("through-fleet", "three")).unwrap();
    for (name, text) in [("before", "one"), ("through-gateway", "two"), ("through-fleet", "three")] {
        assert!(system.registry().has(name));
        let result = system.execute(&call(name), &RouteOptions::default()).await;
        assert_eq!(
            result,
            json!({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": text}], "status": "success"})
        );
    }
    system.shutdown().await;
}

#[tokio::test]
async fn a_system_is_started_once_and_again_after_its_end() {
    let system = ToolSystem::new(SystemParts::default());
    assert!(!system.is_initialized());
    system.shutdown().await;
    let before = system.execute(&call("a"), &RouteOptions::default()).await;
    assert_eq!(before["error"]["message"], "the tool system is not running");
    let (one, other, third) = tokio::join!(system.initialize(), system.initialize(), async {
        system.register_tool(says("a", "meanwhile")).unwrap();
        system.initialize().await
    });
    let log = |gateway: &gateway_service::Runtime| std::ptr::from_ref(gateway.log());
    let (one, other, third) = (one.unwrap(), other.unwrap(), third.unwrap());
    assert!(log(&one) == log(&other) && log(&one) == log(&third), "they share one start");
    let run = async || system.execute(&call("a"), &RouteOptions::default()).await;
    assert_eq!(run().await["content"][0]["text"], "meanwhile");
    tokio::join!(system.shutdown(), system.shutdown());
    system.shutdown().await;
    assert!(!system.is_initialized() && system.gateway().is_none());
    assert!(system.unregister_tool("a"));
    system.register_tool(says("a", "later")).unwrap();
    let again = system.initialize().await.unwrap();
    assert!(log(&again) != log(&one), "it is a new one");
    assert_eq!(run().await["content"][0]["text"], "later");
    system.shutdown().await;
}

#[tokio::test]
async fn failures_are_results_in_the_neutral_format() {
    let system = ToolSystem::new(SystemParts::default());
    let results = [
        (
            "fails",
            json!({"content": [{"type": "text", "text": "no such order"}], "isError": true}),
            "no such order",
        ),
        ("silent", json!({"content": [], "isError": true}), "Unknown error"),
    ];
    for (name, result, _) in results.clone() {
        let handler = Handler::function(move |_| std::future::ready(Ok(result.clone())));
        system.register_tool(RegisteredTool::new(name, &json!({}), handler).unwrap()).unwrap();
    }
    let broken = Handler::function(|_| async { Err("broken".into()) });
    system.register_tool(RegisteredTool::new("broken", &json!({}), broken).unwrap()).unwrap();
    let endless = Handler::function(|_| std::future::pending());
    system.register_tool(RegisteredTool::new("endless", &json!({}), endless).unwrap()).unwrap();
    system.initialize().await.unwrap();
    let run = async |name: &str, options: &RouteOptions| system.execute(&call(name), options).await;
    for (name, _, message) in results {
        let result = run(name, &RouteOptions::default()).await;
        assert_eq!((&result["status"], &result["tool_use_id"]), (&json!("error"), &json!("t1")));
        assert_eq!(result["error"]["message"], message);
    }
    let result = run("broken", &RouteOptions::default()).await;
    assert_eq!(result["content"][0]["text"], "Error executing tool 'broken': broken");
    let unknown = run("nobody", &RouteOptions::default()).await;
    assert_eq!((&unknown["status"], &unknown["tool_use_id"]), (&json!("error"), &json!("t1")));
    let mut options = RouteOptions::default();
    options.timeout = Some(Duration::from_millis(5));
    let late = run("endless", &options).await;
    assert_eq!(late["error"]["message"], "Error executing tool 'endless': no answer within 5ms");
    let mut options = RouteOptions::default();
    let cancel = tokio_util::sync::CancellationToken::new();
    options.cancel = Some(cancel.clone());
    let (cancelled, ()) = tokio::join!(run("endless", &options), async { cancel.cancel() });
    assert_eq!(cancelled["error"]["message"], "Error executing tool 'endless': it was cancelled");
    system.shutdown().await;
}

#[tokio::test]
async fn a_schema_is_read_under_every_usual_name() {
    let service = service(true).await;
    let url = format!("http://{}/route", service.running.address());
    let schema =
        json!({"type": "object", "properties": {"param": {"type": "string"}}, "required": ["param"]});
    for key in ["paramSchema", "input_schema", "parameters"] {
        let body = json!({"description": "A test tool", key: schema, "handler": {"url": url}}).to_string();
        let answer = service.send("PUT", "/registry/test_tool", ADMIN, &body).await;
        assert!(answer.status < 300, "{key}: {}", answer.body);
        let listed = service.get("/tools/openai-functions?server=registry").await.json();
        let expected = json!([{"name": "test_tool", "description": "A test tool", "parameters": schema}]);
        assert_eq!(listed["functions"], expected, "{key}: {listed}");
    }
    let body = json!({"args_schema": schema, "handler": {"url": url}}).to_string();
    let answer = service.send("PUT", "/registry/test_tool", ADMIN, &body).await;
    assert_eq!(answer.status, 400, "never silently an empty schema: {}", answer.body);
    let wrong = json!({"paramSchema": {"type": "object", "properties": {"a": {"type": "strng"}}}, "handler": {"url": url}});
    assert_eq!(service.send("PUT", "/registry/test_tool", ADMIN, &wrong.to_string()).await.status, 400);
}

#[tokio::test]
async fn a_tool_without_a_schema_requires_nothing() {
    let service = service(true).await;
    let url = format!("http://{}/route", service.running.address());
    let body = json!({"description": "A simple tool without schema", "handler": {"url": url}}).to_string();
    assert_eq!(service.send("PUT", "/registry/simple_tool", ADMIN, &body).await.status, 201);
    let listed = service.get("/tools/openai-functions?server=registry").await.json();
    let parameters = json!({"type": "object", "properties": {}, "required": []});
    assert_eq!(listed["functions"][0]["parameters"], parameters, "{listed}");
}
