//! Call ids, given or made up.

use std::collections::BTreeSet;

/// The id of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallId {
    /// The provider's own.
    Given(String),
    /// Ours, because the provider gave none.
    Generated(String),
}

impl CallId {
    /// The id, whoever made it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Given(id) | Self::Generated(id) => id,
        }
    }

    /// The provider's own id.
    pub fn given(&self) -> Option<&str> {
        match self {
            Self::Given(id) => Some(id),
            Self::Generated(_) => None,
        }
    }
}

/// Makes ids that differ from each other and from those already seen. Counts, so that the same reply always
/// gets the same ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    last: u64,
    seen: BTreeSet<String>,
}

impl Ids {
    pub(crate) fn after(last: u64) -> Self {
        Self { last, seen: BTreeSet::new() }
    }

    /// Keeps a given id from being made up later.
    pub(crate) fn note(&mut self, id: &str) {
        self.seen.insert(id.to_owned());
    }

    pub(crate) fn generate(&mut self) -> CallId {
        loop {
            self.last = self.last.wrapping_add(1);
            let id = format!("generated_{}", self.last);
            if self.seen.insert(id.clone()) {
                return CallId::Generated(id);
            }
        }
    }
}
