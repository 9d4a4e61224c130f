//! Tool use and reasoning in plain text.
//!
//! Models without native tool calls write `<tool><parameter>value</parameter></tool>` or
//! `{"type":"tool_use", …}` into their answer, and think aloud between `<think>` and `</think>`. Such calls are taken only where
//! that was asked for: see [`TextScan`].

mod element;
mod offered;
mod scan;
mod typed;

pub use crate::dialect::TextCalls;
pub use crate::wire::text::{escape_xml, render_xml_result};
pub use offered::{AnyTool, OfferedTools, SkippedCall, TextScan, ToolSchemas};

pub(crate) use scan::{Found, Scanner, calls_only};

/// How tool use is written in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notation {
    /// `<tool><parameter>value</parameter></tool>`
    Xml,
    /// `{"type":"tool_use","name":…,"input":…}`
    Json,
}

impl Notation {
    /// The word for it in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Json => "json",
        }
    }
}
