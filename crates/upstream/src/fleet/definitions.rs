//! Definitions that are not what they were: which are reported, which are unaccepted, and what is remembered.

use std::collections::{BTreeMap, HashMap, HashSet};

use gateway_config::OnDefinitionChange;
use tracing::warn;

use super::health::DefinitionNotice;
use super::memory::{OfUpstream, Unaccepted};
use super::tool_key::tool_key;
use super::upstream::Upstream;
use super::{FleetEvent, Shared};
use crate::catalogue::{DefinitionChange, DefinitionChangeKind, ListedTool, ToolListing, changed_parts};

/// Fingerprints that are remembered of one upstream, of tools that are gone too, and bytes of the keys of these tools. A
/// server that goes on inventing names grows it no further.
const REMEMBERED: usize = 50_000;
const REMEMBERED_BYTES: usize = 4 << 20;

/// Notices that an event has. Who reads events slowly keeps many of them.
const EVENT_NOTICES: usize = 100;

/// Bytes of all unaccepted definitions of one listing that are kept for review.
const REVIEWED_BYTES: usize = 1 << 20;

/// Changes that one line of the log describes, and characters of each.
const LOGGED: usize = 3;
const LOGGED_CHARACTERS: usize = 200;

impl Shared {
    /// Compares the definitions of a listing with what was known of them. New tools are taken as they are; changed ones are
    /// reported, and unaccepted where that is configured.
    pub(super) async fn compare_definitions(&self, upstream: &Upstream, listing: &ToolListing) {
        let (spec, memory) = (&upstream.spec, &self.memory);
        // Somebody may have accepted it while nobody looked.
        memory.reload().await;
        let now = current(listing);
        let found = memory.change(spec, |known| compare(known, &now, spec.tools.on_definition_change));
        let mut fresh = replace_notices(upstream, found);
        if !fresh.is_empty() {
            log(upstream, &fresh);
            let more = fresh.len().saturating_sub(EVENT_NOTICES);
            fresh.truncate(EVENT_NOTICES);
            self.notify(FleetEvent::DefinitionsChanged { upstream: spec.id.clone(), notices: fresh, more });
        }
    }
}

/// A tool as it is listed now.
struct Current<'a> {
    fingerprint: String,
    tool: &'a ListedTool,
}

/// The tools of a listing by their keys.
fn current(listing: &ToolListing) -> BTreeMap<String, Current<'_>> {
    let tools = listing.tools.iter();
    tools
        .map(|tool| {
            let fingerprint = tool.fingerprint.to_string();
            (tool_key(&tool.name).into_owned(), Current { fingerprint, tool })
        })
        .collect()
}

/// Compares a listing with what is known, which becomes what is remembered from now on. Gives the definitions that are
/// others than they were, and whether anything is remembered otherwise.
fn compare(
    known: &mut OfUpstream,
    now: &BTreeMap<String, Current<'_>>,
    policy: OnDefinitionChange,
) -> (Vec<DefinitionNotice>, bool) {
    let blocked = policy == OnDefinitionChange::Block;
    let was_unverified = known.unverified;
    // No list ends it where changes are blocked: who lists few tools now may list others later. Where changes are only
    // reported, a list with tools becomes what is remembered.
    known.unverified &= blocked || now.is_empty();
    let (mut found, mut unaccepted) = (Vec::new(), BTreeMap::new());
    let (mut room, mut is_changed) = (REVIEWED_BYTES, false);
    for (key, tool) in now {
        let kind = match known.fingerprints.get(key) {
            Some(before) if *before == tool.fingerprint => continue,
            Some(before) => {
                Some(DefinitionChangeKind::Changed { parts: changed_parts(before, &tool.fingerprint) })
            }
            None => known.unverified.then_some(DefinitionChangeKind::Unverified),
        };
        if let Some(kind) = kind {
            if blocked {
                unaccepted.insert(key.clone(), waiting(key, &kind, tool, &mut room));
            }
            let change = DefinitionChange { tool: tool.tool.name.clone(), kind };
            found.push(DefinitionNotice { change, blocked, fingerprint: tool.fingerprint.clone() });
        }
        // A blocked tool stays blocked over restarts, until somebody accepts its definition.
        if !unaccepted.contains_key(key) {
            known.fingerprints.insert(key.clone(), tool.fingerprint.clone());
            is_changed = true;
        }
    }
    let bytes: usize = known.fingerprints.keys().map(String::len).sum();
    if known.fingerprints.len() > REMEMBERED || bytes > REMEMBERED_BYTES {
        let before = known.fingerprints.len();
        known.fingerprints.retain(|tool, _| now.contains_key(tool));
        // What was forgotten may come back as another tool of the same name, so new tools need somebody to accept them.
        let is_forgotten = known.fingerprints.len() < before;
        if blocked && is_forgotten {
            known.lose();
        }
        is_changed |= is_forgotten;
    }
    is_changed |= known.unaccepted != unaccepted || known.unverified != was_unverified;
    known.unaccepted = unaccepted;
    (found, is_changed)
}

