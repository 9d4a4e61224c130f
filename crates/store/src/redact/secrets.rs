//! What a search found in a text, and its remaining budget.

use std::ops::Range;

/// How many bytes a search may read for each byte of a text. Ordinary texts need two or three.
const BUDGET_PER_BYTE: usize = 32;
/// The budget of an empty text, so that short ones never run out.
const BASE_BUDGET: usize = 16 << 10;

/// Where secrets are in a text.
///
/// Values of names can contain further names and values, and all of them must be judged. A text in which every value
/// reaches to its end would take quadratic time, so the search counts what it reads. A text that exceeds its budget is
/// redacted from there on: a log entry without its end is better than a secret in it.
#[derive(Debug)]
pub(super) struct Secrets {
    pub(super) ranges: Vec<Range<usize>>,
    length: usize,
    budget: usize,
    /// Where the last pushed secret ends.
    pub(super) hidden: usize,
}

impl Secrets {
    pub(super) fn new(text: &str) -> Self {
        let budget = BASE_BUDGET.saturating_add(text.len().saturating_mul(BUDGET_PER_BYTE));
        Self { ranges: Vec::new(), length: text.len(), budget, hidden: 0 }
    }

    pub(super) fn push(&mut self, range: Range<usize>) {
        self.hidden = self.hidden.max(range.end);
        self.ranges.push(range);
    }

    /// Counts bytes that were read. If there were too many, everything from `at` on is redacted and the search ends.
    #[must_use]
    pub(super) fn is_within_budget(&mut self, looked: usize, at: usize) -> bool {
        let is_within = looked <= self.budget;
        self.budget = self.budget.saturating_sub(looked);
        if !is_within {
            self.ranges.push(at..self.length);
        }
        is_within
    }
}

/// Counts what is read outside the budget, for tests that compare texts of different lengths.
pub(super) mod work {
    #[cfg(test)]
    thread_local!(static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });

    #[cfg(test)]
    pub(crate) fn count(bytes: usize) {
        LOOKED.set(LOOKED.get() + bytes);
    }

    #[cfg(not(test))]
    pub(crate) const fn count(_: usize) {}

    /// The count since the last call.
    #[cfg(test)]
    pub(crate) fn take() -> usize {
        LOOKED.replace(0)
    }
}
