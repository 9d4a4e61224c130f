//! Behaviour of the crate.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod demo;
mod registry;
mod workspace;
