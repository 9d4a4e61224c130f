//! Callers of both eras, exact on the wire, and fixtures of both eras behind the gateway.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gateway_service::ServiceConfig;
use gateway_testkit::{Fixture, RunningFixture, SpokenEra};
use gateway_upstream::{CatalogueRules, Endpoint, FleetOptions, HttpMode, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::Service;

/// Nothing in these tests takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LEVEL_META: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// How an upstream is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    Stdio,
    Sse,
}

/// One combination of the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) caller: Era,
    pub(crate) upstream: Era,
    pub(crate) way: Way,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} caller, {:?} upstream over {:?}", self.caller, self.upstream, self.way)
    }
}

/// Every combination; HTTP with server-sent events exists in one era only.
pub(crate) fn cells() -> Vec<Cell> {
    let upstreams = [
        (Era::Legacy, Way::Http),
        (Era::Legacy, Way::Stdio),
        (Era::Legacy, Way::Sse),
        (Era::Modern, Way::Http),
        (Era::Modern, Way::Stdio),
    ];
    let all =
        ERAS.into_iter().flat_map(|caller| upstreams.map(|(upstream, way)| Cell { caller, upstream, way }));
    all.collect()
}

/// A fixture of this era, reached in this way; a process over HTTP is to be kept.
pub(crate) async fn upstream(
    id: &str,
    (era, way): (Era, Way),
    shape: impl FnOnce(Fixture) -> Fixture,
) -> (UpstreamSpec, Option<RunningFixture>) {
    let spoken = match era {
        Era::Legacy => SpokenEra::Legacy,
        Era::Modern => SpokenEra::Modern,
    };
    let fixture = match way {
        Way::Http => Fixture::http(),
        Way::Stdio => Fixture::stdio(),
        Way::Sse => Fixture::sse(),
    };
    let fixture = shape(fixture.era(spoken));
    if way == Way::Stdio {
        let (command, args) = fixture.command().unwrap();
        let command = command.to_str().unwrap().to_owned();
        return (
            UpstreamSpec::new(id, Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None }),
            None,
        );
    }
    let running = fixture.start().await.unwrap();
    let endpoint =
        Endpoint::Http { url: running.url().to_owned(), headers: BTreeMap::new(), mode: HttpMode::Auto };
    (UpstreamSpec::new(id, endpoint), Some(running))
}

/// A gateway with fixtures behind it.
pub(crate) struct Front {
    pub(crate) service: Service,
    pub(crate) fixtures: Vec<RunningFixture>,
}

impl Front {
    /// In front of one server, called `up`.
    pub(crate) async fn of(which: (Era, Way), shape: impl FnOnce(Fixture) -> Fixture) -> Self {
        Self::with(which, shape, |_| {}).await
    }

