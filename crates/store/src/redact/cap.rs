//! Size caps: what is too long keeps its head and its tail and says how long it was.

/// A JSON object of at most about `cap` bytes that stands for a longer JSON text.
///
/// `original` is the length of the value as it came, before anything was taken out of it.
pub(crate) fn cut(text: &str, original: usize, cap: usize) -> String {
    // The frame around head and tail: names, quotes, and up to twenty digits.
    let room = cap.saturating_sub(70);
    let head_end = fitting(
        text.char_indices().map(|(at, character)| (at + character.len_utf8(), character)),
        room / 4 * 3,
    );
    let tail_start = fitting(text.char_indices().rev(), room / 4).map(|at| at.max(head_end.unwrap_or(0)));
    let head = head_end.and_then(|end| text.get(..end)).unwrap_or_default();
    let tail = tail_start.and_then(|start| text.get(start..)).unwrap_or_default();
    format!(
        "{{\"truncated\":true,\"bytes\":{original},\"head\":{},\"tail\":{}}}",
        serde_json::Value::from(head),
        serde_json::Value::from(tail)
    )
}

/// The beginning of a text that is too long, with a note of how long it was.
pub(crate) fn cut_text(text: &str, cap: usize) -> String {
    let note = format!("… [{} bytes]", text.len());
    let end = text.floor_char_boundary(cap.saturating_sub(note.len()));
    format!("{}{note}", text.get(..end).unwrap_or_default())
}

/// The last position whose characters up to it, written as a JSON string, need at most `room` bytes.
fn fitting(positions: impl Iterator<Item = (usize, char)>, room: usize) -> Option<usize> {
    let mut used = 0;
    positions
        .take_while(|(_, character)| {
            used += escaped_length(*character);
            used <= room
        })
        .last()
        .map(|(at, _)| at)
}

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
    fn head_and_tail_are_kept_on_character_boundaries() {
        let text = format!("\"{}\"", "é".repeat(500));
        let cut = cut(&text, text.len(), 170);
        let value: serde_json::Value = serde_json::from_str(&cut).unwrap();
        assert_eq!(value["truncated"], true);
        assert_eq!(value["bytes"], 1002);
        assert_eq!(value["head"], format!("\"{}", "é".repeat(36)));
        assert_eq!(value["tail"], format!("{}\"", "é".repeat(11)));
    }

    #[test]
    fn a_text_is_cut_with_a_note() {
        assert_eq!(cut_text(&"ä".repeat(100), 50), format!("{}… [200 bytes]", "ä".repeat(17)));
    }

    proptest! {
        #[test]
        fn a_cut_value_is_json_and_under_the_cap(text in "\\PC{0,400}", control in "[\\x00-\\x1f\"\\\\]{0,100}", cap in 100_usize..600) {
            let text = format!("{text}{control}");
            let cut = cut(&text, text.len(), cap);
            prop_assert!(cut.len() <= cap + 20, "{} > {cap}", cut.len());
            let value: serde_json::Value = serde_json::from_str(&cut).unwrap();
            prop_assert!(text.starts_with(value["head"].as_str().unwrap()));
            prop_assert!(text.ends_with(value["tail"].as_str().unwrap()));
        }
    }
}
