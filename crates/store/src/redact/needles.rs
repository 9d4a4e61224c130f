//! A quick look whether a text contains one of a few words, so that ordinary calls are not read any closer.

use super::hints::Hint;

/// Words to look for; the case of ASCII letters does not matter.
#[derive(Debug)]
pub(crate) struct Needles {
    /// For every byte, the words for which it is the rarest one.
    by_anchor: Box<[Vec<Needle>; 256]>,
}

#[derive(Debug)]
struct Needle {
    word: Box<[u8]>,
    anchor: usize,
    hint: Hint,
}

impl Needles {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::with_hints(words.into_iter().map(|word| (word, Hint::default())))
    }

    /// Words with what each of them says about a text.
    pub(crate) fn with_hints<'a>(words: impl IntoIterator<Item = (&'a str, Hint)>) -> Self {
        let mut by_anchor = Box::new([const { Vec::new() }; 256]);
        for (word, hint) in words.into_iter().filter(|(word, _)| !word.is_empty()) {
            let word = word.to_ascii_lowercase();
            let rarest = word.bytes().enumerate().min_by_key(|(_, byte)| commonness(*byte));
            let Some((anchor, byte)) = rarest else { continue };
            let lower = usize::from(byte);
            let upper = usize::from(byte.to_ascii_uppercase());
            for slot in if lower == upper { vec![lower] } else { vec![lower, upper] } {
                if let Some(list) = by_anchor.get_mut(slot) {
                    list.push(Needle { word: word.as_bytes().into(), anchor, hint });
                }
            }
        }
        Self { by_anchor }
    }

    /// Whether any of the words is in the text.
    pub(crate) fn found_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        bytes
            .iter()
            .enumerate()
            .any(|(at, byte)| self.anchored_by(*byte).iter().any(|needle| needle.is_hint(bytes, at)))
    }

    /// What the words in the text say about it, all together.
    pub(crate) fn hints_in(&self, text: &str) -> Hint {
        let bytes = text.as_bytes();
        let mut hints = Hint::default();
        for (at, byte) in bytes.iter().enumerate() {
            for needle in self.anchored_by(*byte) {
                if !hints.contains(needle.hint) && needle.is_hint(bytes, at) {
                    hints = hints.and(needle.hint);
                }
            }
        }
        hints
    }

    /// Where words begin, in the order of their rarest bytes, with their length.
    pub(crate) fn positions<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let bytes = text.as_bytes();
        bytes.iter().enumerate().flat_map(move |(at, byte)| {
            self.anchored_by(*byte).iter().filter_map(move |needle| {
                let start = needle.around(bytes, at)?;
                Some((start, needle.word.len()))
            })
        })
    }

    /// The words of which `byte` is the rarest; for most bytes none.
    fn anchored_by(&self, byte: u8) -> &[Needle] {
        self.by_anchor.get(usize::from(byte)).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Needle {
    /// Whether the word is there, and where a token can begin if it is the beginning of one.
    fn is_hint(&self, bytes: &[u8], at: usize) -> bool {
        self.around(bytes, at).is_some_and(|start| self.hint != Hint::TOKENS || begins_word(bytes, start))
    }

    /// Where the word begins whose rarest byte stands at `at`, if it is there.
    fn around(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let start = at.checked_sub(self.anchor)?;
        let candidate = bytes.get(start..start + self.word.len())?;
        candidate.eq_ignore_ascii_case(&self.word).then_some(start)
    }
}

/// Whether a word can begin at `start`. An escape such as `\n` in a text that is still escaped is no part of a word.
pub(super) fn begins_word(bytes: &[u8], start: usize) -> bool {
    let before = |count: usize| start.checked_sub(count).and_then(|at| bytes.get(at));
    before(1).is_none_or(|byte| !byte.is_ascii_alphanumeric()) || before(2) == Some(&b'\\')
}

/// How common a byte is in JSON text, roughly.
fn commonness(byte: u8) -> usize {
    const FROM_COMMON_TO_RARE: &[u8] = b"\"e,:taoinsrlhd{}[]cumpfgy01wb2v3-_.584697/kxjqz";
    FROM_COMMON_TO_RARE.iter().rev().position(|known| *known == byte).map_or(0, |rank| rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_place() {
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
    fn no_words_find_nothing() {
        assert!(!Needles::new([]).found_in("token"));
        assert!(!Needles::new([""]).found_in("token"));
    }
}
