//! Tool use and reasoning in plain text.
//!
//! Models without native tool calls write `<tool><parameter>value</parameter></tool>` or
//! `{"type":"tool_use", …}` into their answer, and think aloud between `<think>` and `</think>`.

mod element;
mod result;
mod scan;
mod typed;

pub use result::{escape_xml, render_xml_result};

pub(crate) use scan::{Found, Scanner, Tags};

/// How tool use is written in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notation {
    /// `<tool><parameter>value</parameter></tool>`
    Xml,
    /// `{"type":"tool_use","name":…,"input":…}`
    Json,
}
