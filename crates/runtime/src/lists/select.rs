//! The selector: which tools a list holds that cannot hold all of them.
//!
//! Candidates stand in the order of the list, each with its rank and its cost. Whoever knows more about what is wanted, such as
//! the words of a question, says so in the rank. The most wanted come first; among equals, those that stand first. So the same
//! candidates always give the same selection. What is chosen stands in the order of the list, so that a list that holds all
//! and one that holds some begin alike wherever they can.
//!
//! What is left out stays within reach through the three tools of search, for which room is kept. They give way in two cases:
//! where there is room for pinned tools only without them, and where they would be the whole list.

use std::cmp::Reverse;
use std::convert::Infallible;

use gateway_upstream::{CatalogueTool, Importance};

/// How much a tool is wanted; the greatest is wanted most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The configuration wants it in every list.
    pub pinned: bool,
    /// How much it matters.
    pub importance: Importance,
}

impl Rank {
    /// What configuration and definition say about a tool.
    pub fn of(tool: &CatalogueTool) -> Self {
        Self { pinned: tool.pinned, importance: tool.importance }
    }
}

/// One tool to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How much it is wanted.
    pub rank: Rank,
    /// Estimated tokens of its definition.
    pub tokens: usize,
}

/// How much a list may hold; `None` means any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Tools.
    pub tools: Option<usize>,
    /// Estimated tokens of all definitions.
    pub tokens: Option<usize>,
}

/// What the three tools of search take themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCost {
    /// How many they are.
    pub tools: usize,
    /// Estimated tokens of their definitions.
    pub tokens: usize,
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The indexes of the candidates that are in the list, ascending.
    pub listed: Vec<usize>,
    /// Whether the tools of search stand behind them.
    pub with_search: bool,
}

/// The indexes of ranks, the most wanted first.
pub fn by_rank(ranks: impl IntoIterator<Item = Rank>) -> Vec<usize> {
    let mut order: Vec<(Rank, usize)> =
        ranks.into_iter().enumerate().map(|(index, rank)| (rank, index)).collect();
    order.sort_by_key(|(rank, index)| (Reverse(*rank), *index));
    order.into_iter().map(|(_, index)| index).collect()
}

impl Room {
    /// Whether there is room for all of them.
    pub fn holds(self, candidates: &[Candidate]) -> bool {
        let tokens = candidates.iter().map(|candidate| candidate.tokens).sum::<usize>();
        self.tools.is_none_or(|most| candidates.len() <= most)
            && self.tokens.is_none_or(|most| tokens <= most)
    }

    /// Chooses among candidates that it does not hold all.
    pub fn select(self, candidates: &[Candidate], search: SearchCost) -> Selection {
        let selected = self.select_by(candidates, search, |room| Ok::<_, Infallible>(room.fill(candidates)));
        match selected {
            Ok(selection) => selection,
            Err(never) => match never {},
        }
    }

    /// The same with another way to `fill` a room, where the cost of a candidate depends on those that are listed before it.
    pub(super) fn select_by<E>(
        self,
        candidates: &[Candidate],
        search: SearchCost,
        mut fill: impl FnMut(Self) -> Result<Vec<usize>, E>,
    ) -> Result<Selection, E> {
        let alone = fill(self)?;
        let Some(beside) = self.beside(search).map(&mut fill).transpose()? else {
            return Ok(Selection { listed: alone, with_search: false });
        };
        let pinned = |listed: &[usize]| {
            listed.iter().filter_map(|index| candidates.get(*index)).filter(|one| one.rank.pinned).count()
        };
        let all_pinned = candidates.iter().filter(|one| one.rank.pinned).count();
        let gives_way = pinned(&alone) == all_pinned && pinned(&beside) < all_pinned;
        if beside.is_empty() || gives_way {
            return Ok(Selection { listed: alone, with_search: false });
        }
        Ok(Selection { listed: beside, with_search: true })
    }

    /// What is left beside the tools of search; `None` if they have no room.
    fn beside(self, search: SearchCost) -> Option<Self> {
        let less = |room: Option<usize>, taken: usize| match room {
            None => Some(None),
            Some(most) => most.checked_sub(taken).map(Some),
        };
        Some(Self { tools: less(self.tools, search.tools)?, tokens: less(self.tokens, search.tokens)? })
    }

    /// The most wanted for which there is room. One that is too long is passed over: smaller ones behind it may do.
    pub(super) fn fill(self, candidates: &[Candidate]) -> Vec<usize> {
        let mut filling = Filling::of(self);
        for index in by_rank(candidates.iter().map(|candidate| candidate.rank)) {
            if filling.is_full() {
                break;
            }
            if let Some(candidate) = candidates.get(index) {
                filling.add(index, candidate.tokens);
            }
        }
        filling.listed()
    }
}

