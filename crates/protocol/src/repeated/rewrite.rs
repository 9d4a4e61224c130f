//! Rewriting a text so that every member stands once.

use std::ops::{ControlFlow, Range};

use super::{Name, Object, Scan, last_of_each, scan};
use crate::raw::RawJson;

/// A part of the text, and the part that takes its place.
struct Edit {
    from: Range<usize>,
    to: Range<usize>,
}

/// The text with every member once; some are repeated.
#[cold]
pub(super) fn rewritten(text: &[u8]) -> RawJson {
    let mut edits: Vec<Edit> = Vec::new();
    let mut room = 512;
    loop {
        let names = &mut vec![Name::default(); room];
        let scanned = scan(text, names, &mut |object| {
            note_edits(object, &mut edits);
            ControlFlow::Continue(())
        });
        match scanned {
            Scan::Over | Scan::Found(()) => break,
            Scan::Full => {
                room *= 8;
                edits.clear();
            }
        }
    }
    edits.sort_unstable_by_key(|edit| edit.from.start);
    let mut out = Vec::with_capacity(text.len());
    // Parts that are still to be written, the next one last. What an edit takes away is passed over with all edits in it, and
    // what it puts there stands in a part that another edit takes away, so nothing is written twice.
    let mut parts = Vec::from([std::ops::Range { start: 0, end: text.len() }]);
    while let Some(part) = parts.pop() {
        let next = edits.partition_point(|edit| edit.from.start < part.start);
        match edits.get(next).filter(|edit| edit.from.start < part.end) {
            None => out.extend_from_slice(text.get(part).unwrap_or_default()),
            Some(edit) => {
                out.extend_from_slice(text.get(part.start..edit.from.start).unwrap_or_default());
                parts.push(edit.from.end..part.end);
                parts.push(edit.to.clone());
            }
        }
    }
    RawJson::trusted(out.into())
}

/// Adds what makes every member of an object stand once.
fn note_edits(object: &Object<'_>, edits: &mut Vec<Edit>) {
    let Some(last) = last_of_each(&object.unescaped(), |name| name) else { return };
    for (index, last) in last.into_iter().enumerate() {
        match last {
            Some(last) if last == index => {}
            Some(last) => edits.push(Edit { from: object.value(index), to: object.value(last) }),
            None => {
                let gone = object.member(index);
                match edits.last_mut() {
                    // A long row of repeats is one edit.
                    Some(edit) if edit.to.is_empty() && edit.from.end == gone.start => {
                        edit.from.end = gone.end;
                    }
                    _ => edits.push(Edit { from: gone, to: 0..0 }),
                }
            }
        }
    }
}
