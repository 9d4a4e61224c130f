//! Telephone numbers: with `+`, in a national form that has separators, or after a word that says so.

use crate::calling_codes;
use crate::characters::is_currency;
use crate::number::{self, Group};
use crate::view::View;

/// Digits of an international number (E.164), and of the shortest that a word makes one.
const MAX_DIGITS: usize = 15;
const MIN_NAMED: usize = 7;

/// The end of the number after a `+` that begins at `start`; its digits begin at `digits`.
pub(crate) fn international_end(view: &View<'_>, start: usize, digits: usize) -> Option<usize> {
    let before = view.previous(start);
    if before.is_some_and(|glyph| glyph.folded == '+') || view.joined_before(start) {
        return None;
    }
    longest(view, &number::read(view, digits), |groups| is_international(groups, 0))
}

/// The end of the number that begins with an area code in brackets; the bracket is at `start`, its digits at `digits`.
pub(crate) fn bracketed_end(view: &View<'_>, start: usize, digits: usize) -> Option<usize> {
    if view.joined_before(start) || in_sequence(view, start) {
        return None;
    }
    let groups = number::read(view, digits);
    groups.get(1).filter(|group| group.separator.starts_with(')'))?;
    longest(view, &groups, |groups| {
        is_north_american(groups) || is_brazilian(groups) || is_with_trunk_zero(groups)
    })
}

/// The end of the number that begins with these groups at `start`. `named` says whether words before it do.
pub(crate) fn end(
    view: &View<'_>,
    start: usize,
    groups: &[Group],
    named: impl Fn() -> bool,
) -> Option<usize> {
    if view.joined_before(start) || in_sequence(view, start) {
        return None;
    }
    let after_column = view.digit_and_space_before(start);
    let national = longest(view, groups, |groups| {
        let spaced = number::separators(groups).any(|separator| separator.contains(' '));
        let rules: [fn(&[Group]) -> bool; 5] = [
            |groups| is_north_american(groups) && number::uniform(groups) != Some(" "),
            is_russian,
            is_chinese_mobile,
            is_with_trunk_zero,
            |groups| groups.len() > 1 && is_dialled_abroad(groups),
        ];
        let row = is_row_of_pairs(view, groups) || (spaced && after_column);
        !row && rules.iter().any(|rule| rule(groups))
    });
    national.or_else(|| {
        // The words are read last: that costs more than all the rest.
        let found = longest(view, groups, |groups| {
            let spaced = number::separators(groups).any(|separator| separator.contains(' '));
            !(spaced && after_column) && is_plausible(groups)
        })?;
        (!is_amount(view, start, found) && named()).then_some(found)
    })
}

/// The end of the longest beginning of `groups` that is a number and does not go on.
fn longest(view: &View<'_>, groups: &[Group], is_number: impl Fn(&[Group]) -> bool) -> Option<usize> {
    (1..=groups.len()).rev().find_map(|count| {
        let groups = groups.get(..count).filter(|groups| number::count(groups) >= MIN_NAMED)?;
        let end = groups.last()?.end;
        (is_number(groups) && !view.joined_after(end)).then_some(end)
    })
}

/// A calling code after `skip` digits, and as many digits as its numbers have.
fn is_international(groups: &[Group], skip: usize) -> bool {
    // `+44 (0)20`: the zero is dialled at home only.
    let is_trunk = |group: &Group| *group.digits == [0] && group.separator.ends_with('(');
    let digits =
        groups.iter().filter(|group| !is_trunk(group)).flat_map(|group| group.digits.iter().copied());
    let digits: number::Digits = digits.skip(skip).collect();
    let Some((size, least, most)) = calling_codes::of(&digits) else { return false };
    let national = digits.get(size..).unwrap_or_default();
    (least..=most).contains(&national.len())
        && digits.len() <= MAX_DIGITS
        && dots_alone(groups)
        && (size > 1 || digits.first() != Some(&1) || has_north_american_area(national))
}

fn is_dialled_abroad(groups: &[Group]) -> bool {
    let digits = number::digits(groups);
    match &*digits {
        [0, 0, ..] => is_international(groups, 2),
        [0, 1, 1, ..] if groups.first().is_some_and(|group| group.len() == 3) => is_international(groups, 3),
        _ => false,
    }
}

/// `415-555-2671`, `(415) 555-2671`, `1-800-555-0199`.
fn is_north_american(groups: &[Group]) -> bool {
    let national = match groups {
        [country, rest @ ..] if *country.digits == [1] => rest,
        _ => groups,
    };
    number::lengths(national) == [3, 3, 4]
        && has_north_american_area(&number::digits(national))
        && separators_are(groups, &["-", ".", " ", ") ", ")", ")-", " (", "-("])
        && dots_alone(groups)
}

/// An area and an exchange, neither from 0 nor 1 on; `N11` is a service.
fn has_north_american_area(national: &[u8]) -> bool {
    matches!(national, [2..=9, b, c, 2..=9, ..] if (*b, *c) != (1, 1))
}

/// `(11) 91234-5678`, after the bracket.
fn is_brazilian(groups: &[Group]) -> bool {
    matches!(number::lengths(groups).as_slice(), [2, 4 | 5, 4])
        && number::separators(groups).last() == Some("-")
        && groups.first().is_some_and(|group| group.digits.iter().all(|digit| *digit > 0))
}

