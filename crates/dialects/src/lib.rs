//! Translates MCP tools, calls and results to and from every LLM provider's format.
//!
//! The crate is pure: no I/O, no async, no clock. Dialects are data; the code holds mechanisms only.

pub mod arguments;
pub mod calls;
pub mod context;
pub mod dialect;
pub mod history;
mod json;
pub mod results;
pub mod schema;
pub mod stream;

pub use dialect::{Dialect, DialectError, Dialects, Protocol};
pub use json::Json;
