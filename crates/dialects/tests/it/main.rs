//! Behaviour of the crate, seen from outside.

mod dialects;
