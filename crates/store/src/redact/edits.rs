//! Edits of a text: what is removed, and what replaces it.

use std::{borrow::Cow, cmp::Reverse, ops::Range};

use super::{QUOTED, REDACTED};

/// One part of a text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) by: Cow<'static, str>,
}

impl Edit {
    pub(super) const fn redacted(range: Range<usize>) -> Self {
        Self { range, by: Cow::Borrowed(REDACTED) }
    }
}

/// Edits of a part of a text as edits of the whole text, in which the part begins at `start`.
pub(super) fn shifted(edits: Vec<Edit>, start: usize) -> impl Iterator<Item = Edit> {
    edits.into_iter().map(move |Edit { range: Range { start: from, end }, by }| Edit {
        range: start + from..start + end,
        by,
    })
}

/// The edits in the order of the text. Overlapping ones are merged.
pub(super) fn merged(mut edits: Vec<Edit>) -> Vec<Edit> {
    // Of edits with the same start the longest is first, so that it absorbs the others.
    edits.sort_by_key(|edit| (edit.range.start, Reverse(edit.range.end)));
    edits.dedup_by(|next, kept| {
        let overlaps = next.range.start < kept.range.end || next.range.start == kept.range.start;
        if next.range.end > kept.range.end && overlaps {
            kept.range.end = next.range.end;
            kept.by = Cow::Borrowed(REDACTED);
        }
        overlaps
    });
    edits
}

/// The text with sorted edits that do not overlap; `None` if there are none. If an edit cannot be applied, the whole text
/// is replaced.
pub(super) fn applied(text: &str, edits: &[Edit]) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    Some(edited(text, edits).unwrap_or_else(|| QUOTED.to_owned()))
}

fn edited(text: &str, edits: &[Edit]) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        out.push_str(text.get(copied..edit.range.start)?);
        out.push_str(&edit.by);
        copied = edit.range.end;
    }
    out.push_str(text.get(copied..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_that_overlap_become_one() {
        let quoted = Edit { range: 2..8, by: Cow::Borrowed(QUOTED) };
        let edits = vec![Edit::redacted(4..5), quoted.clone(), Edit::redacted(9..10), Edit::redacted(8..9)];
        let expected = [quoted, Edit::redacted(8..9), Edit::redacted(9..10)];
        assert_eq!(merged(edits), expected);
        assert_eq!(
            applied("0123456789ab", &expected).as_deref(),
            Some("01\"[redacted]\"[redacted][redacted]ab")
        );
        assert_eq!(merged(vec![Edit::redacted(1..4), Edit::redacted(3..6)]), [Edit::redacted(1..6)]);
        assert_eq!(applied("abc", &[]), None);
        for wrong in
            [[Edit::redacted(1..2), Edit::redacted(0..1)], [Edit::redacted(0..1), Edit::redacted(1..9)]]
        {
            assert_eq!(applied("a\u{e9}bc", &wrong).as_deref(), Some(QUOTED), "{wrong:?}");
        }
    }
}
