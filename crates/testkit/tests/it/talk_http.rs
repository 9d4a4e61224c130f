//! Talking to a fixture over HTTP, by hand.

use gateway_protocol::{LATEST_LEGACY, MODERN, SseEvent, SseParser};
use gateway_testkit::RunningFixture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::talk::{LONG, initialize, initialized};

/// An answer whose body is still coming. HTTP/1.0 spares us the chunks: the body ends with the connection.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    rest: Vec<u8>,
    stream: TcpStream,
    parser: SseParser,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The rest of the body.
    pub(crate) async fn body(mut self) -> Vec<u8> {
        let read = self.stream.read_to_end(&mut self.rest);
        // A broken connection has a body too, as far as it was received.
        let _ = tokio::time::timeout(LONG, read).await.unwrap_or_else(|_| panic!("the body does not end"));
        self.rest
    }

    pub(crate) async fn json(self) -> Value {
        let body = self.body().await;
        serde_json::from_slice(&body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body)))
    }

    /// All messages of a body of events that ends.
    pub(crate) async fn events(self) -> Vec<Value> {
        let body = self.body().await;
        let mut parser = SseParser::new(1 << 26);
        parser.push(&body);
        let mut events = Vec::new();
        while let Some(event) = parser.next_event().unwrap() {
            events.push(serde_json::from_slice(&event.data).unwrap());
        }
        events
    }

    /// The next event: its type and its data; nothing where the stream ended.
    pub(crate) async fn next_event(&mut self) -> Option<(String, String)> {
        let event = self.next_whole_event().await?;
        Some((event.event, String::from_utf8(event.data.to_vec()).unwrap()))
    }

    pub(crate) async fn next_whole_event(&mut self) -> Option<SseEvent> {
        self.parser.push(&std::mem::take(&mut self.rest));
        loop {
            if let Some(event) = self.parser.next_event().unwrap() {
                return Some(event);
            }
            let mut piece = vec![0; 64 * 1024];
            let read = tokio::time::timeout(LONG, self.stream.read(&mut piece)).await;
            let read = read.unwrap_or_else(|_| panic!("no event within {LONG:?}")).unwrap();
            if read == 0 {
                return None;
            }
            self.parser.push(&piece[..read]);
        }
    }

    pub(crate) async fn next_message(&mut self) -> Value {
        let (_, data) = self.next_event().await.unwrap_or_else(|| panic!("the stream ended"));
        serde_json::from_str(&data).unwrap()
    }
}

/// Sends one request; nothing where the connection ends without an answer.
pub(crate) async fn try_send(
    server: &RunningFixture,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    try_send_to(server, "localhost", &format!("{method} {path}"), headers, body).await
}

/// The same, to a server that is called so.
pub(crate) async fn try_send_to(
    server: &RunningFixture,
    host: &str,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await.ok()?;
    let mut text = format!("{line} HTTP/1.0\r\nhost: {host}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    text.push_str(body);
    stream.write_all(text.as_bytes()).await.ok()?;
    let mut seen = Vec::new();
    loop {
        if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = seen.split_off(end + 4);
            let head = String::from_utf8(seen).unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            return Some(Answer { status, head, rest, stream, parser: SseParser::new(1 << 26) });
        }
        let mut piece = vec![0; 16 * 1024];
        let read = tokio::time::timeout(LONG, stream.read(&mut piece)).await;
        let read = read.unwrap_or_else(|_| panic!("no answer within {LONG:?}")).unwrap_or(0);
        if read == 0 {
            return None;
        }
        seen.extend_from_slice(&piece[..read]);
    }
}

pub(crate) const KINDS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// Posts a message to `/mcp` with these headers besides the usual ones.
pub(crate) async fn try_post(
    server: &RunningFixture,
    headers: &[(&str, &str)],
    message: &Value,
) -> Option<Answer> {
    let headers: Vec<_> = KINDS.into_iter().chain(headers.iter().copied()).collect();
    try_send(server, "POST", "/mcp", &headers, &message.to_string()).await
}

pub(crate) async fn post(server: &RunningFixture, headers: &[(&str, &str)], message: &Value) -> Answer {
    try_post(server, headers, message).await.unwrap_or_else(|| panic!("no answer"))
}

/// Posts a modern message with the headers that repeat it.
pub(crate) async fn post_modern(server: &RunningFixture, message: &Value) -> Answer {
    let method = message["method"].as_str().unwrap();
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    let params = &message["params"];
    if let Some(name) = ["name", "uri", "taskId"].iter().find_map(|key| params[*key].as_str()) {
        headers.push(("mcp-name", name));
    }
    post(server, &headers, message).await
}

/// A legacy session.
pub(crate) struct HttpSession<'a> {
    pub(crate) server: &'a RunningFixture,
    pub(crate) id: String,
}

impl<'a> HttpSession<'a> {
    pub(crate) async fn open(server: &'a RunningFixture) -> Self {
        Self::open_with(server, &json!({})).await
    }

    pub(crate) async fn open_with(server: &'a RunningFixture, capabilities: &Value) -> Self {
        let mut opening = initialize(0);
        opening["params"]["capabilities"] = capabilities.clone();
        let answer = post(server, &[], &opening).await;
        assert_eq!(answer.status, 200);
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let session = Self { server, id };
        let ready = initialized();
        assert_eq!(session.post(&ready).await.status, 202);
        session
    }

    pub(crate) async fn try_post(&self, message: &Value) -> Option<Answer> {
        let headers = [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", LATEST_LEGACY)];
        try_post(self.server, &headers, message).await
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        self.try_post(message).await.unwrap_or_else(|| panic!("no answer"))
    }

    /// The stream of what was not asked for; with an event's id, the rest of the stream that it was on.
    pub(crate) async fn stream(&self, last_event: Option<&str>) -> Answer {
        let mut headers = vec![
            ("accept", "text/event-stream"),
            ("mcp-session-id", self.id.as_str()),
            ("mcp-protocol-version", LATEST_LEGACY),
        ];
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        try_send(self.server, "GET", "/mcp", &headers, "").await.unwrap_or_else(|| panic!("no answer"))
    }
}
