//! Counters by labels that somebody else chooses: bounded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::histogram::Histogram;
use crate::failure::code;

/// What is beyond the bound.
pub(super) const OTHER: &str = "other";

/// Counters by one label.
#[derive(Debug)]
pub struct Labels<T> {
    limit: usize,
    known: RwLock<Vec<(Box<str>, Arc<T>)>>,
    other: Arc<T>,
}

/// Most providers that are distinguished.
const PROVIDERS: usize = 64;

/// Counters by provider.
impl<T: Default> Default for Labels<T> {
    fn default() -> Self {
        Self::new(PROVIDERS)
    }
}

impl<T: Default> Labels<T> {
    /// Counters for so many labels.
    fn new(limit: usize) -> Self {
        Self { limit, known: RwLock::default(), other: Arc::default() }
    }

    /// Gives `label` to `count`, with its index.
    pub fn with<R>(&self, label: &str, count: impl FnOnce(u16, &T) -> R) -> R {
        // There are few of them: comparing costs less than hashing.
        let find = |known: &[(Box<str>, Arc<T>)]| {
            let ((_, entry), index) = known.iter().zip(0..).find(|((one, _), _)| **one == *label)?;
            Some((index, Arc::clone(entry)))
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (mut found, is_full) = (find(&known), known.len() >= self.limit);
        drop(known);
        if found.is_none() && !is_full {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if find(&known).is_none() && known.len() < self.limit {
                known.push((label.into(), Arc::default()));
            }
            found = find(&known);
        }
        let (index, entry) = found.unwrap_or_else(|| (u16::MAX, Arc::clone(&self.other)));
        count(index, &entry)
    }

    /// All labels with their counters, those beyond the bound last.
    pub fn all(&self) -> Vec<(String, Arc<T>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(String, Arc<T>)> =
            known.iter().map(|(label, entry)| (label.to_string(), Arc::clone(entry))).collect();
        if known.len() >= self.limit {
            all.push((OTHER.to_owned(), Arc::clone(&self.other)));
        }
        all
    }

    /// The label at an index.
    pub fn name(&self, index: u16) -> String {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(usize::from(index)).map_or_else(|| OTHER.to_owned(), |(label, _)| label.to_string())
    }
}

/// Most pairs of server and tool that are distinguished.
const SERIES: usize = 500;

/// The outcomes that are distinguished: none, or the word for the failure.
pub const OUTCOMES: [&str; 19] = [
    "OK",
    code::TOOL_ERROR,
    code::VALIDATION_ERROR,
    code::TOOL_NOT_FOUND,
    code::SERVER_NOT_FOUND,
    code::RESOURCE_NOT_FOUND,
    code::UNKNOWN_PROVIDER,
    code::CONNECTION_ERROR,
    code::SERVER_ERROR,
    code::TIMEOUT,
    code::OVERLOADED,
    code::RESULT_DROPPED,
    code::TOOL_DENIED,
    code::APPROVAL_REQUIRED,
    code::FORBIDDEN,
    code::CANCELLED,
    code::INPUT_REQUIRED,
    code::INPUT_EXPIRED,
    code::UNKNOWN,
];

type ByTool = HashMap<Box<str>, Arc<CallCounters>>;

/// Counters of calls, by server and tool.
#[derive(Debug, Default)]
pub(super) struct CallSeries {
    by_server: RwLock<HashMap<Box<str>, ByTool>>,
    other: Arc<CallCounters>,
    count: AtomicUsize,
}

/// Counters of one tool.
#[derive(Debug, Default)]
pub struct CallCounters {
    /// How calls ended.
    pub outcomes: [AtomicU64; OUTCOMES.len()],
    /// How long they took.
    pub durations: Histogram,
}

impl CallCounters {
    fn observe(&self, outcome: Option<&str>, duration: Duration) {
        let word = outcome.unwrap_or("OK");
        let index = OUTCOMES.iter().position(|known| *known == word).unwrap_or(OUTCOMES.len() - 1);
        if let Some(count) = self.outcomes.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.durations.observe(duration);
    }
}

impl CallSeries {
    /// Counts a call.
    pub(super) fn observe(&self, server: &str, tool: &str, outcome: Option<&str>, duration: Duration) {
        {
            let known = self.by_server.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(counters) = known.get(server).and_then(|tools| tools.get(tool)) {
                return counters.observe(outcome, duration);
            }
        }
        if self.count.load(Ordering::Relaxed) >= SERIES {
            return self.other.observe(outcome, duration);
        }
        let mut known = self.by_server.write().unwrap_or_else(PoisonError::into_inner);
        let counters = known.entry(server.into()).or_default().entry(tool.into()).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            Arc::default()
        });
        counters.observe(outcome, duration);
    }

    /// All series, sorted by server and tool; those beyond the bound last.
    pub(super) fn all(&self) -> Vec<(String, String, Arc<CallCounters>)> {
        let known = self.by_server.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for (server, tools) in known.iter() {
            all.extend(
                tools
                    .iter()
                    .map(|(tool, counters)| (server.to_string(), tool.to_string(), Arc::clone(counters))),
            );
        }
        drop(known);
        all.sort_by(|left, right| (&left.0, &left.1).cmp(&(&right.0, &right.1)));
        if self.count.load(Ordering::Relaxed) >= SERIES {
            all.push((OTHER.to_owned(), OTHER.to_owned(), Arc::clone(&self.other)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn labels_are_bounded() {
        let labels: Labels<AtomicU64> = Labels::new(2);
        let indexes: Vec<u16> = ["a", "b", "a", "c", "d"]
            .iter()
            .map(|label| {
                labels.with(label, |index, count| {
                    count.fetch_add(1, Ordering::Relaxed);
                    index
                })
            })
            .collect();
        assert_eq!(indexes, [0, 1, 0, u16::MAX, u16::MAX]);
        let all: Vec<(String, u64)> =
            labels.all().into_iter().map(|(label, count)| (label, count.load(Ordering::Relaxed))).collect();
        assert_eq!(all, [("a".to_owned(), 2), ("b".to_owned(), 1), ("other".to_owned(), 2)]);
        assert_eq!((labels.name(1).as_str(), labels.name(9).as_str()), ("b", "other"));
    }

    #[test]
    fn every_failure_has_its_own_outcome() {
        let refused = |code| Failure::Refused { code, message: String::new(), approval: None };
        let text = String::new;
        for failure in [
            Failure::Request(text()),
            Failure::UnknownGroup { message: text(), known: Vec::new() },
            Failure::UnknownProvider { message: text(), known: Vec::new() },
            Failure::UnknownServer(text()),
            Failure::Arguments(text()),
            Failure::UnknownTool(text()),
            Failure::Ambiguous { message: text(), candidates: Vec::new() },
            refused(code::TOOL_DENIED),
            refused(code::APPROVAL_REQUIRED),
            Failure::NoRoom(text()),
            Failure::TooMany(text()),
            Failure::NeedsInput(text()),
            Failure::InputExpired(text()),
            Failure::Foreign(text()),
            Failure::BadQuestion(text()),
        ] {
            let word = failure.code();
            let counters = CallCounters::default();
            counters.observe(Some(word), Duration::ZERO);
            let counted = OUTCOMES.iter().zip(&counters.outcomes);
            let counted: Vec<&str> = counted
                .filter(|(_, count)| count.load(Ordering::Relaxed) == 1)
                .map(|(outcome, _)| *outcome)
                .collect();
            assert_eq!(counted, [word]);
        }
    }

    #[test]
    fn series_are_bounded() {
        let series = CallSeries::default();
        for number in 0..SERIES + 50 {
            series.observe("s", &number.to_string(), None, Duration::ZERO);
        }
        let all = series.all();
        assert_eq!(all.len(), SERIES + 1);
        let other = all.last().map(|(_, _, counters)| counters.outcomes[0].load(Ordering::Relaxed));
        assert_eq!(other, Some(50));
    }
}
