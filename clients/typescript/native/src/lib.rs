//! The addon behind `mcp-tool-gateway/engine`: the engine over JSON.

use napi_derive::napi;

/// The version of the engine.
#[napi]
pub fn version() -> &'static str {
    gateway_bindings::VERSION
}
