//! Behaviour of the crate, seen from outside.

mod architecture;
mod arguments;
mod bounded_drafts;
mod calls;
mod calls_text;
mod context;
mod dialects;
mod found;
mod history;
mod hostile;
mod hostile_arguments;
mod hostile_fuzz;
mod hostile_patterns;
mod invited;
mod invited_indirectly;
mod invited_properties;
mod keys;
mod layers;
mod limits;
mod properties;
mod recursion;
mod results;
mod seeds;
mod stream;
mod stream_properties;
mod wild;
