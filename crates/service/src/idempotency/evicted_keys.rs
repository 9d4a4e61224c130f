//! Keys of requests that ran, and whose answers had to make room for others.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::time::{Duration, Instant};

/// How many keys are remembered, at about 60 bytes each.
const MOST: usize = 200_000;

/// Remembers for a while that keys were used.
#[derive(Debug, Default)]
pub(super) struct EvictedKeys {
    hasher: RandomState,
    /// By the hash of the key: nobody outside can choose two keys of one hash.
    used: HashMap<u64, Evicted>,
    /// The hashes, in the order in which their answers went away.
    order: VecDeque<u64>,
}

#[derive(Debug)]
struct Evicted {
    /// The hash of the request.
    request: u64,
    /// When it ran.
    since: Instant,
    /// How often it is in the order.
    places: u32,
}

/// What a key was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The same request.
    Same,
    Other,
}

impl EvictedKeys {
    /// Remembers a key and its request, which ran at `since`. The key that is remembered for longest is forgotten where there are too many.
    pub(super) fn add(&mut self, key: &impl Hash, request: &impl Hash, since: Instant) {
        if self.order.len() >= MOST {
            self.forget_oldest();
        }
        let (hash, request) = (self.hasher.hash_one(key), self.hasher.hash_one(request));
        let places = self.used.get(&hash).map_or(1, |before| before.places + 1);
        self.used.insert(hash, Evicted { request, since, places });
        self.order.push_back(hash);
    }

    /// What a key was used for less than `kept_for` ago.
    pub(super) fn use_of(
        &mut self,
        key: &impl Hash,
        request: &impl Hash,
        kept_for: Duration,
        now: Instant,
    ) -> Option<Use> {
        let is_old = |evicted: &Evicted| now.saturating_duration_since(evicted.since) >= kept_for;
        while self.order.front().is_some_and(|hash| self.used.get(hash).is_none_or(is_old)) {
            self.forget_oldest();
        }
        if self.order.is_empty() {
            if self.order.capacity() > 0 {
                // What a burst took is given back.
                (self.used, self.order) = (HashMap::new(), VecDeque::new());
            }
            return None;
        }
        let evicted = self.used.get(&self.hasher.hash_one(key)).filter(|evicted| !is_old(evicted))?;
        Some(if evicted.request == self.hasher.hash_one(request) { Use::Same } else { Use::Other })
    }

    fn forget_oldest(&mut self) {
        let Some(hash) = self.order.pop_front() else { return };
        // A key that was used once more after its time is in the order twice.
        match self.used.get_mut(&hash) {
            Some(evicted) if evicted.places > 1 => evicted.places -= 1,
            _ => {
                self.used.remove(&hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[track_caller]
    fn check(evicted: &mut EvictedKeys, key: &str, now: Instant, expected: Option<Use>) {
        assert_eq!(evicted.use_of(&key, &"request", MINUTE, now), expected);
    }

    #[test]
    fn keys_are_remembered_for_a_while() {
        let (mut evicted, start) = (EvictedKeys::default(), Instant::now());
        evicted.add(&"a", &"request", start);
        evicted.add(&"b", &"request", start + MINUTE / 2);
        check(&mut evicted, "a", start, Some(Use::Same));
        check(&mut evicted, "c", start, None);
        check(&mut evicted, "a", start + MINUTE, None);
        check(&mut evicted, "b", start + MINUTE, Some(Use::Same));
        check(&mut evicted, "b", start + 2 * MINUTE, None);
        assert_eq!((evicted.used.capacity(), evicted.order.capacity()), (0, 0));
    }

    #[test]
    fn keys_are_too_old_by_when_they_ran_and_not_by_when_their_answers_went_away() {
        let (mut evicted, start) = (EvictedKeys::default(), Instant::now());
        evicted.add(&"late", &"request", start + MINUTE / 2);
        evicted.add(&"early", &"request", start);
        check(&mut evicted, "early", start + MINUTE, None);
        check(&mut evicted, "late", start + MINUTE, Some(Use::Same));
    }

    #[test]
    fn another_request_with_the_key_is_told_apart() {
        let (mut evicted, now) = (EvictedKeys::default(), Instant::now());
        evicted.add(&"a", &"another request", now);
        check(&mut evicted, "a", now, Some(Use::Other));
    }

    #[test]
    fn a_key_that_is_evicted_again_is_remembered_from_then_on() {
        let (mut evicted, start) = (EvictedKeys::default(), Instant::now());
        evicted.add(&"a", &"request", start);
        evicted.add(&"a", &"request", start + MINUTE / 2);
        check(&mut evicted, "a", start + MINUTE, Some(Use::Same));
        check(&mut evicted, "a", start + 2 * MINUTE, None);
        assert!(evicted.used.is_empty() && evicted.order.is_empty());
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let (mut evicted, now) = (EvictedKeys::default(), Instant::now());
        for key in 0..=MOST {
            evicted.add(&key, &"request", now);
        }
        assert_eq!((evicted.used.len(), evicted.order.len()), (MOST, MOST));
        assert_eq!(evicted.use_of(&0_usize, &"request", MINUTE, now), None);
        assert_eq!(evicted.use_of(&1_usize, &"request", MINUTE, now), Some(Use::Same));
    }
}
