//! Keys of requests that ran, and whose answers had to make room for others.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::time::{Duration, Instant};

/// How many keys are remembered, at about 50 bytes each.
const MOST: usize = 200_000;

/// Remembers for a while that a key was used, and not for what.
#[derive(Debug, Default)]
pub(super) struct SpentKeys {
    hasher: RandomState,
    /// When each was given up, by its hash: nobody outside can choose two keys of one hash.
    since: HashMap<u64, Instant>,
    /// The same, the oldest first.
    order: VecDeque<(u64, Instant)>,
}

impl SpentKeys {
    /// Remembers a key from now on. The oldest one is forgotten where there are too many.
    pub(super) fn add(&mut self, key: &impl Hash, now: Instant) {
        if self.order.len() >= MOST {
            self.forget_oldest();
        }
        let hash = self.hasher.hash_one(key);
        self.since.insert(hash, now);
        self.order.push_back((hash, now));
    }

    /// Whether a key was given up less than `kept_for` ago.
    pub(super) fn contains(&mut self, key: &impl Hash, kept_for: Duration, now: Instant) -> bool {
        while self.order.front().is_some_and(|(_, since)| now.saturating_duration_since(*since) >= kept_for) {
            self.forget_oldest();
        }
        if self.order.is_empty() && self.order.capacity() > 0 {
            // What a burst took is given back.
            (self.since, self.order) = (HashMap::new(), VecDeque::new());
        }
        !self.since.is_empty() && self.since.contains_key(&self.hasher.hash_one(key))
    }

    fn forget_oldest(&mut self) {
        let Some((hash, since)) = self.order.pop_front() else { return };
        // A key that was used once more after its time is in the order twice.
        if self.since.get(&hash) == Some(&since) {
            self.since.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn keys_are_remembered_for_a_while() {
        let (mut spent, start) = (SpentKeys::default(), Instant::now());
        spent.add(&"a", start);
        spent.add(&"b", start + MINUTE / 2);
        assert!(spent.contains(&"a", MINUTE, start) && !spent.contains(&"c", MINUTE, start));
        assert!(!spent.contains(&"a", MINUTE, start + MINUTE));
        assert!(spent.contains(&"b", MINUTE, start + MINUTE));
        assert!(!spent.contains(&"b", MINUTE, start + 2 * MINUTE));
        assert_eq!((spent.since.capacity(), spent.order.capacity()), (0, 0));
    }

    #[test]
    fn a_key_that_is_given_up_again_is_remembered_from_then_on() {
        let (mut spent, start) = (SpentKeys::default(), Instant::now());
        spent.add(&"a", start);
        spent.add(&"a", start + MINUTE / 2);
        assert!(spent.contains(&"a", MINUTE, start + MINUTE));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let (mut spent, now) = (SpentKeys::default(), Instant::now());
        for key in 0..=MOST {
            spent.add(&key, now);
        }
        assert_eq!((spent.since.len(), spent.order.len()), (MOST, MOST));
        assert!(!spent.contains(&0_usize, MINUTE, now) && spent.contains(&1_usize, MINUTE, now));
    }
}
