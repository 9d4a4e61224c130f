//! The MCP endpoint as callers of both eras see it.

mod approval;
mod faces;
mod matrix;
mod old_clients;
mod sessions;
mod state;
mod wire;
mod wrong_messages;
