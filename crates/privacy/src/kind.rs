//! What is found, and what becomes of text in which something is found.

use std::fmt;
use std::ops::Range;

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A payment card number: a known issuer range and length, and a correct Luhn digit.
    Card,
    /// An International Bank Account Number: the length of its country, and correct check digits.
    Iban,
    /// A Social Security number of the United States.
    Ssn,
    /// A telephone number.
    Phone,
    /// An e-mail address.
    Email,
}

impl Kind {
    /// Every kind, in the order in which they are tried where several could begin at one position.
    pub const ALL: [Self; 5] = [Self::Email, Self::Iban, Self::Card, Self::Ssn, Self::Phone];

    /// The name in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Iban => "iban",
            Self::Ssn => "ssn",
            Self::Phone => "phone",
            Self::Email => "email",
        }
    }

    /// What replaces personal data of this kind. No digit is kept: the last four of a card or of a Social Security number identify
    /// a person together with little else, and a fixed text is never found again.
    pub const fn mask(self) -> &'static str {
        match self {
            Self::Card => "[card]",
            Self::Iban => "[iban]",
            Self::Ssn => "[ssn]",
            Self::Phone => "[phone]",
            Self::Email => "[email]",
        }
    }

    /// The kind with this name; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Personal data in a text. It says where, never what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// What was found.
    pub kind: Kind,
    /// Its bytes in the text that was searched; both ends are character boundaries.
    pub range: Range<usize>,
}

/// What to do with text that holds personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Leave the text as it is, and report.
    Mark,
    /// Replace each finding by [`Kind::mask`], and report.
    Mask,
    /// Refuse the text if anything is found.
    Block,
}

impl Mode {
    /// The name in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Mask => "mask",
            Self::Block => "block",
        }
    }
}

/// What became of a text or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied<T, R> {
    /// It may pass on.
    Passed {
        /// What passes on: what was given, or that with masks. Borrowed if nothing was changed.
        output: T,
        /// What was found in what was given.
        report: R,
    },
    /// It must not pass on. There is no output, so that nobody can send it by mistake.
    Blocked {
        /// What was found.
        report: R,
    },
}

impl<T, R> Applied<T, R> {
    /// What was found, whatever became of it.
    pub const fn report(&self) -> &R {
        match self {
            Self::Passed { report, .. } | Self::Blocked { report } => report,
        }
    }
}
