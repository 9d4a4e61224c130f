//! Lists of words, written as one text, and tables of the bytes in words.

#![expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a wrong index does not compile"
)]

/// The words of a text as a `&[&str]`. It is split at compile time, so a long list takes a few lines and costs nothing.
macro_rules! words {
    ($text:literal) => {{
        const LIST: [&str; $crate::word_list::count($text)] = $crate::word_list::split($text);
        &LIST
    }};
}
pub(crate) use words;

pub(crate) const fn count(text: &str) -> usize {
    let mut rest = text.trim_ascii();
    let mut count = 0;
    while !rest.is_empty() {
        rest = next(rest).1;
        count += 1;
    }
    count
}

pub(crate) const fn split<const COUNT: usize>(text: &str) -> [&str; COUNT] {
    let mut words = [""; COUNT];
    let mut rest = text.trim_ascii();
    let mut index = 0;
    while index < COUNT {
        (words[index], rest) = next(rest);
        index += 1;
    }
    words
}

/// The first word and what follows it.
const fn next(text: &str) -> (&str, &str) {
    let mut end = 0;
    while end < text.len() && !text.as_bytes()[end].is_ascii_whitespace() {
        end += 1;
    }
    let (word, rest) = text.split_at(end);
    (word, rest.trim_ascii_start())
}

/// Which bytes are ASCII letters, digits or one of these signs.
pub(crate) const fn word_bytes(signs: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < signs.len() {
        table[signs[index] as usize] = true;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_text_is_split_at_white_space() {
        const LIST: &[&str] = words!(
            " one  two=\"2\" \
             drei\nпароль "
        );
        const EMPTY: &[&str] = words!(" ");
        assert_eq!(LIST, ["one", "two=\"2\"", "drei", "пароль"]);
        assert_eq!(EMPTY, [""; 0]);
    }
}
