//! The words of one list of tools: which of them are forms of one word, and what they are found by.

use std::collections::{BTreeSet, HashMap};

use crate::fields::{Fields, count};
use crate::forms::{Base, BaseKind, bases};
use crate::synonyms::{SYNONYMS, Synonym, SynonymKind};
use crate::words::{is_near, is_swapped};

/// The words of a list. Those that are forms of one word are one term.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// By the word as it was written, in lower case.
    terms: HashMap<Box<str>, u32>,
    /// By what a word may be a form of.
    by_base: HashMap<Box<str>, Vec<(u32, BaseKind)>>,
    /// Words of names, titles and servers, sorted: what beginnings and slips are looked for in.
    named: Vec<(Box<str>, u32)>,
    /// Words of servers' names, sorted.
    servers: Vec<(Box<str>, u32)>,
    count: u32,
}

/// Terms and what each counts, up to one.
pub(crate) type Terms = Vec<(u32, f32)>;

/// What a word counts that is made of the one that is asked for.
const DERIVED: f32 = 0.85;
/// What a word counts that is the same, written shorter.
const SHORTENED: f32 = 0.95;
/// What a word counts that only means the same.
const SYNONYM: f32 = 0.7;
/// What a longer word counts that begins with the one that is asked for.
const BEGINNING: f32 = 0.5;
/// What a word counts that is spelled a little differently, and a short one, which more words are near to.
const SLIP: f32 = 0.75;
const SHORT_SLIP: f32 = 0.6;
/// How much of a word in a server's name has to be given for the server to be meant: `retell` of `retellai`.
const SERVER_SHARE: f32 = 0.6;

/// Letters that make a compound of a longer word: `worklog`, but not `plane` of `plan` or `cookie` of `cook`.
const COMPOUND: usize = 3;

/// Terms that one word of a query may stand for.
const EXPANSIONS: usize = 24;

impl Vocabulary {
    pub(crate) fn of(tools: &[Fields]) -> Self {
        let all: BTreeSet<&str> = tools.iter().flat_map(Fields::words).map(|(word, _)| word).collect();
        let mut read = Self::default();
        let mut lemmas: HashMap<String, u32> = HashMap::new();
        for word in &all {
            let term = *lemmas.entry(lemma(word, &all)).or_insert_with(|| {
                read.count += 1;
                read.count - 1
            });
            read.terms.insert((*word).into(), term);
            for base in deciding_bases(word, &all) {
                let terms = read.by_base.entry(base.word.into()).or_default();
                if !terms.contains(&(term, base.kind)) {
                    terms.push((term, base.kind));
                }
            }
        }
        let named = tools.iter().flat_map(Fields::words).filter(|(_, is_name)| *is_name);
        read.named = read.sorted(named.map(|(word, _)| word));
        read.servers = read.sorted(tools.iter().flat_map(Fields::server));
        read
    }

