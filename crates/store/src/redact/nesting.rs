//! Where the objects and arrays of a JSON text end. Found once, so that nested ones are not read again for each level.

use super::{secrets::work, walk::string_end};

/// Starts and ends of all objects and arrays, sorted by start.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<(usize, usize)>);

impl Ends {
    /// In a truncated text, the open containers end with it.
    pub(super) fn of(json: &str) -> Self {
        let mut ends = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        work::count(json.len());
        while let Some(byte) = json.as_bytes().get(at) {
            match byte {
                b'"' => {
                    at = string_end(json, at);
                    continue;
                }
                b'{' | b'[' => {
                    open.push(ends.len());
                    ends.push((at, json.len()));
                }
                b'}' | b']' => {
                    if let Some((_, end)) = open.pop().and_then(|index| ends.get_mut(index)) {
                        *end = at + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Self(ends)
    }

    /// The end of the object or array that starts at `start`.
    pub(super) fn of_container(&self, start: usize) -> Option<usize> {
        let index = self.0.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        self.0.get(index).map(|(_, end)| *end)
    }
}
