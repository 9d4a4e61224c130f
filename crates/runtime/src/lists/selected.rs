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
}

/// Where in the body one definition of a list is, and what it costs.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) name: Box<str>,
    pub(super) range: std::ops::Range<usize>,
    pub(super) tokens: usize,
}

impl Budget {
    fn holds(self, tools: usize, tokens: usize, bytes: usize) -> bool {
        let within = |most: Option<usize>, count| most.is_none_or(|most| count <= most);
        within(self.tools, tools) && within(self.tokens, tokens) && within(self.bytes, bytes)
    }
}

impl Rendered {
    /// The tools of this list that `questions` are about, the oldest question first. Pinned tools come first, then those that answer
    /// the questions best, then the rest by importance and order, as far as there is room. What an earlier question brought stays in
    /// front, so that a list for a longer conversation begins like the one before; where the newest question would be left
    /// without room, it comes first instead. The same questions give the same bytes.
    pub async fn select(
        self: &Arc<Self>,
        questions: &[String],
        budget: Budget,
        pinned: &[String],
    ) -> SelectedTools {
        let bytes: usize = self.pieces.iter().map(|piece| piece.range.len()).sum();
        if budget.holds(self.pieces.len(), self.tokens, bytes) {
            let names = self.pieces.iter().map(|piece| piece.name.clone()).collect();
            return SelectedTools { list: self.list(), names, tokens: self.tokens, omitted: 0 };
        }
        let index = self.index().await;
        let most = budget.tools.unwrap_or(self.pieces.len()).min(self.pieces.len());
        let found: Vec<Vec<usize>> = questions
            .iter()
            .map(|question| index.search(question, most).hits.iter().map(|hit| hit.position).collect())
            .collect();
        let first = self.first(pinned);
        let mut chosen = self.fill(first.iter().chain(found.iter().flatten()), budget);
        // Half of what the newest question found has to be there.
        if let Some((newest, earlier)) = found.split_last() {
            let missing = newest.iter().filter(|position| !chosen.contains(position)).count();
            if missing * 2 > newest.len() {
                chosen = self.fill(first.iter().chain(newest).chain(earlier.iter().flatten()), budget);
            }
        }
        let rest = self.rest();
        let chosen = self.fill(chosen.iter().chain(&rest), budget);
        self.cut_out(&chosen)
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

    /// As many of these as there is room for. One that is too long is passed over: shorter ones behind it may do.
    fn fill<'p>(&self, positions: impl Iterator<Item = &'p usize>, budget: Budget) -> Vec<usize> {
        let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
        let (mut tokens, mut bytes) = (0, 0);
        for position in positions.filter(|position| seen.insert(**position)) {
            let Some(piece) = self.pieces.get(*position) else { continue };
            let cost = (tokens + piece.tokens, bytes + piece.range.len());
            if budget.holds(chosen.len() + 1, cost.0, cost.1) {
                (tokens, bytes) = cost;
                chosen.push(*position);
            }
        }
        chosen
    }

    fn cut_out(&self, chosen: &[usize]) -> SelectedTools {
        let mut list = b"[".to_vec();
        let mut selected =
            SelectedTools { omitted: self.pieces.len() - chosen.len(), ..SelectedTools::default() };
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
