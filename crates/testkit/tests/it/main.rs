//! The fixture does what its options say, right or wrong.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod calls;
mod everything_legacy;
mod everything_modern;
mod everything_pipes;
mod faults;
mod faults_http;
mod http;
mod library;
mod lists;
mod models_chat;
mod models_command;
mod models_converse;
mod models_faults;
mod models_gates;
mod models_mistral_cohere;
mod models_strict;
mod models_wires;
mod process_faults;
mod sse;
mod stdio;
mod talk;
mod talk_http;
mod talk_models;
