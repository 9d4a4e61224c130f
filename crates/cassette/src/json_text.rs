//! White space in JSON text. Numbers, escapes and the order of members stay as they came.

use std::collections::BTreeSet;

/// Containers that are no longer than this stay on one line.
const LINE: usize = 100;
const INDENT: &str = "  ";

/// The text without white space between its tokens.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for (token, _) in Tokens::of(json) {
        out.push_str(token);
    }
    out
}

/// Compact JSON in lines: a container that is long has each of its members on a line of its own.
pub(crate) fn indented(compact: &str) -> String {
    let long_ones = long_ones(compact);
    let mut out = String::with_capacity(compact.len() * 5 / 4);
    // For each open container, whether it is written in lines.
    let mut open: Vec<bool> = Vec::new();
    for (token, at) in Tokens::of(compact) {
        let in_lines = open.last().copied().unwrap_or(false);
        match token {
            "{" | "[" => {
                let long = long_ones.contains(&at);
                open.push(long);
                out.push_str(token);
                if long {
                    new_line(&mut out, &open);
                }
            }
            "}" | "]" => {
                open.pop();
                if in_lines {
                    new_line(&mut out, &open);
                }
                out.push_str(token);
            }
            "," if in_lines => {
                out.push(',');
                new_line(&mut out, &open);
            }
            "," => out.push_str(", "),
            ":" => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    out.push('\n');
    out
}

fn new_line(out: &mut String, open: &[bool]) {
    out.push('\n');
    for _ in open.iter().filter(|in_lines| **in_lines) {
        out.push_str(INDENT);
    }
}

/// Where the containers begin that are too long for a line.
fn long_ones(compact: &str) -> BTreeSet<usize> {
    let mut long = BTreeSet::new();
    let mut open = Vec::new();
    for (token, at) in Tokens::of(compact) {
        match token {
            "{" | "[" => open.push(at),
            "}" | "]" => {
                if let Some(start) = open.pop()
                    && at - start >= LINE
                {
                    long.insert(start);
                }
            }
            _ => {}
        }
    }
    long
}

/// The tokens of JSON text and where they begin. In text that is no JSON they are still parts of it, in order.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (&'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        while bytes.get(self.at).is_some_and(blank) {
            self.at += 1;
        }
        let start = self.at;
        self.at += match bytes.get(start)? {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => string_length(bytes.get(start..).unwrap_or_default()),
            _ => {
                let rest = bytes.get(start..).unwrap_or_default();
                let ends =
                    |byte: &u8| blank(byte) || matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"');
                rest.iter().position(ends).unwrap_or(rest.len())
            }
        };
        self.text.get(start..self.at).map(|token| (token, start))
    }
}

/// The length of the string that the text begins with, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    for (index, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn long_containers_take_lines_and_short_ones_stay() {
        let long = "x".repeat(LINE);
        let text = format!(r#"{{"a":[1,2.50,{{}}],"b":{{"c":"{long}","d":"\" : ,"}}}}"#);
        let expected = format!(
            "{{\n  \"a\": [1, 2.50, {{}}],\n  \"b\": {{\n    \"c\": \"{long}\",\n    \"d\": \"\\\" : ,\"\n  }}\n}}\n"
        );
        assert_eq!(indented(&text), expected);
        assert_eq!(compact(&expected), text);
    }

    proptest! {
        #[test]
        fn white_space_changes_nothing(value in crate::matching::tests::json()) {
            let text = value.to_string();
            let lines = indented(&text);
            prop_assert_eq!(&compact(&lines), &text);
            prop_assert_eq!(serde_json::from_str::<Value>(&lines).unwrap(), value);
        }

        #[test]
        fn any_text_keeps_its_letters(text in "[ \\n\\[\\]{}:,\"\\\\a1é]{0,40}") {
            let blank = |text: &str| text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect::<String>();
            prop_assert_eq!(blank(&compact(&text)), blank(&text));
        }
    }
}
