//! How much work a report may take, and how long it may be.

use crate::work::{TooMuchWork, Work};

use super::{Finding, Truncated};

/// What one report may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Work of all tools in all dialects; beyond it there is no report.
    pub work: Work,
    /// Roughly the most bytes of all changes, and as many of all findings; beyond it they are counted but not listed.
    pub bytes: usize,
}

impl Limits {
    /// No bounds.
    pub const fn unlimited() -> Self {
        Self { work: Work::unlimited(), bytes: usize::MAX }
    }
}

/// What is left while a report is made.
pub(super) struct Spend {
    pub(super) work: Work,
    pub(super) is_over: bool,
    changes: usize,
    findings: usize,
    truncated: Truncated,
}

impl Spend {
    pub(super) fn new(limits: Limits) -> Self {
        let Limits { work, bytes } = limits;
        Self { work, is_over: false, changes: bytes, findings: bytes, truncated: Truncated::default() }
    }

    /// Takes work; says whether it may go on.
    pub(super) fn takes(&mut self, units: usize) -> bool {
        self.is_over |= self.work.spend(units).is_err();
        !self.is_over
    }

    /// Whether there is room to list one more change of about `bytes`; counts it where there is none.
    pub(super) fn lists_change(&mut self, bytes: impl FnOnce() -> usize) -> bool {
        lists(&mut self.changes, &mut self.truncated.changes, bytes)
    }

    /// Adds a finding while there is room.
    pub(super) fn add(&mut self, findings: &mut Vec<Finding>, finding: Finding) {
        if lists(&mut self.findings, &mut self.truncated.findings, || finding.bytes()) {
            findings.push(finding);
        }
    }

    /// What was left out; an error where the work was too much.
    pub(super) fn end(self) -> Result<Option<Truncated>, TooMuchWork> {
        if self.is_over {
            return Err(TooMuchWork);
        }
        Ok((self.truncated != Truncated::default()).then_some(self.truncated))
    }
}

fn lists(left: &mut usize, omitted: &mut usize, bytes: impl FnOnce() -> usize) -> bool {
    // Once something was left out, the rest is too: the list ends at one point.
    let rest = if *omitted > 0 { None } else { left.checked_sub(bytes()) };
    if let Some(rest) = rest {
        *left = rest;
        true
    } else {
        *omitted += 1;
        false
    }
}
