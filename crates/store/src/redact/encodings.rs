//! Encodings of a text inside another one: JSON escapes, HTML entities, percent-encoding.
//!
//! A text is decoded for the search. The edits are applied to the original text, so that the rest of it stays unchanged.

use std::{borrow::Cow, ops::Range};

use super::{edits::Edit, secrets::work};

/// How special characters are written inside another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// `\"` and `\n`, as in strings of JSON and of programs.
    Backslashes,
    /// `&quot;` and `&#34;`.
    Entities,
    /// `%22`, with `+` for a space.
    Percent,
}

/// An encoded character, and how many bytes it takes.
struct Escape {
    letter: char,
    length: usize,
}

impl Encoding {
    /// The outermost encoding of a text, if it has any. Escapes of an outer encoding can hide those of an inner one, so the
    /// encodings that are usually applied last come first.
    pub(super) fn of(text: &str) -> Option<Self> {
        work::count(text.len());
        [Self::Entities, Self::Percent, Self::Backslashes].into_iter().find(|encoding| {
            let is_escape = |at| text.get(at..).and_then(|rest| encoding.escape(rest));
            memchr::memchr_iter(encoding.mark(), text.as_bytes()).any(|at| is_escape(at).is_some())
                || (*encoding == Self::Percent && has_spaces_of_forms(text))
        })
    }

    /// The decoded text.
    pub(super) fn decode(self, text: &str) -> Cow<'_, str> {
        let Some(first) = self.next_mark(text, 0) else { return Cow::Borrowed(text) };
        work::count(text.len());
        let mut out = String::with_capacity(text.len());
        out.push_str(text.get(..first).unwrap_or_default());
        self.walk(text, first, |piece| match piece {
            Piece::Plain(plain) => out.push_str(plain),
            Piece::Escape(escape) => out.push(escape.letter),
        });
        Cow::Owned(out)
    }

    /// Maps edits of the decoded text to the original text. They must be sorted and not overlap.
    pub(super) fn translate(self, text: &str, mut edits: Vec<Edit>) -> Vec<Edit> {
        if edits.is_empty() {
            return edits;
        }
        let mark = char::from(self.mark());
        for edit in edits.iter_mut().filter(|edit| edit.by.contains(['"', mark])) {
            edit.by = edit.by.replace(mark, self.escaped_mark()).replace('"', self.quote()).into();
        }
        if self.next_mark(text, 0).is_none() {
            return edits;
        }
        work::count(text.len());
        let mut ends =
            edits.iter_mut().flat_map(|Edit { range, .. }| [&mut range.start, &mut range.end]).peekable();
        let (mut raw, mut decoded) = (0, 0);
        self.walk(text, 0, |piece| {
            let (length, decoded_length, is_plain) = match piece {
                Piece::Plain(plain) => (plain.len(), plain.len(), true),
                Piece::Escape(escape) => (escape.length, escape.letter.len_utf8(), false),
            };
            // A position inside a decoded character maps to the start of its escape.
            while let Some(end) = ends.next_if(|end| **end < decoded + decoded_length) {
                *end = raw + if is_plain { *end - decoded } else { 0 };
            }
            raw += length;
            decoded += decoded_length;
        });
        for end in ends {
            *end = text.len();
        }
        edits
    }

    /// The lines that contain an escape.
    pub(super) fn lines(self, text: &str) -> Vec<Range<usize>> {
        let mut at = 0;
        let mut lines = Vec::new();
        work::count(text.len());
        for line in text.split_inclusive('\n') {
            let is_escape = |mark: usize| line.get(mark..).and_then(|rest| self.escape(rest)).is_some();
            if memchr::memchr_iter(self.mark(), line.as_bytes()).any(is_escape) {
                lines.push(at..at + line.len());
            }
            at += line.len();
        }
        lines
    }

    fn walk<'a>(self, text: &'a str, from: usize, mut take: impl FnMut(Piece<'a>)) {
        let mut copied = from;
        let mut at = from;
        while let Some(mark) = self.next_mark(text, at) {
            let Some(escape) = text.get(mark..).and_then(|rest| self.escape(rest)) else {
                at = mark + 1;
                continue;
            };
            take(Piece::Plain(text.get(copied..mark).unwrap_or_default()));
            at = mark + escape.length;
            copied = at;
            take(Piece::Escape(escape));
        }
        take(Piece::Plain(text.get(copied..).unwrap_or_default()));
    }

    const fn mark(self) -> u8 {
        match self {
            Self::Backslashes => b'\\',
            Self::Entities => b'&',
            Self::Percent => b'%',
        }
    }

    /// The mark, encoded.
    const fn escaped_mark(self) -> &'static str {
        match self {
            Self::Backslashes => "\\\\",
            Self::Entities => "&amp;",
            Self::Percent => "%25",
        }
    }

    /// A double quote, encoded.
    const fn quote(self) -> &'static str {
        match self {
            Self::Backslashes => "\\\"",
            Self::Entities => "&quot;",
            Self::Percent => "%22",
        }
    }

    fn next_mark(self, text: &str, from: usize) -> Option<usize> {
        let rest = text.as_bytes().get(from..)?;
        let found = match self {
            Self::Percent => memchr::memchr2(b'%', b'+', rest),
            Self::Backslashes | Self::Entities => memchr::memchr(self.mark(), rest),
        };
        found.map(|at| from + at)
    }

    /// The escape at the beginning of a text.
    fn escape(self, text: &str) -> Option<Escape> {
        match self {
            Self::Backslashes => backslash(text),
            Self::Entities => entity(text),
            Self::Percent if text.starts_with('+') => Some(Escape { letter: ' ', length: 1 }),
            Self::Percent => percent(text.as_bytes()),
        }
    }
}