/// A room that is being filled.
#[derive(Debug)]
pub(super) struct Filling {
    room: Room,
    listed: Vec<usize>,
    tokens: usize,
}

impl Filling {
    pub(super) fn of(room: Room) -> Self {
        Self { room, listed: Vec::new(), tokens: 0 }
    }

    /// Whether it holds no further tool, whatever that costs.
    pub(super) fn is_full(&self) -> bool {
        self.room.tools.is_some_and(|most| self.listed.len() >= most)
    }

    /// Adds a candidate if there is room for it.
    pub(super) fn add(&mut self, index: usize, tokens: usize) -> bool {
        let with = self.tokens.saturating_add(tokens);
        let has_room = !self.is_full() && self.room.tokens.is_none_or(|most| with <= most);
        if has_room {
            self.tokens = with;
            self.listed.push(index);
        }
        has_room
    }

    /// The indexes of those that were added, ascending.
    pub(super) fn listed(mut self) -> Vec<usize> {
        self.listed.sort_unstable();
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEARCH: SearchCost = SearchCost { tools: 3, tokens: 300 };

    fn candidate(pinned: bool, importance: Importance, tokens: usize) -> Candidate {
        Candidate { rank: Rank { pinned, importance }, tokens }
    }

    /// One letter for each candidate: `p`inned, `h`igh, `n`ormal, `l`ow; 100 tokens each.
    fn candidates(letters: &str) -> Vec<Candidate> {
        let one = |letter| match letter {
            'p' => candidate(true, Importance::Low, 100),
            'h' => candidate(false, Importance::High, 100),
            'l' => candidate(false, Importance::Low, 100),
            _ => candidate(false, Importance::Normal, 100),
        };
        letters.chars().map(one).collect()
    }

    #[track_caller]
    fn check(letters: &str, room: Room, listed: &[usize], with_search: bool) {
        let candidates = candidates(letters);
        assert!(!room.holds(&candidates), "all of them fit");
        let expected = Selection { listed: listed.to_vec(), with_search };
        assert_eq!(room.select(&candidates, SEARCH), expected, "{letters} in {room:?}");
    }

    fn tools(most: usize) -> Room {
        Room { tools: Some(most), ..Room::default() }
    }

    fn tokens(most: usize) -> Room {
        Room { tokens: Some(most), ..Room::default() }
    }

    #[test]
    fn the_most_wanted_stay_in_the_order_of_the_list() {
        check("nnnnnn", tools(5), &[0, 1], true);
        check("lnnhnp", tools(5), &[3, 5], true);
        check("lnnhnp", tools(4), &[5], true);
        check("lhnlhn", tools(5), &[1, 4], true);
    }

    #[test]
    fn search_gives_way_to_pinned_tools_and_never_stands_alone() {
        // Only without search is there room for all pinned tools; what is left goes by rank.
        check("nppnnn", tools(4), &[0, 1, 2, 3], false);
        check("pppphn", tools(5), &[0, 1, 2, 3, 4], false);
        // They do not fit anyhow, so those that are left out stay within reach.
        check("pppppp", tools(5), &[0, 1], true);
        check("nnnn", tools(3), &[0, 1, 2], false);
        check("hnnn", tools(1), &[0], false);
    }

    #[test]
    fn tokens_count_as_tools_do() {
        check("nnnnnn", tokens(550), &[0, 1], true);
        check("nnnnnp", tokens(450), &[5], true);
        check("nnnn", tokens(399), &[0, 1, 2], false);
        check("nnnn", Room { tools: Some(9), tokens: Some(350) }, &[0, 1, 2], false);
        let long = [candidate(false, Importance::High, 900), candidate(false, Importance::Low, 100)];
        let selection = tokens(450).select(&long, SEARCH);
        assert_eq!(
            selection,
            Selection { listed: vec![1], with_search: true },
            "the long one is passed over"
        );
    }

    proptest! {
        #[test]
        fn no_selection_is_over_its_room(
            letters in "[phnl]{1,40}", most in 0_usize..45, budget in 0_usize..4_500,
        ) {
            let candidates = candidates(&letters);
            let room = Room { tools: Some(most), tokens: Some(budget) };
            prop_assume!(!room.holds(&candidates));
            let Selection { listed, with_search } = room.select(&candidates, SEARCH);
            let searching = usize::from(with_search);
            prop_assert!(listed.len() + 3 * searching <= most);
            prop_assert!(listed.len() * 100 + 300 * searching <= budget);
            prop_assert!(listed.is_sorted_by(|one, other| one < other));
            let least = listed.iter().map(|index| candidates[*index].rank).min();
            let best = (0..candidates.len()).filter(|index| !listed.contains(index));
            let best = best.map(|index| candidates[index].rank).max();
            prop_assert!(least.is_none_or(|least| best.is_none_or(|best| least >= best)), "all cost the same");
        }
    }
}
