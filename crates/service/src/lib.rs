//! The HTTP face of the gateway.
//!
//! What it is: the listener, the guard in front of every route, the routes, the status of each failure, figures, and the log
//! lines of the process. Lists and calls are the runtime's. Only this crate chooses the HTTP status codes that we send. What
//! it is not: it spawns no process and opens no connection to a server; it calls no model.

mod connections;
mod counted;
mod errors;
mod gateway;
mod guard;
mod idempotency;
mod metrics;
mod openai_errors;
mod openapi;
mod progress;
mod request_ids;
mod routes;
mod server;
mod telemetry;
mod turns;

pub use gateway::Gateway;
pub use gateway_runtime::Runtime;
pub use gateway_runtime::failure::code;
pub use gateway_runtime::route::RouteOptions;
pub use gateway_runtime::system::{SystemError, SystemParts, ToolSystem};
pub use openapi::document as openapi_document;
pub use server::{Running, ServeError, serve};
pub use telemetry::{
    AlreadyInstalled, LogFormat, install as install_logs, install_without_audit as install_logs_without_audit,
};

// What stands in the signatures of this crate, so that its users need no other one.
pub use gateway_config::{
    ApprovalConfig, Approver, CacheConfig, LogConfig, LogLevel, McpConfig, RateLimit, SearchMode, Secret,
    ServiceConfig,
};