/// Whether a text has a form value such as `q=the+new+password`, in which nothing else is encoded.
fn has_spaces_of_forms(text: &str) -> bool {
    text.contains('+')
        && text.split_whitespace().any(|word| word.contains('=') && word.split('+').nth(2).is_some())
}

enum Piece<'a> {
    Plain(&'a str),
    Escape(Escape),
}

/// An escape of JSON. Other backslashes may be part of a path or an expression.
fn backslash(text: &str) -> Option<Escape> {
    let letter = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'/' => '/',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some(Escape { letter, length: 2 })
}

fn unicode(text: &str) -> Option<Escape> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    let first = unit(0)?;
    // Characters above U+FFFF are written as surrogate pairs.
    if let Some(second) = unit(6)
        && let Some(Ok(letter)) = char::decode_utf16([first, second]).next()
        && letter > '\u{ffff}'
    {
        return Some(Escape { letter, length: 12 });
    }
    Some(Escape { letter: char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), length: 6 })
}

/// No known entity is longer.
const LONGEST_ENTITY: usize = 10;

fn entity(text: &str) -> Option<Escape> {
    let head = text.as_bytes().get(1..text.len().min(LONGEST_ENTITY))?;
    let name = text.get(1..=head.iter().position(|byte| *byte == b';')?)?;
    let number = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let letter = match name {
        "quot" => '"',
        "apos" => '\'',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "nbsp" => ' ',
        "colon" => ':',
        "equals" => '=',
        "comma" => ',',
        "lcub" | "lbrace" => '{',
        "rcub" | "rbrace" => '}',
        "lsqb" | "lbrack" => '[',
        "rsqb" | "rbrack" => ']',
        "commat" => '@',
        "sol" => '/',
        "lowbar" => '_',
        "NewLine" => '\n',
        "Tab" => '\t',
        _ => match name.strip_prefix('#')?.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16)?,
            None => number(name.get(1..)?, 10)?,
        },
    };
    Some(Escape { letter, length: name.len() + 2 })
}

fn percent(bytes: &[u8]) -> Option<Escape> {
    let digit = |at: usize| {
        bytes
            .get(at)
            .and_then(|byte| char::from(*byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |index: usize| {
        let at = 3 * index;
        (bytes.get(at) == Some(&b'%')).then(|| Some((digit(at + 1)? << 4) | digit(at + 2)?)).flatten()
    };
    let first = byte(0)?;
    let count = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let mut letter = [0; 4];
    for (index, slot) in letter.iter_mut().take(count).enumerate() {
        *slot = byte(index).unwrap_or_default();
    }
    let text = std::str::from_utf8(letter.get(..count)?).ok();
    match text.and_then(|text| text.chars().next()) {
        Some(letter) => Some(Escape { letter, length: 3 * count }),
        None => Some(Escape { letter: char::REPLACEMENT_CHARACTER, length: 3 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::edits::applied;

    #[track_caller]
    fn check(encoding: Encoding, text: &str, decoded: &str) {
        assert_eq!(encoding.decode(text), decoded);
        // Every letter of the decoded text maps to its original.
        let edits: Vec<Edit> =
            decoded.char_indices().map(|(at, letter)| Edit::redacted(at..at + letter.len_utf8())).collect();
        let pieces: String = encoding
            .translate(text, edits)
            .into_iter()
            .map(|Edit { range, .. }| encoding.decode(&text[range]).into_owned())
            .collect();
        assert_eq!(pieces, decoded);
    }

    #[test]
    fn texts_are_decoded_and_found_again() {
        check(Encoding::Backslashes, r#"a\"b\\\"c\né\u0041\ud83d\ude00\d\"#, "a\"b\\\"c\néA😀\\d\\");
        check(Encoding::Backslashes, r"\ud83d \u12", "\u{fffd} \\u12");
        check(
            Encoding::Entities,
            "&quot;a&#58; &#x27;é&amp;quot; & b &nosuch; &#x110000;",
            "\"a: 'é&quot; & b &nosuch; &#x110000;",
        );
        check(Encoding::Percent, "a%3Db+c%C3%A9%F0%9F%98%80 100% %zz", "a=b cé😀 100% %zz");
        check(Encoding::Percent, "%ff%C3x%", "\u{fffd}\u{fffd}x%");
        check(Encoding::Entities, "plain", "plain");
    }

    #[test]
    fn a_quote_in_a_replacement_is_written_as_the_layer_writes_it() {
        for (encoding, text, expected) in [
            (Encoding::Backslashes, "b\\n", "\\\"x\\\"\\n"),
            (Encoding::Entities, "b&lt;", "&quot;x&quot;&lt;"),
            (Encoding::Percent, "b%20", "%22x%22%20"),
        ] {
            let edits = encoding.translate(text, vec![Edit { range: 0..1, by: "\"x\"".into() }]);
            assert_eq!(applied(text, &edits).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_outermost_layer_comes_first() {
        for (text, expected) in [
            ("{\\\"a\\\": 1}", Some(Encoding::Backslashes)),
            ("{\\&quot;a\\&quot;: 1}", Some(Encoding::Entities)),
            ("%5C%22a%5C%22\\n", Some(Encoding::Percent)),
            ("page=2&q=the+new+password", Some(Encoding::Percent)),
            ("a & b, 100 % of C:\\data, 1 + 1", None),
        ] {
            assert_eq!(Encoding::of(text), expected, "{text}");
        }
    }
}
