//! Texts without their invisible characters.
//!
//! Nothing is decided by a character that nobody sees, so texts are searched without them. However many stand in a number, it is
//! found, and none of them takes room in the window that a decision is made in.

use std::ops::Range;

use crate::characters::is_invisible;

/// What is visible of a text, and where it stood.
pub(crate) struct VisibleText {
    text: String,
    /// Where invisible characters were, by their position in `text`, and how many bytes of them there are up to this one.
    gaps: Vec<(usize, usize)>,
}

impl VisibleText {
    /// `None` if all of a text is visible.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.is_ascii() || !text.contains(is_invisible) {
            return None;
        }
        let mut visible = Self { text: String::with_capacity(text.len()), gaps: Vec::new() };
        let mut removed = 0;
        for character in text.chars() {
            if !is_invisible(character) {
                visible.text.push(character);
                continue;
            }
            removed += character.len_utf8();
            let position = visible.text.len();
            match visible.gaps.last_mut() {
                Some((last, bytes)) if *last == position => *bytes = removed,
                _ => visible.gaps.push((position, removed)),
            }
        }
        Some(visible)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes in the original of a part of the text, without invisible characters before and behind it.
    pub(crate) fn range(&self, visible: Range<usize>) -> Range<usize> {
        let removed = |gaps: usize| match gaps.checked_sub(1).and_then(|last| self.gaps.get(last)) {
            Some((_, bytes)) => *bytes,
            None => 0,
        };
        let start = self.gaps.partition_point(|(position, _)| *position <= visible.start);
        let end = self.gaps.partition_point(|(position, _)| *position < visible.end);
        visible.start + removed(start)..visible.end + removed(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lead_back_to_the_original() {
        assert!(VisibleText::of("plain é是").is_none());
        let text = "\u{200B}a\u{200B}\u{AD}b\u{FEFF} c\u{200B}";
        let visible = VisibleText::of(text).unwrap();
        assert_eq!(visible.text(), "ab c");
        let original = |range| text.get(visible.range(range)).unwrap();
        assert_eq!(original(0..2), "a\u{200B}\u{AD}b");
        assert_eq!(original(1..2), "b");
        assert_eq!(original(3..4), "c");
        assert_eq!(original(0..4), "a\u{200B}\u{AD}b\u{FEFF} c");
    }
}
