//! One event of a stream, and its bytes.

use serde_json::Value;

use super::event_stream;
use crate::models::delivery::{Delivery, Quirk};

/// What a frame brings. Faults choose by it where they strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Before anything is said.
    Opening,
    /// Text or thoughts.
    Content,
    /// Where parts begin and end, and what keeps a connection alive.
    Around,
    /// A piece of a call's arguments, or the whole call where a wire does not cut it.
    Arguments,
    /// Why the turn ends, what it cost.
    Finish,
    /// What tells that nothing follows.
    Done,
    /// An error in place of an event.
    Exception,
}

/// One event or line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// The line `event:`.
    pub(crate) event: Option<String>,
    pub(crate) data: String,
    pub(crate) kind: FrameKind,
}

impl Frame {
    pub(crate) fn new(kind: FrameKind, data: &Value) -> Self {
        Self { event: None, data: data.to_string(), kind }
    }

    /// An event of a name that is not in its data: Bedrock's.
    pub(crate) fn named(kind: FrameKind, event: &str, data: &Value) -> Self {
        Self { event: Some(event.to_owned()), ..Self::new(kind, data) }
    }

    /// An error in place of an event: Bedrock's.
    pub(crate) fn exception(name: &str, data: &Value) -> Self {
        // The operation's errors begin with a small letter in streams.
        let mut letters = name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        let event = first.into_iter().chain(letters).collect();
        Self { event: Some(event), data: data.to_string(), kind: FrameKind::Exception }
    }

    /// An event that is called what its member `type` says, as Anthropic's and Responses' are.
    pub(crate) fn typed(kind: FrameKind, data: &Value) -> Self {
        let event = data.get("type").and_then(Value::as_str).map(ToOwned::to_owned);
        Self { event, data: data.to_string(), kind }
    }
}

/// How frames become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Server-sent events.
    Events,
    /// The same as Gemini writes them, with other line ends.
    EventsWithCrlf,
    /// A JSON document on each line.
    Lines,
    /// One JSON list, an entry at a time: Gemini without `alt=sse`.
    List,
    /// Binary messages of AWS.
    EventStream,
}

impl Encoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Events | Self::EventsWithCrlf => "text/event-stream; charset=utf-8",
            Self::Lines => "application/x-ndjson",
            Self::List => "application/json; charset=UTF-8",
            Self::EventStream => "application/vnd.amazon.eventstream",
        }
    }

    /// The frame as it goes over the wire; `first` tells the first from the others.
    pub(crate) fn encode(self, frame: &Frame, first: bool, delivery: &Delivery) -> Vec<u8> {
        let text = match self {
            Self::Events | Self::EventsWithCrlf => events(frame, delivery),
            Self::Lines => format!("{}\n", frame.data),
            Self::List => format!("{}{}", if first { "[" } else { "\n,\n" }, frame.data),
            Self::EventStream => return event_stream::encode(frame),
        };
        let crlf = self == Self::EventsWithCrlf || delivery.has(Quirk::Crlf);
        if crlf { text.replace('\n', "\r\n").into_bytes() } else { text.into_bytes() }
    }

    /// What follows the last frame.
    pub(crate) fn end(self) -> &'static [u8] {
        match self {
            Self::Events | Self::EventsWithCrlf | Self::Lines | Self::EventStream => b"",
            // Google's own readers take nothing after it, not even a line break.
            Self::List => b"\n]",
        }
    }
}

fn events(frame: &Frame, delivery: &Delivery) -> String {
    let mut text = String::new();
    if delivery.has(Quirk::Comments) {
        text.push_str(": keep-alive\n\n");
    }
    let event = frame.event.as_deref().or(delivery.has(Quirk::EventLines).then_some("message"));
    if let Some(event) = event {
        text.extend(["event: ", event, "\n"]);
    }
    for line in data(frame, delivery).lines() {
        text.extend(["data: ", line, "\n"]);
    }
    text.push('\n');
    text
}

/// JSON over several lines is the same JSON: a line feed may stand between any two tokens.
fn data(frame: &Frame, delivery: &Delivery) -> String {
    let value: Option<Value> =
        delivery.has(Quirk::MultilineData).then(|| serde_json::from_str(&frame.data).ok()).flatten();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| frame.data.clone())
}
