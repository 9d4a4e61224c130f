//! A caller over HTTP/1.1 that sends exactly the given bytes.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process::eventually_blocking;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// A caller, with or without a key.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) port: u16,
    key: Option<String>,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("reading an answer")
    }
}

fn find_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

impl Caller {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, key: None }
    }

    /// The same, with a key.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { port: self.port, key: Some(key.to_owned()) }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Result<Answer> {
        self.request("POST", path, &[("content-type", "application/json")], body)
    }

    /// Waits until the list of tools contains a text; returns whether it does.
    pub(crate) fn lists(&self, part: &str) -> bool {
        let there = || self.get("/tools").is_ok_and(|answer| answer.text().contains(part));
        eventually_blocking(Duration::from_secs(10), part, there).is_ok()
    }

    /// Calls a tool by its public name.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Result<Answer> {
        let tool = Value::from(tool);
        self.post("/call_tool", &format!(r#"{{"tool":{tool},"arguments":{arguments}}}"#))
    }

    /// Calls a tool of a server.
    pub(crate) fn call_on(&self, server: &str, tool: &str, arguments: &str) -> Result<Answer> {
        self.post("/call_tool", &call_body(server, tool, arguments))
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer> {
        self.open(method, path, headers, body)?.finish()
    }

    /// Sends a request and reads the head of its answer.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Incoming> {
        let stream = self.send(method, path, headers, body)?;
        Incoming::read_head(stream).with_context(|| format!("{method} {path}"))
    }

    /// Sends a request and reads nothing.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<TcpStream> {
        let headers = [headers, &[("connection", "close")]].concat();
        let mut stream = self.connect()?;
        stream
            .write_all(self.message(method, path, &headers, body).as_bytes())
            .context("sending a request")?;
        Ok(stream)
    }

    /// A request as text.
    pub(crate) fn message(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost:{}\r\n", self.port);
        if let Some(key) = &self.key {
            text.extend(["authorization: Bearer ", key, "\r\n"]);
        }
        for (name, value) in headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        if method != "GET" {
            text.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
        }
        text.extend(["\r\n", body]);
        text
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], self.port)), CONNECTING)
            .context("connecting to the gateway")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// The body of a call of `/call_tool`.
pub(crate) fn call_body(server: &str, tool: &str, arguments: &str) -> String {
    let (server, tool) = (Value::from(server), Value::from(tool));
    format!(r#"{{"server":{server},"tool":{tool},"arguments":{arguments}}}"#)
}

/// An answer whose body is not read yet.
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    body: BufReader<Body<BufReader<TcpStream>>>,
}

/// The head of an answer.
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
}

impl Head {
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let status = read_line(reader)?;
        let status = status.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("the connection was closed without an answer"))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(reader)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let framing = match find_header(&headers, "content-length").and_then(|text| text.parse().ok()) {
            Some(length) => Framing::Left(length),
            None if find_header(&headers, "transfer-encoding").is_some() => Framing::Chunk(0),
            None => Framing::UntilClosed,
        };
        Ok(Self { status, headers, framing })
    }

    /// Reads the body and drops it.
    pub(crate) fn skip_body(self, reader: &mut impl BufRead) -> io::Result<()> {
        io::copy(&mut Body { reader, framing: self.framing }, &mut io::sink())?;
        Ok(())
    }
}

impl Incoming {
    fn read_head(stream: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let Head { status, headers, framing } = Head::read(&mut reader)?;
        Ok(Self { status, headers, body: BufReader::new(Body { reader, framing }) })
    }

    /// Whether the other side has left the stream open.
    pub(crate) fn is_open(&self) -> io::Result<bool> {
        let stream = self.body.get_ref().reader.get_ref();
        stream.set_nonblocking(true)?;
        let mut sink = [0; 4 << 10];
        let closed = loop {
            match (&mut &*stream).read(&mut sink) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => break error.kind() != io::ErrorKind::WouldBlock,
            }
        };
        stream.set_nonblocking(false)?;
        Ok(!closed)
    }

    /// Reads the rest.
    pub(crate) fn finish(mut self) -> Result<Answer> {
        let mut body = Vec::new();
        self.body.read_to_end(&mut body).context("reading an answer")?;
        Ok(Answer { status: self.status, headers: self.headers, body })
    }

    /// The next event with data, `None` at the end of the stream.
    pub(crate) fn next_event(&mut self) -> Result<Option<Value>> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.body.read_line(&mut line).context("reading a stream")? == 0 {
                return Ok(None);
            }
            let data = line.strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty());
            if let Some(data) = data {
                return Ok(Some(serde_json::from_str(data)?));
            }
        }
    }
}

enum Framing {
    Left(u64),
    /// Bytes left of the current chunk.
    Chunk(u64),
    UntilClosed,
}

struct Body<R> {
    reader: R,
    framing: Framing,
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Framing::Chunk(0) = self.framing {
            let mut size = read_line(&mut self.reader)?;
            if size.is_empty() {
                // The line end after the chunk before.
                size = read_line(&mut self.reader)?;
            }
            let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
            self.framing = if size == 0 { Framing::Left(0) } else { Framing::Chunk(size) };
        }
        match &mut self.framing {
            Framing::UntilClosed => self.reader.read(buffer),
            Framing::Left(left) | Framing::Chunk(left) => {
                let read = (&mut self.reader).take(*left).read(buffer)?;
                *left = left.saturating_sub(u64::try_from(read).unwrap_or(0));
                Ok(read)
            }
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    // The head of a response is short; anything longer is not a head.
    reader.take(64 << 10).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}
