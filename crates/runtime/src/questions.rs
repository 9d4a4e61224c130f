//! What servers ask, as callers are shown it: who asks stands first, and the server's texts are escaped.
//!
//! A person decides by what an elicitation says. So the message begins with the name that the configuration gives the server,
//! and nothing in it can act on a terminal or change the order of what is read. What a server writes comes after its name:
//! it cannot pass for another one. A sample is for a model, whose words stay as they are; the name is in `_meta` there.

use gateway_protocol::{RawJson, RawObject, RpcError, method, printable, printable_lines, without_repeats};
use gateway_upstream::UpstreamId;
use serde::de::Error as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The member of `_meta` that names the server which asks.
const SERVER_META: &str = "mcp-tool-gateway/server";

/// Requests of a server of the modern era, in its result.
const REQUESTS: &str = "inputRequests";

/// A server that wants its user to visit pages first (MCP 2025-11-25, Elicitation).
const URL_ELICITATION_REQUIRED: i64 = -32_042;

/// The parameters of a request as the caller is shown them.
pub fn shown(
    server: &UpstreamId,
    asked: &str,
    params: Option<&RawJson>,
) -> Result<Option<RawJson>, serde_json::Error> {
    if asked != method::ELICIT && asked != method::SAMPLE {
        return Ok(params.cloned());
    }
    let mut value = params.map_or_else(|| Ok(json!({})), RawJson::read)?;
    attribute(server, asked, &mut value);
    RawJson::of(&value).map(Some)
}

/// A result with the requests in it as the caller is shown them. One without requests stays as it is.
pub fn attributed(server: &UpstreamId, result: &RawJson) -> Result<RawJson, serde_json::Error> {
    let mut members = RawObject::parse(result)?;
    let Some(requests) = members.get(REQUESTS) else { return Ok(result.clone()) };
    let requests: Option<RawObject<'_>> = serde_json::from_str(requests.get())?;
    let mut named = RawObject::default();
    for (key, request) in requests.unwrap_or_default().members() {
        named.set(key, &request_of(server, request)?)?;
    }
    let named = named.to_raw()?;
    members.set(REQUESTS, &named)?;
    members.to_raw()
}

fn request_of(server: &UpstreamId, request: &RawValue) -> Result<RawJson, serde_json::Error> {
    let mut value: Value = serde_json::from_str(request.get())?;
    if !value.is_object() {
        return Err(serde_json::Error::custom("a request of a server must be an object"));
    }
    let asked = value.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    match value.get_mut("params") {
        Some(params) if asked == method::ELICIT || asked == method::SAMPLE => {
            attribute(server, &asked, params);
            RawJson::of(&value)
        }
        _ => Ok(without_repeats(&RawJson::parse(request.get().to_owned())?)),
    }
}

/// The error of a server that wants pages visited, with its name in their messages. Others stay as they are.
pub fn attributed_error(server: &UpstreamId, mut error: RpcError) -> RpcError {
    if error.code != URL_ELICITATION_REQUIRED {
        return error;
    }
    let mut data: Value = error.data.as_ref().and_then(|data| data.read().ok()).unwrap_or_default();
    if let Some(pages) = data.get_mut("elicitations").and_then(Value::as_array_mut) {
        for page in pages {
            attribute(server, method::ELICIT, page);
        }
    }
    error.data = RawJson::of(&data).ok();
    error
}

fn attribute(server: &UpstreamId, asked: &str, params: &mut Value) {
    let Some(members) = params.as_object_mut() else { return };
    if asked == method::SAMPLE {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(SERVER_META.to_owned(), server.as_str().into());
        }
        return;
    }
    let message = members.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = format!("Server {} asks: {}", quoted(server.as_str()), printable_lines(message));
    members.insert("message".to_owned(), message.into());
    // An address has none of these characters, so that this changes none that works.
    if let Some(Value::String(url)) = members.get_mut("url") {
        escape(url);
    }
    if let Some(schema) = members.get_mut("requestedSchema") {
        escape_titles(schema);
    }
}

/// Escapes the texts of a form that people read. What is sent back (names, values) stays as it is.
fn escape_titles(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("title" | "description", Value::String(text)) => escape(text),
                    ("enumNames", Value::Array(names)) => {
                        for name in names {
                            if let Value::String(text) = name {
                                escape(text);
                            }
                        }
                    }
                    (_, value) => escape_titles(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(escape_titles),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn escape(text: &mut String) {
    if let std::borrow::Cow::Owned(escaped) = printable(text) {
        *text = escaped;
    }
}

/// A text in quotation marks, on one line, whose end cannot be mistaken.
pub fn quoted(text: &str) -> String {
    printable(&Value::from(text).to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, expected: Option<&Value>) {
        let raw = RawJson::parse(result.to_owned()).unwrap();
        let found =
            attributed(&UpstreamId::new("up"), &raw).ok().map(|result| result.read::<Value>().unwrap());
        assert_eq!(found.as_ref(), expected, "{result}");
    }

    #[test]
    fn repeated_members_hide_nothing() {
        let named = json!({"inputRequests": {"a": {
            "method": "elicitation/create", "params": {"message": "Server \"up\" asks: y"},
        }}});
        let request = r#"{"method":"elicitation/create","params":{"message":"x","message":"y"}}"#;
        check(&format!(r#"{{"inputRequests":{{"a":{request}}}}}"#), Some(&named));
        check(&format!(r#"{{"inputRequests":{{}},"inputRequests":{{"a":{request}}}}}"#), Some(&named));
        check(&format!(r#"{{"inputRequests":{{"a":{{}},"a":{request}}}}}"#), Some(&named));
        check(
            r#"{"inputRequests":{"a":{"method":"elicitation/create","method":"roots/list","params":{"message":"x"}}}}"#,
            Some(&json!({"inputRequests": {"a": {"method": "roots/list", "params": {"message": "x"}}}})),
        );
        check(r#"{"inputRequests":{"a":7}}"#, None);
        check(r#"{"content":[]}"#, Some(&json!({"content": []})));
    }

    #[test]
    fn a_sample_keeps_its_words_and_names_its_server() {
        let params = json!({"messages": [], "systemPrompt": "a\u{200b}"});
        let raw = RawJson::of(&params).unwrap();
        let found = shown(&UpstreamId::new("up"), method::SAMPLE, Some(&raw)).unwrap().unwrap();
        let expected = json!({"messages": [], "systemPrompt": "a\u{200b}", "_meta": {SERVER_META: "up"}});
        assert_eq!(found.read::<Value>().unwrap(), expected);
        let roots = RawJson::parse(r#"{ "x" : 1 }"#.to_owned()).unwrap();
        let kept = shown(&UpstreamId::new("up"), "roots/list", Some(&roots)).unwrap().unwrap();
        assert_eq!(kept.as_str(), r#"{ "x" : 1 }"#);
    }
}
