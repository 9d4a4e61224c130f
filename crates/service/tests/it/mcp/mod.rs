//! The MCP endpoint as callers of both eras see it.

mod absent;
mod approval;
mod audit;
mod endpoints;
mod followup;
mod matrix;
pub(crate) mod old_clients;
mod own_resources;
mod pipe;
mod questions;
mod requests;
mod rmcp;
mod sessions;
mod state;
pub(crate) mod wire;
mod wrong_messages;
