//! One module for each command.

pub(crate) mod approvals;
pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod calls;
#[cfg(feature = "agent")]
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod detect;
pub(crate) mod dialects;
pub(crate) mod history;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod shell;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod transform;
