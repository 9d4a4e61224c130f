//! A small HTTP server whose answers a test decides.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Seen {
    /// The header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The method of the message in the body.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// A whole answer with this result.
    pub(crate) fn result(&self, result: &Value) -> Reply {
        Reply::json(200, &json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}))
    }

    /// A whole answer with this error.
    pub(crate) fn error(&self, status: u16, code: i64, message: &str, data: &Value) -> Reply {
        let error = json!({"code": code, "message": message, "data": data});
        Reply::json(status, &json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error}))
    }

    /// The event that carries this message.
    pub(crate) fn event(&self, result: &Value) -> String {
        event(&json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}))
    }

    /// What a modern server answers to `server/discover`.
    pub(crate) fn discovered(&self, capabilities: &Value) -> Reply {
        self.result(&json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "2"}},
        }))
    }

    /// What a legacy server answers to `initialize`.
    pub(crate) fn initialized(&self, session: &str) -> Reply {
        let reply = self.result(&json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "legacy", "version": "1"},
        }));
        match reply {
            Reply::Whole { status, mut headers, body } => {
                headers.push(format!("Mcp-Session-Id: {session}"));
                Reply::Whole { status, headers, body }
            }
            other => other,
        }
    }
}

pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

pub(crate) enum Reply {
    Whole {
        status: u16,
        headers: Vec<String>,
        body: String,
    },
    /// A stream of events that ends in good order when its sender is dropped.
    Events(mpsc::UnboundedReceiver<String>),
    /// A stream of events that breaks after them.
    Broken(Vec<String>),
    /// No response at all; the connection is closed.
    Hangup,
    /// No response for ever.
    Silence,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec!["Content-Type: application/json".to_owned()];
        Self::Whole { status, headers, body: body.to_string() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Whole { status, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self::Whole { status, headers: vec!["Content-Type: text/plain".to_owned()], body: body.to_owned() }
    }

    pub(crate) fn events(events: &[String]) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        for event in events {
            sender.send(event.clone()).expect("the receiver is here");
        }
        Self::Events(receiver)
    }
}

/// The running server. It ends when dropped.
pub(crate) struct HttpPeer {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many connections were closed by the client while a response was still under way.
    pub(crate) left: watch::Receiver<usize>,
    listens: watch::Sender<bool>,
    is_deaf: watch::Receiver<bool>,
    _tasks: JoinSet<()>,
}

impl HttpPeer {
    pub(crate) async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (left_sender, left) = watch::channel(0);
        let (answer, left_sender) = (Arc::new(answer), Arc::new(left_sender));
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&seen);
        let listens = watch::Sender::new(true);
        let mut orders = listens.subscribe();
        let (deaf, is_deaf) = watch::channel(false);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let stream = tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => stream,
                        Err(_) => break,
                    },
                    _ = orders.wait_for(|listens| !listens) => break,
                };
                let (answer, log, left) = (Arc::clone(&answer), Arc::clone(&log), Arc::clone(&left_sender));
                connections.spawn(async move {
                    serve(stream, &*answer, &log, &left).await;
                });
            }
            drop(listener);
            deaf.send_replace(true);
            while connections.join_next().await.is_some() {}
        });
        Self { url, seen, left, listens, is_deaf, _tasks: tasks }
    }

    /// Takes no further connections. Those that are there live on.
    pub(crate) async fn stop_listening(&mut self) {
        self.listens.send_replace(false);
        self.is_deaf.wait_for(|deaf| *deaf).await.expect("the server lives");
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panics here").clone()
    }

    /// What was asked, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let name = |seen: &Seen| format!("{} {}", seen.method, seen.rpc()).trim().to_owned();
        self.seen().iter().map(name).collect()
    }
}

async fn serve(
    stream: TcpStream,
    answer: &(impl Fn(&Seen) -> Reply + ?Sized),
    log: &Mutex<Vec<Seen>>,
    left: &watch::Sender<usize>,
) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(seen) = read_request(&mut reader).await {
        log.lock().expect("no test panics here").push(seen.clone());
        match answer(&seen) {
            Reply::Whole { status, headers, body } => {
                let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for header in headers {
                    head.push_str(&header);
                    head.push_str("\r\n");
                }
                let response = format!("{head}\r\n{body}");
                if writer.write_all(response.as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::Events(mut events) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                let _ = writer.write_all(head.as_bytes()).await;
                let mut byte = [0_u8; 1];
                loop {
                    tokio::select! {
                        event = events.recv() => match event {
                            Some(event) => { let _ = writer.write_all(event.as_bytes()).await; }
                            None => return,
                        },
                        _ = reader.read(&mut byte) => {
                            left.send_modify(|count| *count += 1);
                            return;
                        }
                    }
                }
            }
            Reply::Broken(events) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
                let events = events.concat();
                let response = format!("{head}{:x}\r\n{events}\r\n", events.len());
                let _ = writer.write_all(response.as_bytes()).await;
                return;
            }
            Reply::Hangup => return,
            Reply::Silence => {
                let mut byte = [0_u8; 1];
                let _ = reader.read(&mut byte).await;
                left.send_modify(|count| *count += 1);
                return;
            }
        }
    }
}

async fn read_request(reader: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Seen> {
    use tokio::io::AsyncBufReadExt as _;
    let mut line = String::new();
    if reader.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0_u8; length];
    reader.read_exact(&mut body).await.ok()?;
    Some(Seen { method, path, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
