//! The MCP endpoint as callers of both eras see it.

mod absent;
mod faces;
mod manners;
mod matrix;
mod old_clients;
mod sessions;
mod state;
pub(crate) mod wire;
mod wrong_messages;
