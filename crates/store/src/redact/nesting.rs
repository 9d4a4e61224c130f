//! Where the objects and arrays of a JSON text end. Found once, so that nested ones are not read again for each level.

use super::{secrets::work, walk::string_end};

/// The brackets of a JSON text that are not in its strings, each with its position.
pub(super) fn brackets(json: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        loop {
            let (at, byte) = (next, *json.as_bytes().get(next)?);
            next = if byte == b'"' { string_end(json, at) } else { at + 1 };
            if matches!(byte, b'{' | b'[' | b'}' | b']') {
                return Some((at, byte));
            }
        }
    })
}

/// Starts and ends of all objects and arrays, sorted by start.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<(usize, usize)>);

impl Ends {
    /// In a truncated text, the open containers end with it.
    pub(super) fn of(json: &str) -> Self {
        let mut ends = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        work::count(json.len());
        for (at, bracket) in brackets(json) {
            if matches!(bracket, b'{' | b'[') {
                open.push(ends.len());
                ends.push((at, json.len()));
            } else if let Some((_, end)) = open.pop().and_then(|index| ends.get_mut(index)) {
                *end = at + 1;
            }
        }
        Self(ends)
    }

    /// The end of the object or array that starts at `start`.
    pub(super) fn of_container(&self, start: usize) -> Option<usize> {
        let index = self.0.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        self.0.get(index).map(|(_, end)| *end)
    }
}
