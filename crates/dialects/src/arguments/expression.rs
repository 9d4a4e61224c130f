//! Regular expressions, read only as far as their cost needs: what is repeated, looked around for and referred to.
//!
//! What one character may be is not read but left to the library, as the text that stood in the expression.

use super::expression_reader::read_expression;

/// Any character, as bytes of UTF-8.
pub(super) const ANY_STATES: u64 = 12;
/// The largest properties of Unicode, as bytes of UTF-8.
pub(super) const PROPERTY_STATES: u64 = 700;
/// Something that needs an engine of its own inside the expression.
const LOOK_STATES: u64 = 64;
/// What any question to the library takes to be compiled.
const CLASS_STATES: u64 = 40;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// One character of those that the text says.
    One(One),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Repeat {
        inner: Box<Tree>,
        least: u64,
        /// Nothing when there is no end.
        most: Option<u64>,
        order: Order,
    },
    /// A group with its number.
    Group(Box<Tree>, usize),
    /// A group that is not gone back into.
    Atomic(Box<Tree>),
    Look {
        inner: Box<Tree>,
        way: Way,
        wanted: bool,
    },
    Assert(Assertion),
    /// What a group has found.
    Same(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct One {
    pub(super) source: String,
    /// Where it is nothing but this.
    pub(super) char: Option<char>,
    pub(super) states: u64,
}

impl One {
    /// What the library takes for words at their borders: letters of any script, because of what stands before.
    pub(super) fn word() -> Self {
        Self { source: "(?=)\\w".to_owned(), char: None, states: PROPERTY_STATES }
    }
}

/// What a repetition tries first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Most,
    Least,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Ahead,
    Behind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    Start,
    End,
    /// The end, or line breaks before it.
    LooseEnd,
    LineStart,
    LineEnd,
    Boundary,
    NoBoundary,
}

impl Tree {
    /// Reads an expression; nothing where it uses what is not known here.
    pub(super) fn read(text: &str) -> Option<Self> {
        read_expression(text)
    }

