//! Which words people use for each other.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::stem;

/// The table, as it was written down.
const TEXT: &str = include_str!("synonyms.txt");

/// Words and phrases with what stands for them.
#[derive(Debug, Default)]
pub(crate) struct Synonyms {
    /// By the stem of a word: the stems that stand for it.
    words: HashMap<String, Vec<String>>,
    /// Words in a row, in lower case, with the stems that stand for them; the longest first.
    phrases: Vec<(Vec<String>, Vec<String>)>,
}

/// The table that every index uses.
pub(crate) static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::read(TEXT));

impl Synonyms {
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let entries: Vec<&str> = line.split(',').map(str::trim).collect();
            let stems: Vec<String> =
                entries.iter().filter(|entry| !entry.contains(' ')).map(|entry| stem(entry)).collect();
            for own in &stems {
                let others = read.words.entry(own.clone()).or_default();
                for other in stems.iter().filter(|other| *other != own) {
                    if !others.contains(other) {
                        others.push(other.clone());
                    }
                }
            }
            for phrase in entries.iter().filter(|entry| entry.contains(' ')) {
                let words = phrase.split_whitespace().map(str::to_owned).collect();
                read.phrases.push((words, stems.clone()));
            }
        }
        read.phrases.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        read
    }

    /// What stands for a stem.
    pub(crate) fn of(&self, stem: &str) -> &[String] {
        self.words.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    /// The phrase that a row of words begins with: how many words it takes, and what stands for it.
    pub(crate) fn phrase<'a>(
        &self,
        words: &(impl Iterator<Item = &'a str> + Clone),
    ) -> Option<(usize, &[String])> {
        self.phrases.iter().find_map(|(phrase, stems)| {
            let begins = phrase.len() <= words.clone().count()
                && phrase.iter().zip(words.clone()).all(|(wanted, word)| wanted == word);
            begins.then_some((phrase.len(), stems.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_both_ways() {
        let table = Synonyms::read("# why\nticket, issues, bug\n\nbug, insect\nfind, look up, look\n");
        assert_eq!(table.of("bug"), ["ticket", "issu", "insect"]);
        assert_eq!(table.of("ticket"), ["issu", "bug"]);
        assert_eq!(table.of("nothing"), [""; 0]);
        let phrase =
            |text: &str| table.phrase(&text.split(' ')).map(|(count, stems)| (count, stems.to_vec()));
        assert_eq!(phrase("look up a word"), Some((2, vec!["find".to_owned(), "look".to_owned()])));
        assert_eq!(phrase("look"), None);
    }

    #[test]
    fn the_table_has_no_entry_twice_in_a_group() {
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let mut entries: Vec<&str> = line.split(',').map(str::trim).collect();
            let count = entries.len();
            entries.sort_unstable();
            entries.dedup();
            assert_eq!(entries.len(), count, "{line}");
        }
    }
}
