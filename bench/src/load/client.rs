//! A cheap client over HTTP/1.1: fixed requests over keep-alive connections, each response checked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::figures::Figures;

/// How long one response may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request, as bytes.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) port: u16,
    pub(super) bytes: Vec<u8>,
}

impl Request {
    pub(super) fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::new(port, "GET", path, headers, "")
    }

    pub(super) fn post(port: u16, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        Self::new(port, "POST", path, headers, body)
    }

    pub(super) fn new(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n");
        for (name, value) in headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() {
            let length = body.len().to_string();
            text.extend(["content-type: application/json\r\ncontent-length: ", &length, "\r\n"]);
        }
        text.push_str("\r\n");
        text.push_str(body);
        Self { port, bytes: text.into_bytes() }
    }
}

/// A response.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) etag: Option<String>,
    pub(super) session: Option<String>,
}

/// A keep-alive connection.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))
            .await
            .with_context(|| format!("connecting to port {port}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 << 10) })
    }

    pub(super) async fn send(&mut self, request: &Request) -> Result<Answer> {
        tokio::time::timeout(PATIENCE, self.exchange(request))
            .await
            .map_err(|_| anyhow!("no answer in {PATIENCE:?}"))?
    }

    async fn exchange(&mut self, request: &Request) -> Result<Answer> {
        self.stream.write_all(&request.bytes).await.context("sending a request")?;
        self.buffer.clear();
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let (mut answer, length) = read_head(self.buffer.get(..head).unwrap_or_default())?;
        match length {
            Length::Bytes(length) => {
                while self.buffer.len() < head + length {
                    self.more().await?;
                }
                answer.body = self.buffer.get(head..head + length).unwrap_or_default().to_vec();
            }
            Length::Chunked => {
                while find(self.buffer.get(head..).unwrap_or_default(), b"0\r\n\r\n").is_none() {
                    self.more().await?;
                }
                answer.body = self.buffer.get(head..).unwrap_or_default().to_vec();
            }
        }
        Ok(answer)
    }

    async fn more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.buffer).await.context("reading an answer")? == 0 {
            bail!("the connection was closed before the answer was whole");
        }
        Ok(())
    }
}

enum Length {
    Bytes(usize),
    Chunked,
}

fn read_head(head: &[u8]) -> Result<(Answer, Length)> {
    let text = std::str::from_utf8(head).context("reading the head of an answer")?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|word| word.parse().ok());
    let mut answer = Answer { status: status.context("an answer has no status")?, ..Answer::default() };
    let mut length = Length::Bytes(0);
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Length::Bytes(value.parse().context("reading content-length")?),
            "transfer-encoding" => length = Length::Chunked,
            "etag" => answer.etag = Some(value.to_owned()),
            "mcp-session-id" => answer.session = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok((answer, length))
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// Sends one request on a new connection.
pub(super) async fn drive_once(request: &Request) -> Result<Answer> {
    Connection::open(request.port).await?.send(request).await
}

/// Sends a request `calls` times over `at_once` connections, each as soon as its last response has arrived.
pub(super) async fn drive(request: &Request, at_once: usize, calls: usize) -> Result<Figures> {
    drive_all(std::slice::from_ref(request), at_once, calls).await
}

/// Like [`drive`], with several requests in turn.
pub(super) async fn drive_all(requests: &[Request], at_once: usize, calls: usize) -> Result<Figures> {
    let left = Rc::new(Cell::new(calls));
    let times = Rc::new(RefCell::new(Vec::with_capacity(calls)));
    let requests: Rc<[Request]> = requests.into();
    let tasks = LocalSet::new();
    let mut workers = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..at_once {
        connections.push(Connection::open(requests.first().context("nothing to send")?.port).await?);
    }
    let begin = Instant::now();
    for mut connection in connections {
        let (left, times, requests) = (Rc::clone(&left), Rc::clone(&times), Rc::clone(&requests));
        workers.push(tasks.spawn_local(async move {
            while let Some(rest) = left.get().checked_sub(1) {
                left.set(rest);
                let request = requests.get(rest % requests.len()).context("nothing to send")?;
                let sent = Instant::now();
                let answer = connection.send(request).await?;
                if !(200..400).contains(&answer.status) {
                    bail!("answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
                }
                times.borrow_mut().push(sent.elapsed());
            }
            Ok(())
        }));
    }
    tasks
        .run_until(async {
            for worker in workers {
                worker.await.context("a caller broke off")??;
            }
            Ok::<_, anyhow::Error>(())
        })
        .await?;
    let whole = begin.elapsed();
    let times = std::mem::take(&mut *times.borrow_mut());
    Ok(Figures::of(times, whole))
}
