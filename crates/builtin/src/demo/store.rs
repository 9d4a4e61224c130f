//! Texts by key, with bounds.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How many keys are kept.
pub(super) const MOST_KEYS: usize = 1_000;
/// How many bytes all keys and values together may have.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A store that never grows beyond its bounds. It refuses what does not fit and forgets nothing on its own.
#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    values: BTreeMap<String, String>,
    bytes: usize,
}

impl Store {
    /// Sets a value, or says why it does not fit.
    pub(super) fn set(&self, key: &str, value: &str) -> Result<(), String> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = entries.values.get(key).map(|old| key.len() + old.len());
        let bytes = entries.bytes - before.unwrap_or(0) + key.len() + value.len();
        if before.is_none() && entries.values.len() >= MOST_KEYS {
            return Err(format!("the store is full: it holds {MOST_KEYS} keys; reuse one of them"));
        }
        if bytes > MOST_BYTES {
            return Err(format!(
                "the store is full: it holds at most {MOST_BYTES} bytes; store a shorter value"
            ));
        }
        entries.values.insert(key.to_owned(), value.to_owned());
        entries.bytes = bytes;
        Ok(())
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values.get(key).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_keys_is_bounded_but_old_keys_stay_writable() {
        let store = Store::default();
        for number in 0..MOST_KEYS {
            store.set(&number.to_string(), "x").unwrap();
        }
        assert!(store.set("one more", "x").unwrap_err().contains("1000 keys"));
        store.set("0", "y").unwrap();
        assert_eq!(store.get("0").as_deref(), Some("y"));
    }

    #[test]
    fn the_bytes_are_bounded_and_freed_by_replacing() {
        let store = Store::default();
        let half = "x".repeat(MOST_BYTES / 2);
        store.set("a", &half).unwrap();
        assert!(store.set("b", &half).unwrap_err().contains("1048576 bytes"));
        assert_eq!(store.get("b"), None);
        store.set("a", "small").unwrap();
        store.set("b", &half).unwrap();
    }
}
