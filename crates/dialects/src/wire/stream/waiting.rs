//! Text in which calls may be written: they wait for the end of the reply.

use super::StreamOptions;
use crate::wire::calls::text::{Found, Scanner};

impl StreamOptions {
    /// A scanner of the reply's text.
    pub(crate) fn scanner(&self) -> Scanner {
        Scanner::new(self.text.in_prose()).with_limit_below(self.argument_limit)
    }
}

/// Calls in the text of a reply that may still bring native ones, and what came after the first of them.
///
/// They count only in a reply without native calls, and that is certain at its end: a call that was given cannot be taken
/// back. Text behind them waits too, so that all comes in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingText {
    pieces: Vec<Found>,
    size: usize,
}

impl WaitingText {
    /// Whether `piece` has to wait.
    pub(crate) fn takes(&self, piece: &Found) -> bool {
        !self.pieces.is_empty() || matches!(piece, Found::Call(_) | Found::Tail(_))
    }

    /// Keeps `piece`; says whether more than `limit` bytes wait.
    pub(crate) fn push(&mut self, piece: Found, limit: usize) -> bool {
        self.size += match &piece {
            Found::Text(text) | Found::Reasoning(text) => text.len(),
            Found::Call(found) => found.source.len(),
            Found::Tail(tail) => tail.source.len(),
            Found::Skipped(skipped) => skipped.name.len() + skipped.reason.len(),
        };
        self.pieces.push(piece);
        self.size > limit
    }

    pub(crate) fn take(&mut self) -> Vec<Found> {
        self.size = 0;
        std::mem::take(&mut self.pieces)
    }
}
