//! Country calling codes (ITU-T E.164) and how many digits follow them.

/// Codes with the lengths of national numbers, where numbers of other lengths are common in text.
const CODES: &[(u32, usize, usize)] = &[
    (1, 10, 10),
    (7, 10, 10),
    (20, 8, 10),
    (27, 9, 9),
    (30, 10, 10),
    (31, 9, 9),
    (32, 8, 9),
    (33, 9, 9),
    (34, 9, 9),
    (36, 8, 9),
    (39, 8, 11),
    (40, 9, 9),
    (41, 9, 9),
    (43, 7, 12),
    (44, 9, 10),
    (45, 8, 8),
    (46, 7, 10),
    (47, 8, 8),
    (48, 9, 9),
    (49, 7, 11),
    (51, 8, 9),
    (52, 10, 11),
    (53, 8, 8),
    (54, 10, 11),
    (55, 10, 11),
    (56, 9, 9),
    (57, 8, 10),
    (58, 10, 10),
    (60, 8, 10),
    (61, 9, 9),
    (62, 8, 12),
    (63, 8, 10),
    (64, 8, 10),
    (65, 8, 8),
    (66, 8, 9),
    (81, 9, 10),
    (82, 8, 10),
    (84, 9, 10),
    (86, 10, 11),
    (90, 10, 10),
    (91, 10, 10),
    (92, 9, 10),
    (93, 9, 9),
    (94, 9, 9),
    (95, 7, 10),
    (98, 10, 10),
    (351, 9, 9),
    (353, 7, 9),
    (358, 7, 11),
    (380, 9, 9),
    (420, 9, 9),
    (421, 9, 9),
    (852, 8, 8),
    (880, 8, 10),
    (886, 8, 9),
    (966, 8, 9),
    (971, 8, 9),
    (972, 8, 9),
];

/// Codes of three digits that are assigned, first and last of each range. Those that are not named above have seven to ten digits.
const ASSIGNED: &[(u32, u32)] = &[
    (211, 213),
    (216, 216),
    (218, 218),
    (220, 269),
    (290, 291),
    (297, 299),
    (350, 359),
    (370, 383),
    (385, 387),
    (389, 389),
    (420, 421),
    (423, 423),
    (500, 509),
    (590, 599),
    (670, 670),
    (672, 683),
    (685, 692),
    (850, 850),
    (852, 853),
    (855, 856),
    (880, 880),
    (886, 886),
    (960, 968),
    (970, 977),
    (992, 996),
    (998, 998),
];

/// The number of digits of the calling code at the start of `digits`, and the least and greatest number after it. No code is the
/// beginning of another one.
pub(crate) fn of(digits: &[u8]) -> Option<(usize, usize, usize)> {
    digits.first().filter(|digit| **digit != 0)?;
    (1..=3).find_map(|size| {
        let code = crate::number::value(digits.get(..size)?);
        let known =
            CODES.iter().find(|(known, ..)| *known == code).map(|(_, least, most)| (size, *least, *most));
        let assigned = || ASSIGNED.iter().any(|(first, last)| (*first..=*last).contains(&code));
        known.or_else(|| (size == 3 && assigned()).then_some((size, 7, 10)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_the_first_digits() {
        assert_eq!(of(&[1, 4, 1, 5]), Some((1, 10, 10)));
        assert_eq!(of(&[4, 4, 2, 0]), Some((2, 9, 10)));
        assert_eq!(of(&[3, 8, 0, 4]), Some((3, 9, 9)));
        assert_eq!(of(&[2, 5, 4, 7]), Some((3, 7, 10)));
        assert_eq!(of(&[9, 9, 9, 7]), None);
        assert_eq!(of(&[0, 4, 4, 2]), None);
        assert_eq!(of(&[2]), None);
    }
}
