//! The engine as operations over JSON, which the native modules of other languages call.
//!
//! The crate is pure. It knows no Python and no JavaScript: a native module turns its language's objects into values,
//! calls one function, and turns the answer back.

mod error;

pub use error::EngineError;

/// The version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
