//! A map with a bound that evicts what was not used for longest.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// A map that holds at most so many entries and so many bytes. Each entry says how many bytes it takes.
///
/// Looking something up costs one access to the map. Evicting sorts all entries, and frees an eighth of the room at once, so
/// that it is rare.
#[derive(Debug)]
pub struct LeastRecentlyUsed<K, V, S = RandomState> {
    entries: HashMap<K, Entry<V>, S>,
    most_entries: usize,
    most_bytes: usize,
    bytes: usize,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: Clone + Eq + Hash, V, S: BuildHasher + Default> LeastRecentlyUsed<K, V, S> {
    /// An empty one with these bounds.
    pub fn new(most_entries: usize, most_bytes: usize) -> Self {
        Self { entries: HashMap::default(), most_entries, most_bytes, bytes: 0, clock: 0 }
    }

    /// The value under a key, which counts as used now.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(&mut entry.value)
    }

    /// Puts a value under a key, instead of the one that was there, and evicts others for it. What is too large is not kept.
    pub fn insert(&mut self, key: K, value: V, bytes: usize) {
        self.remove(&key);
        if bytes > self.most_bytes {
            return;
        }
        self.make_room(bytes, |_| true);
        self.clock += 1;
        self.bytes += bytes;
        self.entries.insert(key, Entry { value, bytes, used: self.clock });
    }

    /// Says anew how many bytes an entry takes, and evicts others for it, or the entry itself if it is too large. It
    /// counts as used now. Without such an entry, nothing happens.
    pub fn resize<Q: Eq + Hash + ?Sized>(&mut self, key: &Q, bytes: usize)
    where
        K: Borrow<Q>,
    {
        if let Some((key, entry)) = self.entries.remove_entry(key) {
            self.bytes -= entry.bytes;
            self.insert(key, entry.value, bytes);
        }
    }

    /// Takes an entry out.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// Keeps the entries for which `is_kept` holds.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&K, &V) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let keep = is_kept(key, &entry.value);
            if !keep {
                *bytes -= entry.bytes;
            }
            keep
        });
    }

    /// Whether one more entry of so many bytes fits.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.entries.len() < self.most_entries && self.bytes.saturating_add(bytes) <= self.most_bytes
    }

    /// Evicts entries for which `may_go` holds until one of so many bytes fits, and gives them.
    pub fn make_room(&mut self, bytes: usize, may_go: impl Fn(&V) -> bool) -> Vec<(K, V)> {
        let mut evicted = Vec::new();
        if self.has_room(bytes) {
            return evicted;
        }
        let candidates = self.entries.iter().filter(|(_, entry)| may_go(&entry.value));
        let mut by_use: Vec<(u64, K)> = candidates.map(|(key, entry)| (entry.used, key.clone())).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_use {
            let has_few = self.entries.len() < self.most_entries.div_ceil(8) * 7;
            if has_few && self.has_room(bytes.saturating_add(self.most_bytes / 8)) {
                break;
            }
            evicted.extend(self.remove(&key).map(|value| (key, value)));
        }
        evicted
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes they count.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(map: &LeastRecentlyUsed<u32, ()>) -> Vec<u32> {
        let mut keys: Vec<u32> = map.entries.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut map: LeastRecentlyUsed<_, _> = LeastRecentlyUsed::new(4, usize::MAX);
        for key in 0..4 {
            map.insert(key, (), 1);
        }
        assert!(map.get(&0).is_some());
        map.insert(4, (), 1);
        assert_eq!((keys(&map), map.bytes()), (vec![0, 2, 3, 4], 4));
    }

    #[test]
    fn bytes_are_bounded_whatever_happens() {
        let mut map: LeastRecentlyUsed<_, _> = LeastRecentlyUsed::new(100, 80);
        for key in 0..100 {
            map.insert(key, (), 10);
            assert!(map.bytes() <= 80, "{}", map.bytes());
        }
        assert_eq!(keys(&map).last(), Some(&99));
        map.resize(&99, 75);
        assert_eq!((keys(&map), map.bytes()), (vec![99], 75));
        map.resize(&1, 75);
        map.insert(7, (), 81);
        assert_eq!((keys(&map), map.bytes()), (vec![99], 75));
        map.insert(99, (), 5);
        assert_eq!(map.bytes(), 5);
        map.retain(|key, ()| *key != 99);
        assert!(map.is_empty());
        assert_eq!((map.len(), map.bytes()), (0, 0));
    }

    #[test]
    fn what_may_not_go_stays() {
        let mut map: LeastRecentlyUsed<_, _> = LeastRecentlyUsed::new(2, usize::MAX);
        map.insert("running", 1, 0);
        map.insert("done", 2, 0);
        map.make_room(0, |value| *value == 2);
        assert_eq!((map.get("running").copied(), map.get("done").copied()), (Some(1), None));
    }
}
