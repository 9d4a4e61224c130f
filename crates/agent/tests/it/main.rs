//! Behaviour of the crate.
