//! The MCP endpoint as callers of both eras see it.

mod faces;
mod matrix;
mod old_clients;
mod sessions;
mod state;
pub(crate) mod wire;
mod wrong_messages;
