//! Words of names and texts, as they were written.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A word as it was written: whole, and the pieces that its case and its digits show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case.
    pub(crate) plain: String,
    /// Its pieces in lower case; empty where it has only one.
    pub(crate) pieces: Vec<String>,
}

/// Longer words are no words: identifiers, encoded data.
const LONGEST: usize = 48;

/// The words of a text, in order, and at most so many.
pub(crate) fn words(text: &str, most: usize) -> Vec<Word> {
    let mut found = Vec::new();
    for run in text.split(|letter: char| !letter.is_alphanumeric()) {
        if found.len() >= most {
            break;
        }
        if run.is_empty() || run.len() > LONGEST * 4 {
            continue;
        }
        let mut rest = run;
        // Scripts without blanks are cut into pairs, so that a part of a sentence is found in it.
        while let Some(start) = rest.find(is_unspaced) {
            let (before, from) = rest.split_at(start);
            add(&mut found, before);
            let end = from.find(|letter| !is_unspaced(letter)).unwrap_or(from.len());
            let (unspaced, after) = from.split_at(end);
            add_pairs(&mut found, unspaced);
            rest = after;
        }
        add(&mut found, rest);
    }
    found.truncate(most);
    found
}

fn add(found: &mut Vec<Word>, run: &str) {
    if run.is_empty() || run.chars().count() > LONGEST {
        return;
    }
    let plain = run.to_lowercase();
    let pieces: Vec<String> = pieces(run).into_iter().map(str::to_lowercase).collect();
    let pieces = if pieces.len() > 1 { pieces } else { Vec::new() };
    found.push(Word { plain, pieces });
}

fn add_pairs(found: &mut Vec<Word>, run: &str) {
    let letters: Vec<char> = run.chars().collect();
    for pair in letters.windows(2.min(letters.len()).max(1)) {
        let plain: String = pair.iter().flat_map(|letter| letter.to_lowercase()).collect();
        found.push(Word { plain, pieces: Vec::new() });
    }
}

/// Letters of scripts that write sentences without blanks.
fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter), 0x0E00..=0x0EFF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// The pieces of `getHTTPServer2`: `get`, `HTTP`, `Server`, `2`. Single letters before digits stay with them: `v2`, `S3`.
fn pieces(run: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = run.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    for (index, window) in letters.windows(2).enumerate() {
        let [(_, before), (at, letter)] = window else { continue };
        let next = letters.get(index + 2).map(|(_, letter)| *letter);
        let rises = before.is_lowercase() && letter.is_uppercase();
        let ends_capitals =
            before.is_uppercase() && letter.is_uppercase() && next.is_some_and(char::is_lowercase);
        let turns = before.is_numeric() != letter.is_numeric();
        let is_long = run.get(start..*at).is_some_and(|piece| piece.chars().count() > 1);
        if (rises || ends_capitals || turns && is_long)
            && let Some(piece) = run.get(start..*at)
        {
            found.push(piece);
            start = *at;
        }
    }
    found.extend(run.get(start..).filter(|piece| !piece.is_empty()));
    found
}

/// Words that say nothing about which tool is meant.
const STOP: &str = "a about across after again against ago already also am an and another any anybody anyone anything are as at be because been \
                    before being between but by can could d did do does doing done else ever every for from go going had has \
                    have having he help her here him his how i if in into is isn it its just let like ll m many may me \
                    might more most much must my myself need needs no not of off oh ok okay on one ones onto or other our \
                    ours out over own per please quite rather re really s shall she should since so some somebody somehow \
                    someone something somewhere still such sure t tell than thank thanks that the their them then there \
                    these they thing things this those through to too toward towards under until upon us use using ve very via want wanted wants was way we \
                    well were what whatever when whenever where which while who whom whose why will wish with within \
                    without won would yes yet you your yours";

/// Whether a word in lower case says nothing.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static TABLE: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP.split_whitespace().collect());
    TABLE.contains(word)
}

/// Whether one word is the other with a slip of the hand: a letter more, less, wrong, or two letters swapped. With
/// `slips` of two, twice.
pub(crate) fn is_near(one: &str, other: &str, slips: usize) -> bool {
    // Lengths first: the distance is at least their difference, and takes the product of them to find.
    one.chars().count().abs_diff(other.chars().count()) <= slips && strsim::osa_distance(one, other) <= slips
}

/// Whether two words have the same letters, in another order.
pub(crate) fn is_swapped(one: &str, other: &str) -> bool {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    letters(one) == letters(other)
}

/// Whether a word asks for a person. It says nothing about the tool otherwise.
pub(crate) fn asks_for_person(word: &str) -> bool {
    matches!(word, "who" | "whom" | "whose")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = words(text, 100)
            .into_iter()
            .flat_map(|word| std::iter::once(word.plain).chain(word.pieces))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_fall_into_words() {
        check("send_message", &["send", "message"]);
        check("list-boards", &["list", "boards"]);
        check("getHTTPServer", &["gethttpserver", "get", "http", "server"]);
        check(
            "TwilioApiV2010--CreateMessage",
            &["twilioapiv2010", "twilio", "api", "v2010", "createmessage", "create", "message"],
        );
        check("solidity-erc721", &["solidity", "erc721", "erc", "721"]);
        check("r2_list S3", &["r2", "list", "s3"]);
        check("GitHub", &["github", "git", "hub"]);
        check("  -- __ ", &[]);
    }

    #[test]
    fn other_scripts_are_words_too() {
        check("Größe ÉTÉ", &["größe", "été"]);
        check("поиск Файлов", &["поиск", "файлов"]);
        check("查询天气 city", &["查询", "询天", "天气", "city"]);
        check("查", &["查"]);
    }

    #[test]
    fn slips_of_the_hand_are_near() {
        for (one, other, slips, expected) in [
            ("weather", "wether", 1, true),
            ("weather", "waether", 1, true),
            ("weather", "weathers", 1, true),
            ("weather", "wehter", 1, false),
            ("repository", "repozitroy", 2, true),
            ("list", "mist", 1, true),
            ("list", "", 1, false),
            ("", "", 1, true),
        ] {
            assert_eq!(is_near(one, other, slips), expected, "{one} {other}");
        }
    }

    #[test]
    fn endless_words_are_left_out() {
        assert_eq!(words(&"x".repeat(10_000), 100), []);
        assert_eq!(words(&"ab ".repeat(10_000), 7).len(), 7);
    }
}
