//! The engine as operations over JSON, which the native modules of other languages call.
//!
//! The crate is pure. It knows no Python and no JavaScript: a native module turns its language's objects into values,
//! calls one function, and turns the answer back. Every operation takes its options as an object with the names of the
//! HTTP API, and answers as the HTTP API or the command line does.
//!
//! ```
//! use gateway_bindings::{Operation, Settings, run_text};
//!
//! let tools = r#"[{"name": "add", "inputSchema": {"type": "object"}}]"#;
//! let options = serde_json::json!({"to": "openai"});
//! let serde_json::Value::Object(options) = options else { return Ok(()) };
//! let answer = run_text(Operation::Convert, tools, Settings::new(options))?;
//! assert!(answer.contains(r#""type":"function""#));
//! # Ok::<(), gateway_bindings::EngineError>(())
//! ```

mod calls;
mod convert;
mod engine;
mod error;
mod history;
mod operation;
mod read;
mod results;
mod settings;
mod shield;
mod stream;
mod toolset;

pub use convert::{Converter, LeftOut};
pub use error::EngineError;
pub use gateway_dialects::{GivenTool, JSON_DEPTH, Json, ToolDocument, Translation, UnreadTool, from_slice};
pub use operation::{Operation, check, run, run_text};
pub use settings::Settings;
pub use stream::StreamAssembler;

/// The version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