    /// Words of the list with their terms, in the order of the alphabet.
    fn sorted<'w>(&self, words: impl Iterator<Item = &'w str>) -> Vec<(Box<str>, u32)> {
        let words: BTreeSet<&str> = words.collect();
        words.into_iter().filter_map(|word| Some((word.into(), self.term(word)?))).collect()
    }

    /// How many terms there are.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// The term that a word of the list is a form of.
    pub(crate) fn term(&self, word: &str) -> Option<u32> {
        self.terms.get(word).copied()
    }

    /// The term of a word that stands where a tool is named.
    pub(crate) fn named_term(&self, word: &str) -> Option<u32> {
        let at = self.named.binary_search_by(|(name, _)| name.as_ref().cmp(word)).ok()?;
        self.named.get(at).map(|(_, term)| *term)
    }

    /// The terms that a word of a query may stand for, each with what it counts.
    pub(crate) fn alike(&self, word: &str) -> Terms {
        let mut terms = self.forms(word);
        let is_there = !terms.is_empty();
        let mut is_word = false;
        for base in bases(word) {
            if let Some(synonyms) = SYNONYMS.of(&base.word) {
                is_word = true;
                self.add_synonyms(synonyms, &mut terms);
            }
        }
        self.add_servers(word, &mut terms);
        if is_there {
            let likely = bases(word).into_iter().filter(|base| base.kind == BaseKind::Likely);
            for base in likely.filter(|base| base.word.len() > COMPOUND) {
                self.add_beginnings(&base.word, COMPOUND, &mut terms);
            }
            return terms;
        }
        self.add_beginnings(word, 0, &mut terms);
        // A word that is spelled right is no slip for another one: without movies, `movie` does not stand for `move`.
        if terms.is_empty() && !is_word {
            self.add_slips(word, &mut terms);
        }
        terms
    }

    /// The terms that have a form of this word.
    fn forms(&self, word: &str) -> Terms {
        let mut terms = Terms::default();
        for base in bases(word) {
            let found = self.by_base.get(base.word.as_str()).map(Vec::as_slice).unwrap_or_default();
            for (term, kind) in found {
                match (base.kind, kind) {
                    (BaseKind::Likely, BaseKind::Likely | BaseKind::Possible)
                    | (BaseKind::Possible, BaseKind::Likely) => add(&mut terms, *term, 1.0),
                    (BaseKind::Likely, BaseKind::Derived) | (BaseKind::Derived, BaseKind::Likely) => {
                        add(&mut terms, *term, DERIVED);
                    }
                    (BaseKind::Possible | BaseKind::Derived, BaseKind::Possible | BaseKind::Derived) => {}
                }
            }
        }
        terms
    }

    /// Adds the terms of words that stand for another one.
    pub(crate) fn add_synonyms(&self, synonyms: &[Synonym], terms: &mut Terms) {
        for synonym in synonyms {
            let factor = match synonym.kind {
                SynonymKind::Same => SHORTENED,
                SynonymKind::Similar => SYNONYM,
            };
            for (term, _) in self.forms(&synonym.word).into_iter().filter(|(_, form)| *form >= 1.0) {
                add(terms, term, factor);
            }
        }
    }

    /// Adds servers whose name begins with the word, also where the word itself is there: people shorten names.
    fn add_servers(&self, word: &str, terms: &mut Terms) {
        for (name, term) in beginning_with(&self.servers, word) {
            let share = count(word.len()) / count(name.len());
            if word.len() >= 4 && share >= SERVER_SHARE {
                add(terms, *term, share);
            }
        }
    }

    /// Adds words of names that begin with the word and are longer by at least so many letters.
    fn add_beginnings(&self, word: &str, longer: usize, terms: &mut Terms) {
        if word.chars().count() < 3 {
            return;
        }
        for (name, term) in beginning_with(&self.named, word) {
            if terms.len() >= EXPANSIONS {
                break;
            }
            if name.chars().count() < word.chars().count() + longer {
                continue;
            }
            add(terms, *term, BEGINNING * count(word.len()) / count(name.len()));
        }
    }

    fn add_slips(&self, word: &str, terms: &mut Terms) {
        let length = word.chars().count();
        let (slips, factor) = match length {
            0..=3 => return,
            4..=5 => (1, SHORT_SLIP),
            6..=7 => (1, SLIP),
            _ => (2, SLIP),
        };
        for allowed in 1..=slips {
            for (name, term) in &self.named {
                // Hands slip late: the first letter is nearly always right, and asking for it keeps this short.
                if terms.len() < EXPANSIONS
                    && name.chars().next() == word.chars().next()
                    && is_near(name, word, allowed)
                    // Too many short words are one letter apart: `life`, `live`, `like`, `line`.
                    && (length > 5 || name.chars().count() != length || is_swapped(name, word))
                {
                    add(terms, *term, factor);
                }
            }
            if !terms.is_empty() {
                return;
            }
        }
    }
}

/// The words of a sorted list that begin with another one.
fn beginning_with<'l>(
    list: &'l [(Box<str>, u32)],
    word: &'l str,
) -> impl Iterator<Item = &'l (Box<str>, u32)> {
    let start = list.partition_point(|(name, _)| name.as_ref() < word);
    list.get(start..).unwrap_or_default().iter().take_while(move |(name, _)| name.starts_with(word))
}

/// Adds a term, or lets it count what is more.
fn add(terms: &mut Terms, term: u32, factor: f32) {
    match terms.iter_mut().find(|(known, _)| *known == term) {
        Some((_, known)) => *known = known.max(factor),
        None => terms.push((term, factor)),
    }
}

/// What a word of the list may be a form of. Where one of the bases is in the list too, the others are ruled out: `lives` is
/// not of `life` where there is `live`.
fn deciding_bases(word: &str, all: &BTreeSet<&str>) -> Vec<Base> {
    let mut bases = bases(word);
    let is_there = |base: &Base| base.word != word && all.contains(base.word.as_str());
    if bases.iter().any(|base| base.kind != BaseKind::Derived && is_there(base)) {
        bases.retain(|base| base.word == word || base.kind == BaseKind::Derived || is_there(base));
    }
    bases
}

