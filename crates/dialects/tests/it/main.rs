//! Behaviour of the crate, seen from outside.

mod arguments;
mod calls;
mod calls_text;
mod dialects;
mod stream;
mod stream_properties;
