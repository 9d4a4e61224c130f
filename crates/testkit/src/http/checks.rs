//! Requirements for requests over HTTP.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_protocol::{RpcError, code, header, method};
use http::HeaderMap;
use serde_json::Value;

use super::Refused;
use super::answer::plain;
use crate::definitions::MIRRORED;
use crate::message::Message;
use crate::options::Options;

/// Checks `Host` and `Origin`. In a DNS rebinding attack the page still sends its own name.
pub(crate) fn check_caller(options: &Options, headers: &HeaderMap) -> Result<(), Refused> {
    if text_of(headers, "origin")
        .is_some_and(|origin| !is_local(origin.split("://").nth(1).unwrap_or_default()))
    {
        return Err(Box::new(plain(403, "this origin is not welcome")));
    }
    if text_of(headers, "host").is_some_and(|host| !is_local(host)) {
        return Err(Box::new(plain(403, "this host is somebody else")));
    }
    if let Some(token) = &options.require_token
        && text_of(headers, "authorization").and_then(|value| value.strip_prefix("Bearer ")) != Some(token)
    {
        let mut response = plain(401, "a token is required");
        response.headers_mut().insert("www-authenticate", http::HeaderValue::from_static("Bearer"));
        return Err(Box::new(response));
    }
    Ok(())
}

/// Whether `host` or `host:port` is this machine.
fn is_local(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = port.map_or(authority, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Both content types must be accepted, and the body must be JSON.
pub(crate) fn check_kinds(headers: &HeaderMap) -> Result<(), Refused> {
    let accept = text_of(headers, "accept").unwrap_or_default();
    if !accept.contains("application/json") || !accept.contains("text/event-stream") {
        return Err(Box::new(plain(406, "accept both application/json and text/event-stream")));
    }
    if !text_of(headers, "content-type").unwrap_or_default().starts_with("application/json") {
        return Err(Box::new(plain(415, "send application/json")));
    }
    Ok(())
}

/// The headers of a modern request must repeat its body (MCP 2026-07-28, SEP-2243).
pub(crate) fn check_modern_headers(message: &Message<'_>, headers: &HeaderMap) -> Result<(), RpcError> {
    let mismatch = |name: &str| {
        Err(RpcError::new(
            code::HEADER_MISMATCH,
            format!("header `{name}` is absent or contradicts the body"),
        ))
    };
    // A request without a version in its body is refused for that, not for its header.
    if let Some(version) = message.meta().and_then(|meta| meta.version.as_deref())
        && text_of(headers, header::PROTOCOL_VERSION.as_str()) != Some(version)
    {
        return mismatch(header::PROTOCOL_VERSION.as_str());
    }
    if text_of(headers, header::METHOD.as_str()) != Some(message.method()) {
        return mismatch(header::METHOD.as_str());
    }
    let params = message.params.as_ref();
    let name = match message.method() {
        method::CALL_TOOL | method::GET_PROMPT => params.and_then(|params| params.name.as_deref()),
        method::READ_RESOURCE => params.and_then(|params| params.uri.as_deref()),
        // SEP-2663
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.and_then(|params| params.task.as_deref()),
        _ => return Ok(()),
    };
    let given = text_of(headers, header::NAME.as_str());
    if given != name && given.and_then(decode).as_deref() != name {
        return mismatch(header::NAME.as_str());
    }
    if name != Some("header_echo") {
        return Ok(());
    }
    let arguments: Value = serde_json::from_str(message.arguments()).unwrap_or_default();
    for (argument, header) in MIRRORED {
        let wanted = match arguments.get(argument) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let given = text_of(headers, header);
        if given.is_some() != wanted.is_some() || given.and_then(decode) != wanted {
            return mismatch(header);
        }
    }
    Ok(())
}

/// The mirrored headers, as received.
pub(crate) fn mirrored(message: &Message<'_>, headers: &HeaderMap) -> Vec<(&'static str, String)> {
    if message.name() != Some("header_echo") {
        return Vec::new();
    }
    let found = MIRRORED.iter().filter_map(|(_, name)| Some((*name, text_of(headers, name)?.to_owned())));
    found.collect()
}

/// A header that is plain text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Decodes `=?base64?…?=`; `None` if it is not valid base64.
fn decode(value: &str) -> Option<String> {
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(coded) = coded else { return Some(value.to_owned()) };
    String::from_utf8(STANDARD.decode(coded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_undone() {
        for text in ["", "a", "ab", "abc", "Zürich ", "=?base64?x?=", "😀 & more"] {
            let value = Value::String(format!("\u{e9}{text}"));
            let coded = gateway_protocol::encode_header_value(&value).unwrap();
            assert!(coded.starts_with("=?base64?"), "{coded}");
            assert_eq!(decode(&coded).map(Value::String), Some(value));
        }
        for literal in ["plain", "SGVsbG8=", "=?base64?SGVsbG8="] {
            assert_eq!(decode(literal).as_deref(), Some(literal));
        }
        for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?//8=?="] {
            assert_eq!(decode(broken), None);
        }
    }

    use serde_json::Value;
}
