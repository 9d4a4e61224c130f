//! When a message is complete, and what is sent of it.

/// What stands around a message of several lines.
const FENCE: &str = "\"\"\"";

/// Whether Enter behind this text ends the message. It does not behind a backslash, nor inside of a fence.
pub(super) fn is_complete(text: &str) -> bool {
    match text.trim_start().strip_prefix(FENCE) {
        Some(inner) => inner.trim_end().ends_with(FENCE),
        None => !ends_with_backslash(text),
    }
}

/// Whether the text ends with a backslash that is not itself escaped.
fn ends_with_backslash(text: &str) -> bool {
    text.chars().rev().take_while(|letter| *letter == '\\').count() % 2 == 1
}

/// The text with a further line, which begins where a backslash ends the last one, or inside of a fence.
pub(super) fn continued(text: &str) -> String {
    let is_fenced = text.trim_start().starts_with(FENCE);
    let kept = if is_fenced { text } else { text.strip_suffix('\\').unwrap_or(text) };
    format!("{kept}\n")
}

/// The message without its fence and without white space around it; `None` if nothing is left.
pub(super) fn finished(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text.strip_prefix(FENCE).map(|inner| inner.strip_suffix(FENCE).unwrap_or(inner).trim());
    let message = inner.unwrap_or(text);
    (!message.is_empty()).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_or_a_fence_leaves_a_message_open() {
        for (text, complete) in [
            ("one", true),
            ("one\\", false),
            ("one\\\\", true),
            ("\"\"\"", false),
            ("\"\"\"one", false),
            ("\"\"\"one\n\"\"\"", true),
            ("\"\"\"one\"\"\"", true),
            ("say \"\"\"", true),
        ] {
            assert_eq!(is_complete(text), complete, "{text}");
        }
    }

    #[test]
    fn lines_are_joined_and_fences_go() {
        assert_eq!(continued("one\\"), "one\n");
        assert_eq!(continued("\"\"\"a\\"), "\"\"\"a\\\n");
        assert_eq!(finished("one\ntwo \n"), Some("one\ntwo".to_owned()));
        assert_eq!(finished("\"\"\"\none\n\n  two\n\"\"\""), Some("one\n\n  two".to_owned()));
        assert_eq!(finished(" \n"), None);
        assert_eq!(finished("\"\"\"\"\"\""), None);
    }
}
