//! The piece of text that one decision may look at.
//!
//! Whether something begins at a position depends on at most [`LOOKBEHIND`] bytes before it, [`LOOKAHEAD`] bytes after it, and where
//! the last finding ended. Whole texts and streams are therefore judged alike, however a stream is cut, and a text of a megabyte
//! costs a bounded number of steps for each byte.

use std::cell::Cell;

use crate::characters::{fold, is_letter_or_digit, is_word};
use crate::kind::Kind;

/// Bytes before a position that words of context may stand in.
pub(crate) const LOOKBEHIND: usize = 64;

/// Bytes from the start of a finding to the end of all that it depends on. The longest is an address: 64 characters, `@`, 253 more.
pub(crate) const LOOKAHEAD: usize = 512;

/// A window on a text around one position.
pub(crate) struct View<'a> {
    text: &'a str,
    floor: usize,
    low: usize,
    high: usize,
    /// The window ends where the text so far ends, and more may come.
    open: bool,
    /// The window ends before the text does.
    cut: bool,
    /// Whether anybody asked for what has not come yet.
    touched: Cell<bool>,
    /// How many characters were looked at.
    #[cfg(test)]
    pub(crate) steps: Cell<usize>,
}

/// A visible character, folded and as it is written, with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) folded: char,
    pub(crate) raw: char,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Glyph {
    /// The value of a digit.
    pub(crate) fn digit(self) -> Option<u8> {
        self.folded.to_digit(10).and_then(|digit| u8::try_from(digit).ok())
    }
}

impl<'a> View<'a> {
    /// The window for what may begin at `position`. Nothing before `floor`, the end of the last finding, is seen: it may have been
    /// masked, and must not matter then.
    pub(crate) fn new(text: &'a str, position: usize, floor: usize, complete: bool) -> Self {
        let low = text.ceil_char_boundary(position.saturating_sub(LOOKBEHIND)).max(floor).min(position);
        let high = text.floor_char_boundary(position.saturating_add(LOOKAHEAD));
        let at_end = high == text.len();
        Self {
            text,
            floor,
            low,
            high,
            open: at_end && !complete,
            cut: !at_end,
            touched: Cell::new(false),
            #[cfg(test)]
            steps: Cell::new(0),
        }
    }

    /// Whether the decision could change when more text comes.
    pub(crate) fn needs_more(&self) -> bool {
        self.touched.get()
    }

    /// The visible character at or after a position.
    pub(crate) fn next(&self, mut position: usize) -> Option<Glyph> {
        loop {
            #[cfg(test)]
            self.steps.set(self.steps.get() + 1);
            let rest = self.text.get(position..self.high).unwrap_or_default();
            let Some(raw) = rest.chars().next() else {
                self.touched.set(self.touched.get() || self.open);
                return None;
            };
            let end = position + raw.len_utf8();
            if let Some(folded) = fold(raw) {
                return Some(Glyph { folded, raw, start: position, end });
            }
            position = end;
        }
    }

    /// The visible character before a position.
    pub(crate) fn previous(&self, mut position: usize) -> Option<Glyph> {
        loop {
            #[cfg(test)]
            self.steps.set(self.steps.get() + 1);
            let raw = self.text.get(self.low..position)?.chars().next_back()?;
            let start = position - raw.len_utf8();
            if let Some(folded) = fold(raw) {
                return Some(Glyph { folded, raw, start, end: position });
            }
            position = start;
        }
    }

    /// The text before a position that words of context are looked for in, from the first whole word on: `microphone` must not be
    /// cut to `phone`.
    pub(crate) fn before(&self, position: usize) -> &'a str {
        let text = self.text.get(self.low..position).unwrap_or_default();
        let outside = self.text.get(self.floor..self.low).and_then(|text| text.chars().next_back());
        if outside.is_some_and(char::is_alphanumeric) {
            text.trim_start_matches(char::is_alphanumeric)
        } else {
            text
        }
    }

    /// Whether one of our masks begins at a position.
    pub(crate) fn mask_begins(&self, position: usize) -> bool {
        let rest = self.text.get(position..self.high).unwrap_or_default();
        if self.open && Kind::ALL.iter().any(|kind| kind.mask().starts_with(rest)) {
            self.touched.set(true);
        }
        Kind::ALL.iter().any(|kind| rest.starts_with(kind.mask()))
    }

    /// Whether the word goes on at `end`, so that nothing can end there. So it is taken to do where the window is cut off.
    pub(crate) fn word_continues(&self, end: usize) -> bool {
        self.next(end).map_or(self.cut, |glyph| is_word(glyph.folded))
    }

    /// Whether a number that begins at `start` would be the rest of something longer: `a1-`, `0.`, `x`.
    pub(crate) fn joined_before(&self, start: usize) -> bool {
        let Some(glyph) = self.previous(start) else { return false };
        match glyph.folded {
            '-' => self.previous(glyph.start).is_some_and(|before| is_letter_or_digit(before.folded)),
            '.' => self.previous(glyph.start).is_some_and(|before| before.digit().is_some()),
            // An escape in an address of the web, and an account name.
            '%' | '@' => true,
            other => is_word(other),
        }
    }

    /// Whether a number that ends at `end` goes on as something longer.
    pub(crate) fn joined_after(&self, end: usize) -> bool {
        if self.word_continues(end) {
            return true;
        }
        let Some(glyph) = self.next(end) else { return false };
        let after = |wanted: fn(Glyph) -> bool| self.next(glyph.end).is_some_and(wanted);
        match glyph.folded {
            '-' if glyph.raw.is_ascii() => after(|glyph| is_letter_or_digit(glyph.folded)),
            // Other dashes join digits only; an address may begin behind one.
            '-' => after(|glyph| glyph.digit().is_some()),
            '.' => after(|glyph| glyph.digit().is_some()),
            _ => false,
        }
    }

    /// Whether a space and a digit stand before `start`: numbers with spaces in them could begin earlier.
    pub(crate) fn digit_and_space_before(&self, start: usize) -> bool {
        self.previous(start)
            .filter(|glyph| glyph.folded == ' ')
            .and_then(|space| self.previous(space.start))
            .is_some_and(|glyph| glyph.digit().is_some())
    }

    /// The number of digits in the group after `end` and one `separator`, if the group ends as a column of a table does. Nothing
    /// that is found can begin at such a group, so masking never takes it away.
    pub(crate) fn column_after(&self, end: usize, separator: char) -> Option<usize> {
        let separator = self.next(end).filter(|glyph| glyph.folded == separator)?;
        let mut position = separator.end;
        for count in 0..=6 {
            match self.next(position) {
                Some(glyph) if glyph.digit().is_some() => position = glyph.end,
                None if count > 0 => return Some(count),
                Some(glyph) if count > 0 && matches!(glyph.folded, ' ' | ',' | ';' | ')' | '\n' | '\r') => {
                    return Some(count);
                }
                Some(glyph) if count > 0 && glyph.folded == separator.folded => return Some(count),
                _ => return None,
            }
        }
        None
    }

    /// The word after `end` and up to three other characters, in lower case; empty if there is none, or a mask.
    pub(crate) fn word_after(&self, end: usize) -> String {
        let mut position = end;
        let mut word = String::new();
        for _ in 0..16 {
            let Some(glyph) = self.next(position) else { break };
            let skipped = glyph.start - end;
            if glyph.folded.is_ascii_alphabetic() {
                word.push(glyph.folded.to_ascii_lowercase());
            } else if !word.is_empty() || skipped > 3 || glyph.folded == '\n' || self.mask_begins(glyph.start)
            {
                break;
            }
            position = glyph.end;
        }
        word
    }
}
