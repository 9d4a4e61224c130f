//! How often each kind was found.

use std::fmt;

use crate::kind::{Finding, Kind};

/// How often each kind was found: all that may be said about personal data where the data itself must not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([usize; Kind::ALL.len()]);

impl Counts {
    /// Counts a finding.
    pub fn add(&mut self, kind: Kind) {
        if let Some((count, _)) = self.0.iter_mut().zip(Kind::ALL).find(|(_, known)| *known == kind) {
            *count += 1;
        }
    }

    /// Counts findings.
    pub fn add_all(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.add(finding.kind);
        }
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// The kinds that were found, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, usize)> {
        Kind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// The names of the kinds that were found: `email, card`.
impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, _)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{kind}")?;
        }
        Ok(())
    }
}
