//! The index over one list of tools, and how it is ranked.

use crate::fields::{Fields, Found, ToolEntry, averages, count};
use crate::synonyms::SYNONYMS;
use crate::vocabulary::{Terms, Vocabulary};
use crate::words::{asks_for_person, is_stop_word, words};

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolHit {
    /// Its position in the list that the index was built from.
    pub position: usize,
    /// How well it answers; comparable within one answer only.
    pub score: f32,
    /// The part of the query that it answers, up to one.
    pub fit: f32,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolHits {
    /// The tools, best first.
    pub hits: Vec<ToolHit>,
    /// Whether any of them answers enough of the query to be what was asked for.
    pub fit_well: bool,
}

/// An index over one list of tools.
#[derive(Debug, Default)]
pub struct ToolIndex {
    vocabulary: Vocabulary,
    /// By term: where it occurs.
    postings: Vec<Box<[Posting]>>,
    /// By position: the name and the server, for the order of equals.
    order: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    position: u32,
    found: Found,
}

/// How fast more occurrences of a word stop to count.
const SATURATION: f32 = 2.0;
/// How much of a score depends on how much of the query is answered.
const COVERAGE: f32 = 0.6;
/// How much a name gains that the query makes up wholly.
const WHOLE_NAME: f32 = 0.35;
/// The part of a query that the best tool has to answer to be worth a try.
const GOOD_FIT: f32 = 0.42;
/// How much of a query is a verb that most tools could have, and a word that no tool has.
const VERB: f32 = 0.5;
const UNKNOWN: f32 = 0.9;
/// The part of the highest rarity from which on a word is a whole word of a query.
const COMMON: f32 = 0.5;
/// How much it counts to be about people where the query asks who.
const HINT: f32 = 0.5;

/// Words of a query that are read.
const QUERY_WORDS: usize = 32;

impl ToolIndex {
    /// Builds an index over a list.
    pub fn build(entries: &[ToolEntry<'_>]) -> Self {
        let tools: Vec<Fields> = entries.iter().map(Fields::of).collect();
        let averages = averages(&tools);
        let vocabulary = Vocabulary::of(&tools);
        let mut postings: Vec<Vec<Posting>> = vec![Vec::new(); vocabulary.len()];
        for (position, tool) in (0_u32..).zip(&tools) {
            for (term, found) in tool.weights(&averages, |word| vocabulary.term(word).unwrap_or(u32::MAX)) {
                if let Some(list) = postings.get_mut(term as usize) {
                    list.push(Posting { position, found });
                }
            }
        }
        let mut by_name: Vec<u32> = (0_u32..).take(entries.len()).collect();
        let key = |position: &u32| entries.get(*position as usize).map(|entry| (entry.name, entry.server));
        by_name.sort_by(|one, other| key(one).cmp(&key(other)).then(one.cmp(other)));
        let mut order = vec![0; entries.len()];
        for (rank, position) in (0_u32..).zip(by_name) {
            if let Some(slot) = order.get_mut(position as usize) {
                *slot = rank;
            }
        }
        Self { vocabulary, postings: postings.into_iter().map(Vec::into_boxed_slice).collect(), order }
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The tools that answer a query best, best first.
    pub fn search(&self, query: &str, most: usize) -> ToolHits {
        let wanted = self.wanted(query);
        let everything: f32 = wanted.iter().map(|wanted| wanted.rarity).sum();
        let asked: f32 = wanted.iter().map(|wanted| wanted.weight).sum();
        let mut sums = vec![Sum::default(); self.order.len()];
        let mut touched: Vec<u32> = Vec::new();
        for (round, wanted) in (1_u32..).zip(&wanted) {
            for (term, factor) in &wanted.terms {
                let rarity = self.rarity(*term).min(wanted.rarity);
                for posting in self.postings_of(*term) {
                    let Some(sum) = sums.get_mut(posting.position as usize) else { continue };
                    if sum.round == 0 {
                        touched.push(posting.position);
                    }
                    if sum.round != round {
                        sum.settle();
                        sum.round = round;
                    }
                    let Found { weight, of_name, strength } = posting.found;
                    let score = factor * rarity * weight / (SATURATION + weight);
                    if score > sum.best {
                        sum.best = score;
                        sum.best_covered = factor * wanted.rarity;
                    }
                    sum.best_fit = sum.best_fit.max(factor * strength * wanted.weight);
                    sum.best_of_name = sum.best_of_name.max(factor * of_name);
                }
            }
        }
        let mut hits: Vec<(ToolHit, u32)> = touched
            .into_iter()
            .filter_map(|position| {
                let position = position as usize;
                let sum = sums.get_mut(position)?;
                sum.settle();
                let part = |sum: f32, of: f32| if of > 0.0 { sum / of } else { 0.0 };
                let score = sum.total
                    * (1.0 - COVERAGE + COVERAGE * part(sum.covered, everything))
                    * (1.0 + WHOLE_NAME * sum.of_name.min(1.0));
                let hit = ToolHit { position, score, fit: part(sum.fit, asked) };
                Some((hit, self.order.get(position).copied()?))
            })
            .collect();
        let better = |(one, first): &(ToolHit, u32), (other, second): &(ToolHit, u32)| {
            other.score.total_cmp(&one.score).then(first.cmp(second))
        };
        if most < hits.len() {
            hits.select_nth_unstable_by(most, better);
            hits.truncate(most);
        }
        hits.sort_by(better);
        let hits: Vec<ToolHit> = hits.into_iter().map(|(hit, _)| hit).collect();
        let fit_well = hits.iter().any(|hit| hit.fit >= GOOD_FIT);
        ToolHits { hits, fit_well }
    }

    fn postings_of(&self, term: u32) -> &[Posting] {
        self.postings.get(term as usize).map(AsRef::as_ref).unwrap_or_default()
    }

    /// How much a term says: the fewer tools have it, the more.
    fn rarity(&self, term: u32) -> f32 {
        let all = count(self.order.len());
        let with = count(self.postings_of(term).len());
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// What a query asks for, word by word.
    fn wanted(&self, query: &str) -> Vec<Wanted> {
        let asked = words(query, QUERY_WORDS);
        let says_something = asked.iter().any(|word| !is_stop_word(&word.plain));
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut rest = asked.as_slice();
        while let Some((first, tail)) = rest.split_first() {
            let phrase = SYNONYMS.phrase(&rest.iter().map(|word| word.plain.as_str()));
            if let Some((length, synonyms)) = phrase {
                let mut terms = Terms::default();
                self.vocabulary.add_synonyms(synonyms, &mut terms);
                if !terms.is_empty() {
                    let is_verb = synonyms.first().is_some_and(|synonym| SYNONYMS.is_verb(&synonym.word));
                    self.want(&mut wanted, terms, if is_verb { VERB } else { 1.0 });
                }
                // The words of a phrase are looked for as well, for they may be what the tool is called.
                for word in rest.iter().take(length).filter(|word| !is_stop_word(&word.plain)) {
                    self.want_word(&mut wanted, &word.plain);
                }
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            rest = tail;
            // Small numbers are what a tool is to work with, not what it is.
            let is_small = first.plain.len() <= 2 && first.plain.bytes().all(|byte| byte.is_ascii_digit());
            if says_something && (is_stop_word(&first.plain) || is_small) {
                continue;
            }
            let is_known = self.vocabulary.term(&first.plain).is_some();
            if first.pieces.is_empty() || is_known {
                self.want_word(&mut wanted, &first.plain);
            } else {
                for piece in &first.pieces {
                    self.want_word(&mut wanted, piece);
                }
            }
            // `time sheet` is `timesheet` for some. Stop words are joined to nothing: `who is` is not `whois`.
            if let Some(second) = tail.first()
                && !is_stop_word(&first.plain)
                && !is_stop_word(&second.plain)
                && let Some(term) = self.vocabulary.named_term(&format!("{}{}", first.plain, second.plain))
            {
                self.want(&mut wanted, vec![(term, 1.0)], 1.0);
            }
        }
        if says_something && asked.iter().any(|word| asks_for_person(&word.plain)) {
            let terms = self.vocabulary.alike("person");
            let rarity = HINT * self.rarity_of(&terms);
            wanted.push(Wanted { terms, rarity, weight: 0.0 });
        }
        wanted
    }

    /// Adds what a word asks for.
    fn want_word(&self, wanted: &mut Vec<Wanted>, word: &str) {
        let weight = if SYNONYMS.is_verb(word) { VERB } else { 1.0 };
        self.want(wanted, self.vocabulary.alike(word), weight);
    }

    fn want(&self, wanted: &mut Vec<Wanted>, terms: Terms, weight: f32) {
        // What is asked for twice is wanted once.
        if !terms.is_empty() && wanted.iter().any(|known| known.terms == terms) {
            return;
        }
        let rarity = self.rarity_of(&terms);
        let weight = weight * if terms.is_empty() { UNKNOWN } else { self.specificity(rarity) };
        wanted.push(Wanted { terms, rarity, weight });
    }

    /// How much the word says that stands for these terms.
    fn rarity_of(&self, terms: &Terms) -> f32 {
        let exact = terms.iter().filter(|(_, factor)| *factor >= 1.0);
        let rarest = |rarity: f32, (term, _): &(u32, f32)| rarity.max(self.rarity(*term));
        let rarity = exact.fold(0.0, rarest);
        if rarity > 0.0 { rarity } else { terms.iter().fold(0.0, rarest) }
    }

    /// How much of a query is a word that is so rare, up to one. Only words that many tools have are less than a whole one:
    /// by its rarity alone, a word that happens to be in one description would be more than all others together.
    fn specificity(&self, rarity: f32) -> f32 {
        let rarest = (1.0 + count(self.order.len()) / 1.5).ln();
        (rarity / (COMMON * rarest)).min(1.0)
    }
}

/// One thing that a query asks for.
#[derive(Clone, Debug)]
struct Wanted {
    /// What stands for it; empty where the list has nothing of the kind.
    terms: Terms,
    /// How much it says about which tool is meant.
    rarity: f32,
    /// How much of the query it is; zero if it only helps to choose.
    weight: f32,
}

/// What a tool has of the query so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Which of the wanted things is at work, counted from one.
    round: u32,
    best: f32,
    best_covered: f32,
    best_fit: f32,
    best_of_name: f32,
    total: f32,
    covered: f32,
    fit: f32,
    of_name: f32,
}

impl Sum {
    /// Adds what was best of one wanted thing.
    fn settle(&mut self) {
        self.total += std::mem::take(&mut self.best);
        self.covered += std::mem::take(&mut self.best_covered);
        self.fit += std::mem::take(&mut self.best_fit);
        self.of_name += std::mem::take(&mut self.best_of_name);
    }
}

#[cfg(test)]
mod tests {
    use gateway_protocol::RawJson;

    use super::*;

    /// Tools as `server/name: description (parameters)`.
    fn tools(lines: &[&str]) -> Vec<(String, String, RawJson)> {
        let read = |line: &&str| {
            let (path, rest) = line.split_once(": ").unwrap();
            let (server, name) = path.split_once('/').unwrap();
            let (description, parameters) = rest.split_once(" (").unwrap_or((rest, ""));
            let properties: serde_json::Map<String, serde_json::Value> = parameters
                .trim_end_matches(')')
                .split_whitespace()
                .map(|name| (name.to_owned(), serde_json::json!({})))
                .collect();
            let definition = serde_json::json!({
                "name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}
            });
            (server.to_owned(), name.to_owned(), RawJson::of(&definition).unwrap())
        };
        lines.iter().map(read).collect()
    }

    const TOOLS: &[&str] = &[
        "github/create_issue: Opens an issue in a repository (owner repo title)",
        "github/list_issues: Lists the issues of a repository (owner repo)",
        "github/create_pull_request: Proposes changes (owner repo head base)",
        "slack/post_message: Writes to a channel (channel_id text)",
        "slack/list_channels: Shows the channels of a workspace",
        "files/delete_file: Removes a file from the disk (path)",
        "files/read_file: Reads a file (path)",
        "grafana/get_current_oncall_users: People who have duty now (scheduleId)",
        "weather/getForecast: Tells the weather of the next days (city)",
        "maps/regeocode: \u{5c06}\u{7ecf}\u{7eac}\u{5ea6}\u{8f6c}\u{6362}\u{4e3a}\u{5730}\u{5740} (location)",
    ];

    #[track_caller]
    fn check(query: &str, expected: &str) {
        let owned = tools(TOOLS);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let index = ToolIndex::build(&entries);
        let hits = index.search(query, 3).hits;
        let first = hits.first().and_then(|hit| owned.get(hit.position)).map(|(_, name, _)| name.as_str());
        assert_eq!(first.unwrap_or("-"), expected, "{query}");
        assert_eq!(index.search(query, 3).hits, hits, "the same query gives the same answer");
    }

    #[test]
    fn words_lead_to_tools() {
        check("create issue", "create_issue");
        check("open a ticket on GitHub", "create_issue");
        check("show all tickets", "list_issues");
        check("make a pull request", "create_pull_request");
        check("send something to a slack channel", "post_message");
        check("erase documents", "delete_file");
        check("who is on call", "get_current_oncall_users");
        check("forecasts", "getForecast");
        check("fore", "getForecast");
        check("wether tomorow", "getForecast");
        check("\u{5730}\u{5740}", "regeocode");
        check("xylophone", "-");
        check("", "-");
        check("the of a", "-");
    }

    /// Whether a query has an answer among tools.
    #[track_caller]
    fn check_fit(lines: &[&str], query: &str, expected: bool) {
        let owned = tools(lines);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let found = ToolIndex::build(&entries).search(query, 5);
        assert_eq!(found.fit_well, expected, "{query}: {found:?}");
    }

    #[test]
    fn words_that_no_tool_knows_lower_the_fit() {
        check_fit(TOOLS, "create an issue", true);
        check_fit(TOOLS, "create an issue in atlantis", true);
        check_fit(TOOLS, "create a watercolour of atlantis at dawn", false);
        check_fit(TOOLS, "order a pepperoni pizza", false);
        check_fit(TOOLS, "what is the weather in lisbon", true);
        check_fit(TOOLS, "xylophone", false);
        check_fit(&["files/move_file: Moves a file", "cards/move_card: Moves a card"], "movies", false);
    }

    #[test]
    fn stop_words_are_joined_to_nothing() {
        let lines = ["dns/whois_lookup: Registration of a domain", "chat/list_team: Lists a team"];
        let owned = tools(&lines);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let index = ToolIndex::build(&entries);
        let positions = |query: &str| -> Vec<usize> {
            index.search(query, 5).hits.iter().map(|hit| hit.position).collect()
        };
        assert_eq!(positions("who is on the team"), [1]);
        assert_eq!(positions("whois"), [0]);
        let owned = tools(&["a/timesheet_add: Adds hours", "b/sheet_add: Adds a sheet"]);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let first = ToolIndex::build(&entries).search("add a time sheet", 5).hits.first().unwrap().position;
        assert_eq!(first, 0, "other words are");
    }

    #[test]
    fn a_server_that_is_named_comes_first() {
        let lines = [
            "airtable/list_tables: Lists tables",
            "postgres/list_tables: Lists tables",
            "retellai/list_calls: Lists calls",
            "retellai/list_retell_models: Lists models",
        ];
        let owned = tools(&lines);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let index = ToolIndex::build(&entries);
        let first = |query: &str| index.search(query, 5).hits.first().unwrap().position;
        assert_eq!(first("list tables in postgres"), 1);
        assert_eq!(first("list tables in airtable"), 0);
        assert_eq!(first("list of the calls in retell"), 2);
    }

    #[test]
    fn who_asks_for_people() {
        let lines = ["a/get_team: Gives a team", "a/list_team_members: Gives the members of a team"];
        let owned = tools(&lines);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let index = ToolIndex::build(&entries);
        let first = |query: &str| index.search(query, 5).hits.first().unwrap().position;
        assert_eq!(first("who is on the team"), 1);
        assert_eq!(first("give the team"), 0);
    }

    #[test]
    fn equal_tools_stand_in_the_order_of_their_names() {
        let owned = tools(&["b/same: Does it", "a/same: Does it", "c/same: Does it"]);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let positions: Vec<usize> =
            ToolIndex::build(&entries).search("same", 2).hits.iter().map(|hit| hit.position).collect();
        assert_eq!(positions, [1, 0]);
    }

    #[test]
    fn hostile_definitions_and_queries_are_bounded() {
        let long = "word ".repeat(100_000);
        let definitions = [
            "[]".to_owned(),
            "7".to_owned(),
            r#"{"name":7,"description":{},"inputSchema":[]}"#.to_owned(),
            format!(r#"{{"name":"long","description":"{long}","inputSchema":{{"properties":null}}}}"#),
        ];
        let definitions: Vec<RawJson> =
            definitions.into_iter().map(|text| RawJson::parse(text).unwrap()).collect();
        let entries: Vec<ToolEntry<'_>> =
            definitions.iter().map(|definition| ToolEntry { name: "odd", server: "s", definition }).collect();
        let index = ToolIndex::build(&entries);
        assert_eq!(index.len(), 4);
        assert_eq!(index.search(&long, 10).hits.len(), 1);
        assert_eq!(index.search("odd", 10).hits.len(), 3);
        assert!(ToolIndex::build(&[]).search("odd", 10).hits.is_empty());
    }
}
