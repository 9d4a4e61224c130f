//! How often a model's API was asked, and what came of it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of requests to one model. A request that is sent again counts again.
#[derive(Debug, Default)]
pub(crate) struct RequestFigures {
    answered: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
}

impl RequestFigures {
    /// Counts a request by the status of its answer; `None` if there was none.
    pub(super) fn count(&self, is_success: Option<bool>) {
        let counter = match is_success {
            Some(true) => &self.answered,
            Some(false) => &self.refused,
            None => &self.unanswered,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, by what came of the requests.
    pub(crate) fn by_outcome(&self) -> [(&'static str, u64); 3] {
        [
            ("answered", self.answered.load(Ordering::Relaxed)),
            ("refused", self.refused.load(Ordering::Relaxed)),
            ("unanswered", self.unanswered.load(Ordering::Relaxed)),
        ]
    }
}
