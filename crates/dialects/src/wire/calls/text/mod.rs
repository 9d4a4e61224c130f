//! Tool use and reasoning in plain text.
//!
//! Where nobody parses what a model writes, its calls are text, in one of the notations of `data/notations.toml`, and so are its thoughts,
//! between `<think>` and `</think>`. Such calls are taken only where that was asked for, by one of two rules: see [`TextScan`].

mod element;
mod offered;
mod prose;
mod tail;
mod typed;

pub use crate::dialect::{Notation, Notations, TextCalls, UnknownNotation};
pub use crate::wire::text::{escape_xml, render_xml_result};
pub use offered::{AnyTool, OfferedTools, RefusedCall, SkippedCall, TextScan, ToolSchemas};

pub(crate) use prose::{Found, calls_only};
pub(crate) use tail::{WrittenCall, WrittenTail};

use prose::{ProseScanner, is_reserved};
use tail::TailScanner;

/// Reads text piece by piece, by one of the two rules.
#[derive(Clone, Debug)]
pub(crate) enum Scanner {
    Anywhere(ProseScanner),
    AtEnd(TailScanner),
}

impl Scanner {
    pub(crate) fn new(wanted: TextScan) -> Self {
        match wanted {
            TextScan::AtEnd(notations, tools) => Self::AtEnd(TailScanner::new(notations, tools)),
            // Only the two that `/execute` knows count anywhere; the others are read as agents read them.
            TextScan::Offered(TextCalls::Named(notations), tools) => {
                Self::AtEnd(TailScanner::new(notations, tools).without_refusals())
            }
            other => Self::Anywhere(ProseScanner::new(other)),
        }
    }

    /// Holds back at most `limit` bytes of one call, and no more than it does without one.
    pub(crate) fn with_limit_below(self, limit: usize) -> Self {
        match self {
            Self::Anywhere(scanner) => Self::Anywhere(scanner.with_limit_below(limit)),
            Self::AtEnd(scanner) => Self::AtEnd(scanner.with_limit_below(limit)),
        }
    }

    /// All of a text.
    pub(crate) fn read(mut self, text: &str) -> Vec<Found> {
        let mut found = self.push(text);
        found.extend(self.finish());
        found
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Found> {
        match self {
            Self::Anywhere(scanner) => scanner.push(text),
            Self::AtEnd(scanner) => scanner.push(text),
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<Found> {
        match self {
            Self::Anywhere(scanner) => scanner.finish(),
            Self::AtEnd(scanner) => scanner.finish(),
        }
    }

    /// A native call has come, so that no other counts. Text that waits to become calls is given at once.
    pub(crate) fn stop(&mut self) -> Vec<Found> {
        match self {
            Self::Anywhere(_) => Vec::new(),
            Self::AtEnd(scanner) => scanner.stop(),
        }
    }
}
