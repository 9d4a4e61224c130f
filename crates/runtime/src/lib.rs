//! The gateway without a face: lists and calls.
//!
//! What it is: everything between a request that was read and a server that answers. Lists are rendered once and kept with
//! their plans and reports; every call goes one way: find, decode, check, approve, look into the cache, send, record. Calls
//! over MCP join at approve: their arguments are the server's to check. What it is not: it knows no HTTP, no status codes and no sessions; it opens no connections and calls
//! no model. Faces hand requests over and write what comes back.
//!
//! ```
//! use gateway_runtime::system::{SystemParts, ToolSystem};
//! use gateway_runtime::route::RouteOptions;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = ToolSystem::new(SystemParts::default());
//! system.initialize().await?;
//! let call = json!({"type": "tool_use", "id": "t1", "name": "nothing", "input": {}});
//! let result = system.execute(&call, &RouteOptions::default()).await;
//! assert_eq!(result["status"], "error");
//! system.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub mod approval_handler;
pub mod approvals;
pub mod cache;
pub mod call;
mod call_ids;
pub mod canonical;
pub mod capabilities;
pub mod client;
pub mod context;
pub mod digest;
pub mod failure;
pub mod least_recently_used;
pub mod lists;
pub mod lock;
pub mod lookup;
pub mod metrics;
pub mod owner;
pub mod parameters;
pub mod parked;
pub mod progress;
pub mod questions;
pub mod resources;
pub mod route;
mod runtime;
pub mod scope;
pub mod seal;
pub mod system;
pub mod turn;
pub mod validators;

pub use client::McpClient;
pub use runtime::Runtime;

/// The programs of the guide are run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/rust.md")]
struct Guide;
