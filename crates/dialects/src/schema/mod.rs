//! Reading JSON Schema: keywords, types, references, patterns.

mod keyword;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod repair;
mod types;

pub use keyword::{Keyword, Kind};
pub(crate) use refs::{Resolver, Source};
pub(crate) use types::TypeSet;
