//! Patterns in which `*` stands for any text.

/// Whether `text` is matched by `pattern`, where `*` stands for any text, also none.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut rest = rest;
    // The earliest place for each middle piece leaves the most text for those after it.
    while let Some((piece, after)) = rest.split_once('*') {
        let Some(at) = text.find(piece) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
        rest = after;
    }
    text.ends_with(rest)
}

/// The pattern in SQLite's `GLOB` language, in which `?` and `[` are special too.
pub(crate) fn to_glob(pattern: &str) -> String {
    let mut glob = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        match character {
            '?' => glob.push_str("[?]"),
            '[' => glob.push_str("[[]"),
            other => glob.push(other),
        }
    }
    glob
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("add", "add", true),
            ("add", "adds", false),
            ("*", "", true),
            ("add*", "add_all", true),
            ("*_secret", "client_secret", true),
            ("*_secret", "secret_client", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*ab*", "xxabyy", true),
            ("**", "x", true),
            ("?x", "ax", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn only_the_star_is_special_in_a_glob() {
        assert_eq!(to_glob("a?[b]*"), "a[?][[]b]*");
    }
}
