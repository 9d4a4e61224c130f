//! Calls whose caller wants to see how they go: `Accept: text/event-stream`.
//!
//! The stream has `progress` and `log` events as the server sends them, and ends with one `result` event, whose data is the
//! answer that the same request without a stream gets; or with one `error` event, whose data is the error and its status.
//! Where the answer is an error before anything was reported, it is a plain one with its own status.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{Notification, RawJson, RawObject};
use gateway_upstream::{ResultBudget, UpstreamId, send_lossy};
use http::HeaderMap;
use tokio::sync::mpsc;

use crate::errors::{ApiError, accepted, collected, event_stream};
use crate::gateway::Gateway;
use crate::metrics::Entered;
use gateway_runtime::context::{RequestContext, keeping};
use gateway_runtime::progress::{ProgressSink, Step, until_done, with_heartbeats};

/// An answer on its way. Boxed, because what is on top of it is moved for every request.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Events that wait for a slow caller. More are dropped: progress is reported again soon.
const WAITING: usize = 64;

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

/// A request that is answered as a stream. Dropping it, as when the caller goes away, cancels its calls.
pub(crate) struct EventStream {
    reported: mpsc::Receiver<Bytes>,
    heartbeat: Duration,
    /// Where its answer is counted until it is written.
    counting: (ResultBudget, RequestContext),
    /// The request counts as one at work until its stream ends.
    entered: Option<Entered>,
}

impl EventStream {
    /// Takes what servers report about the calls of `context` from now on.
    pub(crate) fn new(gateway: &Gateway, context: &mut RequestContext, entered: Option<Entered>) -> Self {
        let (events, reported) = mpsc::channel(WAITING);
        let counting = (gateway.fleet().results().clone(), context.clone());
        context.progress = Some(Arc::new(EventSink(events)));
        Self { reported, heartbeat: gateway.config().heartbeat, counting, entered }
    }

    /// The events until `work` has given its answer, and that answer.
    pub(crate) async fn response(self, work: Answering) -> Response {
        let Self { reported, heartbeat, counting, entered } = self;
        let mut steps = Box::pin(with_heartbeats(until_done(work, reported), heartbeat));
        // What comes first decides the status.
        let first = match steps.next().await {
            Some(Some(Step::Done(response))) if !response.status().is_success() => return response,
            first => stream::iter(first),
        };
        let state = (Box::pin(first.chain(steps)), counting, entered);
        event_stream(stream::unfold(state, |(mut steps, counting, entered)| async move {
            let event = match steps.next().await? {
                None => None,
                Some(Step::Message(event)) => Some(event),
                Some(Step::Done(response)) => Some(last_event(response, &counting).await),
            };
            Some((event, (steps, counting, entered)))
        }))
    }
}

/// The answer as an event. A long one is counted until the last of its bytes was written.
async fn last_event(response: Response, (budget, context): &(ResultBudget, RequestContext)) -> Bytes {
    if !response.status().is_success() {
        return error_event(response).await;
    }
    let body = collected(response.into_body()).await.unwrap_or_default();
    match context.count(budget, event("result", &body)).await {
        Ok(event) => event,
        Err(dropped) => error_event(ApiError::dropped(&dropped).into_response()).await,
    }
}

async fn error_event(response: Response) -> Bytes {
    let status = response.status();
    let body = collected(response.into_body()).await.unwrap_or_default();
    let mut error: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&body).unwrap_or_default();
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
