//! MCP servers in our own process: the demo, the workspace (files of one directory) and the registry (tools that are no
//! server's).
//!
//! What it is: functions from a method and its parameters to a result. What it is not: it knows no transport, no connection
//! and no list of all tools. Whoever reaches these servers calls them directly.

mod arguments;
mod demo;
pub mod http_client;
mod registry;
mod server;
mod workspace;

pub use demo::DemoServer;
pub use registry::{
    ExecuteError, Function, FunctionAnswer, FunctionError, Handler, RegisterError, RegisteredResource,
    RegisteredTool, Registry, RegistryEvent, ResourceContents, ToolFunction, ToolOrigin,
};
pub use workspace::WorkspaceServer;
