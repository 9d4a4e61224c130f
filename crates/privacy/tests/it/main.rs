//! Behaviour of the crate, through its public functions.

mod lines;
