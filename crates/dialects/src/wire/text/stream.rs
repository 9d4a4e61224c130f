//! A streamed reply that is nothing but text.

use crate::wire::calls::text::{Found, Scanner, WrittenCall};
use crate::wire::calls::{Ids, RawCall};
use crate::wire::stream::{OpenCall, Outcome, StreamEvent, StreamOptions};

/// A streamed reply that is nothing but text. As no native calls can follow, calls in the text are given when they are whole.
#[derive(Clone, Debug)]
pub struct TextStream {
    options: StreamOptions,
    scanner: Scanner,
    ids: Ids,
}

impl TextStream {
    /// A new reply.
    pub fn new(options: StreamOptions) -> Self {
        Self { scanner: options.scanner(), ids: Ids::after(options.ids_after), options }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) -> Vec<StreamEvent> {
        let found = self.scanner.push(text);
        self.give(found)
    }

    /// Ends the reply. Tool use that was not over is text.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let found = self.scanner.finish();
        self.give(found)
    }

    /// Forgets everything, ready for the next reply. Generated ids count on.
    pub fn reset(&mut self) {
        self.scanner = self.options.scanner();
    }

    fn give(&mut self, found: Vec<Found>) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        for piece in found {
            match piece {
                Found::Call(found) => events.extend(self.call(found.call)),
                Found::Tail(tail) => {
                    events.push(StreamEvent::Source(tail.source));
                    for (position, WrittenCall { call, refusal }) in tail.calls.into_iter().enumerate() {
                        events.extend(match refusal {
                            None => self.call(call),
                            Some(refusal) => {
                                Some(StreamEvent::refused(call, position, refusal, &mut self.ids))
                            }
                        });
                    }
                }
                other => events.push(StreamEvent::without_call(other)),
            }
        }
        events
    }

    fn call(&mut self, call: RawCall) -> Option<StreamEvent> {
        OpenCall::from_call(call, self.options.argument_limit).give(Outcome::Complete, &mut self.ids)
    }
}
