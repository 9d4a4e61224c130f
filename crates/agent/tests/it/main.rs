//! The loop over scripted models, and as Chat Completions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong here is the test's failure")]

mod call_events;
mod caller_tools;
mod cancel;
mod caps;
mod careful;
mod continuation;
mod conversations;
mod empty_answers;
mod errors;
mod faults;
mod gateway;
mod long_results;
mod mixed_turns;
mod models;
mod prompted;
mod proxied;
mod retries;
mod sampling;
mod screening;
mod screening_splits;
mod selection;
mod settings;
mod text;
mod tools;
mod written_calls;
