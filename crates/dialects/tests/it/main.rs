//! Behaviour of the crate, seen from outside.

mod arguments;
mod calls;
mod calls_text;
mod context;
mod dialects;
mod history;
mod hostile;
mod layers;
mod properties;
mod results;
mod seeds;
mod stream;
mod stream_properties;
