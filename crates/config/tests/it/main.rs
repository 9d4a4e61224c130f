//! Behaviour of the crate.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod config;
mod config_files;
mod conversations;
mod documented;
mod invalid_entries;
mod models;
mod privacy;
mod service;
mod tools;
mod workspace;
