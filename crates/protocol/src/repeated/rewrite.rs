//! Rewriting a text so that every member occurs once.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::objects::{Members, Position, comma_before, each_object, is_short};
use super::{skip_space, string_end};
use crate::raw::RawJson;

/// A member that is repeated.
#[derive(Clone, Copy)]
pub(super) struct Edit<P> {
    /// The opening quote of its name.
    name: P,
    /// Where it ends.
    end: P,
    /// The name whose value it gets; its own if it is removed.
    by: P,
}

/// The text with every member once; some are repeated.
#[cold]
pub(super) fn rewritten(text: &[u8]) -> RawJson {
    let out =
        if is_short(text) { apply(text, &edits::<u32>(text)) } else { apply(text, &edits::<usize>(text)) };
    RawJson::trusted(out.into())
}

/// The edits that remove repeated members, in the order of the text.
pub(super) fn edits<P: Position>(text: &[u8]) -> Vec<Edit<P>> {
    let mut edits: Vec<Edit<P>> = Vec::new();
    each_object(text, |members: &mut Members<'_, P>| {
        note_edits(members, &mut edits);
        ControlFlow::<()>::Continue(())
    });
    edits.sort_unstable_by_key(|edit| edit.name);
    edits
}

/// Adds the edits that remove repeated members of an object.
fn note_edits<P: Position>(members: &mut Members<'_, P>, edits: &mut Vec<Edit<P>>) {
    members.sort_by_name();
    let first = edits.len();
    for equal in members.names.chunk_by(|one, other| members.compare(*one, *other) == Ordering::Equal) {
        let [kept, gone @ .., last] = equal else { continue };
        if edits.capacity() < edits.len() + equal.len() {
            // By less than doubling: this list may be as long as the text.
            edits.reserve_exact(equal.len().max(edits.len() / 4));
        }
        // Where they end is known when the names are in the order of the text again.
        edits.push(Edit { name: *kept, end: *kept, by: *last });
        edits.extend(gone.iter().chain([last]).map(|name| Edit { name: *name, end: *name, by: *name }));
    }
    if edits.len() == first {
        return;
    }
    members.sort_by_position();
    let new = edits.get_mut(first..).unwrap_or_default();
    new.sort_unstable_by_key(|edit| edit.name);
    for edit in new {
        edit.end = P::new(members.end_of(edit.name)).unwrap_or(edit.end);
    }
}

/// Writes the text with the edits.
fn apply<P: Position>(text: &[u8], edits: &[Edit<P>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    // Parts that are still to be written, the next one last. What an edit removes is skipped with all edits in it, and
    // what it inserts is in a part that another edit removes, so nothing is written twice.
    let mut parts = Vec::from([std::ops::Range { start: 0, end: text.len() }]);
    while let Some(part) = parts.pop() {
        let next = edits.partition_point(|edit| edit.name.at() < part.start);
        match edits.get(next).filter(|edit| edit.name.at() < part.end) {
            None => out.extend_from_slice(text.get(part).unwrap_or_default()),
            Some(edit) => {
                parts.push(edit.end.at()..part.end);
                let is_kept = edit.by != edit.name;
                let until =
                    if is_kept { value_of(text, edit.name.at()) } else { comma_before(text, edit.name.at()) };
                out.extend_from_slice(text.get(part.start..until).unwrap_or_default());
                if is_kept
                    && let Ok(by) = edits.binary_search_by_key(&edit.by, |other| other.name)
                    && let Some(by) = edits.get(by)
                {
                    parts.push(value_of(text, by.name.at())..by.end.at());
                }
            }
        }
    }
    out
}

/// Where the value of a name begins.
fn value_of(text: &[u8], quote: usize) -> usize {
    let end = string_end(text, quote + 1);
    skip_space(text, end + 1) + 1
}
