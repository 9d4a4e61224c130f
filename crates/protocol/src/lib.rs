//! MCP messages of both eras over raw JSON.
//!
//! What it is: the JSON-RPC envelope, the few fields of MCP messages that a gateway acts on, version strings, header
//! rules, error codes, and bounded parsers for lines and server-sent events. What it is not: a transport. It has no I/O,
//! no async and no clock. Everything that it does not act on stays raw: see [`RawJson`].
//!
//! ```
//! use gateway_protocol::{Incoming, RequestId, parse_message};
//!
//! let line = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"big":12345678901234567890123}}"#;
//! let Incoming::Response(response) = parse_message(line.to_vec().into())? else { return Ok(()) };
//! assert_eq!(response.id, RequestId::Number(7));
//! assert_eq!(response.outcome?.as_bytes(), br#"{"content":[],"big":12345678901234567890123}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod errors;
mod headers;
mod lifecycle;
mod lines;
mod lists;
mod message;
mod object;
mod printable;
mod raw;
mod repeated;
mod results;
mod scan;
mod sse;
mod version;
mod write;

pub use errors::{RpcError, code};
pub use headers::{HeaderParameter, InvalidHeaderParameter, encode_header_value, header, header_parameters};
pub use lifecycle::{DiscoverResult, Implementation, InitializeResult, initialize_params, modern_meta};
pub use lines::{Line, LineSplitter};
pub use lists::{ListKind, ListPage, parse_list};
pub use message::{
    Incoming, MessageError, Notification, Request, RequestId, Response, find_id, parse_message,
    parse_strict_message,
};
pub use object::RawObject;
pub use printable::{printable, printable_json, printable_lines};
pub use raw::{RawJson, read_json};
pub use repeated::{Repeated, find_repeated, without_repeats};
pub use results::{CallResultView, ResultType};
pub use scan::{Addressee, IdScanner};
pub use sse::{SseError, SseEvent, SseParser};
pub use version::{
    Era, LATEST_LEGACY, MODERN, PLAIN_HTTP_DEFAULT, allows_batches, is_known_legacy, is_modern,
    negotiate_legacy, primes_streams, supported_versions,
};
pub use write::{
    MetaEntry, meta, method, write_error, write_notification, write_params, write_request, write_response,
};
