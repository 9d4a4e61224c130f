//! A streamed reply that is nothing but text.

use crate::wire::calls::{Ids, text::Found};
use crate::wire::stream::{OpenCall, Outcome, StreamEvent, StreamOptions, TextReader};

/// A streamed reply that is nothing but text. As no native calls can follow, calls in the text are given when they are whole.
#[derive(Clone, Debug)]
pub struct TextStream {
    options: StreamOptions,
    reader: TextReader,
    ids: Ids,
}

impl TextStream {
    /// A new reply.
    pub fn new(options: StreamOptions) -> Self {
        Self { reader: TextReader::new(&options), ids: Ids::after(options.ids_after), options }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        let found = self.reader.push(text);
        self.give(found, &mut out);
        out
    }

    /// Ends the reply. Tool use that was not over is text.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        let found = self.reader.finish();
        self.give(found, &mut out);
        out
    }

    /// Forgets everything, ready for the next reply. Generated ids count on.
    pub fn reset(&mut self) {
        self.reader = TextReader::new(&self.options);
    }

    fn give(&mut self, found: Vec<Found>, out: &mut Vec<StreamEvent>) {
        for piece in found {
            match piece {
                Found::Text(text) => out.push(StreamEvent::Text(text)),
                Found::Reasoning(text) => out.push(StreamEvent::Reasoning(text)),
                Found::Skipped(skipped) => out.push(StreamEvent::Skipped(skipped)),
                Found::Call(found) => {
                    let mut open = OpenCall::from_call(found.call, self.options.argument_limit);
                    out.extend(open.give(Outcome::Complete, &mut self.ids));
                }
            }
        }
    }
}
