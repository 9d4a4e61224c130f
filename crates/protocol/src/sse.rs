//! Server-sent events of bounded size.

use bytes::{Bytes, BytesMut};

use crate::lines::{Line, LineSplitter};
use crate::scan::{Addressee, IdScanner};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; `message` by default.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: Bytes,
    /// The last id of the stream.
    pub id: Option<String>,
}

/// Why an event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// An event is larger than allowed.
    #[error("a server-sent event has more than {limit} bytes")]
    TooLong {
        /// The bound.
        limit: usize,
    },
    /// A skipped event has ended; the next one can be read.
    #[error("a server-sent event was skipped")]
    GivenUp {
        /// Which request its message answers.
        addressee: Addressee,
    },
}

/// Reads events from chunks of a stream.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    lines: LineSplitter,
    event: String,
    data: BytesMut,
    has_data: bool,
    id: Option<String>,
    retry_ms: Option<u64>,
    at_start: bool,
    /// The scanner of an event that was given up.
    given_up: Option<IdScanner>,
}

impl SseParser {
    /// Events may have up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            lines: LineSplitter::new(limit),
            event: String::new(),
            data: BytesMut::new(),
            has_data: false,
            id: None,
            retry_ms: None,
            at_start: true,
            given_up: None,
        }
    }

    /// The last id of the stream, for resuming it.
    pub fn last_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// How long the server wants a client to wait before it reconnects.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// How many bytes of an incomplete event are buffered.
    pub fn held(&self) -> usize {
        self.lines.held() + self.data.len()
    }

    /// Gives up the incomplete event: the rest of it is skipped.
    pub fn give_up(&mut self) {
        let mut scanner = self.given_up.take().unwrap_or_default();
        scanner.feed(&std::mem::take(&mut self.data));
        self.has_data = false;
        // A line that is being read takes the scanner along.
        self.lines.give_up_after(scanner.clone());
        self.given_up = Some(scanner);
    }

    /// How many bytes of an event that was given up have been skipped.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// Takes the next chunk.
    pub fn push(&mut self, piece: &[u8]) {
        self.lines.push(piece);
    }

    /// The next complete event.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, SseError> {
        while let Some(line) = self.lines.next_line() {
            let line = match line {
                Line::Whole(line) => line,
                Line::TooLongEnds { scanner, .. } if self.given_up.is_some() => {
                    self.given_up = Some(scanner);
                    continue;
                }
                Line::TooLongBegins { .. } | Line::TooLongEnds { .. } => {
                    return Err(SseError::TooLong { limit: self.limit });
                }
            };
            let line = match line.strip_prefix(b"\xef\xbb\xbf") {
                Some(rest) if self.at_start => line.slice_ref(rest),
                _ => line,
            };
            self.at_start = false;
            if line.is_empty() {
                if let Some(scanner) = self.given_up.take() {
                    (self.event, self.has_data) = (String::new(), false);
                    return Err(SseError::GivenUp { addressee: scanner.addressee() });
                }
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
                continue;
            }
            self.field(&line)?;
        }
        Ok(None)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), SseError> {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if let Some(scanner) = &mut self.given_up {
                    scanner.feed(value);
                    return Ok(());
                }
                if self.data.len() + value.len() > self.limit {
                    return Err(SseError::TooLong { limit: self.limit });
                }
                if self.has_data {
                    self.data.extend_from_slice(b"\n");
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                self.retry_ms =
                    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            // A comment has an empty name; unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = self.data.split().freeze();
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(SseEvent { event, data, id: self.id.clone() })
    }
}