    pub(crate) async fn with(
        which: (Era, Way),
        shape: impl FnOnce(Fixture) -> Fixture,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Self {
        let (spec, fixture) = upstream("up", which, shape).await;
        Self::of_specs(vec![(spec, fixture)], CatalogueRules::default(), change).await
    }

    pub(crate) async fn of_specs(
        upstreams: Vec<(UpstreamSpec, Option<RunningFixture>)>,
        catalogue: CatalogueRules,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Self {
        let mut options = FleetOptions::default();
        options.capabilities = gateway_mcp::client_capabilities();
        options.catalogue = catalogue;
        let (specs, fixtures): (Vec<_>, Vec<_>) = upstreams.into_iter().unzip();
        let service = Service::with_fleet(specs, options, change).await;
        Self { service, fixtures: fixtures.into_iter().flatten().collect() }
    }

    /// A caller at `/mcp`.
    pub(crate) async fn caller(&self, era: Era) -> Caller<'_> {
        Caller::open(&self.service, era, "/mcp", "").await
    }
}

/// A fixture with everything that MCP has.
pub(crate) fn everything(fixture: Fixture) -> Fixture {
    fixture.everything()
}

/// Waits until a file has a line with this in it, and gives all lines.
pub(crate) async fn written(path: &Path, text: &str) -> Vec<String> {
    let looking = async {
        loop {
            let whole = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<String> = whole.lines().map(str::to_owned).collect();
            if lines.iter().any(|line| line.contains(text)) {
                return lines;
            }
            gateway_testkit::pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("`{text}` was not written"))
}

/// A message that came.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The id of its event.
    pub(crate) event: Option<String>,
    pub(crate) text: String,
    pub(crate) value: Value,
}

/// An answer over HTTP that is read piece by piece. Dropping it closes the connection.
pub(crate) struct Reply {
    stream: TcpStream,
    raw: Vec<u8>,
    body: Vec<u8>,
    is_over: bool,
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Ids of events without a message: where to come back to.
    pub(crate) primed: Option<String>,
    pub(crate) endpoint: Option<String>,
}

impl Reply {
    /// Sends a request and reads the head of its answer.
    pub(crate) async fn to(service: &Service, request: &str) -> Self {
        let mut stream = service.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = Self {
            stream,
            raw: Vec::new(),
            body: Vec::new(),
            is_over: false,
            status: 0,
            head: String::new(),
            primed: None,
            endpoint: None,
        };
        loop {
            let text = String::from_utf8_lossy(&reply.raw).into_owned();
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                reply.status = head.split(' ').nth(1).unwrap().parse().unwrap();
                reply.raw.drain(..head.len() + 4);
                reply.head = head.to_owned();
                break;
            }
            assert!(reply.fill().await, "the connection ended before an answer to {request}: {text}");
        }
        reply
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    async fn fill(&mut self) -> bool {
        let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.raw)).await;
        let read = read.unwrap_or_else(|_| panic!("nothing came in time: {} {:?}", self.head, self.text()));
        read.unwrap_or(0) > 0
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Moves what came from the transfer coding to the body; whether there was anything.
    fn unpack(&mut self) -> bool {
        let length = self.header("content-length").and_then(|length| length.parse::<usize>().ok());
        if let Some(length) = length {
            self.body.append(&mut self.raw);
            self.is_over |= self.body.len() >= length;
            return self.is_over;
        }
        let Some(line) = self.raw.windows(2).position(|pair| pair == b"\r\n") else { return false };
        let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
        if self.raw.len() < line + 2 + size + 2 {
            return false;
        }
        self.body.extend_from_slice(&self.raw[line + 2..line + 2 + size]);
        self.raw.drain(..line + 2 + size + 2);
        self.is_over |= size == 0;
        true
    }

    /// More of the body, or its end.
    async fn more(&mut self) {
        while !self.unpack() {
            if !self.fill().await {
                self.is_over = true;
                return;
            }
        }
    }

    /// The whole body.
    pub(crate) async fn whole(mut self) -> String {
        while !self.is_over {
            self.more().await;
        }
        self.text()
    }

    /// The next message; nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        if !self.is_stream() {
            while !self.is_over {
                self.more().await;
            }
            let text = self.text();
            self.body.clear();
            return (!text.is_empty()).then(|| heard(None, text));
        }
        loop {
            if let Some(end) = self.body.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.body.drain(..end + 2).collect();
                if let Some(heard) = self.event(&String::from_utf8(event).unwrap()) {
                    return Some(heard);
                }
                continue;
            }
            if self.is_over {
                return None;
            }
            self.more().await;
        }
    }

    fn event(&mut self, text: &str) -> Option<Heard> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim_start))
        };
        let id = field("id").map(str::to_owned);
        let data = field("data").unwrap_or_default();
        if field("event") == Some("endpoint") {
            self.endpoint = Some(data.to_owned());
            return None;
        }
        if data.is_empty() {
            self.primed = id.or(self.primed.take());
            return None;
        }
        Some(heard(id, data.to_owned()))
    }

    /// Where an old client sends its messages.
    pub(crate) async fn endpoint(&mut self) -> String {
        loop {
            if let Some(end) = self.body.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.body.drain(..end + 2).collect();
                assert!(self.event(&String::from_utf8(event).unwrap()).is_none());
                return self.endpoint.clone().unwrap();
            }
            self.more().await;
        }
    }

    /// The next notification of this method; others are passed over.
    pub(crate) async fn until(&mut self, method: &str) -> Value {
        loop {
            let next = self.next().await.unwrap_or_else(|| panic!("the stream ended before {method}"));
            if next.value["method"] == method {
                return next.value;
            }
        }
    }
}

fn heard(event: Option<String>, text: String) -> Heard {
    // A number that nothing here can hold is looked for in the text.
    let held = text.replace("1e400", "0");
    let value = serde_json::from_str(&held).unwrap_or_else(|error| panic!("{error}: {text}"));
    Heard { event, text, value }
}

