//! Behaviour of the crate, seen from outside.

mod context;
mod dialects;
mod history;
mod results;
