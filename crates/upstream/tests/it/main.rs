//! Behaviour of the crate.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod catalogue;
mod connection;
mod definitions;
mod fallback;
mod fallback_listing;
mod fault_table;
mod faults;
mod fleet;
mod listings;
mod names;
mod offers;
mod ping;
mod registry;
mod restarts;
mod rmcp;
mod scripted;
mod workspace;
