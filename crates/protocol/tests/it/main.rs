//! Behaviour of the crate from outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod envelope;
mod headers;
mod streams;
mod writing;
