//! Calls whose caller wants to see how they go: `Accept: text/event-stream`.
//!
//! The stream has `progress` and `log` events as the server sends them, and ends with one `result` event, whose data is the
//! answer that the same request without a stream gets; or with one `error` event, whose data is the error and its status.
//! Where the answer is an error before anything was reported, it is a plain one with its own status.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{Notification, RawJson, RawObject};
use gateway_upstream::{ResultBudget, UpstreamId, send_lossy};
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::counted::dropped_response;
use crate::errors::{accepted, collected, event_stream};
use crate::gateway::Gateway;
use crate::metrics::Entered;
use gateway_runtime::context::RequestContext;
use gateway_runtime::context::keeping;
use gateway_runtime::progress::ProgressSink;

/// An answer on its way. Boxed, because what is on top of it is moved for every request.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Events that wait for a slow caller. More are dropped: progress is reported again soon.
const WAITING: usize = 64;

/// A comment: it keeps the connection alive and means nothing.
const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// Writes what servers report as events.
#[derive(Debug)]
struct EventSink(mpsc::Sender<Bytes>);

impl ProgressSink for EventSink {
    fn report(&self, server: &UpstreamId, tool: &str, notification: &Notification) {
        if let Some(event) = event_of((server.as_str(), tool), notification) {
            // A caller who does not read fast enough misses some.
            let bytes = event.len();
            send_lossy(&self.0, event, bytes);
        }
    }
}

/// The event for what a server reports: its own words, and who it is about.
fn event_of((server, tool): (&str, &str), notification: &Notification) -> Option<Bytes> {
    let name = match notification.method.as_str() {
        "notifications/progress" => "progress",
        "notifications/message" => "log",
        _ => return None,
    };
    let params = notification.params.clone().unwrap_or_else(RawJson::empty_object);
    let mut reported = RawObject::parse(&params).ok()?;
    reported.retain(|key| !matches!(key, "progressToken" | "server" | "tool"));
    let mut members = RawObject::default();
    members.set("server", &RawJson::of(server).ok()?).ok()?;
    members.set("tool", &RawJson::of(tool).ok()?).ok()?;
    members.append(reported);
    let text = event(name, members.to_raw().ok()?.as_bytes());
    Some(match &notification.params {
        Some(source) => keeping(text, source),
        None => text,
    })
}

/// One event. Line ends in the data are written as SSE has it, so that they arrive as line ends.
fn event(name: &str, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + name.len() + 24);
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(name.as_bytes());
    for line in data.split(|byte| *byte == b'\n') {
        text.extend_from_slice(b"\ndata: ");
        text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
    }
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Whether the caller names a stream of events, and no JSON before it.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    accepted(headers).find(|media| matches!(*media, "text/event-stream" | "application/json"))
        == Some("text/event-stream")
}

enum Piece {
    Event(Bytes),
    Answer(Response),
}

/// A request that is answered as a stream. Dropping it, as when the caller goes away, cancels its calls.
pub(crate) struct EventStream {
    /// `None` once it has given the answer, and before it began.
    work: Option<Answering>,
    reported: mpsc::Receiver<Bytes>,
    heartbeat: Duration,
    silent_since: Instant,
    /// Where its answer is counted until it is written.
    counting: (ResultBudget, RequestContext),
    /// The request counts as one at work until its stream ends.
    _entered: Option<Entered>,
}

impl EventStream {
    /// Takes what servers report about the calls of `context` from now on.
    pub(crate) fn new(gateway: &Gateway, context: &mut RequestContext, entered: Option<Entered>) -> Self {
        let (events, reported) = mpsc::channel(WAITING);
        let counting = (gateway.fleet().results().clone(), context.clone());
        context.progress = Some(Arc::new(EventSink(events)));
        Self {
            work: None,
            reported,
            heartbeat: gateway.config().heartbeat,
            silent_since: Instant::now(),
            counting,
            _entered: entered,
        }
    }

    /// The events until `work` has given its answer, and that answer.
    pub(crate) async fn response(mut self, work: Answering) -> Response {
        self.work = Some(work);
        // What comes first decides the status.
        let first = match self.next().await {
            Some(Piece::Answer(response)) if !response.status().is_success() => return response,
            Some(piece) => self.written(piece).await,
            None => Bytes::new(),
        };
        let rest = stream::unfold(self, |mut events| async move {
            let piece = events.next().await?;
            Some((events.written(piece).await, events))
        });
        let pieces = stream::iter([first]).chain(rest).map(Ok::<_, std::convert::Infallible>);
        event_stream(Body::from_stream(pieces))
    }

    /// What comes next; `None` after the answer.
    async fn next(&mut self) -> Option<Piece> {
        let work = self.work.as_mut()?;
        let piece = tokio::select! {
            // What was reported before the answer comes before it.
            biased;
            Some(event) = self.reported.recv() => Piece::Event(event),
            response = work => {
                // The work may have reported something in the moment that it ended.
                if let Ok(event) = self.reported.try_recv() {
                    self.work = Some(Box::pin(std::future::ready(response)));
                    Piece::Event(event)
                } else {
                    self.work = None;
                    Piece::Answer(response)
                }
            }
            () = tokio::time::sleep_until(self.silent_since + self.heartbeat) => Piece::Event(Bytes::from_static(HEARTBEAT)),
        };
        self.silent_since = Instant::now();
        Some(piece)
    }

    /// A piece as it is written. A long answer is counted until the last of its bytes was.
    async fn written(&mut self, piece: Piece) -> Bytes {
        let response = match piece {
            Piece::Event(bytes) => return bytes,
            Piece::Answer(response) => response,
        };
        let status = response.status();
        let body = collected(response.into_body()).await.unwrap_or_default();
        if !status.is_success() {
            return error_event(status, &body);
        }
        let (budget, context) = &self.counting;
        match context.count(budget, event("result", &body)).await {
            Ok(event) => event,
            Err(dropped) => {
                let response = dropped_response(&dropped);
                let status = response.status();
                let body = collected(response.into_body()).await.unwrap_or_default();
                error_event(status, &body)
            }
        }
    }
}

fn error_event(status: StatusCode, body: &[u8]) -> Bytes {
    let mut error: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(body).unwrap_or_default();
    error.insert("status".to_owned(), status.as_u16().into());
    event("error", serde_json::Value::Object(error).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn a_stream_is_for_those_who_ask() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("text/event-stream;q=0.9, */*", true),
            ("text/event-stream, application/json", true),
            ("application/json, text/event-stream", false),
            ("*/*", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(wants_events(&headers), expected, "{accept}");
        }
    }

    #[test]
    fn line_ends_in_the_data_survive() {
        assert_eq!(
            &event("result", b"{\n\"a\": 1\r\n}")[..],
            b"event: result\ndata: {\ndata: \"a\": 1\ndata: }\n\n"
        );
    }
}
