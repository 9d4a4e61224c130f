//! Size caps: a value that is too long keeps its beginning and a note of its length.
//!
//! A value is shortened twice. Before it is queued, to the cap plus a margin, so that one long result costs the queue no
//! more than many short ones. After redaction, to the cap; the margin is dropped then, because a secret that begins in it
//! may lack the end by which it is recognised.

use bytes::Bytes;

use super::{
    nesting::brackets,
    walk::{SHORTEST_BLOB, is_base64},
};

/// What is kept beyond the cap until redaction.
pub(crate) const MARGIN: usize = 4096;
/// JSON parsers reject values that are nested much deeper.
const DEEPEST: usize = 100;

/// Shortens a JSON text to about the cap plus the margin; long base64 text becomes a note. Returns the original length if
/// the text was truncated; its last string is then closed.
pub(crate) fn shorten(json: &mut Bytes, cap: usize) -> Option<usize> {
    let room = cap.saturating_add(MARGIN);
    if json.len() <= room {
        return None;
    }
    let original = json.len();
    let mut out: Vec<u8> = Vec::with_capacity(room + 256);
    let mut at = 0;
    while let Some(byte) = json.get(at).copied() {
        if out.len() >= room {
            *json = Bytes::from(out);
            return Some(original);
        }
        if byte != b'"' {
            out.push(byte);
            at += 1;
            continue;
        }
        let rest = json.get(at + 1..).unwrap_or_default();
        if let Some(before) = blob_before(&out, rest) {
            let length = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            if length >= SHORTEST_BLOB {
                let bytes = (length - before) * 3 / 4;
                out.push(b'"');
                out.extend_from_slice(rest.get(..before).unwrap_or_default());
                out.extend_from_slice(format!("[{bytes} bytes of base64]\"").as_bytes());
                at += length + 2;
                continue;
            }
        }
        // At least one byte, so that every turn makes progress.
        let left = room.saturating_sub(out.len()).max(1);
        let length = string_length(rest, left);
        out.push(b'"');
        out.extend_from_slice(rest.get(..length).unwrap_or_default());
        out.push(b'"');
        at += length + 2;
        if rest.get(length) != Some(&b'"') {
            *json = Bytes::from(out);
            return Some(original);
        }
    }
    *json = Bytes::from(out);
    None
}

/// The length of the string up to its closing quote, at most about `most`, without splitting an escape.
fn string_length(rest: &[u8], most: usize) -> usize {
    let mut at = 0;
    while at < most {
        match rest.get(at) {
            None => return rest.len(),
            Some(b'"') => return at,
            // The longest is `\u` with four digits.
            Some(b'\\') => at += if rest.get(at + 1) == Some(&b'u') { 6 } else { 2 },
            Some(_) => at += 1,
        }
    }
    at.min(rest.len())
}

/// The offset at which base64 text begins, if it does: `"data":"…"`, `"blob":"…"`, `data:…;base64,…`.
fn blob_before(out: &[u8], rest: &[u8]) -> Option<usize> {
    let before = out.trim_ascii_end();
    let named = before.strip_suffix(b":").map(<[u8]>::trim_ascii_end);
    let begin = if named.is_some_and(|before| before.ends_with(b"\"data\"") || before.ends_with(b"\"blob\""))
    {
        0
    } else {
        rest.strip_prefix(b"data:")?;
        let head = std::str::from_utf8(rest.get(..SHORTEST_BLOB.min(rest.len()))?).ok()?;
        head.find(";base64,")? + ";base64,".len()
    };
    let sample = rest.get(begin..(begin + 4 * SHORTEST_BLOB).min(rest.len()))?;
    let sample = sample.split(|byte| *byte == b'"').next()?;
    is_base64(std::str::from_utf8(sample).ok()?).then_some(begin)
}

/// A JSON object of at most about `cap` bytes that replaces a longer JSON text.
///
/// `original` is the length of the value before redaction.
pub(crate) fn cut(text: &str, original: usize, cap: usize) -> String {
    framed(text, original, cap, "")
}

