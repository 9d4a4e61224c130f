//! Payment card numbers (ISO/IEC 7812).

use crate::number::{self, Group};
use crate::view::View;

/// Issuer ranges: the first and the last prefix, of the same length, and the lengths of numbers under them.
///
/// The broad ranges that were once reserved for Maestro are left to the prefixes that are in use: a tenth of all order numbers passes
/// the Luhn check. Air travel cards (`1`) are left out, because timestamps begin like them.
const ISSUERS: &[(u32, u32, &[usize])] = &[
    // Visa
    (4, 4, &[13, 16, 19]),
    // Mastercard
    (51, 55, &[16]),
    (2221, 2720, &[16]),
    // American Express
    (34, 34, &[15]),
    (37, 37, &[15]),
    // Diners Club
    (300, 305, &[14, 16, 17, 18, 19]),
    (309, 309, &[14, 16, 17, 18, 19]),
    (36, 36, &[14, 16, 17, 18, 19]),
    (38, 39, &[14, 16, 17, 18, 19]),
    // Discover
    (6011, 6011, &[16, 17, 18, 19]),
    (644, 649, &[16, 17, 18, 19]),
    (65, 65, &[16, 17, 18, 19]),
    // JCB
    (3528, 3589, &[16, 17, 18, 19]),
    // UnionPay
    (62, 62, &[16, 17, 18, 19]),
    (810, 817, &[16, 17, 18, 19]),
    // RuPay
    (60, 60, &[16]),
    (81, 82, &[16]),
    (508, 508, &[16]),
    // Maestro
    (5018, 5018, &[13, 14, 15, 16, 17, 18, 19]),
    (5020, 5020, &[13, 14, 15, 16, 17, 18, 19]),
    (5038, 5038, &[13, 14, 15, 16, 17, 18, 19]),
    (5893, 5893, &[13, 14, 15, 16, 17, 18, 19]),
    (6304, 6304, &[13, 14, 15, 16, 17, 18, 19]),
    (6759, 6759, &[13, 14, 15, 16, 17, 18, 19]),
    (6761, 6763, &[13, 14, 15, 16, 17, 18, 19]),
    // Dankort
    (5019, 5019, &[16]),
    // Mir and Borica
    (2200, 2205, &[16, 17, 18, 19]),
    // Troy
    (9792, 9792, &[16]),
    // Elo
    (506_699, 506_778, &[16]),
    (509_000, 509_999, &[16]),
    (627_780, 627_780, &[16]),
    (636_297, 636_297, &[16]),
    (636_368, 636_368, &[16]),
    // Verve
    (506_099, 506_198, &[16, 18, 19]),
    (507_865, 507_964, &[16, 18, 19]),
    // UzCard and Humo
    (8600, 8600, &[16]),
    (9860, 9860, &[16]),
];

/// The digits of the shortest card.
const MIN_DIGITS: usize = 13;

/// The end of the card number that begins with these groups at `start`.
pub(crate) fn end(
    view: &View<'_>,
    start: usize,
    groups: &[Group],
    named: impl Fn() -> bool,
) -> Option<usize> {
    if view.joined_before(start) {
        return None;
    }
    (1..=groups.len().min(5)).rev().find_map(|count| {
        let groups = groups.get(..count).filter(|groups| number::count(groups) >= MIN_DIGITS)?;
        let end = groups.last()?.end;
        let digits = number::digits(groups);
        (is_grouped(groups)
            && is_card(&digits)
            && !is_column(view, start, groups)
            && !view.joined_after(end)
            && (!is_product(&digits) || named()))
        .then_some(end)
    })
}

/// Whether a number has a known issuer, a length of that issuer, and a correct check digit.
pub(crate) fn is_card(digits: &[u8]) -> bool {
    let known = ISSUERS.iter().any(|(first, last, lengths)| {
        let size = first.checked_ilog10().map_or(0, |log| log as usize + 1);
        let prefix = number::value(digits.get(..size).unwrap_or_default());
        (*first..=*last).contains(&prefix) && lengths.contains(&digits.len())
    });
    known && luhn(digits)
}

