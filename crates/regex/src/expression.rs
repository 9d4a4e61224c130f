//! A regular expression as a tree, and what it costs.
//!
//! What one character may be is not read but left to the library, as the text that stood in the expression.

/// Any character, as bytes of UTF-8.
pub(crate) const ANY_STATES: u64 = 12;
/// The largest properties of Unicode, as bytes of UTF-8.
pub(crate) const PROPERTY_STATES: u64 = 700;
/// Something that needs an engine of its own inside the expression.
const LOOK_STATES: u64 = 64;
/// What any question to the library takes to be compiled.
const CLASS_STATES: u64 = 40;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// One character.
    Class(Class),
    /// One after the other.
    All(Vec<Expression>),
    /// The first that leads to a match.
    Any(Vec<Expression>),
    /// The same several times.
    Repeat {
        /// What is repeated.
        inner: Box<Expression>,
        /// How often at least.
        least: u64,
        /// How often at most; `None` if there is no end.
        most: Option<u64>,
        /// Which number is tried first.
        order: Order,
    },
    /// A group with its number.
    Group(Box<Expression>, usize),
    /// A group that is not backtracked into.
    Atomic(Box<Expression>),
    /// Look-ahead or look-behind.
    Look {
        /// What is looked for.
        inner: Box<Expression>,
        /// On which side of the position.
        direction: Direction,
        /// Whether it must be there, or must not.
        wanted: bool,
    },
    /// A condition on the position.
    Assert(Assertion),
    /// What a group has found.
    BackReference(usize),
}

/// The characters of which one is taken, as the text that says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub(crate) source: String,
    /// The only character, if there is only one.
    pub(crate) char: Option<char>,
    pub(crate) states: u64,
}

impl Class {
    /// What the library takes for words at their borders: letters of any script, because of what stands before.
    pub(crate) fn word() -> Self {
        Self { source: "(?=)\\w".to_owned(), char: None, states: PROPERTY_STATES }
    }
}

/// What a repetition tries first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Greedy.
    Most,
    /// Lazy.
    Least,
}

/// The side of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What follows.
    Ahead,
    /// What is before.
    Behind,
}

/// A condition on a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assertion {
    /// The start of the text.
    Start,
    /// The end of the text.
    End,
    /// The end, or line breaks before it.
    LooseEnd,
    /// The start of a line.
    LineStart,
    /// The end of a line.
    LineEnd,
    /// Between a word and what is none.
    Boundary,
    /// Anywhere else.
    NoBoundary,
}

impl Expression {
    /// Whether a match may have to backtrack, so that its time is not linear in the text.
    pub fn backtracks(&self) -> bool {
        match self {
            Self::Atomic(_) | Self::Look { .. } | Self::BackReference(_) => true,
            Self::Class(_) | Self::Assert(_) => false,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::backtracks),
            Self::Repeat { inner, .. } | Self::Group(inner, _) => inner.backtracks(),
        }
    }

    /// About as many states as a compiled expression has.
    pub fn states(&self) -> u64 {
        match self {
            Self::Class(one) => one.states,
            Self::Assert(_) | Self::BackReference(_) => 1,
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
    pub fn instructions(&self) -> u64 {
        let all = |parts: &[Self], more: u64| {
            let parts = parts.iter().map(|part| part.instructions().saturating_add(more));
            parts.fold(0, |sum: u64, part| sum.saturating_add(part))
        };
        match self {
            Self::Class(_) | Self::Assert(_) | Self::BackReference(_) => 1,
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
    pub fn class_states(&self) -> u64 {
        match self {
            Self::Class(Class { char: Some(_), .. }) | Self::BackReference(_) => 0,
            Self::Class(one) => one.states.saturating_add(CLASS_STATES),
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

    /// The states that can be active at one position of the text.
    pub fn active(&self) -> u64 {
        if let Self::All(parts) = self
            && let [Self::Assert(Assertion::Start), Self::Repeat { inner, .. }, rest @ ..] = parts.as_slice()
            && let Self::Class(one) = inner.as_ref()
        {
            // How often has been counted is the same whatever way was taken: one per character from the start.
            return rest.iter().map(Self::states).fold(one.states.saturating_add(2), u64::saturating_add);
        }
        self.states()
    }

    /// The groups that have numbers.
    pub(crate) fn groups(&self) -> usize {
        match self {
            Self::Class(_) | Self::Assert(_) | Self::BackReference(_) => 0,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::groups).max().unwrap_or(0),
            Self::Group(inner, number) => inner.groups().max(*number),
            Self::Repeat { inner, .. } | Self::Atomic(inner) | Self::Look { inner, .. } => inner.groups(),
        }
    }

    /// The highest number that is referred to.
    pub(crate) fn references(&self) -> usize {
        match self {
            Self::Class(_) | Self::Assert(_) => 0,
            Self::BackReference(number) => *number,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::references).max().unwrap_or(0),
            Self::Group(inner, _)
            | Self::Repeat { inner, .. }
            | Self::Atomic(inner)
            | Self::Look { inner, .. } => inner.references(),
        }
    }

    /// Whether it can only match at the start of the text.
    pub(crate) fn is_anchored(&self) -> bool {
        match self {
            Self::Assert(Assertion::Start) => true,
            Self::All(parts) => parts.first().is_some_and(Self::is_anchored),
            Self::Any(parts) => parts.iter().all(Self::is_anchored),
            Self::Group(inner, _) | Self::Atomic(inner) => inner.is_anchored(),
            Self::Class(_)
            | Self::Assert(_)
            | Self::BackReference(_)
            | Self::Repeat { .. }
            | Self::Look { .. } => false,
        }
    }

    /// How many characters it takes: the fewest, and the most where there is an end.
    pub(crate) fn width(&self) -> (u64, Option<u64>) {
        match self {
            Self::Class(_) => (1, Some(1)),
            Self::Assert(_) | Self::Look { .. } => (0, Some(0)),
            Self::BackReference(_) => (0, None),
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