/// The same for a text that is nested too deeply for other parsers; `None` if it is not.
pub(crate) fn flatten(text: &str, original: usize, cap: usize) -> Option<String> {
    if text.len() <= 2 * DEEPEST {
        return None;
    }
    let depth = depth(text);
    (depth > DEEPEST).then(|| framed(text, original, cap, &format!("\"depth\":{depth},")))
}

fn framed(text: &str, original: usize, cap: usize, more: &str) -> String {
    // The frame around the head: names, quotes, and up to twenty digits.
    let room = cap.saturating_sub(64 + more.len());
    let mut used = 0;
    let end = text.char_indices().find(|(_, character)| {
        used += escaped_length(*character);
        used > room
    });
    let head = text.get(..end.map_or(text.len(), |(end, _)| end)).unwrap_or_default();
    format!("{{\"truncated\":true,\"bytes\":{original},{more}\"head\":{}}}", serde_json::Value::from(head))
}

/// How deep arrays and objects are nested.
fn depth(json: &str) -> usize {
    let mut depth = 0_usize;
    let depths = brackets(json).map(|(_, bracket)| {
        depth = if matches!(bracket, b'{' | b'[') { depth + 1 } else { depth.saturating_sub(1) };
        depth
    });
    depths.max().unwrap_or_default()
}

/// The beginning of a text that is too long, with a note of its length.
pub(crate) fn cut_text(text: &str, original: usize, cap: usize) -> String {
    let note = format!("… [{original} bytes]");
    let end = text.floor_char_boundary(cap.saturating_sub(note.len()));
    format!("{}{note}", text.get(..end).unwrap_or_default())
}

/// The bytes that a character takes in a JSON string.
fn escaped_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_head_is_kept_on_a_character_boundary() {
        let text = format!("\"{}\"", "é".repeat(500));
        let cut = cut(&text, text.len(), 170);
        let value: serde_json::Value = serde_json::from_str(&cut).unwrap();
        let expected =
            serde_json::json!({"truncated": true, "bytes": 1002, "head": format!("\"{}", "é".repeat(52))});
        assert_eq!(value, expected);
    }

    #[test]
    fn a_text_is_cut_with_a_note() {
        assert_eq!(cut_text(&"ä".repeat(100), 200, 50), format!("{}… [200 bytes]", "ä".repeat(17)));
    }

    #[test]
    fn a_long_value_is_shortened_before_it_is_queued() {
        let mut json = Bytes::from(format!(r#"{{"a":"{}\u0041","end":1}}"#, "x".repeat(30 << 20)));
        let original = json.len();
        assert_eq!(shorten(&mut json, 1000), Some(original));
        assert_eq!(json, format!(r#"{{"a":"{}""#, "x".repeat(1000 + MARGIN - 5)));
        let mut json = Bytes::from(format!(r#"{{"data":"{}","end":1}}"#, "QUJD".repeat(5 << 20)));
        assert_eq!(shorten(&mut json, 1000), None);
        assert_eq!(json, r#"{"data":"[15728640 bytes of base64]","end":1}"#);
    }

    #[test]
    fn what_is_nested_too_deep_becomes_text() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(flatten(&deep(100), 201, 1000), None);
        let text = deep(101);
        let value: serde_json::Value = serde_json::from_str(&flatten(&text, 203, 1000).unwrap()).unwrap();
        assert_eq!(value, serde_json::json!({"truncated": true, "bytes": 203, "depth": 101, "head": text}));
    }

    proptest! {
        #[test]
        fn a_cut_value_is_json_and_under_the_cap(text in "\\PC{0,400}", control in "[\\x00-\\x1f\"\\\\]{0,100}", cap in 100_usize..600) {
            let text = format!("{text}{control}");
            let cut = cut(&text, text.len(), cap);
            prop_assert!(cut.len() <= cap + 20, "{} > {cap}", cut.len());
            let value: serde_json::Value = serde_json::from_str(&cut).unwrap();
            prop_assert!(text.starts_with(value["head"].as_str().unwrap()));
        }
    }
}
