//! The service over real sockets, with the built-in demo server behind it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what goes wrong here is the test's failure"
)]

mod bounds;
mod cache;
mod call_invariants;
mod client;
#[cfg(feature = "agent")]
mod completions;
mod conversations;
mod cors;
mod drain;
mod guard;
mod held;
mod histories;
mod input;
mod large_bodies;
mod limits;
mod listings;
mod lists;
mod logs;
mod mcp;
mod names;
mod odd_results;
mod operations;
mod owners;
mod prose;
mod registry;
mod repeated;
mod resources;
mod room;
mod route;
mod search;
mod streamed_replies;
mod streams;
mod turns;
mod unknown_names;
mod unreached;
mod wrong_requests;
