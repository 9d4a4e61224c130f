//! Which words people use for each other.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The table, as it was written down.
const TEXT: &str = include_str!("synonyms.txt");

/// Words and phrases with what stands for them.
#[derive(Debug, Default)]
pub(crate) struct Synonyms {
    /// By the word: what stands for it.
    words: HashMap<String, Vec<Synonym>>,
    /// Words in a row, in lower case, with what stands for them; the longest first.
    phrases: Vec<(Vec<String>, Vec<Synonym>)>,
    /// What most tools do to something.
    verbs: HashSet<String>,
}

/// A word that stands for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Synonym {
    pub(crate) word: String,
    pub(crate) kind: SynonymKind,
}

/// How near two words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SynonymKind {
    /// The same word, written shorter.
    Same,
    /// A word that is used for the same.
    Similar,
}

/// The table that every index uses.
pub(crate) static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::read(TEXT));

impl Synonyms {
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        let mut section = "";
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(title) = line.strip_prefix('[') {
                section = title.trim_end_matches(']');
                continue;
            }
            let kind = if section == "shortened" { SynonymKind::Same } else { SynonymKind::Similar };
            let entries: Vec<&str> = line.split(',').map(str::trim).collect();
            if section == "verbs" {
                read.verbs.extend(entries.iter().map(|entry| (*entry).to_owned()));
            }
            let words = entries.iter().filter(|entry| !entry.contains(' '));
            let group: Vec<Synonym> =
                words.map(|entry| Synonym { word: (*entry).to_owned(), kind }).collect();
            for own in &group {
                let others = read.words.entry(own.word.clone()).or_default();
                for other in group.iter().filter(|other| other.word != own.word) {
                    match others.iter_mut().find(|known| known.word == other.word) {
                        Some(known) if kind == SynonymKind::Same => known.kind = kind,
                        Some(_) => {}
                        None => others.push(other.clone()),
                    }
                }
            }
            for phrase in entries.iter().filter(|entry| entry.contains(' ')) {
                let words = phrase.split_whitespace().map(str::to_owned).collect();
                read.phrases.push((words, group.clone()));
            }
        }
        read.phrases.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        read
    }

    /// What stands for a word; `None` if the table does not have it.
    pub(crate) fn of(&self, word: &str) -> Option<&[Synonym]> {
        self.words.get(word).map(Vec::as_slice)
    }

    /// Whether a word says what most tools do to something, and so little about which of them is meant.
    pub(crate) fn is_verb(&self, word: &str) -> bool {
        self.verbs.contains(word)
    }

    /// The phrase that a row of words begins with: how many words it takes, and what stands for it.
    pub(crate) fn phrase<'a>(
        &self,
        words: &(impl Iterator<Item = &'a str> + Clone),
    ) -> Option<(usize, &[Synonym])> {
        self.phrases.iter().find_map(|(phrase, synonyms)| {
            let begins = phrase.len() <= words.clone().count()
                && phrase.iter().zip(words.clone()).all(|(wanted, word)| wanted == word);
            begins.then_some((phrase.len(), synonyms.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_both_ways() {
        let table = Synonyms::read(
            "# why\n[things]\nticket, issue, bug\n\nbug, insect\n[verbs]\nfind, look up, look\n[shortened]\nstatistics, stats\n",
        );
        let of = |word: &str| -> Option<Vec<(&str, SynonymKind)>> {
            Some(table.of(word)?.iter().map(|synonym| (synonym.word.as_str(), synonym.kind)).collect())
        };
        let (same, similar) = (SynonymKind::Same, SynonymKind::Similar);
        assert_eq!(of("bug"), Some(vec![("ticket", similar), ("issue", similar), ("insect", similar)]));
        assert_eq!(of("ticket"), Some(vec![("issue", similar), ("bug", similar)]));
        assert_eq!(of("stats"), Some(vec![("statistics", same)]));
        assert_eq!(of("statistics"), Some(vec![("stats", same)]));
        assert_eq!(of("nothing"), None);
        let phrase = |text: &str| {
            let (count, synonyms) = table.phrase(&text.split(' '))?;
            Some((count, synonyms.iter().map(|synonym| synonym.word.as_str()).collect::<Vec<_>>()))
        };
        assert_eq!(phrase("look up a word"), Some((2, vec!["find", "look"])));
        assert_eq!(phrase("look"), None);
        assert_eq!(["find", "look", "bug"].map(|word| table.is_verb(word)), [true, true, false]);
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