/// What is kept of an unaccepted definition for those who review it.
fn waiting(key: &str, kind: &DefinitionChangeKind, now: &Current<'_>, room: &mut usize) -> Unaccepted {
    let change = DefinitionChange { tool: key.to_owned(), kind: kind.clone() };
    let definition = Some(&now.tool.definition).filter(|text| text.len() <= *room);
    let unaccepted = Unaccepted::new(&now.fingerprint, change.to_string(), definition);
    *room -= unaccepted.definition.as_ref().map_or(0, gateway_protocol::RawJson::len);
    unaccepted
}

/// Makes these the notices of an upstream, beside those that only report, and gives those that are new.
fn replace_notices(upstream: &Upstream, found: Vec<DefinitionNotice>) -> Vec<DefinitionNotice> {
    let mut notices = upstream.facts().notices.clone();
    let before: HashMap<&str, &DefinitionNotice> =
        notices.iter().map(|notice| (notice.change.tool.as_str(), notice)).collect();
    let is_fresh = |notice: &&DefinitionNotice| before.get(notice.change.tool.as_str()) != Some(notice);
    let fresh: Vec<DefinitionNotice> = found.iter().filter(is_fresh).cloned().collect();
    let tools: HashSet<&str> = found.iter().map(|notice| notice.change.tool.as_str()).collect();
    // What was blocked and is as it was again, or gone, blocks nothing any more.
    notices.retain(|notice| !notice.blocked && !tools.contains(notice.change.tool.as_str()));
    let names = notices.iter().chain(&found).map(|notice| notice.change.tool.len());
    if notices.len() + found.len() > REMEMBERED || names.sum::<usize>() > REMEMBERED_BYTES {
        notices.clear();
    }
    notices.extend(found);
    upstream.facts().notices = notices;
    fresh
}

/// One line, however many definitions changed.
fn log(upstream: &Upstream, fresh: &[DefinitionNotice]) {
    let change = first_few(fresh.iter().map(|notice| notice.change.to_string()));
    let blocked = fresh.iter().any(|notice| notice.blocked);
    let fingerprint = match fresh {
        [one] => Some(one.shown_fingerprint().to_owned()),
        _ => upstream.health().changes_fingerprint(),
    };
    let changed = fresh.len();
    warn!(upstream = %upstream.spec.id, changed, change, blocked, fingerprint, "Tool definitions changed.");
}

/// The beginning of a long list, and how much is left out.
pub(super) fn first_few(mut texts: impl Iterator<Item = String>) -> String {
    let shorten = |text: String| match text.char_indices().nth(LOGGED_CHARACTERS) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    };
    let mut shown: Vec<String> = texts.by_ref().take(LOGGED).map(shorten).collect();
    match texts.count() {
        0 => {}
        more => shown.push(format!("and {more} more")),
    }
    shown.join("; ")
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
