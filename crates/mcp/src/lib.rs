//! The gateway as an MCP server: everything that the upstreams offer, through one endpoint, in both eras.
//!
//! What it is: a face over the runtime. What callers of both eras share keeps nothing about them; a modern request carries all
//! that is to be known, and legacy sessions remember it for callers who say it once. What servers ask while they work reaches
//! the caller in the way of its era: as a request that it answers, or as `input_required` with a signed state that it brings
//! back. It speaks over standard input and output ([`serve_stdio`]), and over HTTP to whoever mounts it ([`Endpoint::answer`]).
//!
//! What it is not: it listens on no address, checks no keys and counts no requests, and it knows no other face. It chooses no
//! status code of its own: those of its answers are the ones that MCP's transports prescribe.
//!
//! ```
//! use gateway_mcp::{Endpoint, serve_stdio};
//! use gateway_runtime::system::{SystemParts, ToolSystem};
//! use tokio::io::AsyncReadExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = ToolSystem::new(SystemParts::default());
//! let endpoint = Endpoint::new(system.initialize().await?);
//! let (mut client, output) = tokio::io::duplex(1024);
//! let input = &br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#[..];
//! serve_stdio(&endpoint, None, [input, b"\n"].concat().as_slice(), output).await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
//! # Ok(())
//! # }
//! ```

mod caller;
mod endpoint;
mod errors;
mod http_endpoint;
mod http_request;
mod in_flight;
mod legacy;
mod lists;
mod log_level;
mod modern;
mod notifications;
mod offers;
mod outbound;
mod params;
mod requests;
mod response;
mod resumable;
mod search;
mod server_info;
mod sessions;
mod stdio;
mod subscriptions;
mod tasks;
mod view;

pub use endpoint::{Endpoint, Slot};
pub use http_endpoint::Operation;
pub use http_request::HttpRequest;
pub use response::{Body, Response};
pub use server_info::client_capabilities;
pub use stdio::{StdioError, serve_stdio};
