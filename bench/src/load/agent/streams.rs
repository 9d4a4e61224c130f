//! Streams, read to their end, to their first byte, or not at all.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::super::client::Request;
use super::super::figures::Figures;
use super::upstream::{STAMP, now};

/// How long one stream may take; a slow proxy needs long for many at once.
const PATIENCE: Duration = Duration::from_mins(3);

/// The end of a body of unknown length.
const END: &[u8] = b"\r\n0\r\n\r\n";

struct Reader {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Reader {
    async fn begin(request: &Request) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", request.port)).await.context("connecting")?;
        stream.set_nodelay(true)?;
        let mut reader = Self { stream, buffer: Vec::with_capacity(16 << 10) };
        reader.send(request).await?;
        Ok(reader)
    }

    async fn send(&mut self, request: &Request) -> Result<()> {
        self.buffer.clear();
        self.stream.write_all(&request.bytes).await.context("sending a request")
    }

    /// Reads until the text is there; where it is.
    async fn until(&mut self, text: &[u8]) -> Result<usize> {
        let wait = async {
            let mut seen = 0;
            loop {
                let rest = self.buffer.get(seen..).unwrap_or_default();
                if let Some(found) = rest.windows(text.len()).position(|window| window == text) {
                    return Ok(seen + found);
                }
                seen = self.buffer.len().saturating_sub(text.len());
                if self.stream.read_buf(&mut self.buffer).await.context("reading a stream")? == 0 {
                    bail!("a stream ended early: {}", String::from_utf8_lossy(&self.buffer));
                }
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.map_err(|_| anyhow!("a stream stalls"))?
    }
}

/// Reads so many streams to their end, so many at once.
pub(super) async fn stream_all(request: &Request, at_once: usize, streams: usize) -> Result<()> {
    let left = Rc::new(Cell::new(streams));
    let work = |request: Request| {
        let left = Rc::clone(&left);
        async move {
            let mut reader: Option<Reader> = None;
            while let Some(rest) = left.get().checked_sub(1) {
                left.set(rest);
                let reader = match &mut reader {
                    Some(reader) => {
                        reader.send(&request).await?;
                        reader
                    }
                    None => reader.insert(Reader::begin(&request).await?),
                };
                reader.until(END).await?;
            }
            Ok(())
        }
    };
    all(at_once, || work(request.clone())).await
}

/// How long the first byte of streams takes from the model to the caller.
pub(super) async fn first_bytes(request: &Request, at_once: usize, each: usize) -> Result<Figures> {
    let times = Rc::new(RefCell::new(Vec::with_capacity(at_once * each)));
    let work = |request: Request| {
        let times = Rc::clone(&times);
        async move {
            let mut reader = Reader::begin(&request).await?;
            for number in 0..each {
                if number > 0 {
                    reader.send(&request).await?;
                }
                let at = reader.until(STAMP.as_bytes()).await?;
                let arrived = now();
                // The time may come in a later piece than the mark, but never later than the end.
                reader.until(END).await?;
                let text = String::from_utf8_lossy(reader.buffer.get(at + STAMP.len()..).unwrap_or_default());
                let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                let sent: u128 = digits.parse().context("reading the time of a chunk")?;
                let taken = u64::try_from(arrived.saturating_sub(sent)).unwrap_or(u64::MAX);
                // The first connects; it is not what is measured.
                if number > 0 {
                    times.borrow_mut().push(Duration::from_nanos(taken));
                }
            }
            Ok(())
        }
    };
    all(at_once, || work(request.clone())).await?;
    let times = std::mem::take(&mut *times.borrow_mut());
    Ok(Figures::of(times, Duration::from_secs(1)))
}

/// Opens streams that say one word each, looks while all are open, and goes away.
pub(super) async fn idle(request: &Request, streams: usize, look: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut open = Vec::with_capacity(streams);
    for _ in 0..streams {
        let mut reader = Reader::begin(request).await?;
        reader.until(b"word").await?;
        open.push(reader);
    }
    look()?;
    drop(open);
    // Whoever is in between has to see that they are gone.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(())
}

async fn all<F>(at_once: usize, work: impl Fn() -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + 'static,
{
    let tasks = LocalSet::new();
    let workers: Vec<_> = (0..at_once).map(|_| tasks.spawn_local(work())).collect();
    tasks
        .run_until(async {
            for worker in workers {
                worker.await.context("a caller broke off")??;
            }
            Ok(())
        })
        .await
}
