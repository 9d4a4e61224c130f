//! What was agreed with a server over HTTP, and the headers that say so.

use gateway_protocol::{encode_header_value, header};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::connection::call::Call;

/// What was agreed with the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    /// Counts the handshakes.
    pub(super) generation: u64,
    pub(super) mode: SessionMode,
}

#[derive(Clone, Debug, Default)]
pub(super) enum SessionMode {
    /// Nothing yet.
    #[default]
    Opening,
    Legacy {
        version: HeaderValue,
        id: Option<HeaderValue>,
    },
    Modern {
        version: HeaderValue,
    },
}

impl Session {
    pub(super) fn is_modern(&self) -> bool {
        matches!(self.mode, SessionMode::Modern { .. })
    }

    pub(super) fn has_id(&self) -> bool {
        matches!(self.mode, SessionMode::Legacy { id: Some(_), .. })
    }

    /// The headers of every request in this session.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match &self.mode {
            SessionMode::Opening => {}
            SessionMode::Legacy { version, id } => {
                headers.insert(&header::PROTOCOL_VERSION, version.clone());
                if let Some(id) = id {
                    headers.insert(&header::SESSION, id.clone());
                }
            }
            SessionMode::Modern { version } => {
                headers.insert(&header::PROTOCOL_VERSION, version.clone());
            }
        }
        headers
    }
}

/// The headers of a modern request beside its version (MCP 2026-07-28, SEP-2243).
pub(super) fn modern_headers(headers: &mut HeaderMap, call: &Call<'_>) {
    if let Ok(method) = HeaderValue::from_str(call.method) {
        headers.insert(&header::METHOD, method);
    }
    let name = call.name.and_then(|name| encode_header_value(&Value::from(name)));
    if let Some(name) = name.and_then(|name| HeaderValue::try_from(name).ok()) {
        headers.insert(&header::NAME, name);
    }
    for (name, value) in call.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            headers.insert(name, value);
        }
    }
}
