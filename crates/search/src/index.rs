//! The index over one list of tools, and how it is ranked.

use std::collections::{BTreeMap, HashMap};

use crate::fields::{Fields, ToolEntry, averages, count};
use crate::synonyms::SYNONYMS;
use crate::words::{is_near, is_stop_word, stem, words};

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolHit {
    /// Its position in the list that the index was built from.
    pub position: usize,
    /// How well it answers; comparable within one answer only.
    pub score: f32,
}

/// An index over one list of tools.
#[derive(Debug, Default)]
pub struct ToolIndex {
    terms: HashMap<Box<str>, u32>,
    /// By term: where it occurs.
    postings: Vec<Box<[Posting]>>,
    /// Terms of names, titles and servers, sorted: what beginnings and slips are looked for in.
    named: Vec<(Box<str>, u32)>,
    /// By position: the name and the server, for the order of equals.
    order: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    position: u32,
    /// Occurrences, weighed by field and by the field's length.
    weight: f32,
    /// The part of the tool's name that the term makes up.
    of_name: f32,
}

/// How fast more occurrences of a word stop to count.
const SATURATION: f32 = 2.0;
/// What a word counts that only means the same.
const SYNONYM: f32 = 0.7;
/// What a longer word counts that begins with the one that is asked for.
const BEGINNING: f32 = 0.5;
/// What a word counts that is spelled a little differently.
const SLIP: f32 = 0.6;
/// How much of a score depends on how much of the query is answered.
const COVERAGE: f32 = 0.6;
/// How much a name gains that the query makes up wholly.
const WHOLE_NAME: f32 = 0.35;

/// Words of a query that are read.
const QUERY_WORDS: usize = 32;
/// Terms that one word of a query may stand for.
const EXPANSIONS: usize = 24;

