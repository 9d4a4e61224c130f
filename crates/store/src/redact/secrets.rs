//! What a search found in a text, and how much it may still look at.

use std::ops::Range;

/// How many bytes may be looked at for each byte of a text. Ordinary texts need two or three.
const LOOKS_PER_BYTE: usize = 32;
/// The same for a text of any length, so that short ones never run out.
const LOOKS: usize = 16 << 10;

/// Where secrets are in a text.
///
/// Values of names can contain further names and values, and all of them must be judged. A text in which every value
/// reaches to its end would take quadratic time that way, so the search counts what it looks at. A text that needs
/// more than its share is hidden from there on: a log entry without its end is better than a secret in it.
#[derive(Debug)]
pub(super) struct Secrets {
    pub(super) ranges: Vec<Range<usize>>,
    length: usize,
    left: usize,
    hidden: usize,
}

impl Secrets {
    pub(super) fn new(text: &str) -> Self {
        let left = LOOKS.saturating_add(text.len().saturating_mul(LOOKS_PER_BYTE));
        Self { ranges: Vec::new(), length: text.len(), left, hidden: 0 }
    }

    pub(super) fn push(&mut self, range: Range<usize>) {
        self.hidden = self.hidden.max(range.end);
        self.ranges.push(range);
    }

    /// Where the last secret ends that was pushed.
    pub(super) fn hidden(&self) -> usize {
        self.hidden
    }

    /// Counts bytes that were looked at. If there were too many, everything from `at` on is hidden and the search ends.
    #[must_use]
    pub(super) fn may_go_on(&mut self, looked: usize, at: usize) -> bool {
        let is_within = looked <= self.left;
        self.left = self.left.saturating_sub(looked);
        if !is_within {
            self.ranges.push(at..self.length);
        }
        is_within
    }
}

/// Counts what is looked at without a share, for tests that compare texts of different lengths.
pub(super) mod work {
    #[cfg(test)]
    thread_local!(static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });

    #[cfg(test)]
    pub(crate) fn count(bytes: usize) {
        LOOKED.set(LOOKED.get() + bytes);
    }

    #[cfg(not(test))]
    pub(crate) const fn count(_: usize) {}

    /// What was counted since the last time.
    #[cfg(test)]
    pub(crate) fn take() -> usize {
        LOOKED.replace(0)
    }
}
