//! Words of names and texts, in the form in which they are compared.

/// A word as it was written: whole, and the pieces that its case and its digits show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case.
    pub(crate) plain: String,
    /// What it is looked up by.
    pub(crate) stem: String,
    /// The stems of its pieces; empty where it has only one.
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
    let pieces: Vec<String> = pieces(run).into_iter().map(|piece| stem(&piece.to_lowercase())).collect();
    let pieces = if pieces.len() > 1 { pieces } else { Vec::new() };
    found.push(Word { stem: stem(&plain), plain, pieces });
}

fn add_pairs(found: &mut Vec<Word>, run: &str) {
    let letters: Vec<char> = run.chars().collect();
    for pair in letters.windows(2.min(letters.len()).max(1)) {
        let plain: String = pair.iter().flat_map(|letter| letter.to_lowercase()).collect();
        found.push(Word { stem: plain.clone(), plain, pieces: Vec::new() });
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

/// A word without the endings of English that do not change what it is about: `files`, `filing`, `filed` and `file` are
/// one. The stem need not be a word.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = without_plural(word);
    for ending in ["ing", "ed"] {
        if let Some(left) = word.strip_suffix(ending)
            && left.len() >= 3
            && has_vowel(left)
        {
            word = undoubled(left).to_owned();
            break;
        }
    }
    // `translation` goes to `translat`, and so does `translate` without its last letter.
    if let Some(left) = word.strip_suffix("ion")
        && left.len() >= 4
        && left.ends_with(['t', 's'])
    {
        word.truncate(word.len() - 3);
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

fn without_plural(word: &str) -> String {
    if let Some(left) = word.strip_suffix("ies").filter(|left| left.len() >= 2) {
        return format!("{left}y");
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if word.ends_with(ending) {
            return word.get(..word.len() - 2).unwrap_or(word).to_owned();
        }
    }
    let is_plural =
        word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is");
    let end = if is_plural { word.len() - 1 } else { word.len() };
    word.get(..end).unwrap_or(word).to_owned()
}

fn has_vowel(text: &str) -> bool {
    text.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// `runn` is `run`; `call` and `miss` are as they are.
fn undoubled(word: &str) -> &str {
    let mut last = word.bytes().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(two)) if one == two && !b"lszaeiou".contains(&one) => {
            word.get(..word.len() - 1).unwrap_or(word)
        }
        _ => word,
    }
}

/// Words that say nothing about which tool is meant.
const STOP: &str = "a about am an and any are as at be been but by can could do does for from had has have how i if in \
                    into is it its just let like may me my need of on onto or our please should so some something that \
                    the their them then there these they this those to us want was we were what when where which who \
                    will with would you your";

/// Whether a word in lower case says nothing.
pub(crate) fn is_stop_word(word: &str) -> bool {
    // The list is short and sorted by the alphabet; a scan of it is cheaper than a table.
    word.len() <= 9 && STOP.split_whitespace().any(|stop| stop == word)
}

/// Whether one word is the other with a slip of the hand: a letter more, less, wrong, or two letters swapped. With
/// `slips` of two, twice.
pub(crate) fn is_near(one: &str, other: &str, slips: usize) -> bool {
    // Lengths first: the distance is at least their difference, and takes the product of them to find.
    one.chars().count().abs_diff(other.chars().count()) <= slips && strsim::osa_distance(one, other) <= slips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = words(text, 100)
            .into_iter()
            .flat_map(|word| std::iter::once(word.stem).chain(word.pieces))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_fall_into_words() {
        check("send_message", &["send", "messag"]);
        check("list-boards", &["list", "board"]);
        check("getHTTPServer", &["gethttpserver", "get", "http", "server"]);
        check(
            "TwilioApiV2010--CreateMessage",
            &["twilioapiv2010", "twilio", "api", "v2010", "createmessag", "creat", "messag"],
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
    fn endings_do_not_matter() {
        for group in [
            &["file", "files", "filing", "filed"][..],
            &["create", "creating", "created", "creates", "creation"],
            &["query", "queries", "querying"],
            &["search", "searches", "searching"],
            &["run", "runs", "running"],
            &["translate", "translation", "translations"],
            &["box", "boxes"],
        ] {
            let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{group:?}: {stems:?}");
        }
        for (one, other) in [("file", "fill"), ("status", "state"), ("process", "proces"), ("bus", "bu")] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
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