/// `8 (495) 123-45-67`.
fn is_russian(groups: &[Group]) -> bool {
    number::lengths(groups) == [1, 3, 3, 2, 2]
        && matches!(&*number::digits(groups), [8, 3 | 4 | 8 | 9, ..])
        && separators_are(groups, &["-", " ", ") ", ")", " (", "("])
}

/// `138 1234 5678`.
fn is_chinese_mobile(groups: &[Group]) -> bool {
    number::lengths(groups) == [3, 4, 4]
        && matches!(&*number::digits(groups), [1, 3..=9, ..])
        && matches!(number::uniform(groups), Some("-" | " "))
}

/// The national form of most countries: a zero, the area, and groups that are no date, no address and no postal code.
fn is_with_trunk_zero(groups: &[Group]) -> bool {
    let lengths = number::lengths(groups);
    let digits = number::digits(groups);
    let [area, rest @ ..] = lengths.as_slice() else { return false };
    // `0(532) 123 45 67`
    let bracket_after_zero = *area == 1 && groups.get(1).is_some_and(|group| group.separator.ends_with('('));
    let total = digits.len();
    matches!(&*digits, [0, 1..=9, ..])
        && !rest.is_empty()
        && (bracket_after_zero || (2..=5).contains(area))
        && rest.iter().all(|length| *length >= 2)
        && ((9..=11).contains(&total) || (total == 12 && rest.len() == 1))
        && groups.len() <= 5
        // A postal code of the United States has five and four.
        && (*area < 5 || rest.iter().sum::<usize>() >= 5)
        // A Social Security number that nobody has is no telephone number either.
        && lengths != [3, 2, 4]
        // Pairs are French numbers, which have five; other rows of pairs are addresses of hardware.
        && (lengths.iter().any(|length| *length != 2) || lengths.len() == 5)
        && dots_alone(groups)
        && number::separators(groups).skip(1).all(|separator| !separator.contains('/'))
        && !is_date(groups)
        && !is_ip_address(groups)
}

/// What is a number if a word says so: any groups, but no date, no IP address, no amount, no seconds since 1970.
fn is_plausible(groups: &[Group]) -> bool {
    let lengths = number::lengths(groups);
    let digits = number::digits(groups);
    let whole = lengths.first().is_some_and(|first| *first >= 9);
    let seconds = lengths == [10] && matches!(&*digits, [1, 5..=9, ..]);
    let thousands =
        matches!(lengths.as_slice(), [1 | 2, rest @ ..] if rest.iter().all(|length| *length == 3));
    (MIN_NAMED..=MAX_DIGITS).contains(&digits.len())
        && (!whole || lengths.len() == 1 && digits.len() <= 13)
        && lengths.iter().skip(1).all(|length| *length >= 2)
        && digits.iter().any(|digit| *digit != 0)
        && !seconds
        && !thousands
        && dots_alone(groups)
        && !is_date(groups)
        && !is_ip_address(groups)
}

/// Whether money stands on either side.
fn is_amount(view: &View<'_>, start: usize, end: usize) -> bool {
    let before = view.previous(start).is_some_and(|glyph| is_currency(glyph.folded));
    let after =
        view.next(end).and_then(|glyph| if glyph.folded == ' ' { view.next(glyph.end) } else { Some(glyph) });
    before || after.is_some_and(|glyph| is_currency(glyph.folded))
}

/// Whether a slash, colon or comma without a space joins the number to digits before it, or a sign of money stands there.
fn in_sequence(view: &View<'_>, start: usize) -> bool {
    let Some(glyph) = view.previous(start) else { return false };
    let digit_before = || view.previous(glyph.start).is_some_and(|glyph| glyph.digit().is_some());
    is_currency(glyph.folded) || (matches!(glyph.folded, '/' | ':') && digit_before())
}

/// Whether these are pairs of digits, and more of them follow.
fn is_row_of_pairs(view: &View<'_>, groups: &[Group]) -> bool {
    groups.iter().all(|group| group.len() == 2)
        && groups.last().is_some_and(|group| view.column_after(group.end, ' ') == Some(2))
}

/// Dots join groups of a number only if nothing else does; otherwise they are decimal points.
fn dots_alone(groups: &[Group]) -> bool {
    number::separators(groups).all(|separator| separator != ".") || number::uniform(groups) == Some(".")
}

fn separators_are(groups: &[Group], allowed: &[&str]) -> bool {
    number::separators(groups).all(|separator| allowed.contains(&separator))
}

/// `01-02-2024 10`, `2024-01-01`.
fn is_date(groups: &[Group]) -> bool {
    let joined = |separator: &str| matches!(separator, "-" | "." | "/" | " ");
    matches!(number::lengths(groups).as_slice(), [2, 2, 4, ..] | [4, 2, 2, ..])
        && number::separators(groups).take(2).all(joined)
}

fn is_ip_address(groups: &[Group]) -> bool {
    groups.len() == 4
        && number::uniform(groups) == Some(".")
        && groups.iter().all(|group| number::value(&group.digits) < 256)
}
