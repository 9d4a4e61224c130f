//! Reports of `check`, for people and programs.

mod locate;
mod markdown;
mod sarif;
mod text;

pub(crate) use markdown::write_markdown;
pub(crate) use sarif::write_sarif;
pub(crate) use text::{Detail, write_text};
