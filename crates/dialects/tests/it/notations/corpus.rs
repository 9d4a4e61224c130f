//! Assistant texts with JSON, code and quoted calls in them: none of it is a call, with every notation on.

use gateway_dialects::calls::text::Notations;

use super::{check_text, read, scan};

/// What stands between two texts of a file.
const SEPARATOR: &str = "\n%%%%\n";

/// Examples of valid calls of offered tools, with prose after them.
const QUOTED: &str = include_str!("prose/quoted.txt");
const OTHERS: [&str; 4] = [
    include_str!("prose/code.txt"),
    include_str!("prose/json.txt"),
    include_str!("prose/markup.txt"),
    include_str!("prose/answers.txt"),
];
/// Replies that are nothing but a valid call: these are calls.
const BARE: &str = include_str!("prose/bare.txt");

fn texts(file: &str) -> Vec<&str> {
    file.trim_end_matches('\n').split(SEPARATOR).collect()
}

#[test]
fn the_corpus_is_large_and_its_texts_differ() {
    let quoted = texts(QUOTED);
    let mut all: Vec<&str> =
        quoted.iter().copied().chain(OTHERS.iter().flat_map(|file| texts(file))).collect();
    assert!(quoted.len() >= 100, "{} texts with quoted calls", quoted.len());
    assert!(all.len() >= 500, "{} texts", all.len());
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "texts that are there twice");
    assert!(all.iter().all(|text| !text.trim().is_empty()));
}

#[test]
fn quoted_calls_are_text() {
    for text in texts(QUOTED) {
        check_text(&scan(Notations::all()), text);
    }
}

/// A quoted call is worth its place only if it would be a call without the words behind it.
#[test]
fn quoted_calls_would_be_calls_without_the_words_behind_them() {
    for text in texts(QUOTED) {
        let ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
        let taken = ends.filter(|end| !super::whole(&scan(Notations::all()), &text[..*end]).calls.is_empty());
        assert!(taken.count() > 0, "no call in {text}");
    }
}

#[test]
fn other_texts_are_text() {
    for text in OTHERS.iter().flat_map(|file| texts(file)) {
        check_text(&scan(Notations::all()), text);
    }
}

#[test]
fn a_reply_that_is_nothing_but_a_call_is_one() {
    for text in texts(BARE) {
        let outcome = read(&scan(Notations::all()), text);
        assert!(!outcome.calls.is_empty() && outcome.text.trim().is_empty(), "{text}");
    }
}
