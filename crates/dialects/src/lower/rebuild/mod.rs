//! Lowering by writing a schema anew from its meaning, for dialects with a schema language of their own.

mod annotations;
mod array;
mod carrier;
mod definition;
mod depth;
mod estimate;
pub(super) mod guard;
pub(super) mod node;
mod object;
pub(super) mod position;
mod root;
mod typed;
pub(super) mod union;
mod values;

use super::reader::{fold, members, view};
use super::{DEEPEST, Definition, LoweredSchema, Lowerer};
use node::{Node, Writer};
