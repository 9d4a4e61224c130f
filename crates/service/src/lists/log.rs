//! What the log says about lists that are rendered.
//!
//! Lists are kept, so that a line stands for a list and not for a request. Tools that are not in a list are told once for
//! as long as the gateway runs, however many lists they are missing from.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Mutex, PoisonError};

use gateway_upstream::{Catalogue, LeftOut, LeftOutReason};

use super::Rendered;

/// Most tools that are remembered as told; after that, all are told once more.
const REMEMBERED: usize = 16_384;

/// What was said already.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<HashSet<u64>>);

impl Told {
    /// A list in a provider's format.
    pub(crate) fn converted(&self, rendered: &Rendered) {
        let profile = rendered.dialect.as_ref().map_or("mcp", |dialect| dialect.name.as_str());
        let (count, withheld) = (rendered.wire_names().count(), rendered.withheld.len());
        let servers = rendered.servers().join(",");
        tracing::info!(count, servers, profile, withheld, "Converted {count} tools.");
        for (place, reason) in rendered.withheld.iter().filter(|_| rendered.finder.is_none()) {
            let Some(tool) = rendered.catalogue.tools().get(*place) else { continue };
            let (server, name) = (tool.server.as_str(), tool.name.as_str());
            if self.is_new(&(profile, server, name, reason)) {
                tracing::warn!(tool = name, server, profile, reason, "Tool withheld.");
            }
        }
        self.left_out(&rendered.catalogue);
    }

    /// The tools that are in no list.
    pub(crate) fn left_out(&self, catalogue: &Catalogue) {
        for left in unwanted(catalogue) {
            let (server, name, reason) =
                (left.server.as_str(), left.name.as_deref(), left.reason.to_string());
            if self.is_new(&(server, name, left.place, &reason)) {
                let tool = name.unwrap_or("(without a name)");
                tracing::warn!(tool, server, place = left.place, reason, "Tool left out.");
            }
        }
    }

    fn is_new(&self, what: &impl Hash) -> bool {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED {
            told.clear();
        }
        told.insert(hasher.finish())
    }
}

/// The tools that are in no list although nobody said so in the configuration.
pub(crate) fn unwanted(catalogue: &Catalogue) -> impl Iterator<Item = &LeftOut> {
    catalogue
        .left_out()
        .iter()
        .filter(|left| !matches!(left.reason, LeftOutReason::NotAllowed | LeftOutReason::Denied))
}
