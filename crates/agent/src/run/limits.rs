//! Bounds of the loop.

use std::time::Duration;

use gateway_config::{LoopConfig, OnLimit};

/// Bounds of the loop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Replies of the model.
    pub rounds: usize,
    /// What happens at a bound.
    pub on_limit: OnLimit,
    /// Calls.
    pub calls: usize,
    /// Time.
    pub time: Duration,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Bytes of text of one result that the model is shown, as JSON writes them.
    pub result_characters: usize,
    /// Bad calls in a row.
    pub bad_calls: usize,
    /// Equal calls with equal results.
    pub repeats: usize,
    /// Calls of one reply that run at once.
    pub at_once: usize,
}

impl Limits {
    /// As configured, with so many calls of one reply at once.
    pub fn of(config: &LoopConfig, at_once: usize) -> Self {
        Self {
            rounds: config.rounds,
            on_limit: config.on_limit,
            calls: config.calls,
            time: config.time,
            tokens: config.tokens,
            result_characters: config.result_characters,
            bad_calls: config.bad_calls,
            repeats: config.repeats,
            at_once: at_once.max(1),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(&LoopConfig::default(), 16)
    }
}

/// A bound that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Rounds(usize),
    Calls(usize),
    Tokens(u64),
    Time(Duration),
}

impl Bound {
    /// The words for the user.
    pub(super) fn message(self) -> String {
        match self {
            Self::Rounds(_) => "Sorry, this query requires too many steps.".to_owned(),
            Self::Calls(most) => format!("Sorry, this query requires more than {most} tool calls."),
            Self::Tokens(most) => format!("Sorry, this query requires more than {most} tokens."),
            Self::Time(most) => format!("Sorry, this query takes longer than {most:?}."),
        }
    }

    /// The words for a program.
    pub(super) fn error(self) -> String {
        match self {
            Self::Rounds(most) => format!("exceeded max turns ({most})"),
            Self::Calls(most) => format!("exceeded max calls ({most})"),
            Self::Tokens(most) => format!("exceeded max tokens ({most})"),
            Self::Time(most) => format!("exceeded max time ({most:?})"),
        }
    }
}
