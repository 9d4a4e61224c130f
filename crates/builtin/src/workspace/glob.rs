//! Patterns of file names: `*`, `?`, `[…]`, `{a,b}`, and `**` for any directories.

use regex::Regex;

use super::search::{Case, compile};

/// The longest pattern, in bytes.
const LONGEST: usize = 1_000;

/// A pattern. Without a `/` it is about the name alone, else about the path from the directory that is searched.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    is_path: bool,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("file_pattern `{}`: {why}", text.escape_debug()));
        if text.is_empty() || text.len() > LONGEST {
            return refuse("must have 1 to 1000 bytes");
        }
        match translated(text.strip_prefix("./").unwrap_or(text)) {
            Ok(regex) => Ok(Self { regex: compile(&regex, Case::Sensitive)?, is_path: text.contains('/') }),
            Err(why) => refuse(why),
        }
    }

    pub(super) fn matches(&self, path: &str, name: &str) -> bool {
        self.regex.is_match(if self.is_path { path } else { name })
    }
}

/// The pattern as a regular expression.
fn translated(text: &str) -> Result<String, &'static str> {
    let mut regex = String::from(r"\A");
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            '*' if rest.starts_with("*/") => {
                rest = rest.get(2..).unwrap_or_default();
                regex.push_str("(?:[^/]+/)*");
            }
            '*' if rest.starts_with('*') => {
                rest = rest.get(1..).unwrap_or_default();
                regex.push_str(".*");
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => {
                // A bracket right after the opening one belongs to the set.
                let skip = usize::from(rest.starts_with('!') || rest.starts_with('^'));
                let Some(end) = rest.get(skip + 1..).and_then(|inner| inner.find(']')) else {
                    return Err("`[` has no `]`");
                };
                let (set, after) = rest.split_at(skip + 1 + end);
                rest = after.get(1..).unwrap_or_default();
                let (negated, set) =
                    if skip == 1 { ("^/", set.get(1..).unwrap_or_default()) } else { ("", set) };
                regex.push('[');
                regex.push_str(negated);
                for letter in set.chars() {
                    if !letter.is_alphanumeric() && letter != '-' && letter.is_ascii() {
                        regex.push('\\');
                    }
                    regex.push(letter);
                }
                regex.push(']');
            }
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            ',' if depth > 0 => regex.push('|'),
            letter => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 {
        return Err("`{` has no `}`");
    }
    regex.push_str(r"\z");
    Ok(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, path, expected) in [
            ("*.rs", "src/a.rs", true),
            ("*.rs", "src/a.rss", false),
            ("*.{ts,tsx}", "a/b.tsx", true),
            ("*.{ts,tsx}", "a/b.js", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("**/test.rs", "test.rs", true),
            ("src/**", "src/a/b", true),
            ("./src/*", "src/a", true),
            ("a?.txt", "ab.txt", true),
            ("a?.txt", "a.txt", false),
            ("[ab].txt", "b.txt", true),
            ("[!ab].txt", "b.txt", false),
            ("[^ab].txt", "c.txt", true),
            ("[a-c].txt", "b.txt", true),
            ("[].]x", ".x", true),
            ("a.b", "axb", false),
            ("a+(b)$", "a+(b)$", true),
            ("ü*", "über", true),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            let name = path.rsplit('/').next().unwrap();
            assert_eq!(parsed.matches(path, name), expected, "{pattern} {path}");
        }
        for wrong in ["", "[a", "{a,b"] {
            assert!(Pattern::parse(wrong).unwrap_err().starts_with("file_pattern"), "{wrong}");
        }
    }
}
