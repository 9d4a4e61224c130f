//! Reading JSON Schema: keywords, types, references, patterns, amounts.

mod children;
mod keyword;
mod member;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod refs;
pub(crate) mod repair;
mod types;

pub(crate) use children::{children, held};
pub use keyword::{Holds, Keyword, Kind};
pub(crate) use member::Members;
pub(crate) use refs::{Resolver, Source};
pub(crate) use types::TypeSet;
