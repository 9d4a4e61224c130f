//! Command lines.

/// Splits a command line into words as a shell does, without running one: quotes and backslashes, nothing else.
///
/// `None` if a quote is not closed.
pub fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_without_a_shell() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("  node  server.js ", Some(&["node", "server.js"])),
            ("npx -y 'a b' \"c d\"", Some(&["npx", "-y", "a b", "c d"])),
            (r#"a\ b "x\"y\\z" 'q\n'"#, Some(&["a b", "x\"y\\z", "q\\n"])),
            (r#"pre'fix'"ed""#, Some(&["prefixed"])),
            ("a '' \"\"", Some(&["a", "", ""])),
            ("echo $HOME; rm -rf *", Some(&["echo", "$HOME;", "rm", "-rf", "*"])),
            ("open 'quote", None),
            ("end\\", None),
        ];
        for (line, expected) in cases {
            let words = split_words(line);
            let words = words.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(words.as_deref(), *expected, "{line}");
        }
    }
}
