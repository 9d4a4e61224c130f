//! Who answers for the calls in flight on one upstream.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::connection::Asker;

/// The owners of the calls in flight on one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Nothing is in flight: what the server says is of its own accord.
    Nothing,
    /// All calls are of one owner.
    Of(Arc<str>),
    /// Calls of several owners, or of callers who answer nothing.
    Several,
}

/// Everybody who answers for a call in flight.
#[derive(Debug, Default)]
pub(super) struct Askers {
    present: Mutex<Vec<(u64, Asker)>>,
    /// Calls of callers who answer nothing.
    silent: AtomicUsize,
}

impl Askers {
    /// Notes a call, until the guard is dropped.
    pub(super) fn enter(&self, asker: Option<&Asker>) -> Entered<'_> {
        let Some(asker) = asker else {
            self.silent.fetch_add(1, Ordering::AcqRel);
            return Entered { askers: self, place: None };
        };
        let mut present = self.lock();
        let place = present.last().map_or(0, |(place, _)| place + 1);
        present.push((place, asker.clone()));
        Entered { askers: self, place: Some(place) }
    }

    /// Who answers: the latest call's asker, where all calls in flight are of one owner.
    pub(super) fn only(&self) -> Option<Asker> {
        if self.silent.load(Ordering::Acquire) > 0 {
            return None;
        }
        let present = self.lock();
        let (_, last) = present.last()?;
        present.iter().all(|(_, asker)| asker.owner() == last.owner()).then(|| last.clone())
    }

    /// Whose calls are in flight.
    pub(super) fn in_flight(&self) -> InFlight {
        match self.only() {
            Some(asker) => InFlight::Of(Arc::clone(asker.owner())),
            None if self.silent.load(Ordering::Acquire) == 0 && self.lock().is_empty() => InFlight::Nothing,
            None => InFlight::Several,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Asker)>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in flight.
pub(super) struct Entered<'a> {
    askers: &'a Askers,
    place: Option<u64>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        match self.place {
            None => {
                self.askers.silent.fetch_sub(1, Ordering::AcqRel);
            }
            Some(place) => self.askers.lock().retain(|(present, _)| *present != place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_go_to_the_only_owner_and_to_nobody_else() {
        let askers = Askers::default();
        let asker = |owner: &str| Asker::new(owner.into()).0;
        let (one, other) = (asker("one"), asker("other"));
        assert_eq!(askers.in_flight(), InFlight::Nothing);
        let first = askers.enter(Some(&one));
        let second = askers.enter(Some(&one));
        assert_eq!(askers.in_flight(), InFlight::Of("one".into()));
        let third = askers.enter(Some(&other));
        assert!(askers.only().is_none());
        assert_eq!(askers.in_flight(), InFlight::Several);
        drop((first, second));
        assert_eq!(askers.only().map(|asker| asker.owner().to_string()).as_deref(), Some("other"));
        let silent = askers.enter(None);
        assert_eq!(askers.in_flight(), InFlight::Several);
        drop(third);
        assert_eq!(askers.in_flight(), InFlight::Several);
        drop(silent);
        assert_eq!(askers.in_flight(), InFlight::Nothing);
    }
}
