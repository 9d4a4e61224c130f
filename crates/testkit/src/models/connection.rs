//! HTTP/1.1 by hand: a server that has to break the protocol on purpose cannot leave it to a library.

use std::io;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The longest head of a request.
const LONGEST_HEAD: usize = 64 * 1024;
/// The longest body of a request.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the peer can read chunks: since HTTP/1.1.
    pub(crate) chunked_ok: bool,
    /// Whether the connection can be used again.
    pub(crate) keep_alive: bool,
}

/// A connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) input: Input,
    pub(crate) output: OwnedWriteHalf,
}

/// What the client sends.
#[derive(Debug)]
pub(crate) struct Input {
    stream: OwnedReadHalf,
    /// Bytes that were read and not used.
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let (input, output) = stream.into_split();
        Self { input: Input { stream: input, buffer: Vec::new() }, output }
    }

    /// The next request; `None` if the client has no more.
    pub(crate) async fn next_request(&mut self) -> io::Result<Option<Request>> {
        let Some(head) = self.input.head().await? else { return Ok(None) };
        let mut request = parse_head(&head)?;
        if request.headers.contains_key("expect") {
            self.output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let length =
            request.headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
        let chunked = request.headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
        request.body = match (chunked, length) {
            (true, _) => self.input.chunks().await?,
            (false, Some(length)) => self.input.exactly(length).await?.into(),
            (false, None) => Bytes::new(),
        };
        Ok(Some(request))
    }
}

impl Input {
    /// Returns when the client closes its side. What it sends meanwhile is its next request.
    pub(crate) async fn closed(&mut self) {
        while self.buffer.len() < LONGEST_HEAD + LONGEST_BODY {
            if !matches!(self.more().await, Ok(true)) {
                return;
            }
        }
    }

    async fn more(&mut self) -> io::Result<bool> {
        self.buffer.reserve(16 * 1024);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    async fn head(&mut self) -> io::Result<Option<Vec<u8>>> {
        let end = b"\r\n\r\n";
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                return Ok(Some(self.buffer.drain(..at + end.len()).collect()));
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err(invalid("the head of the request is too long"));
            }
            if !self.more().await? {
                return if self.buffer.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LONGEST_BODY {
            return Err(invalid("the body of the request is too long"));
        }
        while self.buffer.len() < length {
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).take(at).collect();
                return String::from_utf8(line).map_err(|_| invalid("a line of the request is no text"));
            }
            if self.buffer.len() > LONGEST_HEAD || !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn chunks(&mut self) -> io::Result<Bytes> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16)
                .map_err(|_| invalid("a chunk of the request has no length"))?;
            if length == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body.into());
            }
            if body.len().saturating_add(length) > LONGEST_BODY {
                return Err(invalid("the body of the request is too long"));
            }
            body.extend(self.exactly(length).await?);
            self.line().await?;
        }
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn parse_head(head: &[u8]) -> io::Result<Request> {
    let text = std::str::from_utf8(head).map_err(|_| invalid("the head of the request is no text"))?;
    let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Err(invalid("the request line is not one"));
    };
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header has no colon"))?;
        let name: HeaderName = name.parse().map_err(|_| invalid("a header has no name"))?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| invalid("a header has no value"))?;
        headers.append(name, value);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let says = |word: &str| {
        let value = headers.get("connection").and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.eq_ignore_ascii_case(word)
    };
    let chunked_ok = version == "HTTP/1.1";
    let keep_alive = if chunked_ok { !says("close") } else { says("keep-alive") };
    Ok(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Bytes::new(),
        chunked_ok,
        keep_alive,
    })
}
