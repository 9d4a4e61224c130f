//! A fast multi-word search, so that ordinary calls need no further reading.

use super::hints::Hint;

/// How many classes of bytes there are; a power of two.
const CLASSES: usize = 64;

/// Words to search for, ignoring ASCII case.
///
/// Each word is found by its rarest pair of adjacent bytes, because most pairs of a text are in no list at all.
#[derive(Debug)]
pub(crate) struct Needles {
    /// For every pair of classes, the number of its list.
    list_of_pair: Box<[u16; CLASSES * CLASSES]>,
    /// The first list is empty: it belongs to all pairs that are in no word.
    lists: Vec<Vec<Needle>>,
}

#[derive(Debug)]
struct Needle {
    word: Box<[u8]>,
    /// Where the second byte of the pair is in the word.
    anchor: usize,
    hint: Hint,
}

impl Needles {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::with_hints(words.into_iter().map(|word| (word, Hint::default())))
    }

    /// Words, each with its hint about a text.
    pub(crate) fn with_hints<'a>(words: impl IntoIterator<Item = (&'a str, Hint)>) -> Self {
        let mut needles = Self { list_of_pair: Box::new([0; CLASSES * CLASSES]), lists: vec![Vec::new()] };
        for (word, hint) in words {
            let word = word.to_ascii_lowercase().into_bytes();
            let pairs = word.iter().zip(word.iter().skip(1)).enumerate();
            let rarest = pairs.min_by_key(|(_, (one, other))| commonness_of_pair(**one, **other));
            match (rarest, word.as_slice()) {
                (Some((before, (one, other))), _) => {
                    let pair = pair(class(*one), *other);
                    needles.add(pair, Needle { anchor: before + 1, word: word.into(), hint });
                }
                // A word of one byte may follow any other byte.
                (None, [only]) => {
                    for before in 0..CLASSES {
                        needles.add(pair(before, *only), Needle { anchor: 0, word: [*only].into(), hint });
                    }
                }
                (None, _) => {}
            }
        }
        needles
    }

    fn add(&mut self, pair: usize, needle: Needle) {
        let Some(number) = self.list_of_pair.get_mut(pair) else { return };
        if *number == 0 {
            *number = u16::try_from(self.lists.len()).unwrap_or_default();
            self.lists.push(Vec::new());
        }
        if let Some(list) = self.lists.get_mut(usize::from(*number)) {
            list.push(needle);
        }
    }

    /// Whether any of the words is in the text.
    pub(crate) fn found_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut before = 0;
        bytes.iter().enumerate().any(|(at, byte)| {
            let list = self.list(&mut before, *byte);
            !list.is_empty() && list.iter().any(|needle| needle.is_hint(bytes, at))
        })
    }

    /// The combined hints of the words in the text.
    pub(crate) fn hints_in(&self, text: &str) -> Hint {
        let bytes = text.as_bytes();
        let mut hints = Hint::default();
        let mut before = 0;
        for (at, byte) in bytes.iter().enumerate() {
            for needle in self.list(&mut before, *byte) {
                if !hints.contains(needle.hint) && needle.is_hint(bytes, at) {
                    hints = hints.and(needle.hint);
                }
            }
        }
        hints
    }

    /// Start and length of each word found, in the order of their rarest pairs.
    pub(crate) fn positions<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let bytes = text.as_bytes();
        let mut before = 0;
        bytes.iter().enumerate().flat_map(move |(at, byte)| {
            self.list(&mut before, *byte).iter().filter_map(move |needle| {
                let start = needle.around(bytes, at)?;
                Some((start, needle.word.len()))
            })
        })
    }

    /// The words whose rarest pair is `byte` after a byte of the class `before`; none for most pairs.
    #[inline]
    fn list(&self, before: &mut usize, byte: u8) -> &[Needle] {
        let pair = pair(*before, byte);
        *before = pair % CLASSES;
        match self.list_of_pair.get(pair) {
            None | Some(0) => &[],
            Some(number) => self.lists.get(usize::from(*number)).map(Vec::as_slice).unwrap_or_default(),
        }
    }
}

