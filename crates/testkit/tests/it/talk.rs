//! Talking to a fixture over stdio, by hand.

use std::process::Stdio;
use std::time::Duration;

use gateway_protocol::{LATEST_LEGACY, MODERN};
use gateway_testkit::{Fault, Fixture};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Longer than anything here takes, shorter than a test may.
pub(crate) const LONG: Duration = Duration::from_secs(20);
/// Long enough to conclude that nothing arrives.
pub(crate) const SHORT: Duration = Duration::from_millis(250);

/// A fixture on the other end of two pipes.
pub(crate) struct Talk {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Talk {
    pub(crate) fn start(fixture: &Fixture) -> Self {
        Self::start_with(fixture, Stdio::null(), &[])
    }

    pub(crate) fn start_with(fixture: &Fixture, stderr: Stdio, environment: &[(&str, &str)]) -> Self {
        let (path, arguments) = fixture.command().unwrap();
        let mut child = Command::new(path)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Starts it and does the legacy handshake.
    pub(crate) async fn open(fixture: &Fixture) -> Self {
        let mut talk = Self::start(fixture);
        talk.handshake().await;
        talk
    }

    pub(crate) async fn handshake(&mut self) {
        let answer = self.ask(&initialize(0)).await;
        assert_eq!(answer["result"]["protocolVersion"], LATEST_LEGACY, "{answer}");
        self.send(&initialized()).await;
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        // A fixture that crashed does not read any more.
        let _ = self.stdin.as_mut().unwrap().write_all(format!("{text}\n").as_bytes()).await;
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line, without its end; nothing where the stream ended.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(LONG, self.stdout.read_line(&mut line)).await;
        let read = read.unwrap_or_else(|_| panic!("no line within {LONG:?}")).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    pub(crate) async fn message(&mut self) -> Value {
        let line = self.line().await.unwrap_or_else(|| panic!("the fixture ended"));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.message().await
    }

    /// Whether nothing arrives for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let mut line = String::new();
        tokio::time::timeout(SHORT, self.stdout.read_line(&mut line)).await.is_err()
    }

    /// Reads at least `bytes` without any line end; returns how many.
    pub(crate) async fn read_without_line_end(&mut self, bytes: usize) -> usize {
        let mut seen = 0;
        while seen < bytes {
            let piece = self.stdout.fill_buf().await.unwrap();
            assert!(!piece.is_empty() && !piece.contains(&b'\n'));
            seen += piece.len();
            let length = piece.len();
            self.stdout.consume(length);
        }
        seen
    }

    /// Its exit code, if it exited by itself.
    pub(crate) async fn exit_code(&mut self) -> Option<i32> {
        let status = tokio::time::timeout(LONG, self.child.wait()).await;
        status.unwrap_or_else(|_| panic!("the fixture does not end")).unwrap().code()
    }
}

pub(crate) fn initialize(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": LATEST_LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
    }})
}

pub(crate) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// The notification that cancels a request.
pub(crate) fn cancelled(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// Faults that crash the fixture in a call: how often the tool ran, and whether it answered.
pub(crate) const CRASHES: [(Fault, usize, bool); 3] = [
    (Fault::CrashBeforeCall, 0, false),
    (Fault::CrashDuringCall, 1, false),
    (Fault::CrashAfterCall, 1, true),
];

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// What every modern request carries.
pub(crate) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// The same request in the modern era.
pub(crate) fn modern(mut message: Value) -> Value {
    let meta = &mut message["params"]["_meta"];
    let mut entries = modern_meta();
    if let Some(old) = meta.as_object() {
        entries.as_object_mut().unwrap().extend(old.clone());
    }
    *meta = entries;
    message
}

/// The first text of a result, read as JSON.
#[track_caller]
pub(crate) fn value_of(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text in {answer}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
