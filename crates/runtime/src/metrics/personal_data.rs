//! Personal data that was found, counted.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::lock::locked;

/// Where personal data was found, of which kind, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PersonalDataLabels {
    /// By which way it came.
    pub face: &'static str,
    /// In messages, results or answers.
    pub part: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// What became of it.
    pub mode: &'static str,
}

/// Counters by labels. There are few, because all labels are words of ours.
#[derive(Debug, Default)]
pub(super) struct PersonalData(Mutex<BTreeMap<PersonalDataLabels, u64>>);

impl PersonalData {
    pub(super) fn add(&self, labels: PersonalDataLabels, count: usize) {
        *locked(&self.0).entry(labels).or_default() += u64::try_from(count).unwrap_or(u64::MAX);
    }

    pub(super) fn all(&self) -> Vec<(PersonalDataLabels, u64)> {
        locked(&self.0).iter().map(|(labels, count)| (*labels, *count)).collect()
    }
}
