//! Social Security numbers of the United States.

use crate::number::{self, Group};
use crate::view::View;

/// Numbers that were printed in advertisements, and that nobody has.
const PUBLISHED: &[(u32, u32, u32)] = &[(78, 5, 1120), (219, 9, 9999)];

/// The end of the Social Security number that begins with these groups at `start`. `named` says whether words before it do.
pub(crate) fn end(
    view: &View<'_>,
    start: usize,
    groups: &[Group],
    named: impl Fn() -> bool,
) -> Option<usize> {
    if view.joined_before(start) || in_sequence(view, start) {
        return None;
    }
    let spaced = |end: usize| !view.digit_and_space_before(start) && view.column_after(end, ' ').is_none();
    if let Some([area, group, serial]) = groups.get(..3)
        && (area.len(), group.len(), serial.len()) == (3, 2, 4)
        && group.separator == serial.separator
        && is_assigned(
            number::value(&area.digits),
            number::value(&group.digits),
            number::value(&serial.digits),
        )
        && !view.joined_after(serial.end)
    {
        let end = serial.end;
        return match group.separator {
            "-" => true,
            " " => spaced(end),
            "." => named(),
            _ => false,
        }
        .then_some(end);
    }
    let bare = groups.first().filter(|group| group.len() == 9)?;
    let [area, group, serial] =
        [0..3, 3..5, 5..9].map(|range| number::value(bare.digits.get(range).unwrap_or_default()));
    (is_assigned(area, group, serial)
        && !view.joined_after(bare.end)
        && (named() || view.word_after(bare.end) == "ssn"))
        .then_some(bare.end)
}

/// Whether a slash or colon joins the number to digits before it.
fn in_sequence(view: &View<'_>, start: usize) -> bool {
    view.previous(start)
        .filter(|glyph| matches!(glyph.folded, '/' | ':'))
        .and_then(|glyph| view.previous(glyph.start))
        .is_some_and(|glyph| glyph.digit().is_some())
}

/// Whether the Social Security Administration can have assigned a number: no part is all zeros, and no area is 666 or from 900 on.
fn is_assigned(area: u32, group: u32, serial: u32) -> bool {
    area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !PUBLISHED.contains(&(area, group, serial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_assignment() {
        assert!(is_assigned(1, 1, 1));
        assert!(is_assigned(899, 99, 9999));
        for (area, group, serial) in [
            (0, 1, 1),
            (666, 1, 1),
            (900, 1, 1),
            (987, 65, 4320),
            (123, 0, 1),
            (123, 1, 0),
            (78, 5, 1120),
            (219, 9, 9999),
        ] {
            assert!(!is_assigned(area, group, serial), "{area}-{group}-{serial}");
        }
    }
}
