//! Behaviour of the crate, through its public functions.

mod json;
mod kinds;
mod lines;
mod properties;
mod stream;
