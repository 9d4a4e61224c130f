//! Reading JSON Schema: keywords, types, references, patterns.

mod keyword;
mod member;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod repair;
mod types;

pub use keyword::{Keyword, Kind};
pub(crate) use member::Members;
pub(crate) use refs::{Resolver, Source};
pub(crate) use types::TypeSet;
