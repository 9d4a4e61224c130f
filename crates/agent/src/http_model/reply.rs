//! Replies as they arrive: whole, as server-sent events, or as lines.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use gateway_builtin::http_client::media_type;
use gateway_dialects::calls::{ReadOptions, Reply, TextScan, parse_reply};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::stream::{Assembler, Outcome, StreamEvent, StreamOptions, StreamedCall};
use gateway_protocol::{Line, LineSplitter, SseParser};
use reqwest::Response;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::refusal::{broken_off, message_of};
use crate::error::ModelFailure;

/// Bytes of one reply: of its body if it is whole, else of what is said and called in it. The longest answer of any model has less than
/// one mebibyte; reading JSON may take sixty times its size.
const WHOLE_BYTES: usize = 8 << 20;

/// Bytes of one event or line.
const EVENT_BYTES: usize = WHOLE_BYTES;

/// What is longer is read on a thread of its own: meanwhile a worker serves others.
const INLINE_BYTES: usize = 64 << 10;

/// How many long replies are read at once.
static LONG_REPLIES: Semaphore = Semaphore::const_new(2);

/// The last event of some streams.
const DONE: &[u8] = b"[DONE]";

/// How long after it the end of the body is waited for, so that the connection can be used again.
const PARTING: Duration = Duration::from_millis(250);

/// What arrives, or why nothing more does.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelFailure>> + Send>>;

/// How calls are read out of a reply.
pub(super) struct Calls {
    /// Whether, and whose, are taken out of the text.
    pub(super) text: TextScan,
    /// Ids for calls without one count on from here.
    pub(super) ids_after: u64,
}

/// Whether a reply comes in one piece: because it was asked for so, or because the API does not stream.
pub(super) fn is_whole(response: &Response, protocol: Protocol, stream: bool) -> bool {
    let is_said = || match media_type(response).as_str() {
        // Lines of JSON are called that too, and one line may be all.
        "application/json" => protocol != Protocol::OllamaChat,
        "text/html" => true,
        _ => false,
    };
    !stream || is_said()
}

/// Reads a reply that comes in one piece.
pub(super) async fn whole_reply(
    response: Response,
    (protocol, label): (Protocol, &str),
    calls: Calls,
    timeout: Duration,
) -> Result<Events, ModelFailure> {
    let body = whole_body(response, timeout).await?;
    let label = label.to_owned();
    let reply = off_worker(body.len(), move || read_whole(&body, (protocol, &label), calls)).await??;
    Ok(stream::iter(events_of(reply).into_iter().map(Ok)).boxed())
}

fn read_whole(body: &[u8], (protocol, label): (Protocol, &str), calls: Calls) -> Result<Reply, ModelFailure> {
    let value: Value =
        gateway_dialects::from_slice(body).map_err(|error| unreadable(body, &error.to_string()))?;
    let is_error = value.get("error").is_some_and(|error| !error.is_null())
        && ["choices", "output", "content", "candidates", "message", "response"]
            .iter()
            .all(|key| value.get(*key).is_none());
    if is_error {
        return Err(ModelFailure::Stream(message_of(&value).unwrap_or_else(|| value.to_string())));
    }
    let options =
        ReadOptions { protocol: Some(protocol), label, text: calls.text, ids_after: calls.ids_after };
    parse_reply(&value, &options).map_err(|error| ModelFailure::Malformed(error.to_string()))
}

/// Runs what takes long for so many bytes.
async fn off_worker<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ModelFailure> {
    if bytes <= INLINE_BYTES {
        return Ok(work());
    }
    let failed =
        |error: &dyn std::fmt::Display| ModelFailure::Malformed(format!("reading the reply: {error}"));
    // Held to the end of the work, whether somebody waits for it or not.
    let permit = LONG_REPLIES.acquire().await.map_err(|error| failed(&error))?;
    let work = move || {
        let _permit = permit;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| failed(&error))
}

/// A reply that is there, as the events of one that arrives.
fn events_of(reply: Reply) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    if !reply.reasoning.is_empty() {
        events.push(StreamEvent::Reasoning(reply.reasoning));
    }
    events.extend(reply.reasoning_items.into_iter().map(StreamEvent::ReasoningItem));
    if !reply.text.is_empty() {
        events.push(StreamEvent::Text(reply.text));
    }
    events.extend(reply.signature.map(StreamEvent::Signature));
    if !reply.source.is_empty() {
        events.push(StreamEvent::Source(reply.source));
    }
    events.extend(reply.refused.into_iter().map(StreamEvent::Refused));
    let calls = reply.calls.into_iter();
    events.extend(calls.map(|call| StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete })));
    events.extend(reply.skipped.into_iter().map(StreamEvent::Skipped));
    events.extend(reply.stop.map(StreamEvent::Stop));
    events.extend(reply.usage.map(StreamEvent::Usage));
    events
}

