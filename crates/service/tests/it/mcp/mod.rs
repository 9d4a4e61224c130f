//! The MCP endpoint as callers of both eras see it.

mod approval;
mod faces;
mod followup;
mod matrix;
mod old_clients;
mod pipe;
mod rmcp;
mod sessions;
mod state;
mod wire;
mod wrong_messages;
