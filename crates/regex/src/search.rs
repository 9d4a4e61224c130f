//! Searching a text for an expression that backtracks, with every step counted.
//!
//! The library bounds how often it backtracks, not what it does in between, which can be the whole text each time.

use serde_json::{Value, json};

use crate::expression::{Assertion, Class, Direction, Expression, Order};

/// Instructions that a [`Program`] may have.
pub const MAX_INSTRUCTIONS: usize = 20_000;
/// Positions to backtrack to that are kept at once.
const MAX_KEPT: usize = 500_000;
/// What asking the library about one character costs.
const LIBRARY_STEPS: usize = 64;

/// An expression as instructions.
#[derive(Debug)]
pub struct Program {
    code: Vec<Instruction>,
    ones: Vec<ClassMatcher>,
    slots: usize,
    is_anchored: bool,
}

/// The steps that were given are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSteps;

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Class(usize),
    /// Goes on at the first instruction, and at the second if that comes to nothing.
    Split(usize, usize),
    Jump(usize),
    /// Keeps the position.
    Save(usize),
    /// Goes to the instruction if nothing was taken since the position was kept.
    LeaveIfEmpty {
        slot: usize,
        to: usize,
    },
    Assert(Assertion),
    /// Whether exactly one of the neighbours is such a character.
    Boundary {
        one: usize,
        wanted: bool,
    },
    BackReference(usize),
    /// What follows up to `end` is looked for on its own.
    Inside {
        end: usize,
        what: Inside,
    },
    Done,
}

#[derive(Clone, Copy, Debug)]
enum Inside {
    Atomic,
    Ahead { wanted: bool },
    Behind { wanted: bool, least: u64, most: Option<u64> },
}

/// What one character may be.
#[derive(Debug)]
struct ClassMatcher {
    source: String,
    ascii: [bool; 128],
    others: Others,
}

/// Characters beyond ASCII.
#[derive(Debug)]
enum Others {
    /// Only this one, which may be one of ASCII.
    Char(char),
    Library(Box<jsonschema::Validator>),
}

impl ClassMatcher {
    fn new(one: &Class) -> Option<Self> {
        if let Some(char) = one.char {
            let ascii = std::array::from_fn(|byte| char as usize == byte);
            return Some(Self { source: one.source.clone(), ascii, others: Others::Char(char) });
        }
        // As the library reads it in expressions that do not backtrack, which is as ECMA 262 has it.
        let source = &one.source;
        let forms = [format!("^(?:{source})$"), format!("(?=^(?:{source})$)")];
        let others = forms
            .iter()
            .find_map(|form| jsonschema::options().offline().build(&json!({ "pattern": form })).ok())?;
        let takes = |byte: usize| {
            let char = u8::try_from(byte).map(char::from).unwrap_or_default();
            others.is_valid(&Value::String(char.to_string()))
        };
        let ascii = std::array::from_fn(takes);
        Some(Self { source: source.clone(), ascii, others: Others::Library(Box::new(others)) })
    }
}

impl Program {
    /// Writes the instructions; `None` if they are too many, or the library does not know what a character may be.
    pub fn new(tree: &Expression) -> Option<Self> {
        let mut program =
            Self { code: Vec::new(), ones: Vec::new(), slots: 0, is_anchored: tree.is_anchored() };
        if tree.instructions() > u64::try_from(MAX_INSTRUCTIONS).unwrap_or(u64::MAX) {
            return None;
        }
        let groups = tree.groups();
        if tree.references() > groups {
            return None;
        }
        program.slots = 2 * groups;
        program.write(tree)?;
        program.push(Instruction::Done)?;
        Some(program)
    }

    /// Whether the expression is anywhere in the text. Takes what it needs from `steps`.
    pub fn finds(&self, text: &str, steps: &mut u64) -> Result<bool, OutOfSteps> {
        let mut search =
            Search { program: self, text, steps: *steps, slots: vec![None; self.slots], kept: Vec::new() };
        let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
        let mut outcome = Ok(false);
        for start in starts {
            outcome = search.run(0, start, None).map(|end| end.is_some());
            if outcome != Ok(false) || self.is_anchored {
                break;
            }
        }
        *steps = search.steps;
        outcome
    }

