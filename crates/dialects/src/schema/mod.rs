//! Reading JSON Schema: keywords, types, references, patterns, amounts.

mod keyword;
mod member;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod repair;
mod types;

pub use keyword::{Keyword, Kind};
pub(crate) use member::Members;
pub(crate) use refs::{Resolver, Source};
pub(crate) use types::TypeSet;
