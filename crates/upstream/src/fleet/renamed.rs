//! The log lines about tools whose names are reserved for another upstream.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use tracing::warn;

use crate::catalogue::Catalogue;

/// Most tools that are remembered as logged; after that, all are logged once more.
const REMEMBERED: usize = 16_384;

/// What was logged already: each version of a definition once.
#[derive(Debug, Default)]
pub(super) struct Logged(Mutex<HashSet<u64>>);

impl Logged {
    pub(super) fn log(&self, catalogue: &Catalogue) {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in catalogue.renamed() {
            let mut hasher = DefaultHasher::new();
            (&tool.server, &tool.name, &tool.reserved_for, &tool.fingerprint).hash(&mut hasher);
            if logged.len() >= REMEMBERED {
                logged.clear();
            }
            if logged.insert(hasher.finish()) {
                let owner = tool.reserved_for.as_ref().map(tracing::field::display);
                let given = tool.listed.then_some(tool.public_name.as_str());
                warn!(
                    upstream = %tool.server, tool = tool.name, reserved_for = owner, given,
                    "Tool has a name that is reserved for another upstream."
                );
            }
        }
    }
}
