//! The tools of a list that a question is about.
//!
//! The whole list is rendered once and kept; what a question is about is cut out of its bytes. So the tools for another question cost
//! a search, and no translation.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use gateway_notation::pattern::any_matches;
use gateway_search::{ToolEntry, ToolIndex};

use super::rendered::Rendered;
use super::select::{Rank, by_rank};

/// How much a selection may hold; `None` means any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tools.
    pub tools: Option<usize>,
    /// Estimated tokens of all definitions.
    pub tokens: Option<usize>,
    /// Bytes of all definitions.
    pub bytes: Option<usize>,
}

/// How much of the room one question may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it: there will be no other question.
    Whole,
    /// Half of it, so that what later questions are about can be appended.
    Half,
}

/// What tools are chosen by.
#[derive(Clone, Copy, Debug)]
pub struct SelectBy<'a> {
    /// What the conversation is about, the oldest question first.
    pub questions: &'a [String],
    /// How much the selection may hold.
    pub budget: Budget,
    /// How much of that is for one question.
    pub share: Share,
    /// `server/tool` patterns of tools that come first.
    pub pinned: &'a [String],
    /// The tools of search, which stand in front where tools are left out and there is ample room.
    pub search: Option<&'a Rendered>,
}

/// The tools of a list that a question is about, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedTools {
    /// The bare list.
    pub list: Bytes,
    /// The names that the model sees.
    pub names: Vec<Box<str>>,
    /// Estimated tokens of all definitions.
    pub tokens: usize,
    /// How many tools of the list were left out.
    pub omitted: usize,
    /// Whether the tools of search are among them.
    pub with_search: bool,
}

/// Where in the body one definition of a list is, and what it costs.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) name: Box<str>,
    pub(super) range: std::ops::Range<usize>,
    pub(super) tokens: usize,
}

/// The part of a room that the tools of search may take.
const SEARCH_PART: usize = 4;

/// How many tools one question is searched for where their number has no bound.
const MOST_FOUND: usize = 64;

impl Budget {
    fn holds(self, tools: usize, tokens: usize, bytes: usize) -> bool {
        let within = |most: Option<usize>, count| most.is_none_or(|most| count <= most);
        within(self.tools, tools) && within(self.tokens, tokens) && within(self.bytes, bytes)
    }

    fn each(self, change: impl Fn(usize, Cost) -> usize) -> Self {
        Self {
            tools: self.tools.map(|most| change(most, Cost::Tools)),
            tokens: self.tokens.map(|most| change(most, Cost::Tokens)),
            bytes: self.bytes.map(|most| change(most, Cost::Bytes)),
        }
    }
}

/// What a budget counts.
#[derive(Clone, Copy)]
enum Cost {
    Tools,
    Tokens,
    Bytes,
}

impl Rendered {
    /// The tools of this list that the questions are about. Pinned tools come first, then those that answer each question best. What an
    /// earlier question brought stays where it is, so that a list for a longer conversation only adds to the one before; a
    /// question for which that leaves too little room begins anew. Where nothing is found, and where one question has the whole room, the
    /// rest follows by importance and order. The same questions give the same bytes.
    pub async fn select(self: &Arc<Self>, by: SelectBy<'_>) -> SelectedTools {
        if self.fits(by.budget) {
            let names = self.pieces.iter().map(|piece| piece.name.clone()).collect();
            return SelectedTools {
                list: self.list(),
                names,
                tokens: self.tokens,
                ..SelectedTools::default()
            };
        }
        let index = self.index().await;
        let search = by.search.and_then(|search| Some((search, search.beside(by.budget)?)));
        let budget = search.map_or(by.budget, |(_, beside)| beside);
        let own = match by.share {
            Share::Whole => budget,
            Share::Half => budget.each(|most, _| most.div_ceil(2)),
        };
        let first = self.first(by.pinned);
        let begun = || {
            let mut filling = Filling::new(self, budget);
            for position in &first {
                filling.add(*position);
            }
            filling
        };
        let mut filling = begun();
        let mut has_found = false;
        for question in by.questions {
            let most = own.tools.unwrap_or(MOST_FOUND).min(self.pieces.len());
            let found: Vec<usize> =
                index.search(question, most).hits.iter().map(|hit| hit.position).collect();
            has_found |= !found.is_empty();
            if !filling.append(&found, own) {
                filling = begun();
                filling.append(&found, own);
            }
        }
        if !has_found || by.share == Share::Whole {
            filling.append(&self.rest(), own);
        }
        self.cut_out(&filling.chosen, search.map(|(search, _)| search))
    }

    /// Whether a budget holds all tools of this list.
    pub fn fits(&self, budget: Budget) -> bool {
        let bytes = || self.pieces.iter().map(|piece| piece.range.len()).sum();
        budget.holds(self.pieces.len(), self.tokens, if budget.bytes.is_some() { bytes() } else { 0 })
    }

