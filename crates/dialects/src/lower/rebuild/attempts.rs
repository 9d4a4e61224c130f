//! The fullest form of a schema that costs no more than it may.
//!
//! References that are written out, recursions and conditions can make many bytes of few. A lowered schema may take twice the
//! tokens of the original, and half as many again if it is long. Where it takes more it is written once more with less: first
//! with alternatives apart that one object would say twice (in dialects without unions), then with fewer references, then
//! without a definition of any value, then with fewer levels. What is left out travels as JSON text.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::expansion::Planner;
use super::reader::{Reach, Reader};
use super::{LoweredSchema, Rebuild, Size};
use crate::dialect::{AnyOfStyle, Anything, Dialect, RebuildRules, RefStyle};
use crate::options::{Budget, Growth, Options};
use crate::text::Note;
use crate::tokens::{json_bytes, value_bytes};

/// Parts of the room that references get, in percent: what is written takes more than what it is made of.
const SHARES: [usize; 5] = [100, 60, 35, 15, 5];

/// Levels that are written out where fewer references are not enough. Without any, the root's own properties are JSON text.
const LEVELS: [usize; 9] = [12, 9, 7, 5, 4, 3, 2, 1, 0];

/// Attempts that are repeated because words referred to what is not written.
const MOST_CORRECTIONS: usize = 8;

/// What an attempt wrote.
pub(super) struct Attempt<'a> {
    pub(super) lowered: LoweredSchema<'a>,
    /// Whether it was given up: there were too many nodes.
    pub(super) abandoned: bool,
    /// The most positions inside one another.
    pub(super) deepest: usize,
    /// Schemas that words refer to by where they are written, and that are not written after all.
    pub(super) unwritten: HashSet<*const Value>,
}

/// What all attempts to lower one schema share.
pub(crate) struct Attempts<'a, 'r> {
    pub(crate) schema: &'a Value,
    pub(crate) size: &'r Size,
    pub(crate) dialect: &'r Dialect,
    pub(crate) choices: &'r RebuildRules,
    pub(crate) options: &'r Options,
}

impl<'a> Attempts<'a, '_> {
    /// The fullest form within the allowance; the cheapest, if there is none.
    pub(crate) fn lower(&self) -> LoweredSchema<'a> {
        let most = allowance(self.size.bytes, &self.options.budget);
        let mut reach = Reach::full(self.choices.unroll);
        let mut cheapest: Option<(usize, LoweredSchema<'a>)> = None;
        let mut deepest = usize::MAX;
        let mut shares = SHARES.iter();
        let mut levels = LEVELS.iter();
        let mut corrections = 0;
        // Alternatives can be written in two ways where there are no unions: the cheaper one is kept.
        let mut has_other_way = self.choices.any_of == AnyOfStyle::Never;
        let mut together = None;
        loop {
            let attempt = self.write(reach.clone());
            if !attempt.abandoned && !attempt.unwritten.is_empty() {
                // Which words are true is known once all is written. Few attempts find out; else none refers to anything.
                corrections += 1;
                reach.refers = corrections < MOST_CORRECTIONS;
                let known = reach.unwritten.iter().copied();
                reach.unwritten = Rc::new(known.chain(attempt.unwritten).collect());
                continue;
            }
            let mut spent = usize::MAX;
            if !attempt.abandoned {
                let bytes = cost(&attempt.lowered);
                spent = bytes;
                if bytes <= most {
                    return attempt.lowered;
                }
                if cheapest.as_ref().is_none_or(|(least, _)| bytes < *least) {
                    cheapest = Some((bytes, attempt.lowered));
                }
                deepest = attempt.deepest;
            }
            if has_other_way {
                has_other_way = false;
                together = Some(spent);
                reach = Reach { apart: true, unwritten: Rc::default(), ..reach };
                continue;
            }
            if let Some(together) = together.take() {
                reach = Reach { apart: spent < together, unwritten: Rc::default(), ..reach };
            }
            if let Some(shorter) = self.with_fewer_references(&reach, &mut shares, most) {
                reach = shorter;
            } else if reach.defines_anything && self.choices.anything == Anything::Definition {
                reach.defines_anything = false;
            } else if let Some(fewer) = levels.find(|levels| **levels < deepest) {
                reach = Reach { levels: *fewer, conditions: 0, unwritten: Rc::default(), ..reach };
            } else {
                // Nothing is abandoned that has hardly any levels.
                return cheapest.map_or_else(|| self.write(reach).lowered, |(_, lowered)| lowered);
            }
        }
    }

    fn write(&self, reach: Reach) -> Attempt<'a> {
        let reader = self.reader(reach);
        let rebuild = Rebuild::new(reader, self.size, self.dialect, self.choices);
        rebuild.lower_root(self.dialect.tool.omit_empty_schema)
    }

    fn reader(&self, reach: Reach) -> Reader<'a, '_> {
        Reader::new(self.schema, self.size, self.dialect, self.options, reach)
    }

    /// The next reach with fewer references.
    fn with_fewer_references<'s>(
        &self,
        reach: &Reach,
        shares: &mut impl Iterator<Item = &'s usize>,
        most: usize,
    ) -> Option<Reach> {
        if !self.size.has_references {
            return None;
        }
        if self.dialect.schema.refs == RefStyle::Inline {
            let share = shares.next()?;
            let mut reader = self.reader(reach.clone());
            let limits = Planner::new(&mut reader).limits(most.saturating_mul(*share) / 100);
            return Some(Reach { expansion: Some(Rc::new(limits)), ..reach.clone() });
        }
        let unroll = reach.unroll.checked_sub(1)?;
        Some(Reach { unroll, ..reach.clone() })
    }
}

/// Most bytes that a lowered schema may take whose original takes `bytes`. Beyond those of the budget its tool would be left out.
fn allowance(bytes: usize, budget: &Budget) -> usize {
    let most = match budget.growth {
        Growth::Proportionate => (2 * bytes + 1_100).min(bytes + bytes / 2 + 5_000),
        Growth::Tokens(tokens) => tokens.saturating_mul(4),
        Growth::Unlimited => usize::MAX,
    };
    most.min(budget.bytes)
}

/// Nodes after which an attempt is given up, whose original has `nodes`: it would take more than it may.
pub(super) fn room(nodes: usize, growth: Growth) -> usize {
    let proportionate = 256 + 4 * nodes;
    match growth {
        Growth::Proportionate => proportionate,
        Growth::Tokens(tokens) => proportionate.max(tokens),
        Growth::Unlimited => usize::MAX,
    }
}

fn cost(lowered: &LoweredSchema<'_>) -> usize {
    let notes = lowered.tool_notes.iter().map(|note| match note {
        Note::Keyword(name, value) => name.len() + value_bytes(value),
        Note::Sentence(sentence) => sentence.len(),
        Note::Default(value) => value_bytes(value),
    });
    lowered.schema.as_ref().map_or(0, json_bytes) + notes.sum::<usize>()
}
