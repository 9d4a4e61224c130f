//! Digits in groups, as people write numbers.

use std::ops::Deref;

use crate::view::View;

/// More digits than any number here has: reading stops, and the number is none.
const MAX_DIGITS: usize = 24;

/// More groups than any number here has: what follows them is not read.
const MAX_GROUPS: usize = 8;

/// What may stand between two groups of digits.
const SEPARATORS: &[&str] =
    &[" ", "-", ".", "/", "  ", " - ", " / ", "(", " (", "-(", ")", ") ", ")-", ")/", ") - ", ") / "];

/// Digits of one number. They are read at every number of a text, so they take no allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digits {
    digits: [u8; MAX_DIGITS],
    count: usize,
}

impl Digits {
    /// Adds a digit; one too many is left out.
    fn push(&mut self, digit: u8) {
        if let Some(next) = self.digits.get_mut(self.count) {
            *next = digit;
            self.count += 1;
        }
    }
}

impl Deref for Digits {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.digits.get(..self.count).unwrap_or_default()
    }
}

impl FromIterator<u8> for Digits {
    fn from_iter<T: IntoIterator<Item = u8>>(digits: T) -> Self {
        let mut all = Self::default();
        digits.into_iter().for_each(|digit| all.push(digit));
        all
    }
}

/// One group of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// What stands before it; empty for the first.
    pub(crate) separator: &'static str,
    pub(crate) digits: Digits,
    /// Where it ends in the text.
    pub(crate) end: usize,
}

impl Group {
    pub(crate) fn len(&self) -> usize {
        self.digits.len()
    }
}

/// Reads groups of digits from `position` on, up to a number of digits and groups that nothing has.
pub(crate) fn read(view: &View<'_>, position: usize) -> Vec<Group> {
    let mut groups = Vec::with_capacity(MAX_GROUPS);
    let mut left = MAX_DIGITS;
    let mut next = Some(("", position));
    while let Some((separator, start)) = next {
        let mut group = Group { separator, digits: Digits::default(), end: start };
        while let Some((digit, end)) =
            view.next(group.end).and_then(|glyph| Some((glyph.digit()?, glyph.end)))
        {
            if left == 0 {
                return groups;
            }
            left -= 1;
            group.digits.push(digit);
            group.end = end;
        }
        if group.digits.is_empty() {
            break;
        }
        let end = group.end;
        groups.push(group);
        next = if groups.len() < MAX_GROUPS { separator_at(view, end) } else { None };
    }
    groups
}

/// The separator at a position and where it ends, if a digit follows.
fn separator_at(view: &View<'_>, position: usize) -> Option<(&'static str, usize)> {
    let mut read = [' '; 4];
    let mut end = position;
    for length in 0..=read.len() {
        let glyph = view.next(end)?;
        if glyph.digit().is_some() {
            let read = read.get(..length)?;
            let is_read = |separator: &&&str| separator.chars().eq(read.iter().copied());
            return SEPARATORS.iter().find(is_read).map(|separator| (*separator, end));
        }
        if !matches!(glyph.folded, ' ' | '-' | '.' | '/' | '(' | ')') {
            return None;
        }
        *read.get_mut(length)? = glyph.folded;
        end = glyph.end;
    }
    None
}

/// The number of digits of all groups.
pub(crate) fn count(groups: &[Group]) -> usize {
    groups.iter().map(Group::len).sum()
}

/// The number of digits of each group.
pub(crate) fn lengths(groups: &[Group]) -> Vec<usize> {
    groups.iter().map(Group::len).collect()
}

/// All digits.
pub(crate) fn digits(groups: &[Group]) -> Digits {
    groups.iter().flat_map(|group| group.digits.iter().copied()).collect()
}

/// The separators between groups.
pub(crate) fn separators(groups: &[Group]) -> impl Iterator<Item = &'static str> + '_ {
    groups.iter().skip(1).map(|group| group.separator)
}

/// The one separator between all groups; `None` if they differ, or if there is one group only.
pub(crate) fn uniform(groups: &[Group]) -> Option<&'static str> {
    let first = groups.get(1)?.separator;
    separators(groups).all(|separator| separator == first).then_some(first)
}

/// The value of a group of up to nine digits.
pub(crate) fn value(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |value: u32, digit| value.saturating_mul(10).saturating_add(u32::from(*digit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> Vec<(&'static str, usize)> {
        let view = View::new(text, 0, 0, true);
        read(&view, 0).iter().map(|group| (group.separator, group.len())).collect()
    }

    #[test]
    fn digits_are_read_in_groups() {
        assert_eq!(groups("4242 4242-42 x"), [("", 4), (" ", 4), ("-", 2)]);
        assert_eq!(groups("44 (0)20"), [("", 2), (" (", 1), (")", 2)]);
        assert_eq!(groups("12 -34"), [("", 2)]);
        assert_eq!(groups("4\u{200B}2\u{A0}42"), [("", 2), (" ", 2)]);
        assert_eq!(groups(&"1".repeat(30)), []);
        assert_eq!(groups("x"), []);
    }
}