async fn whole_body(response: Response, timeout: Duration) -> Result<BytesMut, ModelFailure> {
    let mut body = BytesMut::new();
    let mut pieces = response.bytes_stream();
    loop {
        match tokio::time::timeout(timeout, pieces.next()).await {
            Ok(Some(Ok(piece))) if body.len() + piece.len() <= WHOLE_BYTES => body.extend_from_slice(&piece),
            Ok(Some(Ok(_))) => return Err(too_long()),
            Ok(Some(Err(error))) => return Err(broken_off(error)),
            Ok(None) => return Ok(body),
            Err(_) => return Err(ModelFailure::Timeout(timeout)),
        }
    }
}

fn unreadable(body: &[u8], cause: &str) -> ModelFailure {
    let start = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap_or_default()).into_owned();
    // The two bytes that begin a gzip file.
    if body.starts_with(b"\x1f\x8b") {
        return ModelFailure::Malformed("the reply is compressed, which was not asked for".to_owned());
    }
    let what = match start.trim_start().chars().next() {
        None => return ModelFailure::Malformed("the reply is empty".to_owned()),
        Some('<') => "a page in HTML; check `baseUrl`".to_owned(),
        Some(_) => format!("no JSON ({cause})"),
    };
    ModelFailure::Malformed(format!("the reply is {what}"))
}

/// Reads a reply that arrives in pieces.
pub(super) struct ReplyReader {
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    framing: Framing,
    assembler: Assembler,
    /// What arrived and was not given yet.
    ready: VecDeque<StreamEvent>,
    /// Whether the API said that the reply is over.
    is_over: bool,
    /// Whether nothing follows, not even what the reply cost.
    is_done: bool,
    /// Whether anything was read at all.
    has_begun: bool,
    /// Bytes that were said and called.
    said: usize,
    timeout: Duration,
    protocol: Protocol,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Reading,
    /// All that is ready is the rest.
    Ended,
    Failed,
}

/// How documents follow each other.
enum Framing {
    Events(SseParser),
    Lines(LineSplitter),
}

impl ReplyReader {
    pub(super) fn new(response: Response, protocol: Protocol, calls: Calls, timeout: Duration) -> Self {
        let is_lines = protocol == Protocol::OllamaChat && media_type(&response) != "text/event-stream";
        let framing = if is_lines {
            Framing::Lines(LineSplitter::new(EVENT_BYTES))
        } else {
            Framing::Events(SseParser::new(EVENT_BYTES))
        };
        let mut options = StreamOptions::default();
        options.text = calls.text;
        options.ids_after = calls.ids_after;
        // As in a whole reply: only that has a bound.
        options.argument_limit = WHOLE_BYTES;
        Self {
            pieces: Box::pin(response.bytes_stream()),
            framing,
            assembler: Assembler::new(protocol, options),
            ready: VecDeque::new(),
            is_over: false,
            is_done: false,
            has_begun: false,
            said: 0,
            timeout,
            protocol,
            state: State::Reading,
        }
    }

    pub(super) fn events(self) -> Events {
        stream::unfold(self, |mut reader| async move {
            let next = reader.next().await?;
            Some((next, reader))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, ModelFailure>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(match event {
                    StreamEvent::Error(error) => {
                        self.state = State::Failed;
                        self.ready.clear();
                        Err(ModelFailure::Stream(message_of(&error).unwrap_or_else(|| error.to_string())))
                    }
                    event => Ok(event),
                });
            }
            if self.state != State::Reading {
                return None;
            }
            if let Err(failure) = self.read().await {
                self.state = State::Failed;
                return Some(Err(failure));
            }
        }
    }

    /// Reads one piece.
    async fn read(&mut self) -> Result<(), ModelFailure> {
        let patience = if self.is_done { self.timeout.min(PARTING) } else { self.timeout };
        match tokio::time::timeout(patience, self.pieces.next()).await {
            Ok(Some(Ok(_))) if self.is_done => Ok(()),
            Ok(Some(Ok(piece))) => self.take(&piece).await,
            // Some servers do not end the last chunk of a transfer, or the transfer. What is over is over.
            Ok(Some(Err(_))) | Err(_) if self.is_over => self.end().await,
            Ok(Some(Err(error))) => Err(broken_off(error)),
            Ok(None) => self.end().await,
            Err(_) => Err(ModelFailure::Timeout(self.timeout)),
        }
    }

