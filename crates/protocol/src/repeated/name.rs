//! Unescaped names of members.

use std::borrow::Cow;
use std::cmp::Ordering;

/// An unescaped name. Lone surrogates have no UTF-8; they get the bytes that it would have for them, so that equal names are
/// equal.
pub(super) fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if raw.contains(&b'\\') { Cow::Owned(Unescaped::of(raw).collect()) } else { Cow::Borrowed(raw) }
}

/// Compares two names after unescaping. Each ends at its quote, or with its text, so a long name costs no more than its
/// common prefix with the other one.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let mut at = 0;
    loop {
        match (one.get(at).filter(|byte| **byte != b'"'), other.get(at).filter(|byte| **byte != b'"')) {
            (Some(b'\\'), _) | (_, Some(b'\\')) => break,
            (Some(byte), Some(same)) if byte == same => at += 1,
            (byte, differs) => return byte.cmp(&differs),
        }
    }
    let rest = |name| Unescaped::of(<[u8]>::get(name, at..).unwrap_or_default());
    rest(one).cmp(rest(other))
}

/// The bytes of a name without escapes, up to its quote or the end of the text.
struct Unescaped<'a> {
    rest: &'a [u8],
    /// The rest of a character that had an escape, the next byte last.
    pending: [u8; 4],
    pending_bytes: usize,
}

impl<'a> Unescaped<'a> {
    fn of(raw: &'a [u8]) -> Self {
        Self { rest: raw, pending: [0; 4], pending_bytes: 0 }
    }

    /// The first byte of a character, after which the others follow.
    fn begin(&mut self, code: u32) -> Option<u8> {
        let mut utf8 = [0; 4];
        let bytes = if let Some(letter) = char::from_u32(code) {
            letter.encode_utf8(&mut utf8).len()
        } else {
            // A lone surrogate: three bytes, as for its neighbours.
            let byte = |value: u32| u8::try_from(value).unwrap_or_default();
            let (high, middle, low) = (code >> 12, (code >> 6) & 0x3F, code & 0x3F);
            utf8 = [byte(0xE0 | high), byte(0x80 | middle), byte(0x80 | low), 0];
            3
        };
        self.pending_bytes = bytes;
        for (slot, byte) in self.pending.iter_mut().zip(utf8.iter().take(bytes).rev()) {
            *slot = *byte;
        }
        self.pop()
    }

    fn pop(&mut self) -> Option<u8> {
        self.pending_bytes = self.pending_bytes.checked_sub(1)?;
        self.pending.get(self.pending_bytes).copied()
    }
}

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if let Some(byte) = self.pop() {
            return Some(byte);
        }
        loop {
            let (byte, after) = self.rest.split_first().filter(|(byte, _)| **byte != b'"')?;
            self.rest = after;
            if *byte != b'\\' {
                return Some(*byte);
            }
            let (letter, after) = self.rest.split_first()?;
            self.rest = after;
            return Some(match letter {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let Some((unit, after)) = code_unit(self.rest) else { continue };
                    self.rest = after;
                    let low = match self.rest {
                        [b'\\', b'u', after @ ..] if (0xD800..0xDC00).contains(&unit) => {
                            code_unit(after).filter(|(low, _)| (0xDC00..0xE000).contains(low))
                        }
                        _ => None,
                    };
                    let code = match low {
                        Some((low, after)) => {
                            self.rest = after;
                            0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                        }
                        None => unit,
                    };
                    return self.begin(code);
                }
                other => *other,
            });
        }
    }
}

fn code_unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))?;
    Some((unit, rest))
}
