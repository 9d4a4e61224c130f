//! A model server that costs little: what it answers follows from the name of the model.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the model does. Its name is the name of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Calls `add` until there are so many results, then answers.
    Calls(usize),
    /// Streams so many chunks, one after the other.
    Chunks(usize),
    /// Thinks, then streams a chunk with the time and a few more.
    Stamps,
    /// Streams a few chunks, and then nothing.
    Idles,
}

/// Between two chunks: long enough that each is read by itself, as chunks of a real model are.
const GAP: Duration = Duration::from_millis(2);

/// Before the first chunk, at least and at most: not all streams begin at once.
const THOUGHT: (u64, u64) = (15, 40);

/// Chunks after the one with the time.
const MORE: usize = 4;

/// Marks the time in a chunk.
pub(super) const STAMP: &str = "sent at ";

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Now, in nanoseconds since the first time that somebody asked.
pub(super) fn now() -> u128 {
    BEGIN.elapsed().as_nanos()
}

impl Behaviour {
    pub(super) fn name(self) -> String {
        match self {
            Self::Calls(count) => format!("calls-{count}"),
            Self::Chunks(count) => format!("chunks-{count}"),
            Self::Stamps => "stamps".to_owned(),
            Self::Idles => "idles".to_owned(),
        }
    }

    fn read(name: &str) -> Option<Self> {
        let (word, count) = name.split_once('-').unwrap_or((name, "0"));
        let count = count.parse().ok()?;
        match word {
            "calls" => Some(Self::Calls(count)),
            "chunks" => Some(Self::Chunks(count)),
            "stamps" => Some(Self::Stamps),
            "idles" => Some(Self::Idles),
            _ => None,
        }
    }
}

/// Starts the server in a thread of its own; it ends with the process.
pub(super) fn start() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("listening for the model")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    Ok(port)
}

async fn serve(mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(16 << 10);
    while let Some(body) = request(&mut stream, &mut buffer).await? {
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let behaviour = request["model"].as_str().and_then(Behaviour::read).unwrap_or(Behaviour::Calls(0));
        if request["stream"] == true {
            streamed(&mut stream, behaviour, &request).await?;
        } else {
            let body = json!({
                "id": "x", "object": "chat.completion", "created": 0, "model": request["model"],
                "choices": [{"index": 0, "message": message(behaviour, &request), "finish_reason": reason(behaviour, &request)}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            })
            .to_string();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).await?;
        }
    }
    Ok(())
}

/// The body of the next request; `None` if there is none.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
            let length = head.split("content-length:").nth(1).and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            let whole = end + 4 + length;
            if buffer.len() >= whole {
                let rest = buffer.split_off(whole);
                let body = buffer.split_off(end + 4);
                *buffer = rest;
                return Ok(Some(body));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// How long the model thinks: each time another time, and in each run the same ones.
fn thought() -> Duration {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (least, most) = THOUGHT;
    let spread = COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(7_919) % ((most - least) * 1_000);
    Duration::from_micros(least * 1_000 + spread)
}

fn calls(behaviour: Behaviour, request: &Value) -> bool {
    let Behaviour::Calls(wanted) = behaviour else { return false };
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter(|message| message["role"] == "tool").count() < wanted
}

fn reason(behaviour: Behaviour, request: &Value) -> &'static str {
    if calls(behaviour, request) { "tool_calls" } else { "stop" }
}

fn message(behaviour: Behaviour, request: &Value) -> Value {
    if !calls(behaviour, request) {
        return json!({"role": "assistant", "content": "15 plus 27 is 42."});
    }
    // Each call is another one, as the loop stops a model that repeats itself.
    let number = request["messages"].as_array().map_or(0, Vec::len);
    let arguments = json!({"a": 15, "b": 27 + number}).to_string();
    let function = json!({"name": "add", "arguments": arguments});
    let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

async fn streamed(stream: &mut TcpStream, behaviour: Behaviour, request: &Value) -> Result<()> {
    let chunk = |delta: &Value, reason: Option<&str>| {
        let event = json!({
            "id": "x", "object": "chat.completion.chunk", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        });
        framed(&format!("data: {event}\n\n"))
    };
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    if behaviour == Behaviour::Stamps {
        tokio::time::sleep(thought()).await;
    }
    let first = match behaviour {
        Behaviour::Calls(_) => chunk(&message(behaviour, request), None),
        Behaviour::Chunks(_) | Behaviour::Idles => text("word "),
        Behaviour::Stamps => text(&format!("{STAMP}{} ", now())),
    };
    stream.write_all(&[head.as_slice(), &first].concat()).await?;
    let more = match behaviour {
        Behaviour::Calls(_) => 0,
        Behaviour::Chunks(count) => count.saturating_sub(1),
        // LiteLLM holds the first one back until others come.
        Behaviour::Stamps | Behaviour::Idles => MORE,
    };
    let mut pace = tokio::time::interval(GAP);
    for _ in 0..more {
        pace.tick().await;
        stream.write_all(&text("word ")).await?;
    }
    if behaviour == Behaviour::Idles {
        // Until the other side goes away.
        let _ = stream.read_u8().await;
        return Ok(());
    }
    let mut end = chunk(&json!({}), Some(reason(behaviour, request)));
    end.extend(framed("data: [DONE]\n\n"));
    end.extend(b"0\r\n\r\n");
    stream.write_all(&end).await?;
    Ok(())
}

/// A piece of a body of unknown length.
fn framed(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}