    async fn take(&mut self, piece: &[u8]) -> Result<(), ModelFailure> {
        match &mut self.framing {
            Framing::Events(parser) => {
                parser.push(piece);
                while let Some(event) = self.next_event()? {
                    self.document(event).await?;
                }
            }
            Framing::Lines(splitter) => {
                splitter.push(piece);
                while let Some(line) = self.next_line()? {
                    self.document(line).await?;
                }
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        let Framing::Events(parser) = &mut self.framing else { return Ok(None) };
        let event =
            parser.next_event().map_err(|error| ModelFailure::Malformed(format!("the stream: {error}")))?;
        Ok(event.map(|event| event.data))
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        let Framing::Lines(splitter) = &mut self.framing else { return Ok(None) };
        match splitter.next_line() {
            Some(Line::Whole(line)) => Ok(Some(line)),
            Some(Line::TooLongBegins { .. } | Line::TooLongEnds { .. }) => Err(ModelFailure::Malformed(
                format!("a line of the stream has more than {EVENT_BYTES} bytes"),
            )),
            None => Ok(None),
        }
    }

    async fn document(&mut self, data: Bytes) -> Result<(), ModelFailure> {
        let text = data.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        self.has_begun = true;
        if text == DONE {
            (self.is_over, self.is_done) = (true, true);
            return Ok(());
        }
        let (bytes, protocol) = (data.len(), self.protocol);
        let (is_last, events) = if bytes <= INLINE_BYTES {
            push(&mut self.assembler, text, protocol)?
        } else {
            let empty = Assembler::new(protocol, StreamOptions::default());
            let mut assembler = std::mem::replace(&mut self.assembler, empty);
            let work = move || {
                let pushed = push(&mut assembler, data.trim_ascii(), protocol);
                (assembler, pushed)
            };
            let (assembler, pushed) = off_worker(bytes, work).await?;
            self.assembler = assembler;
            pushed?
        };
        self.is_done |= is_last;
        // Not every server has a word for why.
        self.is_over |= self.is_done;
        self.is_over |= events.iter().any(|event| matches!(event, StreamEvent::Stop(_)));
        self.give(events)
    }

    /// Makes events ready, unless the reply is longer than any.
    fn give(&mut self, events: Vec<StreamEvent>) -> Result<(), ModelFailure> {
        self.said = events.iter().map(said_in).fold(self.said, usize::saturating_add);
        self.ready.extend(events);
        if self.said.saturating_add(self.assembler.waiting_bytes()) > WHOLE_BYTES {
            self.ready.clear();
            return Err(too_long());
        }
        Ok(())
    }

    /// The connection has ended.
    async fn end(&mut self) -> Result<(), ModelFailure> {
        if let Framing::Lines(splitter) = &mut self.framing {
            // The last line needs no end.
            splitter.push(b"\n");
            while let Some(line) = self.next_line()? {
                let is_only = !self.has_begun && !line.trim_ascii_start().starts_with(b"{");
                self.document(line.clone()).await.map_err(|failure| {
                    // A part of a line is what the connection left of it.
                    if is_only { unreadable(&line, &failure.to_string()) } else { ended_early() }
                })?;
            }
        }
        if !self.has_begun {
            return Err(ModelFailure::Malformed("the reply is empty".to_owned()));
        }
        if !self.is_over {
            return Err(ended_early());
        }
        let events = self.assembler.finish();
        self.state = State::Ended;
        self.give(events)
    }
}

/// Reads one event into the reply; says whether nothing follows it.
fn push(
    assembler: &mut Assembler,
    data: &[u8],
    protocol: Protocol,
) -> Result<(bool, Vec<StreamEvent>), ModelFailure> {
    let chunk: Value = gateway_dialects::from_slice(data)
        .map_err(|error| ModelFailure::Malformed(format!("an event of the stream is no JSON: {error}")))?;
    Ok((is_last(protocol, &chunk), assembler.push(&chunk)))
}

/// Bytes that an event adds to what is kept of a reply.
fn said_in(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Text(text)
        | StreamEvent::Reasoning(text)
        | StreamEvent::Source(text)
        | StreamEvent::Signature(text) => text.len(),
        StreamEvent::Call(call) => call.call.arguments.to_text().len(),
        StreamEvent::ReasoningItem(item) => item.to_string().len(),
        _ => 0,
    }
}

fn too_long() -> ModelFailure {
    ModelFailure::Malformed(format!("the reply has more than {WHOLE_BYTES} bytes"))
}

/// Whether nothing follows this event of a stream. Where the API has no such event, `[DONE]` or the end of the body says so.
fn is_last(protocol: Protocol, chunk: &Value) -> bool {
    let kind = || chunk.get("type").and_then(Value::as_str);
    match protocol {
        Protocol::Messages => kind() == Some("message_stop"),
        Protocol::Responses => matches!(kind(), Some("response.completed" | "response.incomplete")),
        Protocol::OllamaChat => chunk.get("done") == Some(&Value::Bool(true)),
        _ => false,
    }
}

fn ended_early() -> ModelFailure {
    ModelFailure::Connection("the stream ended before the reply did".to_owned())
}