    /// Whether a match may have to go back, so that its time is not linear in the text.
    pub(super) fn goes_back(&self) -> bool {
        match self {
            Self::Atomic(_) | Self::Look { .. } | Self::Same(_) => true,
            Self::One(_) | Self::Assert(_) => false,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::goes_back),
            Self::Repeat { inner, .. } | Self::Group(inner, _) => inner.goes_back(),
        }
    }

    /// About as many states as a compiled expression has.
    pub(super) fn states(&self) -> u64 {
        match self {
            Self::One(one) => one.states,
            Self::Assert(_) | Self::Same(_) => 1,
            Self::All(parts) => {
                parts.iter().map(Self::states).fold(0, |sum: u64, part| sum.saturating_add(part))
            }
            Self::Any(parts) => parts
                .iter()
                .map(Self::states)
                .fold(1, |sum: u64, part| sum.saturating_add(part).saturating_add(1)),
            Self::Repeat { inner, least, most, .. } => {
                let copies = most.unwrap_or(least.saturating_add(1)).max(1);
                inner.states().saturating_add(1).saturating_mul(copies)
            }
            Self::Group(inner, _) => inner.states().saturating_add(2),
            Self::Atomic(inner) | Self::Look { inner, .. } => inner.states().saturating_add(LOOK_STATES),
        }
    }

    /// The instructions of a search for it.
    pub(super) fn instructions(&self) -> u64 {
        let all = |parts: &[Self], more: u64| {
            let parts = parts.iter().map(|part| part.instructions().saturating_add(more));
            parts.fold(0, |sum: u64, part| sum.saturating_add(part))
        };
        match self {
            Self::One(_) | Self::Assert(_) | Self::Same(_) => 1,
            Self::All(parts) => all(parts, 0),
            Self::Any(parts) => all(parts, 2),
            Self::Repeat { inner, least, most, .. } => {
                let inner = inner.instructions().max(1);
                let rest = match most {
                    Some(most) => inner.saturating_add(1).saturating_mul(most.saturating_sub(*least)),
                    None => inner.saturating_add(4),
                };
                inner.saturating_mul(*least).saturating_add(rest)
            }
            Self::Group(inner, _) | Self::Atomic(inner) | Self::Look { inner, .. } => {
                inner.instructions().saturating_add(2)
            }
        }
    }

    /// The states of all that the library is asked about, which is what one character may be.
    pub(super) fn class_states(&self) -> u64 {
        match self {
            Self::One(One { char: Some(_), .. }) | Self::Same(_) => 0,
            Self::One(one) => one.states.saturating_add(CLASS_STATES),
            Self::Assert(Assertion::Boundary | Assertion::NoBoundary) => PROPERTY_STATES,
            Self::Assert(_) => 0,
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().map(Self::class_states).fold(0, u64::saturating_add)
            }
            Self::Repeat { inner, .. }
            | Self::Group(inner, _)
            | Self::Atomic(inner)
            | Self::Look { inner, .. } => inner.class_states(),
        }
    }

    /// The states that can be active at one place of the text.
    pub(super) fn active(&self) -> u64 {
        if let Self::All(parts) = self
            && let [Self::Assert(Assertion::Start), Self::Repeat { inner, .. }, rest @ ..] = parts.as_slice()
            && let Self::One(one) = inner.as_ref()
        {
            // How often has been counted is the same whatever way was taken: one per character from the start.
            return rest.iter().map(Self::states).fold(one.states.saturating_add(2), u64::saturating_add);
        }
        self.states()
    }

    /// The groups that have numbers.
    pub(super) fn groups(&self) -> usize {
        match self {
            Self::One(_) | Self::Assert(_) | Self::Same(_) => 0,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::groups).max().unwrap_or(0),
            Self::Group(inner, number) => inner.groups().max(*number),
            Self::Repeat { inner, .. } | Self::Atomic(inner) | Self::Look { inner, .. } => inner.groups(),
        }
    }

    /// The highest number that is referred to.
    pub(super) fn references(&self) -> usize {
        match self {
            Self::One(_) | Self::Assert(_) => 0,
            Self::Same(number) => *number,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::references).max().unwrap_or(0),
            Self::Group(inner, _)
            | Self::Repeat { inner, .. }
            | Self::Atomic(inner)
            | Self::Look { inner, .. } => inner.references(),
        }
    }

    /// Whether it can only match at the start of the text.
    pub(super) fn is_anchored(&self) -> bool {
        match self {
            Self::Assert(Assertion::Start) => true,
            Self::All(parts) => parts.first().is_some_and(Self::is_anchored),
            Self::Any(parts) => parts.iter().all(Self::is_anchored),
            Self::Group(inner, _) | Self::Atomic(inner) => inner.is_anchored(),
            Self::One(_) | Self::Assert(_) | Self::Same(_) | Self::Repeat { .. } | Self::Look { .. } => false,
        }
    }

    /// How many characters it takes: the fewest, and the most where there is an end.
    pub(super) fn width(&self) -> (u64, Option<u64>) {
        match self {
            Self::One(_) => (1, Some(1)),
            Self::Assert(_) | Self::Look { .. } => (0, Some(0)),
            Self::Same(_) => (0, None),
            Self::Group(inner, _) | Self::Atomic(inner) => inner.width(),
            Self::All(parts) => parts.iter().map(Self::width).fold((0, Some(0)), |sum, part| {
                let most = sum.1.zip(part.1).map(|(sum, part): (u64, u64)| sum.saturating_add(part));
                (u64::saturating_add(sum.0, part.0), most)
            }),
            Self::Any(parts) => {
                let widths = parts.iter().map(Self::width);
                let all = widths.reduce(|all, part| {
                    (all.0.min(part.0), all.1.zip(part.1).map(|(all, part)| all.max(part)))
                });
                all.unwrap_or((0, Some(0)))
            }
            Self::Repeat { inner, least, most, .. } => {
                let (fewest, longest) = inner.width();
                let longest = longest.zip(*most).map(|(longest, most)| longest.saturating_mul(most));
                (fewest.saturating_mul(*least), if inner.width().1 == Some(0) { Some(0) } else { longest })
            }
        }
    }
}
