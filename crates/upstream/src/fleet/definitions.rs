//! Definitions that are not what they were: which are reported, which are withheld, and what is remembered.

use std::collections::{BTreeMap, HashMap, HashSet};

use gateway_protocol::RawJson;
use tracing::warn;

use super::health::DefinitionNotice;
use super::memory::{Known, Listed, Withheld};
use super::upstream::Upstream;
use super::{FleetEvent, Shared};
use crate::catalogue::{DefinitionChange, DefinitionChangeKind, changed_definitions, fingerprints_of};
use crate::spec::OnDefinitionChange;

/// Fingerprints that are remembered of one upstream, of tools that are gone too. A server that goes on inventing names
/// grows it no further.
const REMEMBERED: usize = 50_000;

/// Bytes of all withheld definitions of one listing that are kept for review.
const REVIEWED_BYTES: usize = 1 << 20;

/// Changes that one line of the log describes, and characters of each.
const LOGGED: usize = 3;
const LOGGED_CHARACTERS: usize = 200;

impl Shared {
    /// Compares the definitions of a listing with what was known of them. New tools are taken as they are; changed ones are
    /// reported, and withheld where that is configured.
    pub(super) async fn compare_definitions(&self, upstream: &Upstream, entries: &[RawJson]) {
        let (spec, memory) = (&upstream.spec, &self.memory);
        // Somebody may have accepted it while nobody looked.
        memory.reload().await;
        let now = fingerprints_of(spec, entries);
        let policy = spec.tools.on_definition_change;
        let Compared { listed, found } =
            compare(memory.known(spec), &now, policy, || by_name(entries, name_of));
        memory.set_listed(spec, listed);
        let fresh = replace_notices(upstream, found);
        if !fresh.is_empty() {
            log(upstream, &fresh);
            self.tell(FleetEvent::DefinitionsChanged { upstream: spec.id.clone(), notices: fresh });
        }
    }
}

/// What a comparison gives.
struct Compared {
    /// What is remembered from now on.
    listed: Listed,
    /// The definitions that are others than they were.
    found: Vec<DefinitionNotice>,
}

/// Compares a listing with what is known. `definitions` is only asked where some are withheld.
fn compare<'a>(
    known: Known,
    now: &BTreeMap<String, String>,
    policy: OnDefinitionChange,
    definitions: impl FnOnce() -> HashMap<String, &'a RawJson>,
) -> Compared {
    let blocked = policy == OnDefinitionChange::Block;
    // Only an acceptance ends it: an empty list proves nothing about the next one. Where changes are only reported, a list
    // with tools becomes what is remembered.
    let unverified = known.unverified && (blocked || now.is_empty());
    let Known { fingerprints: mut remembered, .. } = known;
    if remembered.is_empty() && !(unverified && blocked) {
        let listed = Listed { fingerprints: now.clone(), withheld: BTreeMap::new(), unverified };
        return Compared { listed, found: Vec::new() };
    }
    let mut found = Vec::new();
    for DefinitionChange { tool, kind } in changed_definitions(&remembered, now) {
        let kind = match kind {
            DefinitionChangeKind::Added if unverified => DefinitionChangeKind::Unverified,
            kind @ DefinitionChangeKind::Changed { .. } => kind,
            DefinitionChangeKind::Added
            | DefinitionChangeKind::Removed
            | DefinitionChangeKind::Unverified => continue,
        };
        let fingerprint = now.get(&tool).cloned().unwrap_or_default();
        found.push(DefinitionNotice { change: DefinitionChange { tool, kind }, blocked, fingerprint });
    }
    let names: HashSet<&str> =
        found.iter().filter(|notice| notice.blocked).map(|notice| notice.change.tool.as_str()).collect();
    // A blocked tool stays blocked over restarts, until somebody accepts its definition.
    let taken = now.iter().filter(|(tool, _)| !names.contains(tool.as_str()));
    remembered.extend(taken.map(|(tool, fingerprint)| (tool.clone(), fingerprint.clone())));
    let is_full = remembered.len() > REMEMBERED;
    if is_full {
        remembered.retain(|tool, _| now.contains_key(tool));
    }
    let withheld = if names.is_empty() { BTreeMap::new() } else { withheld(&found, &definitions()) };
    // What was forgotten may come back as another tool of the same name, so new tools need somebody to accept them.
    let unverified = unverified || (blocked && is_full);
    Compared { listed: Listed { fingerprints: remembered, withheld, unverified }, found }
}

/// What is kept of withheld definitions for those who review them.
fn withheld(
    found: &[DefinitionNotice],
    definitions: &HashMap<String, &RawJson>,
) -> BTreeMap<String, Withheld> {
    let mut room = REVIEWED_BYTES;
    let keep = |notice: &DefinitionNotice| {
        let tool = &notice.change.tool;
        let definition = definitions.get(tool).copied().filter(|text| text.as_str().len() <= room);
        let withheld = Withheld::new(&notice.fingerprint, notice.change.to_string(), definition);
        room -= withheld.definition.as_ref().map_or(0, |text| text.as_str().len());
        (tool.clone(), withheld)
    };
    found.iter().map(keep).collect()
}

/// The definitions of a listing by name; the first of each, as in the catalogue.
fn by_name(
    entries: &[RawJson],
    mut name_of: impl FnMut(&RawJson) -> Option<String>,
) -> HashMap<String, &RawJson> {
    let mut index = HashMap::with_capacity(entries.len());
    for entry in entries {
        if let Some(name) = name_of(entry) {
            index.entry(name).or_insert(entry);
        }
    }
    index
}

fn name_of(definition: &RawJson) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    definition.read::<Named>().ok().map(|named| named.name)
}

/// Makes these the notices of an upstream, beside those that only report, and gives those that are new.
fn replace_notices(upstream: &Upstream, found: Vec<DefinitionNotice>) -> Vec<DefinitionNotice> {
    let mut notices = upstream.notices();
    let before: HashMap<&str, &DefinitionNotice> =
        notices.iter().map(|notice| (notice.change.tool.as_str(), notice)).collect();
    let is_fresh = |notice: &&DefinitionNotice| before.get(notice.change.tool.as_str()) != Some(notice);
    let fresh: Vec<DefinitionNotice> = found.iter().filter(is_fresh).cloned().collect();
    let tools: HashSet<&str> = found.iter().map(|notice| notice.change.tool.as_str()).collect();
    // What was blocked and is as it was again, or gone, blocks nothing any more.
    notices.retain(|notice| !notice.blocked && !tools.contains(notice.change.tool.as_str()));
    if notices.len() + found.len() > REMEMBERED {
        notices.clear();
    }
    notices.extend(found);
    upstream.set_notices(notices);
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