/// The Luhn check: from the right every second digit is doubled, and the sum of all digits is a multiple of ten.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .zip([false, true].into_iter().cycle())
        .map(|(digit, doubled)| match (u32::from(*digit), doubled) {
            (digit, false) => digit,
            (digit, true) if digit > 4 => digit * 2 - 9,
            (digit, true) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether digits are grouped as on cards: not at all, by fours, 4-6-5, 4-6-4, 6-13 or 8-8, with one separator throughout.
fn is_grouped(groups: &[Group]) -> bool {
    let lengths = number::lengths(groups);
    if let [_] = lengths.as_slice() {
        return true;
    }
    let fours =
        lengths.split_last().is_some_and(|(last, rest)| rest.iter().all(|len| *len == 4) && *last <= 4);
    matches!(number::uniform(groups), Some(" " | "-" | "." | "  " | " - "))
        && (fours || matches!(lengths.as_slice(), [4, 6, 5 | 4] | [6, 13] | [8, 8]))
}

/// Whether the groups are a part of a longer row of groups of four, as in a hex dump. A month and a year may follow, or another card.
fn is_column(view: &View<'_>, start: usize, groups: &[Group]) -> bool {
    let Some(separator) = number::uniform(groups).and_then(|separator| separator.chars().next()) else {
        return false;
    };
    let before = view.previous(start).filter(|glyph| glyph.folded == separator).is_some_and(|glyph| {
        let mut position = glyph.start;
        let mut count = 0;
        while let Some(glyph) = view.previous(position).filter(|glyph| glyph.folded.is_ascii_alphanumeric()) {
            count += 1;
            position = glyph.start;
            if count > 4 {
                break;
            }
        }
        count == 4 && view.previous(glyph.start).is_some_and(|glyph| glyph.digit().is_some())
    });
    let end = groups.last().map_or(start, |group| group.end);
    let row = groups.last().is_some_and(|group| group.len() == 4);
    let after = row && view.column_after(end, separator) == Some(4) && !is_expiry_or_card(view, end);
    before || after
}

/// Whether the groups after a separator begin with a month and a year, or are a card themselves.
fn is_expiry_or_card(view: &View<'_>, end: usize) -> bool {
    let next = view.next(end).map_or(end, |glyph| glyph.end);
    let groups = number::read(view, next);
    let first = groups.first().map(|group| number::value(&group.digits)).unwrap_or_default();
    let expiry = (1..=12).contains(&(first / 100)) && (20..=45).contains(&(first % 100));
    expiry || groups.get(..4).is_some_and(|groups| is_grouped(groups) && is_card(&number::digits(groups)))
}

/// Whether a number of 13 digits is a product code (EAN-13), which German and Japanese products have under Visa's prefix.
fn is_product(digits: &[u8]) -> bool {
    let weighted =
        digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| u32::from(*digit) * weight);
    digits.len() == 13 && weighted.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: &str) -> bool {
        is_card(&number.bytes().map(|byte| byte - b'0').collect::<Vec<_>>())
    }

    /// The numbers that the networks and their processors publish for tests.
    #[test]
    fn published_test_cards_are_cards() {
        for number in [
            "4242424242424242",
            "4111111111111111",
            "4012888888881881",
            "4000056655665556",
            "4222222222222",
            "5555555555554444",
            "5105105105105100",
            "5200828282828210",
            "2223003122003222",
            "378282246310005",
            "371449635398431",
            "378734493671000",
            "6011111111111117",
            "6011000990139424",
            "6011981111111113",
            "3056930009020004",
            "30569309025904",
            "38520000023237",
            "36227206271667",
            "3530111333300000",
            "3566002020360505",
            "6200000000000005",
            "6205500000000000004",
            "6759649826438453",
        ] {
            assert!(check(number), "{number}");
        }
    }

    #[test]
    fn other_numbers_are_no_cards() {
        for number in [
            "4242424242424241",
            "1111111111111111",
            "0000000000000000",
            "356938035643809",
            "9780306406157000",
            "424242424242",
            "1700000000000",
            "8914800000000000007",
        ] {
            assert!(!check(number), "{number}");
        }
    }
}