/// The number of a pair.
#[inline]
fn pair(before: usize, byte: u8) -> usize {
    before % CLASSES * CLASSES + class(byte)
}

/// The class of a byte.
#[inline]
fn class(byte: u8) -> usize {
    CLASS_OF.get(usize::from(byte)).copied().map_or(0, usize::from)
}

/// The classes of all bytes. Both cases of a letter share one, and bytes that are common in JSON have their own; a shared
/// class only costs an extra comparison.
const CLASS_OF: [u8; 256] = {
    let mut classes = [0; 256];
    let known = b"abcdefghijklmnopqrstuvwxyz0123456789\"{}[]:,-_./\\ =@<>&?%+#$'()!";
    let (mut next, mut class) = (0, 1);
    while next < known.len() {
        classes[known[next] as usize] = class;
        classes[known[next].to_ascii_uppercase() as usize] = class;
        next += 1;
        class += 1;
    }
    classes
};

impl Needle {
    /// Whether the word is there; a token prefix only counts where a token can begin.
    fn is_hint(&self, bytes: &[u8], at: usize) -> bool {
        self.around(bytes, at).is_some_and(|start| self.hint != Hint::TOKENS || begins_word(bytes, start))
    }

    /// The start of the word whose rarest pair ends at `at`, if it is there.
    fn around(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let start = at.checked_sub(self.anchor)?;
        let candidate = bytes.get(start..start + self.word.len())?;
        candidate.eq_ignore_ascii_case(&self.word).then_some(start)
    }
}

/// Whether a word can begin at `start`. In a text that is still escaped or encoded, an escape such as `\n`, `%22` or `%5Cn`
/// is not part of a word.
pub(super) fn begins_word(bytes: &[u8], start: usize) -> bool {
    let before = |count: usize| start.checked_sub(count).and_then(|at| bytes.get(at));
    let is_encoded =
        |from: usize| before(from + 2) == Some(&b'%') && before(from + 1).is_some_and(u8::is_ascii_hexdigit);
    before(1).is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || before(2) == Some(&b'\\')
        || is_encoded(1)
        || (before(2).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'c')) && is_encoded(2))
}

/// Roughly how common a pair of bytes is. Pairs that are in every result are the worst to search for.
fn commonness_of_pair(one: u8, other: u8) -> usize {
    const ORDINARY: &[u8] =
        br#"{"content":[{"type":"text","text":""}],"iserror":"structuredcontent":{"result":"#;
    let is_ordinary = ORDINARY.windows(2).any(|pair| pair == [one, other]);
    commonness(one) + commonness(other) + if is_ordinary { 1000 } else { 0 }
}

/// Roughly how common a byte is in JSON text.
fn commonness(byte: u8) -> usize {
    const FROM_COMMON_TO_RARE: &[u8] = b"\"e,:taoinsrlhd{}[]cumpfgy01wb2v3-_.584697/kxjqz";
    FROM_COMMON_TO_RARE.iter().rev().position(|known| *known == byte).map_or(0, |rank| rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_position() {
        let needles = Needles::new(["token", "access_token", "passw", "://"]);
        for (text, expected) in [
            ("", false),
            ("tok", false),
            ("token", true),
            ("xTOKENx", true),
            ("PassWord", true),
            ("pass word", false),
            ("https://x", true),
            ("oken", false),
        ] {
            assert_eq!(needles.found_in(text), expected, "{text}");
        }
        assert_eq!(needles.positions("a token, a Token").collect::<Vec<_>>(), [(2, 5), (11, 5)]);
    }

    #[test]
    fn words_of_one_byte_are_found_at_both_ends() {
        let needles = Needles::new(["@"]);
        for (text, expected) in [("@", true), ("a@", true), ("@a", true), ("a", false)] {
            assert_eq!(needles.found_in(text), expected, "{text}");
        }
    }

    #[test]
    fn no_words_find_nothing() {
        assert!(!Needles::new([]).found_in("token"));
        assert!(!Needles::new([""]).found_in("token"));
    }
}
