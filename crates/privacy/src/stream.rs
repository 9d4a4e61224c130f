//! Masking of text that comes in pieces.

use std::collections::VecDeque;

use crate::characters::is_invisible;
use crate::context::Hints;
use crate::detector::{Detector, Step};
use crate::kind::Finding;
use crate::view::{LOOKAHEAD, LOOKBEHIND};

/// Masks a stream of text. The pieces that come out, put together, are what masking the whole text gives, however it was cut.
///
/// Text is held back only while it could be the beginning of a finding: of ordinary prose that is the last word. Of invisible
/// characters in it only so many are held back; more than that are dropped.
#[derive(Clone, Debug)]
pub struct StreamMask {
    detector: Detector,
    /// A little of what was given out, then what is held back, without invisible characters.
    buffer: String,
    /// Where in the visible stream the buffer begins.
    offset: usize,
    /// Where in the buffer the text begins that is held back.
    position: usize,
    /// Where in the buffer the last finding ended.
    floor: usize,
    /// Invisible characters that are held back.
    hidden: VecDeque<Hidden>,
    /// Their bytes, also of those that were dropped.
    hidden_bytes: usize,
    /// Bytes of invisible characters that are not held back any more.
    passed: usize,
}

/// Invisible characters beside one another.
#[derive(Clone, Debug)]
struct Hidden {
    /// Where in the visible stream they stand.
    position: usize,
    text: String,
    /// With those that were dropped.
    bytes: usize,
}

/// What a stream gives out at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskedPiece {
    /// The next masked text; empty if all of it is held back.
    pub text: String,
    /// What was masked in it, with its bytes in the stream that was given in.
    pub findings: Vec<Finding>,
}

/// The most bytes of invisible characters that are held back.
const MAX_HIDDEN: usize = 4096;

impl StreamMask {
    /// The most bytes that are held back between two pieces.
    pub const MAX_HELD: usize = LOOKAHEAD + MAX_HIDDEN;

    /// A stream that has not begun.
    pub fn new(detector: Detector) -> Self {
        Self {
            detector,
            buffer: String::new(),
            offset: 0,
            position: 0,
            floor: 0,
            hidden: VecDeque::new(),
            hidden_bytes: 0,
            passed: 0,
        }
    }

    /// Takes the next piece, and gives all that is certain now.
    pub fn push(&mut self, piece: &str) -> MaskedPiece {
        if piece.is_ascii() {
            self.buffer.push_str(piece);
        } else {
            for character in piece.chars() {
                if is_invisible(character) {
                    self.hide(character);
                } else {
                    self.buffer.push(character);
                }
            }
        }
        self.advance(false)
    }

    /// Gives what was held back, at the end of the stream.
    pub fn finish(mut self) -> MaskedPiece {
        self.advance(true)
    }

    /// How many bytes are held back, or were dropped among them.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.position + self.hidden_bytes
    }

    /// Holds back an invisible character.
    fn hide(&mut self, character: char) {
        let position = self.offset + self.buffer.len();
        let has_room = self.hidden_bytes + character.len_utf8() <= MAX_HIDDEN;
        if self.hidden.back().is_none_or(|last| last.position != position) {
            self.hidden.push_back(Hidden { position, text: String::new(), bytes: 0 });
        }
        if let Some(last) = self.hidden.back_mut() {
            last.bytes += character.len_utf8();
            if has_room {
                last.text.push(character);
            }
        }
        self.hidden_bytes += character.len_utf8();
    }

    fn advance(&mut self, complete: bool) -> MaskedPiece {
        let mut piece = MaskedPiece::default();
        let mut copied = self.position;
        while self.position < self.buffer.len() {
            match self.detector.step(&self.buffer, self.position, self.floor, complete, Hints::default()) {
                Step::Nothing(next) => self.position = next,
                Step::Found(kind, end) => {
                    self.give(copied, &mut piece.text);
                    piece.text.push_str(kind.mask());
                    let start = self.offset + self.position + self.passed;
                    // What stands inside of the finding goes with it.
                    while self.next_hidden(|position| position < end).is_some() {}
                    let range = start..self.offset + end + self.passed;
                    piece.findings.push(Finding { kind, range });
                    self.position = end;
                    self.floor = end;
                    copied = end;
                }
                Step::NeedsMore => break,
            }
        }
        self.give(copied, &mut piece.text);
        self.forget();
        piece
    }

    /// Gives out the buffer from `copied` to the current position, with the invisible characters that stood there.
    fn give(&mut self, mut copied: usize, to: &mut String) {
        let end = self.position;
        while let Some(hidden) = self.next_hidden(|position| position <= end) {
            let position = hidden.position - self.offset;
            to.push_str(self.buffer.get(copied..position).unwrap_or_default());
            to.push_str(&hidden.text);
            copied = position;
        }
        to.push_str(self.buffer.get(copied..end).unwrap_or_default());
    }

    /// Takes the next invisible characters, if their position in the buffer is a wanted one.
    fn next_hidden(&mut self, wanted: impl Fn(usize) -> bool) -> Option<Hidden> {
        let next = self.hidden.front().filter(|next| wanted(next.position - self.offset))?;
        self.hidden_bytes -= next.bytes;
        self.passed += next.bytes;
        self.hidden.pop_front()
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
