//! What a server wrote to its standard error last: the best that is known of why it ended.

/// Stands before the last words in a reason.
const MARK: &str = "; its last words: ";

/// How many lines and bytes of them a reason has.
const LINES: usize = 6;
const BYTES: usize = 600;

/// `what`, with the end of a standard error.
pub(crate) fn with_last_words(what: &str, stderr: &str) -> String {
    let telling = without_chatter(stderr);
    // A server that wrote nothing else may have ended because of what it wrote last.
    let words = last_lines(if telling.trim().is_empty() { stderr } else { &telling }.trim_end());
    if words.is_empty() { what.to_owned() } else { format!("{what}{MARK}{words}") }
}

/// A reason without the last words in it. They may hold paths and data of the server's machine, which are nothing for a model.
pub(crate) fn without_last_words(reason: &str) -> &str {
    reason.split_once(MARK).map_or(reason, |(what, _)| what)
}

/// A standard error without the lines that only inform.
pub fn without_chatter(stderr: &str) -> String {
    let is_chatter = |line: &&str| {
        let mut words = line.split(|letter: char| !letter.is_ascii_alphabetic());
        words.any(|word| matches!(word, "INFO" | "DEBUG" | "TRACE"))
    };
    stderr.lines().filter(|line| !is_chatter(line)).collect::<Vec<_>>().join("\n")
}

fn last_lines(text: &str) -> &str {
    let start = text.rmatch_indices('\n').nth(LINES - 1).map_or(0, |(index, _)| index + 1);
    let mut start = start.max(text.len().saturating_sub(BYTES));
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_few() {
        let stderr = (0..100).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let reason = with_last_words("gone", &stderr);
        assert_eq!(reason, "gone; its last words: line 94\nline 95\nline 96\nline 97\nline 98\nline 99");
        assert_eq!(without_last_words(&reason), "gone");
        assert_eq!(with_last_words("gone", " \n"), "gone");
    }

    #[test]
    fn errors_are_not_lost_among_what_only_informs() {
        let chatter =
            (0..99).map(|line| format!("2026-01-01 INFO line {line}")).collect::<Vec<_>>().join("\n");
        let stderr = format!("ERROR no disk\n{chatter}");
        assert_eq!(with_last_words("gone", &stderr), "gone; its last words: ERROR no disk");
        let reason = with_last_words("gone", &chatter);
        assert!(reason.ends_with("INFO line 98"), "{reason}");
        let stderr =
            "INFO ready\nreading a: failed\n2026-01-01 [DEBUG] x\nINFORMATION is no level\n[trace] neither\n";
        assert_eq!(without_chatter(stderr), "reading a: failed\nINFORMATION is no level\n[trace] neither");
    }
}
