//! Finding what JSON escapes, eight bytes at a time.

/// The lowest bit of each byte.
const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where the first byte is that cannot stand in a string of JSON as it is: a quote, a backslash or a control character.
pub(super) fn find_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(8 * index + found.trailing_zeros() as usize / 8);
        }
    }
    let done = bytes.len() - rest.len();
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).map(|index| done + index)
}

/// The highest bit of each byte that is special. Above the first one there may be more than that: a subtraction borrows from the next byte.
const fn specials(word: u64) -> u64 {
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let is_quote = quote.wrapping_sub(LOW) & !quote;
    let is_backslash = backslash.wrapping_sub(LOW) & !backslash;
    let is_control = word.wrapping_sub(LOW * 0x20) & !word;
    (is_quote | is_backslash | is_control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::find_special;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is() {
        for special in (0..=255u8).filter(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
            for index in 0..40 {
                // Neighbours that a borrow could make look special, in front of it and behind.
                for neighbour in [b'a', b'#', b'!', b']', b'[', 0x20, 0x21, 0x7f, 0x80, 0xff] {
                    let mut bytes = vec![neighbour; 41];
                    bytes[index] = special;
                    assert_eq!(find_special(&bytes), Some(index), "{special} at {index} among {neighbour}");
                    bytes[40] = b'"';
                    assert_eq!(find_special(&bytes), Some(index), "{special} at {index} among {neighbour}");
                }
            }
        }
    }

    #[test]
    fn other_bytes_are_not_special() {
        let others: Vec<u8> = (0x20..=255).filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
        for start in 0..others.len() {
            assert_eq!(find_special(&others[start..]), None);
        }
        assert_eq!(find_special(b""), None);
    }
}