impl ToolIndex {
    /// Builds an index over a list.
    pub fn build(entries: &[ToolEntry<'_>]) -> Self {
        let tools: Vec<Fields> = entries.iter().map(Fields::of).collect();
        let averages = averages(&tools);
        let mut terms: HashMap<Box<str>, u32> = HashMap::new();
        let mut postings: Vec<Vec<Posting>> = Vec::new();
        let mut named: BTreeMap<Box<str>, u32> = BTreeMap::new();
        for (position, tool) in (0_u32..).zip(&tools) {
            for (term, found) in tool.weights(&averages) {
                let id = *terms.entry(term.into()).or_insert_with(|| {
                    postings.push(Vec::new());
                    u32::try_from(postings.len() - 1).unwrap_or(u32::MAX)
                });
                if found.is_named {
                    named.insert(term.into(), id);
                }
                if let Some(list) = postings.get_mut(id as usize) {
                    list.push(Posting { position, weight: found.weight, of_name: found.of_name });
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
        Self {
            terms,
            postings: postings.into_iter().map(Vec::into_boxed_slice).collect(),
            named: named.into_iter().collect(),
            order,
        }
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
    pub fn search(&self, query: &str, most: usize) -> Vec<ToolHit> {
        let wanted = self.wanted(query);
        let everything: f32 = wanted.iter().map(|wanted| wanted.rarity).sum();
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
                    let score = factor * rarity * posting.weight / (SATURATION + posting.weight);
                    if score > sum.best {
                        sum.best = score;
                        sum.best_covered = factor * wanted.rarity;
                    }
                    sum.best_of_name = sum.best_of_name.max(factor * posting.of_name);
                }
            }
        }
        let mut hits: Vec<(ToolHit, u32)> = touched
            .into_iter()
            .filter_map(|position| {
                let position = position as usize;
                let sum = sums.get_mut(position)?;
                sum.settle();
                let covered = if everything > 0.0 { sum.covered / everything } else { 0.0 };
                let score = sum.total
                    * (1.0 - COVERAGE + COVERAGE * covered)
                    * (1.0 + WHOLE_NAME * sum.of_name.min(1.0));
                Some((ToolHit { position, score }, self.order.get(position).copied()?))
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
        hits.into_iter().map(|(hit, _)| hit).collect()
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
            if let Some((length, stems)) = phrase {
                let mut terms = Terms::default();
                for stem in stems {
                    terms.extend(self.terms.get(stem.as_str()).map(|term| (*term, SYNONYM)));
                }
                self.want(&mut wanted, terms);
                // The words of a phrase are looked for as well, for they may be what the tool is called.
                for word in rest.iter().take(length).filter(|word| !is_stop_word(&word.plain)) {
                    self.want(&mut wanted, self.alike(&word.stem));
                }
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            // `on call` is `oncall` for some.
            if let Some(second) = tail.first() {
                let joined = stem(&format!("{}{}", first.plain, second.plain));
                if let Ok(at) = self.named.binary_search_by(|(name, _)| name.as_ref().cmp(&joined)) {
                    let term = self.named.get(at).map(|(_, term)| (*term, 1.0));
                    self.want(&mut wanted, term.into_iter().collect());
                }
            }
            if !says_something || !is_stop_word(&first.plain) {
                if first.pieces.is_empty() || self.terms.contains_key(first.stem.as_str()) {
                    self.want(&mut wanted, self.alike(&first.stem));
                } else {
                    for piece in &first.pieces {
                        self.want(&mut wanted, self.alike(piece));
                    }
                }
            }
            rest = tail;
        }
        wanted
    }

    fn want(&self, wanted: &mut Vec<Wanted>, terms: Terms) {
        // What is asked for twice is wanted once.
        if terms.is_empty() || wanted.iter().any(|known| known.terms == terms) {
            return;
        }
        let exact = terms.iter().filter(|(_, factor)| *factor >= 1.0);
        let rarest = |rarity: f32, (term, _): &(u32, f32)| rarity.max(self.rarity(*term));
        let rarity = exact.fold(0.0, rarest);
        let rarity = if rarity > 0.0 { rarity } else { terms.iter().fold(0.0, rarest) };
        wanted.push(Wanted { terms, rarity });
    }

    /// The terms that a stem may stand for, each with what it counts.
    fn alike(&self, stem: &str) -> Terms {
        let mut terms = Terms::default();
        if let Some(term) = self.terms.get(stem) {
            terms.push((*term, 1.0));
        }
        for synonym in SYNONYMS.of(stem) {
            terms.extend(self.terms.get(synonym.as_str()).map(|term| (*term, SYNONYM)));
        }
        if stem.chars().count() >= 3 {
            let start = self.named.partition_point(|(name, _)| name.as_ref() < stem);
            let longer = self.named.get(start..).unwrap_or_default().iter();
            for (name, term) in longer.take_while(|(name, _)| name.starts_with(stem)) {
                if terms.len() >= EXPANSIONS {
                    break;
                }
                if name.as_ref() != stem {
                    let share = count(stem.len()) / count(name.len());
                    terms.push((*term, BEGINNING * share));
                }
            }
        }
        if terms.is_empty() {
            self.add_slips(stem, &mut terms);
        }
        terms
    }

    fn add_slips(&self, stem: &str, terms: &mut Terms) {
        let slips = match stem.chars().count() {
            0..=3 => return,
            4..=7 => 1,
            _ => 2,
        };
        for allowed in 1..=slips {
            for (name, term) in &self.named {
                // Hands slip late: the first letter is nearly always right, and asking for it keeps this short.
                if terms.len() < EXPANSIONS
                    && name.chars().next() == stem.chars().next()
                    && is_near(name, stem, allowed)
                {
                    terms.push((*term, SLIP));
                }
            }
            if !terms.is_empty() {
                return;
            }
        }
    }
}

/// Terms and what each counts.
type Terms = Vec<(u32, f32)>;

/// One thing that a query asks for.
#[derive(Clone, Debug)]
struct Wanted {
    terms: Terms,
    /// How much it says.
    rarity: f32,
}

/// What a tool has of the query so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Which of the wanted things is at work, counted from one.
    round: u32,
    best: f32,
    best_covered: f32,
    best_of_name: f32,
    total: f32,
    covered: f32,
    of_name: f32,
}

impl Sum {
    /// Adds what was best of one wanted thing.
    fn settle(&mut self) {
        self.total += std::mem::take(&mut self.best);
        self.covered += std::mem::take(&mut self.best_covered);
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
        let hits = index.search(query, 3);
        let first = hits.first().and_then(|hit| owned.get(hit.position)).map(|(_, name, _)| name.as_str());
        assert_eq!(first.unwrap_or("-"), expected, "{query}");
        assert_eq!(index.search(query, 3), hits, "the same query gives the same answer");
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

    #[test]
    fn equal_tools_stand_in_the_order_of_their_names() {
        let owned = tools(&["b/same: Does it", "a/same: Does it", "c/same: Does it"]);
        let entries: Vec<ToolEntry<'_>> =
            owned.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
        let positions: Vec<usize> =
            ToolIndex::build(&entries).search("same", 2).iter().map(|hit| hit.position).collect();
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
        assert_eq!(index.search(&long, 10).len(), 1);
        assert_eq!(index.search("odd", 10).len(), 3);
        assert!(ToolIndex::build(&[]).search("odd", 10).is_empty());
    }
}
