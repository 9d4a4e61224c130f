//! One module for each command.

pub(crate) mod arguments;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod dialects;
pub(crate) mod tokens;
