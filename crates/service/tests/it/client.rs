//! A service on a free port, and a client that sends exactly what a test wants.

use std::time::Duration;

use gateway_dialects::Dialects;
use gateway_service::{Gateway, Running, ServiceConfig, serve};
use gateway_store::CallLog;
use gateway_upstream::{Endpoint, Fleet, FleetOptions, UpstreamSpec};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that listens.
pub(crate) struct Service {
    pub(crate) running: Running,
}

impl Service {
    /// With the demo server and the usual settings.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut ServiceConfig)) -> Self {
        let mut disabled = UpstreamSpec::new("off", Endpoint::Demo);
        disabled.disabled = true;
        Self::with_servers(vec![UpstreamSpec::new("demo", Endpoint::Demo), disabled], change).await
    }

    /// With other servers.
    pub(crate) async fn with_servers(
        specs: Vec<UpstreamSpec>,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Self {
        Self::with_fleet(specs, FleetOptions::default(), change).await
    }

    /// With other servers, and another fleet.
    pub(crate) async fn with_fleet(
        specs: Vec<UpstreamSpec>,
        options: FleetOptions,
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Self {
        let mut config = ServiceConfig::default();
        change(&mut config);
        Self::of(config, Fleet::start(specs, options), Dialects::builtin()).await
    }

    /// With the demo server and other dialects.
    pub(crate) async fn with_dialects(dialects: Dialects) -> Self {
        let fleet = Fleet::start(vec![UpstreamSpec::new("demo", Endpoint::Demo)], FleetOptions::default());
        Self::of(ServiceConfig::default(), fleet, dialects).await
    }

    /// With the demo server and a call log on disk.
    pub(crate) async fn with_log(log: CallLog) -> Self {
        let fleet = Fleet::start(vec![UpstreamSpec::new("demo", Endpoint::Demo)], FleetOptions::default());
        Self::logging(ServiceConfig::default(), fleet, Dialects::builtin(), log).await
    }

    async fn of(config: ServiceConfig, fleet: Fleet, dialects: Dialects) -> Self {
        let log = CallLog::in_memory(&gateway_store::Options::default()).unwrap();
        Self::logging(config, fleet, dialects, log).await
    }

    async fn logging(mut config: ServiceConfig, fleet: Fleet, dialects: Dialects, log: CallLog) -> Self {
        config.listen.set_port(0);
        let running = serve(Gateway::new(config, fleet, dialects, log)).await.unwrap();
        Self { running }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.running.address()).await.unwrap()
    }

    /// Sends bytes and reads one answer to the end of the connection.
    pub(crate) async fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream).await
    }

    /// Sends a request with headers such as `a: b\r\n`.
    pub(crate) async fn send(&self, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.starts_with("host:") { "" } else { "host: localhost\r\n" };
        let length =
            if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let text =
            format!("{method} {target} HTTP/1.1\r\n{host}connection: close\r\n{length}{headers}\r\n{body}");
        self.raw(&text).await
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.send("GET", target, "", "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &str) -> Answer {
        self.send("POST", target, "content-type: application/json\r\n", body).await
    }

    /// Calls `add` of the demo server.
    pub(crate) async fn add(&self, left: u64, right: u64) -> Answer {
        let body = format!(r#"{{"server":"demo","tool":"add","arguments":{{"a":{left},"b":{right}}}}}"#);
        self.post("/call_tool", &body).await
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.body))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Reads one answer: its head, then as much as it announces, or until the connection ends.
pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let read = async {
        let mut bytes = Vec::new();
        loop {
            if let Some(answer) = whole(&bytes, false) {
                return answer;
            }
            let read = stream.read_buf(&mut bytes).await;
            if read.is_err() || read.is_ok_and(|count| count == 0) {
                return whole(&bytes, true).unwrap_or_else(|| panic!("no answer: {bytes:?}"));
            }
        }
    };
    tokio::time::timeout(PATIENCE, read).await.expect("an answer in time")
}

fn whole(bytes: &[u8], is_end: bool) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
    let announced = answer.header("content-length").and_then(|length| length.parse::<usize>().ok());
    match announced {
        Some(length) if body.len() >= length => Some(answer),
        None if status == 204 || status == 304 => Some(answer),
        _ if is_end => Some(answer),
        _ => None,
    }
}

/// Reads a stream until `wanted` holds of all that came.
pub(crate) async fn read_until(stream: &mut TcpStream, text: &mut String, wanted: impl Fn(&str) -> bool) {
    let read = async {
        while !wanted(text) {
            let mut piece = Vec::with_capacity(1 << 10);
            let count = stream.read_buf(&mut piece).await.unwrap();
            assert!(count > 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&piece));
        }
    };
    let outcome = tokio::time::timeout(PATIENCE, read).await;
    assert!(outcome.is_ok(), "not in time: {text}");
}
