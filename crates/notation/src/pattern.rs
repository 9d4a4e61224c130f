//! Patterns of names: `*` is any text, also none; `?` is any one character; everything else is itself.

use std::collections::BTreeMap;

const WILDCARDS: [char; 2] = ['*', '?'];

/// Whether a name has wildcards.
pub fn is_pattern(name: &str) -> bool {
    name.contains(WILDCARDS)
}

/// The longest text without wildcards that everything which matches must contain.
pub fn longest_literal(pattern: &str) -> &str {
    pattern.split(WILDCARDS).max_by_key(|piece| piece.len()).unwrap_or_default()
}

/// Whether the whole of `text` matches `pattern`. Takes time in proportion to both lengths at worst.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Where to backtrack to: the pattern after the last `*`, and the text that this `*` has not taken yet.
    let mut retry = None;
    loop {
        let text_here = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((pattern.clone(), text_here.clone()));
                text = text_here;
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => {
                let Some((after_star, mut taken)) = retry.take() else { return false };
                if taken.next().is_none() {
                    return false;
                }
                retry = Some((after_star.clone(), taken.clone()));
                (pattern, text) = (after_star, taken);
            }
        }
    }
}

/// Whether any of the patterns matches.
pub fn any_matches<'a>(patterns: impl IntoIterator<Item = &'a String>, text: &str) -> bool {
    patterns.into_iter().any(|pattern| matches(pattern, text))
}

/// The entries whose pattern matches, the most specific first: the exact name, then the most letters.
pub fn matching<'a, T>(entries: &'a BTreeMap<String, T>, text: &str) -> Vec<&'a T> {
    let mut found: Vec<(usize, &T)> = entries
        .iter()
        .filter(|(pattern, _)| matches(pattern, text))
        .map(|(pattern, value)| {
            let wild = pattern.chars().filter(|letter| WILDCARDS.contains(letter)).count();
            let exact = if wild == 0 { usize::MAX } else { pattern.chars().count() - wild };
            (exact, value)
        })
        .collect();
    found.sort_by_key(|(letters, _)| std::cmp::Reverse(*letters));
    found.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let cases = [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "read_", true),
            ("read_*", "spread_file", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a?c", "aéc", true),
            ("*?", "", false),
            ("*?", "x", true),
            ("a*", "b", false),
            ("Read", "read", false),
            ("*ab", "aab", true),
            ("*.tar.*", "x.tar.tar.gz", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("[a]", "a", false),
            ("rm_?", "rm_é", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_every_match_contains_is_known() {
        for (pattern, literal) in [("*_secret?x", "_secret"), ("add", "add"), ("*?*", "")] {
            assert_eq!((longest_literal(pattern), is_pattern(pattern)), (literal, pattern != "add"));
        }
    }

    #[test]
    fn hostile_patterns_stay_cheap() {
        let text = "a".repeat(2_000);
        assert!(!matches(&format!("{}b", "a*".repeat(200)), &text));
    }

    #[test]
    fn the_most_specific_entry_comes_first() {
        let entries: BTreeMap<String, i32> = [
            ("*".to_owned(), 1),
            ("read_*".to_owned(), 2),
            ("read_file".to_owned(), 3),
            ("w*".to_owned(), 4),
        ]
        .into();
        assert_eq!(matching(&entries, "read_file"), [&3, &2, &1]);
    }
}
