//! Text deltas: reasoning and tool use in plain text.

use super::{Outcome, StreamEvent, StreamOptions, open::OpenCall};
use crate::wire::calls::{
    Ids,
    text::{Found, FoundCall, Scanner, Wanted},
};

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

/// Scans the text of a reply, as far as the options want it.
#[derive(Clone, Debug)]
pub(super) struct TextReader {
    scanner: Scanner,
}

impl TextReader {
    pub(super) fn new(options: &StreamOptions) -> Self {
        let scanner = Scanner::new(Wanted::in_prose(&options.text));
        Self { scanner: scanner.with_limit(options.argument_limit) }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<Found> {
        self.scanner.push(text)
    }

    pub(super) fn finish(&mut self) -> Vec<Found> {
        self.scanner.finish()
    }
}

/// Calls in the text of a reply that may still bring native ones, and what came after the first of them.
///
/// They count only in a reply without native calls, and that is certain at its end: a call that was given cannot be taken
/// back. Text behind them waits too, so that all comes in order.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingText {
    pieces: Vec<Found>,
    size: usize,
}

impl WaitingText {
    /// Whether `piece` has to wait.
    pub(super) fn takes(&self, piece: &Found) -> bool {
        !self.pieces.is_empty() || matches!(piece, Found::Call(_))
    }

    /// Keeps `piece`; says whether more than `limit` bytes wait.
    pub(super) fn push(&mut self, piece: Found, limit: usize) -> bool {
        self.size += match &piece {
            Found::Text(text) | Found::Reasoning(text) => text.len(),
            Found::Call(found) => found.source.len(),
            Found::Skipped(skipped) => skipped.name.len() + skipped.reason.len(),
        };
        self.pieces.push(piece);
        self.size > limit
    }

    pub(super) fn take(&mut self) -> Vec<Found> {
        self.size = 0;
        std::mem::take(&mut self.pieces)
    }
}

/// The event for a call that stays text after all.
pub(super) fn as_text(found: FoundCall) -> StreamEvent {
    StreamEvent::Text(found.source)
}