    fn push(&mut self, instruction: Instruction) -> Option<usize> {
        if self.code.len() >= MAX_INSTRUCTIONS {
            return None;
        }
        self.code.push(instruction);
        Some(self.code.len() - 1)
    }

    fn set(&mut self, at: usize, instruction: Instruction) {
        if let Some(old) = self.code.get_mut(at) {
            *old = instruction;
        }
    }

    fn write(&mut self, tree: &Expression) -> Option<()> {
        match tree {
            Expression::Class(one) => {
                let one = self.one(one)?;
                self.push(Instruction::Class(one))?;
            }
            Expression::All(parts) => {
                for part in parts {
                    self.write(part)?;
                }
            }
            Expression::Any(branches) => self.write_any(branches)?,
            Expression::Repeat { inner, least, most, order } => {
                self.write_repeat(inner, *least, *most, *order)?;
            }
            Expression::Group(inner, number) => {
                let slot = 2 * (number - 1);
                self.push(Instruction::Save(slot))?;
                self.write(inner)?;
                self.push(Instruction::Save(slot + 1))?;
            }
            Expression::Atomic(inner) => self.write_inside(inner, Inside::Atomic)?,
            Expression::Look { inner, direction: Direction::Ahead, wanted } => {
                self.write_inside(inner, Inside::Ahead { wanted: *wanted })?;
            }
            Expression::Look { inner, direction: Direction::Behind, wanted } => {
                let (least, most) = inner.width();
                self.write_inside(inner, Inside::Behind { wanted: *wanted, least, most })?;
            }
            Expression::Assert(assertion @ (Assertion::Boundary | Assertion::NoBoundary)) => {
                let one = self.one(&Class::word())?;
                self.push(Instruction::Boundary { one, wanted: *assertion == Assertion::Boundary })?;
            }
            Expression::Assert(assertion) => {
                self.push(Instruction::Assert(*assertion))?;
            }
            Expression::BackReference(number) => {
                self.push(Instruction::BackReference(2 * number.checked_sub(1)?))?;
            }
        }
        Some(())
    }

    fn one(&mut self, one: &Class) -> Option<usize> {
        if let Some(known) = self.ones.iter().position(|known| known.source == one.source) {
            return Some(known);
        }
        self.ones.push(ClassMatcher::new(one)?);
        Some(self.ones.len() - 1)
    }

    fn write_any(&mut self, branches: &[Expression]) -> Option<()> {
        let mut ends = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            if at + 1 == branches.len() {
                self.write(branch)?;
                break;
            }
            let split = self.push(Instruction::Done)?;
            self.write(branch)?;
            ends.push(self.push(Instruction::Done)?);
            self.set(split, Instruction::Split(split + 1, self.code.len()));
        }
        for end in ends {
            self.set(end, Instruction::Jump(self.code.len()));
        }
        Some(())
    }

    fn write_repeat(
        &mut self,
        inner: &Expression,
        least: u64,
        most: Option<u64>,
        order: Order,
    ) -> Option<()> {
        for _ in 0..least {
            self.write(inner)?;
        }
        let split = |order: Order, inside: usize, after: usize| match order {
            Order::Most => Instruction::Split(inside, after),
            Order::Least => Instruction::Split(after, inside),
        };
        let Some(most) = most else {
            let start = self.push(Instruction::Done)?;
            if inner.width().0 > 0 {
                self.write(inner)?;
                self.push(Instruction::Jump(start))?;
            } else {
                let slot = self.slots;
                self.slots += 1;
                self.push(Instruction::Save(slot))?;
                self.write(inner)?;
                let check = self.push(Instruction::Done)?;
                self.push(Instruction::Jump(start))?;
                self.set(check, Instruction::LeaveIfEmpty { slot, to: self.code.len() });
            }
            self.set(start, split(order, start + 1, self.code.len()));
            return Some(());
        };
        let mut starts = Vec::new();
        for _ in least..most {
            starts.push(self.push(Instruction::Done)?);
            self.write(inner)?;
        }
        for start in starts {
            self.set(start, split(order, start + 1, self.code.len()));
        }
        Some(())
    }

    fn write_inside(&mut self, inner: &Expression, what: Inside) -> Option<()> {
        let start = self.push(Instruction::Done)?;
        self.write(inner)?;
        self.push(Instruction::Done)?;
        self.set(start, Instruction::Inside { end: self.code.len(), what });
        Some(())
    }
}

