//! The loop over scripted models, and as Chat Completions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong here is the test's failure")]

mod gateway;
mod long_results;
mod mixed_turns;
mod selection;
mod written_calls;
