//! How a connection begins in each era, and what every modern request must contain.

use gateway_protocol::{
    LATEST_LEGACY, MODERN, RawJson, RpcError, code, is_modern, meta, method, negotiate_legacy,
};
use serde_json::json;

use crate::exchange::{CallResult, Called, Exchange, SpeaksNow};
use crate::message::Message;
use crate::options::{Options, Serves, SpokenEra};

/// The capabilities of the server.
fn capabilities(serves: Serves, era: SpeaksNow) -> &'static str {
    match (serves, era) {
        (Serves::Tools, _) => r#"{"tools":{"listChanged":true}}"#,
        (Serves::Everything, SpeaksNow::Legacy) => {
            r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}"#
        }
        (Serves::Everything, SpeaksNow::Modern) => {
            r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        }
    }
}

const INSTRUCTIONS: &str = "A server for tests. Nothing here is true.";

/// The era of a message, from its members and the eras of the server.
pub(crate) fn era_of(spoken: SpokenEra, message: &Message<'_>, version_header: Option<&str>) -> SpeaksNow {
    match spoken {
        SpokenEra::Legacy => SpeaksNow::Legacy,
        SpokenEra::Modern => SpeaksNow::Modern,
        SpokenEra::Both => {
            let carries_version = message.meta().is_some_and(|meta| meta.version.is_some());
            let only_modern = matches!(message.method(), method::DISCOVER | method::LISTEN);
            // A client that opens with `initialize` may name a version that is not supported yet; one that writes the
            // modern `_meta` into it asks for a method that its own era does not have.
            let modern = carries_version
                || (only_modern || version_header.is_some_and(is_modern))
                    && message.method() != method::INITIALIZE;
            if modern { SpeaksNow::Modern } else { SpeaksNow::Legacy }
        }
    }
}

/// Checks what every modern request must contain (MCP 2026-07-28, SEP-2575).
pub(crate) fn check_modern(message: &Message<'_>) -> Result<(), RpcError> {
    let unsupported = |requested: &str| RpcError {
        data: RawJson::of(&json!({"supported": [MODERN], "requested": requested})).ok(),
        ..RpcError::new(code::UNSUPPORTED_VERSION, "unsupported protocol version")
    };
    let carries_version = message.meta().is_some_and(|meta| meta.version.is_some());
    if message.method() == method::INITIALIZE && !carries_version {
        let requested = message.params.as_ref().and_then(|params| params.protocol_version.as_deref());
        return Err(unsupported(requested.unwrap_or_default()));
    }
    let missing =
        |key: &str| Err(RpcError::new(code::INVALID_PARAMS, format!("missing required _meta field: {key}")));
    let Some(version) = message.meta().and_then(|meta| meta.version.as_deref()) else {
        return missing(meta::PROTOCOL_VERSION);
    };
    if message.meta().is_none_or(|meta| meta.capabilities.is_none()) {
        return missing(meta::CLIENT_CAPABILITIES);
    }
    if version == MODERN { Ok(()) } else { Err(unsupported(version)) }
}

/// Rejects requests on a legacy connection before the handshake is complete.
pub(crate) fn check_ready(exchange: &Exchange) -> Result<(), RpcError> {
    match (&exchange.session, exchange.era) {
        (Some(session), SpeaksNow::Legacy) if !session.is_ready() => {
            Err(RpcError::new(code::INVALID_REQUEST, "received a request before initialization was complete"))
        }
        _ => Ok(()),
    }
}

/// Appends the answer to `initialize`.
pub(crate) fn initialize(options: &Options, message: &Message<'_>, out: &mut Vec<u8>) -> CallResult {
    if options.era == SpokenEra::Modern {
        return Err(RpcError::new(code::METHOD_NOT_FOUND, "method not found: initialize"));
    }
    let requested = message.params.as_ref().and_then(|params| params.protocol_version.as_deref());
    let version = negotiate_legacy(requested.unwrap_or(LATEST_LEGACY));
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{},"serverInfo":{},"instructions":"{INSTRUCTIONS}"}}"#,
        capabilities(options.serve, SpeaksNow::Legacy),
        server_info()
    );
    out.extend_from_slice(result.as_bytes());
    Ok(Called::Done)
}

/// Appends the answer to `server/discover`.
pub(crate) fn discover(options: &Options, out: &mut Vec<u8>) {
    let result = format!(
        r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{},"instructions":"{INSTRUCTIONS}","_meta":{{"{}":{}}},"ttlMs":{},"cacheScope":"public"}}"#,
        capabilities(options.serve, SpeaksNow::Modern),
        meta::SERVER_INFO,
        server_info(),
        options.ttl_ms
    );
    out.extend_from_slice(result.as_bytes());
}

/// Appends the caching hints of a modern list.
pub(crate) fn append_cache_hints(options: &Options, era: SpeaksNow, out: &mut Vec<u8>) {
    if era == SpeaksNow::Modern {
        let hints = format!(r#","ttlMs":{},"cacheScope":"public","resultType":"complete""#, options.ttl_ms);
        out.extend_from_slice(hints.as_bytes());
    }
}

/// The HTTP status of an answer that is this error.
pub(crate) fn status_of(era: SpeaksNow, error: &RpcError) -> u16 {
    match (era, error.code) {
        (SpeaksNow::Modern, code::METHOD_NOT_FOUND) => 404,
        (SpeaksNow::Modern, other) if code::is_modern(other) => 400,
        _ => 200,
    }
}

fn server_info() -> String {
    format!(r#"{{"name":"gateway-fixture","version":"{}"}}"#, env!("CARGO_PKG_VERSION"))
}