/// What came of a request: what came before the answer, and the answer.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) notes: Vec<Value>,
    pub(crate) answer: Value,
    pub(crate) text: String,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        assert!(self.answer.get("result").is_some(), "{}", self.text);
        &self.answer["result"]
    }

    /// The text of a tool's answer.
    #[track_caller]
    pub(crate) fn said(&self) -> &str {
        self.result()["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", self.text))
    }

    #[track_caller]
    pub(crate) fn error(&self) -> (i64, &str) {
        let error = &self.answer["error"];
        (
            error["code"].as_i64().unwrap_or_else(|| panic!("{}", self.text)),
            error["message"].as_str().unwrap(),
        )
    }
}

/// A client.
pub(crate) struct Caller<'a> {
    pub(crate) service: &'a Service,
    pub(crate) era: Era,
    pub(crate) path: String,
    /// Such as `x-api-key: a\r\n`.
    pub(crate) key: String,
    pub(crate) session: Option<String>,
    pub(crate) capabilities: Value,
    next_id: AtomicU64,
}

/// What a server asks, and what the client answers.
pub(crate) type Answers<'f> = &'f (dyn Fn(&str, &Value) -> Value + Sync);

impl<'a> Caller<'a> {
    /// A client that can do everything; a legacy one opens its session.
    pub(crate) async fn open(service: &'a Service, era: Era, path: &str, key: &str) -> Self {
        let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        Self::able(service, era, path, key, capabilities).await
    }

