//! The HTTP face of the gateway.
//!
//! What it is: routes, the rendering of tool lists, the execution of provider-shaped calls, the guard in front of them,
//! metrics and logs. Only this crate chooses the HTTP status codes that we send. What it is not: it spawns no process and
//! opens no connection to a server; it calls no model.

mod approval;
mod cache;
mod canonical;
mod connections;
mod context;
mod dialects;
mod errors;
mod execute;
mod gateway;
mod guard;
mod held;
mod idempotency;
mod lookup;
mod mcp;
mod metrics;
mod openapi;
mod owner;
mod progress;
mod query;
mod render;
mod route;
mod routes;
mod run;
mod scope;
mod search;
mod server;
mod system;
mod telemetry;
mod told;
mod validators;

pub use errors::code;
pub use gateway::Gateway;
pub use mcp::{StdioError, client_capabilities, serve_stdio};
pub use openapi::document as openapi_document;
pub use route::RouteOptions;
pub use run::pointer_name as parameter_name;
pub use search::{FoundTool, MetaTool, MetaTools, TokenCost, ToolEntry, ToolHit, ToolIndex, search_result};
pub use server::{Running, ServeError, serve};
pub use system::{SystemError, SystemParts, ToolSystem};
pub use telemetry::{AlreadyInstalled, LogFormat, install as install_logs};

// What stands in the signatures of this crate, so that its users need no other one.
pub use gateway_config::{
    ApprovalConfig, Approver, CacheConfig, LogConfig, LogLevel, McpConfig, RateLimit, SearchMode, Secret,
    ServiceConfig, SettingProblem, SettingProblems, Settings,
};
