//! Ids for calls that came without one.

use std::sync::atomic::{AtomicU64, Ordering};

use gateway_dialects::Dialect;
use gateway_dialects::results::numbered_id;

/// Counts the ids of one gateway, from a random number on, so that neither two requests nor two runs share one.
#[derive(Debug)]
pub(crate) struct CallIds(AtomicU64);

impl CallIds {
    /// From a random number on.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; 8];
        // Without random numbers the ids of one run still differ.
        let _ = getrandom::fill(&mut bytes);
        // Half of all numbers, so that counting never wraps.
        Self(AtomicU64::new(u64::from_le_bytes(bytes) >> 1))
    }

    /// An id that `dialect` takes, and that no other call has.
    pub(crate) fn next(&self, dialect: &Dialect) -> String {
        numbered_id(dialect, self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use gateway_dialects::Dialects;

    use super::*;

    #[test]
    fn runs_and_requests_have_ids_of_their_own() {
        let mistral = Dialects::builtin().get("mistral").unwrap();
        let (first, second) = (CallIds::random(), CallIds::random());
        let mut ids: Vec<String> =
            (0..100).flat_map(|_| [first.next(&mistral), second.next(&mistral)]).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 200);
    }
}
