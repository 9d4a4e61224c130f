//! Talking to a model server, by hand.

use std::net::SocketAddr;

use gateway_protocol::SseParser;
use gateway_testkit::models::{ModelServer, Script, ServerOptions, Wire};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::talk::LONG;

/// A client that has sent its request.
pub(crate) struct Client {
    stream: TcpStream,
    seen: Vec<u8>,
}

/// An answer as far as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
    /// The lengths of the chunks of HTTP, if it has any.
    pub(crate) chunks: Vec<usize>,
    /// Whether all came that was promised.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The events' types and data.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        let mut parser = SseParser::new(1 << 27);
        parser.push(&self.body);
        let mut events = Vec::new();
        while let Some(event) = parser.next_event().unwrap() {
            events.push((event.event, String::from_utf8(event.data.to_vec()).unwrap()));
        }
        events
    }

    /// The events' data, as far as it is JSON.
    pub(crate) fn documents(&self) -> Vec<Value> {
        self.events().iter().filter_map(|(_, data)| serde_json::from_str(data).ok()).collect()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Client {
    /// Sends a request; `None` if nobody listens.
    pub(crate) async fn send(
        address: SocketAddr,
        line: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Self> {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let mut text = format!("{line} HTTP/1.1\r\nhost: {address}\r\n");
        if !body.is_empty() {
            let length = body.len().to_string();
            text.extend(["content-type: application/json\r\ncontent-length: ", &length, "\r\n"]);
        }
        for (name, value) in headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.push_str("\r\n");
        text.push_str(body);
        stream.write_all(text.as_bytes()).await.ok()?;
        Some(Self { stream, seen: Vec::new() })
    }

    /// Reads until the bytes contain this.
    pub(crate) async fn read_until(&mut self, mark: &str) {
        while !self.seen.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            assert!(
                self.more().await,
                "the connection ended before {mark:?}: {:?}",
                String::from_utf8_lossy(&self.seen)
            );
        }
    }

    async fn more(&mut self) -> bool {
        let read = tokio::time::timeout(LONG, self.stream.read_buf(&mut self.seen)).await;
        read.unwrap_or_else(|_| panic!("nothing comes: {:?}", String::from_utf8_lossy(&self.seen)))
            .unwrap_or(0)
            > 0
    }

    /// The answer; `None` if the connection ends without one.
    pub(crate) async fn answer(mut self) -> Option<Answer> {
        let end = b"\r\n\r\n";
        let start = loop {
            if let Some(at) = self.seen.windows(4).position(|window| window == end) {
                break at + 4;
            }
            if !self.more().await {
                return None;
            }
        };
        let head = String::from_utf8(self.seen.drain(..start).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: Vec::new(), chunks: Vec::new(), complete: false };
        if answer.header("transfer-encoding") == Some("chunked") {
            self.read_chunks(&mut answer).await;
        } else if let Some(length) =
            answer.header("content-length").map(|length| length.parse::<usize>().unwrap())
        {
            while self.seen.len() < length && self.more().await {}
            answer.complete = self.seen.len() >= length;
            answer.body = self.seen.drain(..length.min(self.seen.len())).collect();
        } else {
            while self.more().await {}
            answer.complete = true;
            answer.body = self.seen;
        }
        Some(answer)
    }

    async fn read_chunks(&mut self, answer: &mut Answer) {
        loop {
            let end = loop {
                if let Some(at) = self.seen.windows(2).position(|window| window == b"\r\n") {
                    break at;
                }
                if !self.more().await {
                    return;
                }
            };
            let line = String::from_utf8(self.seen.drain(..end + 2).collect()).unwrap();
            let length = usize::from_str_radix(line.trim(), 16).unwrap();
            while self.seen.len() < length + 2 {
                if !self.more().await {
                    answer.body.append(&mut self.seen);
                    return;
                }
            }
            if length == 0 {
                answer.complete = true;
                return;
            }
            answer.chunks.push(length);
            answer.body.extend(self.seen.drain(..length));
            self.seen.drain(..2);
        }
    }
}

pub(crate) async fn start(wire: Wire, script: Script) -> ModelServer {
    ModelServer::start(wire, script).await.unwrap()
}

pub(crate) async fn start_strict(wire: Wire, script: Script) -> ModelServer {
    let options = ServerOptions { strict: true, ..ServerOptions::default() };
    ModelServer::start_with(wire, script, options).await.unwrap()
}

/// The path and a body with which a client of this wire asks for a turn.
pub(crate) fn question(wire: Wire, streamed: bool) -> (String, Value) {
    let path = |path: &str| path.to_owned();
    let model = wire.usual_model();
    let messages = json!([{"role": "user", "content": "What is 15 + 27?"}]);
    let chat = json!({"model": model, "messages": messages, "stream": streamed});
    match wire {
        Wire::Chat | Wire::Argo | Wire::Functions | Wire::Mistral => (path("/v1/chat/completions"), chat),
        Wire::Dial => (path("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"), chat),
        Wire::Responses => {
            (path("/v1/responses"), json!({"model": model, "input": messages, "stream": streamed}))
        }
        Wire::Ollama => (path("/api/chat"), chat),
        Wire::Messages => (
            path("/v1/messages"),
            json!({"model": model, "max_tokens": 100, "messages": messages, "stream": streamed}),
        ),
        Wire::GenerateContent => {
            let contents = json!({"contents": [{"role": "user", "parts": [{"text": "What is 15 + 27?"}]}]});
            let verb = if streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (format!("/v1beta/models/{model}:{verb}"), contents)
        }
        Wire::Cohere => (path("/v2/chat"), chat),
        Wire::Converse => {
            let messages = json!([{"role": "user", "content": [{"text": "What is 15 + 27?"}]}]);
            let verb = if streamed { "converse-stream" } else { "converse" };
            (format!("/model/{}/{verb}", model.replace(':', "%3A")), json!({"messages": messages}))
        }
    }
}

/// What some providers want besides a key.
const HEADERS: [(&str, &str); 3] = [
    ("anthropic-version", "2023-06-01"),
    (
        "authorization",
        "AWS4-HMAC-SHA256 Credential=AKID/20251118/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    ("x-amz-date", "20251118T120000Z"),
];

/// Asks, and is not done with the answer yet.
pub(crate) async fn open(server: &ModelServer, streamed: bool, wire: Wire) -> Client {
    let (path, body) = question(wire, streamed);
    let line = format!("POST {path}");
    Client::send(server.address(), &line, &HEADERS, &body.to_string())
        .await
        .unwrap_or_else(|| panic!("nobody listens"))
}

/// Asks with this body where this wire is asked.
pub(crate) async fn ask_with(server: &ModelServer, wire: Wire, streamed: bool, body: &Value) -> Answer {
    let line = format!("POST {}", question(wire, streamed).0);
    let client = Client::send(server.address(), &line, &HEADERS, &body.to_string()).await.unwrap();
    client.answer().await.unwrap_or_else(|| panic!("no answer"))
}

pub(crate) async fn ask(server: &ModelServer, wire: Wire, streamed: bool) -> Answer {
    open(server, streamed, wire).await.answer().await.unwrap_or_else(|| panic!("no answer"))
}

pub(crate) async fn get(server: &ModelServer, path: &str) -> Answer {
    let client = Client::send(server.address(), &format!("GET {path}"), &[], "").await.unwrap();
    client.answer().await.unwrap_or_else(|| panic!("no answer"))
}
