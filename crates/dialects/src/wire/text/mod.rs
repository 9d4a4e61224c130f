//! Plain text: calls and results that models without native tool calls write and read, and conversations without tools.
//!
//! No dialect's format, but a notation inside of any of them. The scanner that finds calls in text is
//! [`calls::text`](super::calls::text), because every format's text goes through it.

mod history;
mod results;
mod stream;
mod xml;

pub(crate) use history::to_text;
pub use results::render_written_results;
pub use stream::TextStream;
pub use xml::{escape_xml, render_xml_result};
