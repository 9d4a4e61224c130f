//! Behaviour of the crate.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod client;
mod log_lines;
mod providers;
mod readme;