    pub(crate) async fn able(
        service: &'a Service,
        era: Era,
        path: &str,
        key: &str,
        capabilities: Value,
    ) -> Self {
        let mut caller = Self {
            service,
            era,
            path: path.to_owned(),
            key: key.to_owned(),
            session: None,
            capabilities,
            next_id: AtomicU64::new(100),
        };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": LEGACY, "capabilities": caller.capabilities,
                "clientInfo": {"name": "test", "version": "1"}
            });
            let (_, body) = caller.message("initialize", params);
            let mut reply = caller.post(&body, "").await;
            assert_eq!(reply.status, 200, "{}", reply.head);
            caller.session = reply.header("mcp-session-id").map(str::to_owned);
            let answer = reply.next().await.unwrap();
            assert_eq!(answer.value["result"]["protocolVersion"], LEGACY, "{}", answer.text);
            assert!(caller.session.is_some(), "{}", reply.head);
            caller.notify("notifications/initialized", json!({})).await;
        }
        caller
    }

    /// The same session, shown at another place or with another key.
    pub(crate) fn shown_as(&self, path: &str, key: &str) -> Self {
        Self {
            service: self.service,
            era: self.era,
            path: path.to_owned(),
            key: key.to_owned(),
            session: self.session.clone(),
            capabilities: self.capabilities.clone(),
            next_id: AtomicU64::new(1),
        }
    }

    /// A request with a new id, as this era writes it.
    pub(crate) fn message(&self, method: &str, mut params: Value) -> (u64, String) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        if self.era == Era::Modern {
            params["_meta"][VERSION_META] = json!(MODERN);
            params["_meta"][CAPABILITIES_META] = self.capabilities.clone();
        }
        (id, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
    }

    /// The headers that go with a message.
    pub(crate) fn headers(&self, body: &str) -> String {
        let mut headers = format!(
            "host: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{}",
            self.key
        );
        match self.era {
            Era::Legacy => {
                if let Some(session) = &self.session {
                    let _ =
                        write!(headers, "mcp-session-id: {session}\r\nmcp-protocol-version: {LEGACY}\r\n");
                }
            }
            Era::Modern => {
                let value: Value = serde_json::from_str(body).unwrap();
                let method = value["method"].as_str().unwrap();
                let _ = write!(headers, "mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\n");
                let name = match method {
                    "tools/call" | "prompts/get" => value["params"]["name"].as_str(),
                    "resources/read" => value["params"]["uri"].as_str(),
                    _ => None,
                };
                if let Some(name) = name {
                    let _ = write!(headers, "mcp-name: {name}\r\n");
                }
            }
        }
        headers
    }

    pub(crate) async fn post(&self, body: &str, more: &str) -> Reply {
        let headers = self.headers(body);
        let request = format!(
            "POST {} HTTP/1.1\r\n{headers}{more}content-length: {}\r\n\r\n{body}",
            self.path,
            body.len()
        );
        Reply::to(self.service, &request).await
    }

    /// Sends a request and gives what comes.
    pub(crate) async fn send(&self, method: &str, params: Value) -> (u64, Reply) {
        let (id, body) = self.message(method, params);
        (id, self.post(&body, "").await)
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        assert_eq!(self.post(&body, "").await.status, 202);
    }

    /// Answers a request of the server (legacy).
    pub(crate) async fn respond(&self, id: &Value, result: Value) {
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        assert_eq!(self.post(&body, "").await.status, 202);
    }

    /// A GET or a DELETE of the session.
    pub(crate) async fn bare(&self, verb: &str, more: &str) -> Reply {
        let session = self.session.as_deref().unwrap_or_default();
        let request = format!(
            "{verb} {} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{}mcp-session-id: {session}\r\nmcp-protocol-version: {LEGACY}\r\n{more}\r\n",
            self.path, self.key
        );
        Reply::to(self.service, &request).await
    }

    /// Sends a request and reads up to its answer; nothing may be asked meanwhile.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Outcome {
        self.ask_answering(method, params, &|method, params| panic!("asked {method} {params}")).await
    }

    /// Sends a request and reads its answer, whatever it is.
    pub(crate) async fn once(&self, method: &str, params: Value) -> Outcome {
        let (id, mut reply) = self.send(method, params).await;
        let answers = |method: &str, params: &Value| panic!("asked {method} {params}");
        self.read_answering(id, &mut reply, &mut Vec::new(), &answers).await
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Outcome {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// The same, answering what the server asks, in the way of the era.
    pub(crate) async fn ask_answering(&self, method: &str, params: Value, answers: Answers<'_>) -> Outcome {
        let mut notes = Vec::new();
        let mut sent = params.clone();
        for _ in 0..8 {
            let (id, mut reply) = self.send(method, sent.clone()).await;
            let outcome = self.read_answering(id, &mut reply, &mut notes, answers).await;
            let result = &outcome.answer["result"];
            if result["resultType"] != "input_required" {
                return outcome;
            }
            assert_eq!(self.era, Era::Modern, "a legacy caller never sees {}", outcome.text);
            let mut responses = json!({});
            for (key, request) in result["inputRequests"].as_object().unwrap() {
                responses[key] = answers(request["method"].as_str().unwrap(), &request["params"]);
            }
            sent = params.clone();
            sent["inputResponses"] = responses;
            sent["requestState"] = result["requestState"].clone();
        }
        panic!("{method} asks for ever");
    }

    /// Reads up to the answer to `id`.
    pub(crate) async fn read_answering(
        &self,
        id: u64,
        reply: &mut Reply,
        notes: &mut Vec<Value>,
        answers: Answers<'_>,
    ) -> Outcome {
        loop {
            let Some(next) = reply.next().await else { panic!("no answer to {id}: {}", reply.head) };
            match (next.value.get("method").and_then(Value::as_str), next.value.get("id")) {
                (Some(method), Some(asked)) => {
                    assert_eq!(
                        self.era,
                        Era::Legacy,
                        "a modern caller is never sent requests: {}",
                        next.text
                    );
                    self.respond(asked, answers(method, &next.value["params"])).await;
                }
                (Some(_), None) => notes.push(next.value),
                (None, _) => {
                    assert_eq!(next.value["id"], id, "{}", next.text);
                    return Outcome { notes: std::mem::take(notes), answer: next.value, text: next.text };
                }
            }
        }
    }

    /// Begins to listen to everything that is not asked for.
    pub(crate) async fn listen(&self, resources: &[&str]) -> Reply {
        match self.era {
            Era::Legacy => {
                for uri in resources {
                    let subscribed = self.ask("resources/subscribe", json!({"uri": uri})).await;
                    assert_eq!(*subscribed.result(), json!({}));
                }
                let reply = self.bare("GET", "").await;
                assert!(reply.status == 200 && reply.is_stream(), "{}", reply.head);
                reply
            }
            Era::Modern => {
                let notifications = json!({
                    "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                    "resourceSubscriptions": resources
                });
                let (id, mut reply) =
                    self.send("subscriptions/listen", json!({"notifications": notifications})).await;
                let first = reply.next().await.unwrap();
                assert_eq!(
                    first.value["method"], "notifications/subscriptions/acknowledged",
                    "{}",
                    first.text
                );
                assert_eq!(first.value["params"]["_meta"][SUBSCRIPTION_META], id, "{}", first.text);
                reply
            }
        }
    }
}