    /// What these tools of search leave of a budget; `None` if they take too much of it.
    fn beside(&self, budget: Budget) -> Option<Budget> {
        let cost = |cost| match cost {
            Cost::Tools => self.tools.len(),
            Cost::Tokens => self.tokens,
            Cost::Bytes => self.list.len(),
        };
        let is_ample = |most: Option<usize>, taken| most.is_none_or(|most| cost(taken) * SEARCH_PART <= most);
        let is_ample = is_ample(budget.tools, Cost::Tools)
            && is_ample(budget.tokens, Cost::Tokens)
            && is_ample(budget.bytes, Cost::Bytes);
        is_ample.then(|| budget.each(|most, taken| most.saturating_sub(cost(taken))))
    }

    /// The index over the tools of the list.
    async fn index(self: &Arc<Self>) -> Arc<ToolIndex> {
        let build = || async {
            let list = Arc::clone(self);
            // Thousands of definitions take a while, and other requests must not wait for it.
            tokio::task::spawn_blocking(move || Arc::new(list.indexed())).await.unwrap_or_default()
        };
        Arc::clone(self.index.get_or_init(build).await)
    }

    fn indexed(&self) -> ToolIndex {
        let entries: Vec<ToolEntry<'_>> = self
            .pieces
            .iter()
            .filter_map(|piece| {
                let (tool, _) = self.tool(&piece.name)?;
                Some(ToolEntry {
                    name: &piece.name,
                    server: tool.server.as_str(),
                    definition: tool.without_hidden(),
                })
            })
            .collect();
        ToolIndex::build(&entries)
    }

    /// The positions of pinned tools.
    fn first(&self, pinned: &[String]) -> Vec<usize> {
        let is_pinned = |piece: &Piece| {
            self.tool(&piece.name).is_some_and(|(tool, _)| {
                tool.pinned
                    || any_matches(pinned, &format!("{}/{}", tool.server, tool.name))
                    || any_matches(pinned, &piece.name)
            })
        };
        let pieces = self.pieces.iter().enumerate();
        pieces.filter(|(_, piece)| is_pinned(piece)).map(|(position, _)| position).collect()
    }

    /// All positions, the most important first.
    fn rest(&self) -> Vec<usize> {
        let ranks: Option<Vec<Rank>> =
            self.pieces.iter().map(|piece| self.tool(&piece.name).map(|(tool, _)| Rank::of(tool))).collect();
        by_rank(ranks.unwrap_or_default())
    }

    fn cut_out(&self, chosen: &[usize], search: Option<&Self>) -> SelectedTools {
        let mut list = b"[".to_vec();
        let mut selected = SelectedTools {
            omitted: self.pieces.len() - chosen.len(),
            with_search: search.is_some(),
            ..SelectedTools::default()
        };
        // In front, because what comes later is only appended.
        if let Some(search) = search {
            let bare = search.list();
            list.extend_from_slice(bare.get(1..bare.len() - 1).unwrap_or_default());
            selected.names.extend(search.wire_names().map(Box::from));
            selected.names.sort_unstable();
            selected.tokens = search.tokens;
        }
        for piece in chosen.iter().filter_map(|position| self.pieces.get(*position)) {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(self.body.get(piece.range.clone()).unwrap_or_default());
            selected.names.push(piece.name.clone());
            selected.tokens += piece.tokens;
        }
        list.push(b']');
        SelectedTools { list: list.into(), ..selected }
    }
}

/// A selection that is being made.
struct Filling<'l> {
    list: &'l Rendered,
    budget: Budget,
    chosen: Vec<usize>,
    held: HashSet<usize>,
    tokens: usize,
    bytes: usize,
}

impl<'l> Filling<'l> {
    fn new(list: &'l Rendered, budget: Budget) -> Self {
        Self { list, budget, chosen: Vec::new(), held: HashSet::new(), tokens: 0, bytes: 0 }
    }

    /// Adds what a question found, as far as its `own` budget goes. One that is too long is passed over: shorter ones behind it may do.
    /// Whether there was room for at least half of them.
    fn append(&mut self, found: &[usize], own: Budget) -> bool {
        let before = (self.chosen.len(), self.tokens, self.bytes);
        let mut missing = 0_usize;
        for position in found {
            if self.held.contains(position) {
                continue;
            }
            let Some(piece) = self.list.pieces.get(*position) else { continue };
            let tools = self.chosen.len() + 1 - before.0;
            let (tokens, bytes) =
                (self.tokens + piece.tokens - before.1, self.bytes + piece.range.len() - before.2);
            // The best may be as long as all of the room.
            if (tools == 1 || own.holds(tools, tokens, bytes)) && !self.add(*position) {
                missing += 1;
            }
        }
        missing * 2 <= found.len()
    }

    /// Adds one if there is room for it.
    fn add(&mut self, position: usize) -> bool {
        let Some(piece) = self.list.pieces.get(position) else { return false };
        let (tokens, bytes) = (self.tokens + piece.tokens, self.bytes + piece.range.len());
        let has_room = self.budget.holds(self.chosen.len() + 1, tokens, bytes);
        if has_room && self.held.insert(position) {
            (self.tokens, self.bytes) = (tokens, bytes);
            self.chosen.push(position);
        }
        has_room
    }
}
