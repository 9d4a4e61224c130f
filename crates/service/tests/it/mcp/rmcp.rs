//! The official Rust SDK as the client, in both of its lifecycles, against the endpoint over HTTP and over pipes.

#![expect(deprecated, reason = "sampling, roots and log messages are on their way out, and still used")]

use rmcp::model::{
    CallToolRequestParams, ClientConfig, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, GetPromptRequestParams, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    Request, SetLevelRequestParams, SubscribeRequestParams,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, PeerRequestOptions, RequestContext,
    RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio::sync::{Mutex, mpsc};

use super::wire::{Era, Front, LEVEL_META, PATIENCE, Way};

/// A value of the SDK, by its JSON.
fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn to(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// What came unasked, in order.
struct Heard(mpsc::UnboundedSender<(&'static str, Value)>);

impl Heard {
    fn note(&self, what: &'static str, value: Value) {
        let _ = self.0.send((what, value));
    }
}

impl ClientHandler for Heard {
    fn get_info(&self) -> ClientConfig {
        of(json!({
            "protocolVersion": "2025-11-25", "clientInfo": {"name": "rmcp", "version": "3"},
            "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}}
        }))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("asked", to(&asked)["message"].clone());
        Ok(of(json!({"action": "accept", "content": {"username": "ada", "email": "ada@example.org"}})))
    }

    async fn create_message(
        &self,
        asked: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("asked", to(&asked)["messages"][0]["content"]["text"].clone());
        Ok(of(json!({"role": "assistant", "model": "none", "content": {"type": "text", "text": "four"}})))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(of(json!({"roots": [{"uri": "file:///work", "name": "work"}]})))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.note("progress", to(&told)["progress"].clone());
    }

    async fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note("log", to(&told)["data"].clone());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("tools", json!(true));
    }

    async fn on_resource_updated(
        &self,
        told: rmcp::model::ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note("updated", to(&told)["uri"].clone());
    }
}

struct Client {
    running: RunningService<RoleClient, Heard>,
    heard: Mutex<mpsc::UnboundedReceiver<(&'static str, Value)>>,
    era: Era,
}

#[derive(Clone, Copy, Debug)]
enum Face {
    Http,
    Pipe,
}

impl Client {
    async fn connect(front: &Front, face: Face, era: Era) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        };
        let running = match face {
            Face::Http => {
                // The SDK's HTTP client wants to know how it would encrypt; another test may have said so already.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let url = format!("http://{}/mcp", front.service.running.address());
                let transport = StreamableHttpClientTransport::from_uri(url);
                Heard(sender).serve_with_lifecycle(transport, lifecycle).await
            }
            Face::Pipe => {
                let (ours, theirs) = duplex(65_536);
                let gateway = front.service.running.gateway().clone();
                let (input, output) = tokio::io::split(theirs);
                tokio::spawn(
                    async move { gateway_mcp::serve_stdio(gateway.mcp(), None, input, output).await },
                );
                Heard(sender).serve_with_lifecycle(ours, lifecycle).await
            }
        };
        Self { running: running.unwrap(), heard: Mutex::new(receiver), era }
    }

    fn params(tool: &str, arguments: &Value) -> CallToolRequestParams {
        of(json!({"name": tool, "arguments": arguments}))
    }

    async fn call(&self, tool: &str, arguments: Value) -> String {
        let called = self.running.call_tool(Self::params(tool, &arguments));
        let result = tokio::time::timeout(PATIENCE, called).await.unwrap().unwrap();
        to(&result)["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The next thing of this kind that came unasked.
    async fn next(&self, what: &str) -> Value {
        let mut heard = self.heard.lock().await;
        let next = async {
            loop {
                let (kind, value) = heard.recv().await.unwrap();
                if kind == what {
                    return value;
                }
            }
        };
        tokio::time::timeout(PATIENCE, next).await.unwrap_or_else(|_| panic!("nothing of {what}"))
    }

    /// So many things of a kind, sorted: the SDK handles each in a task of its own, so it hears them in any order.
    async fn told(&self, what: &str, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.next(what).await.to_string());
        }
        all.sort();
        all
    }
}

/// Every lifecycle, every face, every upstream.
async fn each(check: impl AsyncFn(Client, String)) {
    for upstream in [Era::Legacy, Era::Modern] {
        for (era, face) in
            [Era::Legacy, Era::Modern].into_iter().flat_map(|era| [(era, Face::Http), (era, Face::Pipe)])
        {
            for way in [Way::Http, Way::Stdio] {
                let front = Front::of((upstream, way), gateway_testkit::Fixture::everything).await;
                let client = Client::connect(&front, face, era).await;
                let cell = format!("{era:?} client at {face:?}, {upstream:?} upstream over {way:?}");
                check(client, cell).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_calls() {
    each(async |client, cell| {
        let tools = client.running.list_all_tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "greet"), "{cell}");
        assert_eq!(client.call("greet", json!({"name": "Ada"})).await, "Hello, Ada!", "{cell}");
        let failed =
            client.running.call_tool(Client::params("test_error_handling", &json!({}))).await.unwrap();
        assert_eq!(failed.is_error, Some(true), "{cell}");
        let resources = client.running.list_all_resources().await.unwrap();
        let text = resources.iter().find(|resource| resource.name == "static-text").unwrap();
        let read: ReadResourceRequestParams = of(json!({"uri": text.uri}));
        let read = to(&client.running.read_resource(read).await.unwrap());
        assert_eq!(read["contents"][0]["text"], "This is the content of the static text resource.", "{cell}");
        let arguments = json!({"arg1": "a", "arg2": "b"});
        let asked: GetPromptRequestParams =
            of(json!({"name": "test_prompt_with_arguments", "arguments": arguments}));
        let got = to(&client.running.get_prompt(asked).await.unwrap());
        let said = &got["messages"][0]["content"]["text"];
        assert_eq!(said, "Prompt with arguments: arg1='a', arg2='b'", "{cell}");
        let words = client.running.complete_prompt_simple("test_prompt_with_arguments", "arg1", "par").await;
        assert_eq!(words.unwrap(), ["paris", "park", "party"], "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_asked() {
    each(async |client, cell| {
        let said = client.call("test_elicitation", json!({"message": "Who?"})).await;
        let content = r#"{"username":"ada","email":"ada@example.org"}"#;
        assert_eq!(said, format!("User response: action=accept, content={content}"), "{cell}");
        assert_eq!(client.next("asked").await, "Server \"up\" asks: Who?", "{cell}");
        let said = client.call("test_sampling", json!({"prompt": "2 + 2?"})).await;
        assert_eq!(said, "LLM response: four", "{cell}");
        assert_eq!(client.next("asked").await, "2 + 2?", "{cell}");
        let said = client.call("test_input_required_result_list_roots", json!({})).await;
        assert_eq!(said, r#"Roots: [{"uri":"file:///work","name":"work"}]"#, "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_told() {
    each(async |client, cell| {
        client.call("test_tool_with_progress", json!({})).await;
        assert_eq!(client.told("progress", 3).await, ["0.0", "100.0", "50.0"], "{cell}");
        let mut params = Client::params("test_tool_with_logging", &json!({}));
        match client.era {
            Era::Legacy => {
                let level: SetLevelRequestParams = of(json!({"level": "info"}));
                client.running.set_level(level).await.unwrap();
            }
            Era::Modern => params.meta = Some(of(json!({LEVEL_META: "info"}))),
        }
        client.running.call_tool(params).await.unwrap();
        let lines =
            [r#""Tool execution completed""#, r#""Tool execution started""#, r#""Tool processing data""#];
        assert_eq!(client.told("log", 3).await, lines, "{cell}");
        let resources = client.running.list_all_resources().await.unwrap();
        let uri = &resources.iter().find(|resource| resource.name == "watched-resource").unwrap().uri;
        match client.era {
            Era::Legacy => {
                let watched: SubscribeRequestParams = of(json!({"uri": uri}));
                client.running.subscribe(watched).await.unwrap();
                client.call("test_trigger_resource_update", json!({})).await;
                assert_eq!(client.next("updated").await, json!(uri), "{cell}");
                client.call("test_trigger_tool_change", json!({})).await;
                client.next("tools").await;
            }
            Era::Modern => {
                let filter = json!({"toolsListChanged": true, "resourceSubscriptions": [uri]});
                let mut news = client.running.listen(of(filter)).await.unwrap();
                client.call("test_trigger_resource_update", json!({})).await;
                let told = to(&news.next().await.unwrap().unwrap());
                assert_eq!(told["params"]["uri"], json!(uri), "{cell}: {told}");
                client.call("test_trigger_tool_change", json!({})).await;
                // An update may be told more than once.
                loop {
                    let told = tokio::time::timeout(PATIENCE, news.next()).await.unwrap();
                    if to(&told.unwrap().unwrap())["method"] == "notifications/tools/list_changed" {
                        break;
                    }
                }
            }
        }
        let tools = client.running.list_all_tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "test_dynamic_tool"), "{cell}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_the_server() {
    each(async |client, cell| {
        let params = Client::params("test_held_call", &json!({"label": "a"}));
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let held = client.running.send_cancellable_request(request, PeerRequestOptions::no_options());
        let held = held.await.unwrap();
        let news = |state: &str| json!({"label": "a", "state": state});
        assert_eq!(client.call("test_await_held_call", news("begun")).await, "a has begun", "{cell}");
        held.cancel(None).await.unwrap();
        assert_eq!(client.call("test_await_held_call", news("cancelled")).await, "a was cancelled", "{cell}");
    })
    .await;
}
