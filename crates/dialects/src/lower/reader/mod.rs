//! What the schemas of a position say together, whichever way it is lowered.

pub(crate) mod fold;
mod gather;
mod implied_keys;
mod malformed;
pub(crate) mod members;
mod property_sources;
pub(crate) mod view;

use super::Lowerer;
use super::rebuild::{guard, position, union};
