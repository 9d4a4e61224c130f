//! Behaviour of the crate from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod envelope;
mod headers;
mod repeated;
mod streams;
mod writing;
