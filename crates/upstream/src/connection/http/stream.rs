//! A response that is a stream of events, read within the bounds.

use std::sync::Arc;

use gateway_protocol::{Addressee, SseError, SseEvent, SseParser};
use reqwest::Response;

use super::client::HttpClient;
use crate::results::{Reservation, ServerResults, needed};

/// An event that there was no room for may be so many times as long as one that is taken.
const SKIPPED: u64 = 4;

/// A stream of events.
#[derive(Debug)]
pub(in crate::connection) struct EventStream {
    client: Arc<HttpClient>,
    response: Response,
    pub(in crate::connection) parser: SseParser,
    results: ServerResults,
    /// Room for the event that is being read, if it is long.
    reserved: Option<Reservation>,
    is_over: bool,
}

/// Why there is no next event.
#[derive(Debug)]
pub(in crate::connection) enum NoEvent {
    /// There was no room for one beside other results. Whoever reads on skips it.
    NoRoom,
    /// That event is over, and the stream can be read on.
    Skipped(Addressee),
    TooLong(String),
    Broken(String),
}

impl EventStream {
    pub(in crate::connection) fn new(
        client: &Arc<HttpClient>,
        response: Response,
        results: &ServerResults,
    ) -> Self {
        let (parser, results) = (SseParser::new(client.limit), results.clone());
        Self { client: Arc::clone(client), response, parser, results, reserved: None, is_over: false }
    }

    /// The next event. Cancel-safe: what was read stays in the parser.
    pub(in crate::connection) async fn next(&mut self) -> Result<SseEvent, NoEvent> {
        let limit = self.client.limit;
        loop {
            match self.parser.next_event() {
                Ok(None) if self.is_over => {
                    return Err(NoEvent::Broken("it ended the stream of events".to_owned()));
                }
                Ok(None) => {}
                Ok(Some(mut event)) => {
                    event.data = self.results.count(event.data, self.reserved.take());
                    return Ok(event);
                }
                Err(SseError::GivenUp { addressee }) => return Err(NoEvent::Skipped(addressee)),
                Err(error) => return Err(NoEvent::TooLong(error.to_string())),
            }
            if self.parser.skipped() > SKIPPED.saturating_mul(limit as u64) {
                return Err(NoEvent::TooLong("it sent an event without end".to_owned()));
            }
            if !self.reserve(limit).await {
                self.reserved = None;
                self.parser.give_up();
                return Err(NoEvent::NoRoom);
            }
            if let Some(piece) = self.client.chunk(&mut self.response).await.map_err(NoEvent::Broken)? {
                self.parser.push(&piece);
            } else {
                // Some servers end the stream without the empty line that ends the event.
                self.parser.push(b"\n\n");
                self.is_over = true;
            }
        }
    }

    /// Reserves room for a long event before it is read on; `false` if there is none. Cancel-safe: it does not wait longer for
    /// being asked again.
    async fn reserve(&mut self, limit: usize) -> bool {
        let Some(bytes) = needed(self.parser.held(), limit) else {
            self.reserved = None;
            return true;
        };
        self.reserved.get_or_insert_with(|| self.results.reservation()).grow(bytes).await
    }
}
