//! What the log says about lists that are rendered.
//!
//! Lists are kept, so that a line stands for a list and not for a request. Tools that a dialect cannot have are logged once for
//! as long as the gateway runs, however many lists they are missing from. Tools that are in no list are logged when their
//! server lists them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Mutex;

use gateway_upstream::{Catalogue, LeftOut, LeftOutReason};

use super::{Rendered, Room};
use crate::lock::locked;

/// Most tools that are remembered as logged; after that, all are logged once more.
const REMEMBERED: usize = 16_384;

/// What was logged already.
#[derive(Debug, Default)]
pub(super) struct ListLog(Mutex<HashSet<u64>>);

impl ListLog {
    /// A list that was rendered.
    pub(super) fn rendered(&self, rendered: &Rendered) {
        let Some(dialect) = &rendered.dialect else { return };
        let (profile, label) = (dialect.name.as_str(), dialect.label.as_str());
        let (count, quarantined) = (rendered.wire_names().count(), rendered.quarantined.len());
        let servers = rendered.servers().join(",");
        // The same list with its report is kept beside the one without.
        if self.is_new(&(rendered.catalogue.version(), profile, &rendered.etag)) {
            tracing::info!(
                count,
                servers,
                profile,
                withheld = quarantined,
                "Converted {count} tools to {label} format."
            );
        }
        let Rendered { omitted, not_strict, .. } = *rendered;
        if omitted > 0 && self.is_new(&("omitted", profile, &rendered.etag)) {
            let Room { tools, tokens } = rendered.room;
            let reached = if rendered.finder.is_some() { "only through search" } else { "not at all" };
            tracing::warn!(
                omitted,
                profile,
                limit = tools,
                tokens,
                "The list has no room for {omitted} tools, which models reach {reached}."
            );
        }
        if not_strict > 0 && self.is_new(&("not strict", profile, &rendered.etag)) {
            let message = "tools are not strict: one request does not take more.";
            tracing::warn!(not_strict, profile, "{not_strict} {message}");
        }
        for (index, reason) in &rendered.quarantined {
            let Some(tool) = rendered.catalogue.tools().get(*index) else { continue };
            self.withheld(profile, (tool.server.as_str(), tool.name.as_str()), reason);
        }
    }

    /// A tool that a dialect cannot have.
    pub(super) fn withheld(&self, profile: &str, (server, name): (&str, &str), reason: &str) {
        if self.is_new(&(profile, server, name, reason)) {
            tracing::warn!(tool = name, server, profile, reason, "Tool withheld.");
        }
    }

    fn is_new(&self, what: &impl Hash) -> bool {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let mut logged = locked(&self.0);
        if logged.len() >= REMEMBERED {
            logged.clear();
        }
        logged.insert(hasher.finish())
    }
}

/// The tools that are in no list although nobody said so in the configuration.
pub(super) fn unwanted(catalogue: &Catalogue) -> impl Iterator<Item = &LeftOut> {
    catalogue
        .left_out()
        .iter()
        .filter(|left| !matches!(left.reason, LeftOutReason::NotAllowed | LeftOutReason::Denied))
}
