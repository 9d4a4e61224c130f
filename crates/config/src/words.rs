//! Command lines and misspelt words.

/// Splits a command line into words as a shell does, without running one: quotes and backslashes, nothing else.
///
/// Nothing, if a quote is not closed.
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

/// The known word that is most like `word`, if one is like it at all.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let word = plain(word);
    let most = (word.len() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|known| (distance(&word, &plain(known)), known))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many letters must be changed, added, taken away or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&last, column) + usize::from(letter != wanted))
                .min(at(&last, column + 1) + 1)
                .min(at(&current, column) + 1);
            let swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(wanted)
                && other.get(column - 1) == Some(letter);
            if swapped {
                cost = cost.min(at(&before_last, column - 1) + 1);
            }
            current.push(cost);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(usize::MAX)
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

    #[test]
    fn misspelt_words_find_their_nearest() {
        let known = ["command", "args", "env", "timeout", "alwaysAllow", "connectTimeout"];
        let cases = [
            ("comand", Some("command")),
            ("cmomand", Some("command")),
            ("always_allow", Some("alwaysAllow")),
            ("connect-timeout", Some("connectTimeout")),
            ("Args", Some("args")),
            ("envs", Some("env")),
            ("zebra", None),
            ("x", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
