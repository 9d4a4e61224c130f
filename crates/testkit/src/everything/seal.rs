//! State that a client holds and must return unchanged (MCP 2026-07-28, SEP-2322).

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// The secret of this process. A keyed hash is enough for a fixture.
#[derive(Debug, Default)]
pub(crate) struct Seal {
    key: RandomState,
    numbers: AtomicU64,
}

impl Seal {
    /// The state as an opaque text; never the same twice.
    pub(crate) fn close(&self, owner: &str, state: &Value) -> String {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let payload = json!([number, state]).to_string();
        format!("{:016x}.{payload}", self.key.hash_one((owner, &payload)))
    }

    /// The state, if this process sealed the text for the same owner.
    pub(crate) fn open(&self, owner: &str, text: &str) -> Option<Value> {
        let (mark, payload) = text.split_once('.')?;
        let mark = u64::from_str_radix(mark, 16).ok()?;
        if mark != self.key.hash_one((owner, payload)) {
            return None;
        }
        let (_, state): (u64, Value) = serde_json::from_str(payload).ok()?;
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_closed_for_the_owner_opens() {
        let seal = Seal::default();
        let (first, second) = (seal.close("a", &json!({"round": 1})), seal.close("a", &json!({"round": 1})));
        assert_ne!(first, second);
        assert_eq!(seal.open("a", &first), Some(json!({"round": 1})));
        assert_eq!(seal.open("b", &first), None);
        assert_eq!(seal.open("a", &format!("{first}-TAMPERED")), None);
        assert_eq!(Seal::default().open("a", &first), None);
        assert_eq!(seal.open("a", ""), None);
    }
}
