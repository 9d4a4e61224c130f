//! Streams of events, and those that outlive their connection (MCP 2025-11-25, resumability).

use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::lock::lock;

/// The reconnection time sent to clients, in milliseconds.
const RETRY: u64 = 50;

/// One message as an event.
pub(crate) fn event(message: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(message.len() + 24);
    text.extend_from_slice(b"event: message\ndata: ");
    text.extend_from_slice(message);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// A stream whose events are numbered and kept.
#[derive(Debug)]
pub(crate) struct NumberedStream {
    /// Its number within the session.
    pub(crate) number: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    events: Vec<Bytes>,
    /// The current reader.
    reader: Option<mpsc::UnboundedSender<Bytes>>,
    is_over: bool,
}

/// Whether a stream begins with an event that only has an id, so that a client can resume before the first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priming {
    First,
    /// Clients before 2025-11-25 fail on an event without data.
    None,
}

impl NumberedStream {
    /// A new stream with its first reader.
    pub(crate) fn open(number: u64, priming: Priming) -> (Self, mpsc::UnboundedReceiver<Bytes>) {
        let (sender, reader) = mpsc::unbounded_channel();
        let mut events = Vec::new();
        if priming == Priming::First {
            let text = Bytes::from(format!("id: {number}-0\nretry: {RETRY}\ndata: \n\n"));
            // The reader was just created, so it receives it.
            let _ = sender.send(text.clone());
            events.push(text);
        }
        let state = State { events, reader: Some(sender), is_over: false };
        (Self { number, state: Mutex::new(state) }, reader)
    }

    /// The stream and the event that a `Last-Event-ID` names.
    pub(crate) fn parse_id(text: &str) -> Option<(u64, usize)> {
        let (number, index) = text.split_once('-')?;
        Some((number.parse().ok()?, index.parse().ok()?))
    }

    pub(crate) fn send(&self, message: &[u8]) {
        let mut state = lock(&self.state);
        let mut text = format!("id: {}-{}\n", self.number, state.events.len()).into_bytes();
        text.extend_from_slice(&event(message));
        let text = Bytes::from(text);
        if state.reader.as_ref().is_some_and(|reader| reader.send(text.clone()).is_err()) {
            state.reader = None;
        }
        state.events.push(text);
    }

    pub(crate) fn hang_up(&self) {
        lock(&self.state).reader = None;
    }

    pub(crate) fn finish(&self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        state.reader = None;
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.state).is_over
    }

    /// A new reader, which receives everything after that event.
    pub(crate) fn resume(&self, after: usize) -> mpsc::UnboundedReceiver<Bytes> {
        let (sender, reader) = mpsc::unbounded_channel();
        let mut state = lock(&self.state);
        for event in state.events.iter().skip(after.saturating_add(1)) {
            let _ = sender.send(event.clone());
        }
        state.reader = (!state.is_over).then_some(sender);
        reader
    }
}