/// What going back undoes.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Place { at: usize, position: usize },
    Slot { slot: usize, value: Option<usize> },
}

struct Search<'a> {
    program: &'a Program,
    text: &'a str,
    steps: u64,
    slots: Vec<Option<usize>>,
    kept: Vec<Kept>,
}

impl Search<'_> {
    fn spend(&mut self, steps: usize) -> Result<(), OutOfSteps> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or(OutOfSteps)
    }

    fn keep(&mut self, kept: Kept) -> Result<(), OutOfSteps> {
        if self.kept.len() >= MAX_KEPT {
            self.steps = 0;
            return Err(OutOfSteps);
        }
        self.kept.push(kept);
        Ok(())
    }

    fn save(&mut self, slot: usize, value: Option<usize>) -> Result<(), OutOfSteps> {
        if let Some(current) = self.slots.get_mut(slot) {
            let old = std::mem::replace(current, value);
            self.keep(Kept::Slot { slot, value: old })?;
        }
        Ok(())
    }

    /// The next position to try; `None` if there is none since `floor`.
    fn back(&mut self, floor: usize) -> Option<(usize, usize)> {
        while self.kept.len() > floor {
            match self.kept.pop()? {
                Kept::Place { at, position } => return Some((at, position)),
                Kept::Slot { slot, value } => {
                    if let Some(current) = self.slots.get_mut(slot) {
                        *current = value;
                    }
                }
            }
        }
        None
    }

    /// Where the instructions from `start` on end, which is at `wanted_end` if that is given. Nothing is left to go
    /// back to inside; what was kept in slots is undone by going back outside.
    fn run(
        &mut self,
        start: usize,
        position: usize,
        wanted_end: Option<usize>,
    ) -> Result<Option<usize>, OutOfSteps> {
        let floor = self.kept.len();
        let (mut at, mut position) = (start, position);
        loop {
            self.spend(1)?;
            let next = match self.program.code.get(at) {
                None => return Err(OutOfSteps),
                Some(Instruction::Done) if wanted_end.is_none_or(|wanted| wanted == position) => {
                    self.forget_positions(floor)?;
                    return Ok(Some(position));
                }
                Some(Instruction::Done) => None,
                Some(Instruction::Class(one)) => self.one(*one, position)?.map(|end| (at + 1, end)),
                Some(Instruction::Split(first, second)) => {
                    self.keep(Kept::Place { at: *second, position })?;
                    Some((*first, position))
                }
                Some(Instruction::Jump(to)) => Some((*to, position)),
                Some(Instruction::Save(slot)) => {
                    self.save(*slot, Some(position))?;
                    Some((at + 1, position))
                }
                Some(Instruction::LeaveIfEmpty { slot, to }) => {
                    let stays = self.slots.get(*slot).copied().flatten() == Some(position);
                    Some((if stays { *to } else { at + 1 }, position))
                }
                Some(Instruction::Assert(assertion)) => {
                    self.holds(*assertion, position)?.then_some((at + 1, position))
                }
                Some(Instruction::Boundary { one, wanted }) => {
                    (self.is_boundary(*one, position)? == *wanted).then_some((at + 1, position))
                }
                Some(Instruction::BackReference(slot)) => {
                    self.same(*slot, position)?.map(|end| (at + 1, end))
                }
                Some(Instruction::Inside { end, what }) => {
                    self.inside(at + 1, *what, position)?.map(|position| (*end, position))
                }
            };
            match next.or_else(|| self.back(floor)) {
                Some(next) => (at, position) = next,
                None => return Ok(None),
            }
        }
    }

    /// Takes out the positions since `floor`, and leaves what undoes slots.
    fn forget_positions(&mut self, floor: usize) -> Result<(), OutOfSteps> {
        self.spend(self.kept.len() - floor)?;
        let mut end = floor;
        for at in floor..self.kept.len() {
            if let Some(Kept::Slot { .. }) = self.kept.get(at) {
                self.kept.swap(end, at);
                end += 1;
            }
        }
        self.kept.truncate(end);
        Ok(())
    }

    fn one(&mut self, one: usize, position: usize) -> Result<Option<usize>, OutOfSteps> {
        let Some(char) = self.text.get(position..).and_then(|rest| rest.chars().next()) else {
            return Ok(None);
        };
        Ok(self.takes(one, char)?.then_some(position + char.len_utf8()))
    }

    fn takes(&mut self, one: usize, char: char) -> Result<bool, OutOfSteps> {
        let program = self.program;
        let Some(one) = program.ones.get(one) else { return Err(OutOfSteps) };
        if let Some(takes) = one.ascii.get(char as usize) {
            return Ok(*takes);
        }
        match &one.others {
            Others::Char(wanted) => Ok(char == *wanted),
            Others::Library(validator) => {
                self.spend(LIBRARY_STEPS)?;
                Ok(validator.is_valid(&Value::String(char.to_string())))
            }
        }
    }

    fn is_boundary(&mut self, word: usize, position: usize) -> Result<bool, OutOfSteps> {
        let before = self.text.get(..position).and_then(|text| text.chars().next_back());
        let after = self.text.get(position..).and_then(|text| text.chars().next());
        let mut is_word = |char: Option<char>| char.map_or(Ok(false), |char| self.takes(word, char));
        Ok(is_word(before)? != is_word(after)?)
    }

    fn same(&mut self, slot: usize, position: usize) -> Result<Option<usize>, OutOfSteps> {
        let slot_at = |slot: usize| self.slots.get(slot).copied().flatten();
        // ECMA 262, BackreferenceMatcher: a group that took no part, or is not yet closed, is found anywhere.
        let range = slot_at(slot).zip(slot_at(slot + 1));
        let Some(found) = range.and_then(|(start, end)| self.text.get(start..end)) else {
            return Ok(Some(position));
        };
        self.spend(found.len() / 16)?;
        let here = self.text.get(position..).is_some_and(|rest| rest.starts_with(found));
        Ok(here.then_some(position + found.len()))
    }

    fn holds(&mut self, assertion: Assertion, position: usize) -> Result<bool, OutOfSteps> {
        let before = self.text.get(..position).and_then(|text| text.chars().next_back());
        let after = self.text.get(position..).and_then(|text| text.chars().next());
        Ok(match assertion {
            Assertion::Start => before.is_none(),
            Assertion::End => after.is_none(),
            Assertion::LooseEnd => {
                let rest = self.text.get(position..).unwrap_or_default();
                let breaks = rest.bytes().take_while(|byte| *byte == b'\n').count();
                self.spend(breaks / 16)?;
                breaks == rest.len()
            }
            Assertion::LineStart => before.is_none_or(|char| char == '\n'),
            Assertion::LineEnd => after.is_none_or(|char| char == '\n'),
            // These have an instruction of their own.
            Assertion::Boundary | Assertion::NoBoundary => false,
        })
    }

    /// Where the text goes on behind a part that is looked for on its own.
    fn inside(&mut self, start: usize, what: Inside, position: usize) -> Result<Option<usize>, OutOfSteps> {
        let floor = self.kept.len();
        let (found, wanted) = match what {
            Inside::Atomic => return self.run(start, position, None),
            Inside::Ahead { wanted } => (self.run(start, position, None)?.is_some(), wanted),
            Inside::Behind { wanted, least, most } => (self.behind(start, position, least, most)?, wanted),
        };
        if !wanted {
            // What was found does not count.
            while self.back(floor).is_some() {}
        }
        Ok((found == wanted).then_some(position))
    }

    fn behind(
        &mut self,
        start: usize,
        position: usize,
        least: u64,
        most: Option<u64>,
    ) -> Result<bool, OutOfSteps> {
        let text = self.text.get(..position).unwrap_or_default();
        let before = text.char_indices().rev().map(|(at, _)| at);
        for (width, at) in (0_u64..).zip([position].into_iter().chain(before)) {
            if most.is_some_and(|most| width > most) {
                break;
            }
            self.spend(1)?;
            if width >= least && self.run(start, at, Some(position))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
