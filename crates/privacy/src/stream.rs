//! Masking of text that comes in pieces.

use crate::context::Hints;
use crate::detector::{Detector, Step};
use crate::kind::Finding;
use crate::view::{LOOKAHEAD, LOOKBEHIND};

/// Masks a stream of text. The pieces that come out, put together, are what masking the whole text gives, however it was cut.
///
/// Text is held back only while it could be the beginning of a finding: of ordinary prose that is the last word.
#[derive(Clone, Debug)]
pub struct StreamMask {
    detector: Detector,
    /// A little of what was given out, then what is held back.
    buffer: String,
    /// Where in the stream the buffer begins.
    offset: usize,
    /// Where in the buffer the text begins that is held back.
    position: usize,
    /// Where in the buffer the last finding ended.
    floor: usize,
}

/// What a stream gives out at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskedPiece {
    /// The next masked text; empty if all of it is held back.
    pub text: String,
    /// What was masked in it, with its bytes in the stream that was given in.
    pub findings: Vec<Finding>,
}

impl StreamMask {
    /// The most bytes that are held back between two pieces.
    pub const MAX_HELD: usize = LOOKAHEAD;

    /// A stream that has not begun.
    pub fn new(detector: Detector) -> Self {
        Self { detector, buffer: String::new(), offset: 0, position: 0, floor: 0 }
    }

    /// Takes the next piece, and gives all that is certain now.
    pub fn push(&mut self, piece: &str) -> MaskedPiece {
        self.buffer.push_str(piece);
        self.advance(false)
    }

    /// Gives what was held back, at the end of the stream.
    pub fn finish(mut self) -> MaskedPiece {
        self.advance(true)
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.position
    }

    fn advance(&mut self, complete: bool) -> MaskedPiece {
        let mut piece = MaskedPiece::default();
        let mut copied = self.position;
        while self.position < self.buffer.len() {
            match self.detector.step(&self.buffer, self.position, self.floor, complete, Hints::default()) {
                Step::Nothing(next) => self.position = next,
                Step::Found(kind, end) => {
                    piece.text.push_str(self.buffer.get(copied..self.position).unwrap_or_default());
                    piece.text.push_str(kind.mask());
                    piece
                        .findings
                        .push(Finding { kind, range: self.offset + self.position..self.offset + end });
                    self.position = end;
                    self.floor = end;
                    copied = end;
                }
                Step::NeedsMore => break,
            }
        }
        piece.text.push_str(self.buffer.get(copied..self.position).unwrap_or_default());
        self.forget();
        piece
    }

    /// Drops what no decision looks at any more.
    fn forget(&mut self) {
        // A whole character more than the window, so that both begin at the same one.
        let unseen = self.buffer.floor_char_boundary(self.position.saturating_sub(LOOKBEHIND + 4));
        self.buffer.drain(..unseen);
        self.offset += unseen;
        self.position -= unseen;
        self.floor = self.floor.saturating_sub(unseen);
    }
}