/// The word that a word of the list is a form of: one that is in the list too, if its ending leaves the choice.
fn lemma(word: &str, all: &BTreeSet<&str>) -> String {
    let mut lemma = word.to_owned();
    // `recordings`, `recording`, `record`: no word has more endings than that.
    for _ in 0..3 {
        let bases = bases(&lemma);
        let inflected = || bases.iter().skip(1).filter(|base| base.kind != BaseKind::Derived);
        let there = inflected().find(|base| all.contains(base.word.as_str()));
        let likely = || inflected().find(|base| base.kind == BaseKind::Likely);
        let Some(base) = there.or_else(likely) else { break };
        lemma.clone_from(&base.word);
    }
    lemma
}

#[cfg(test)]
mod tests {
    use gateway_protocol::RawJson;

    use super::*;
    use crate::ToolEntry;

    /// Which words of a list a word of a query stands for, with what each counts in hundredths.
    #[track_caller]
    fn check(list: &str, word: &str, expected: &[(&str, u32)]) {
        let definition = RawJson::parse("{}").unwrap();
        let names: Vec<&str> = list.split(' ').collect();
        let tools: Vec<Fields> = names
            .iter()
            .map(|name| Fields::of(&ToolEntry { name, server: "s", definition: &definition }))
            .collect();
        let vocabulary = Vocabulary::of(&tools);
        let terms = vocabulary.alike(word);
        let mut found: Vec<(&str, u32)> = Vec::new();
        for name in &names {
            let term = vocabulary.term(name).unwrap();
            for (_, factor) in terms.iter().filter(|(found, _)| *found == term) {
                found.push((name, format!("{:.0}", factor * 100.0).parse().unwrap()));
            }
        }
        assert_eq!(found, expected, "{word} in {list}");
    }

    #[test]
    fn forms_of_one_word_are_found_and_other_words_are_not() {
        check("movie move moving", "movies", &[("movie", 100)]);
        check("movies move moved", "movie", &[("movies", 100)]);
        check("movies move moved", "moving", &[("move", 100), ("moved", 100)]);
        check("move moving", "movies", &[]);
        check("cookie cook cooking", "cookies", &[("cookie", 100)]);
        check("cookie cook cooking", "cooked", &[("cook", 100), ("cooking", 100)]);
        check("plan planes planning", "plan", &[("plan", 100), ("planning", 100)]);
        check("plan plane planning", "planes", &[("plane", 100)]);
        check("state station stats", "station", &[("station", 100)]);
        check("state station stats", "states", &[("state", 100)]);
        check("care cars card", "car", &[("cars", 100)]);
        check("news new", "new", &[("new", 100)]);
        check("caches cache boxes", "caching", &[("caches", 100), ("cache", 100)]);
        check("indices index matrix", "indexes", &[("indices", 100), ("index", 100)]);
        check("setting set settings", "set", &[("set", 100)]);
    }

    #[test]
    fn nouns_of_verbs_count_less() {
        check("translate translations", "translation", &[("translate", 85), ("translations", 100)]);
        check("install", "installation", &[("install", 85)]);
        check("creation created", "create", &[("creation", 85), ("created", 100)]);
    }

    #[test]
    fn abbreviations_are_the_same_word_both_ways() {
        for (short, long) in [
            ("stats", "statistics"),
            ("config", "configuration"),
            ("info", "information"),
            ("repos", "repository"),
            ("db", "databases"),
            ("docs", "documentation"),
            ("env", "environment"),
            ("k8s", "kubernetes"),
        ] {
            check(short, long, &[(short, 95)]);
            check(long, short, &[(long, 95)]);
        }
    }

    #[test]
    fn slips_and_beginnings_are_for_words_that_are_not_there() {
        check("weather", "wether", &[("weather", 75)]);
        check("check", "chek", &[("check", 60)]);
        check("live", "life", &[]);
        check("forecast", "fore", &[("forecast", 25)]);
        check("cook cookie cookbook", "cook", &[("cook", 100), ("cookbook", 25)]);
        check("work worklog", "worked", &[("work", 100), ("worklog", 29)]);
        check("lives live", "life", &[]);
        check("lives", "life", &[("lives", 100)]);
    }
}
