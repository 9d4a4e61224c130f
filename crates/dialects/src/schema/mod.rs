//! Reading JSON Schema: keywords, types, references.

mod keyword;
mod types;

pub use keyword::{Keyword, Kind};
pub(crate) use types::TypeSet;
