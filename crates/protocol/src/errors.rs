//! JSON-RPC errors and MCP's codes for them.

use serde::{Deserialize, Serialize};

use crate::raw::RawJson;

/// The `error` member of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message of the other side.
    #[serde(default)]
    pub message: String,
    /// Additional data, as received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Whether the other side has no such resource. The modern era has no code of its own for that: its error names the URI.
    pub fn is_unknown_resource(&self) -> bool {
        #[derive(Deserialize)]
        struct Named {
            #[serde(rename = "uri")]
            _uri: String,
        }
        let names_uri = || self.data.as_ref().is_some_and(|data| data.read::<Named>().is_ok());
        match self.code {
            code::LEGACY_RESOURCE_NOT_FOUND => true,
            code::INVALID_PARAMS => names_uri(),
            _ => false,
        }
    }
}

/// Error codes.
pub mod code {
    /// The text was not JSON.
    pub const PARSE_ERROR: i64 = -32_700;
    /// The JSON was not a request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// Wrong parameters; since 2026-07-28 also an unknown resource.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// An internal error of the other side.
    pub const INTERNAL_ERROR: i64 = -32_603;
    /// A header contradicts the body (modern).
    pub const HEADER_MISMATCH: i64 = -32_020;
    /// The client lacks a capability that the request needs (modern).
    pub const MISSING_CAPABILITY: i64 = -32_021;
    /// The protocol version is not supported (modern).
    pub const UNSUPPORTED_VERSION: i64 = -32_022;
    /// Unknown resource, before 2026-07-28.
    pub const LEGACY_RESOURCE_NOT_FOUND: i64 = -32_002;

    /// Whether only a modern server sends this code, which determines the era.
    pub fn is_modern(code: i64) -> bool {
        matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
    }
}
