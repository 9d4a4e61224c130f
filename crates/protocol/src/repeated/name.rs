//! Names of members without their escapes.

use std::borrow::Cow;

/// A name without escapes. Halves of pairs that stand alone have no UTF-8; they get the bytes that it would have for them,
/// so that equal names are equal.
pub(super) fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let [letter, after @ ..] = rest else { break };
        rest = after;
        match letter {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let Some((unit, after)) = code_unit(rest) else { continue };
                rest = after;
                let low = match rest {
                    [b'\\', b'u', after @ ..] if (0xD800..0xDC00).contains(&unit) => {
                        code_unit(after).filter(|(low, _)| (0xDC00..0xE000).contains(low))
                    }
                    _ => None,
                };
                let code = match low {
                    Some((low, after)) => {
                        rest = after;
                        0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    }
                    None => unit,
                };
                push_code(&mut out, code);
            }
            other => out.push(*other),
        }
    }
    Cow::Owned(out)
}

fn code_unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))?;
    Some((unit, rest))
}

fn push_code(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(letter) => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        // A lone surrogate: three bytes, as for its neighbours.
        None => out.extend(
            [0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)]
                .into_iter()
                .filter_map(|byte| u8::try_from(byte).ok()),
        ),
    }
}
