//! Requests that need nothing of the gateway: they go on as they came, and so do the answers.

use std::sync::Arc;

use bytes::Bytes;
use gateway_config::{ModelKind, ToolUse};
use gateway_protocol::{RawJson, RawObject};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{BadRequest, CompletionError};
use crate::error::AgentError;
use crate::http_model::ProxiedBody;
use crate::models::ChosenModel;
use crate::screening::Screen;

/// An answer of another server.
pub struct Proxied {
    /// Its status.
    pub status: u16,
    /// Its headers, as far as they are passed on.
    pub headers: HeaderMap,
    /// Its body, as it comes.
    pub body: ProxiedBody,
}

/// Headers of answers that are passed on, beside those that begin with one of the prefixes.
const PASSED: [&str; 5] = ["content-type", "retry-after", "retry-after-ms", "x-request-id", "cache-control"];
const PREFIXES: [&str; 2] = ["openai-", "x-ratelimit-"];

/// Headers of requests that are passed on, beside those that begin with one of the prefixes. Nothing that proves who the caller is, and
/// nothing about the connection: the key is the gateway's, and its configured headers win.
const SENT: [&str; 8] = [
    "accept",
    "idempotency-key",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-client-request-id",
    "x-ms-client-request-id",
    "x-request-id",
];
const SENT_PREFIXES: [&str; 2] = ["openai-", "x-stainless-"];

/// Whether a model's API takes requests as callers write them.
pub(super) fn can_proxy(chosen: &ChosenModel) -> bool {
    matches!(chosen.spec.kind, ModelKind::OpenAi | ModelKind::Dial | ModelKind::Azure)
        // Tools of the caller have to be asked for in steps.
        && chosen.spec.tool_use == ToolUse::Native
        && chosen.spec.dialect.as_deref() != Some("argo")
}

/// Sends a request on. Only the name of the model is the API's own.
pub(super) async fn forward(
    chosen: &ChosenModel,
    body: &Bytes,
    headers: &HeaderMap,
) -> Result<Proxied, CompletionError> {
    let body = with_model(body, &chosen.api_name)?;
    let headers = chosen_headers(headers, &SENT, &SENT_PREFIXES);
    let response = chosen.http.forward(body, headers).await.map_err(AgentError::Model)?;
    let status = response.status();
    let headers = chosen_headers(response.headers(), &PASSED, &PREFIXES);
    let body = if status.is_client_error() || status.is_server_error() {
        chosen.http.error_body(response).await
    } else {
        chosen.http.body(response)
    };
    Ok(Proxied { status: status.as_u16(), headers, body })
}

fn chosen_headers(headers: &HeaderMap, names: &[&str], prefixes: &[&str]) -> HeaderMap {
    let is_chosen = |name: &HeaderName| {
        names.contains(&name.as_str()) || prefixes.iter().any(|prefix| name.as_str().starts_with(prefix))
    };
    let chosen = headers.iter().filter(|(name, _)| is_chosen(name));
    chosen.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The header of an answer that names the kinds of personal data in the request.
const PERSONAL_DATA: &str = "x-gateway-personal-data";

/// The same, after a look at the messages. They are written anew only if something in them is masked.
pub(super) async fn forward_screened(
    chosen: &ChosenModel,
    body: &Bytes,
    headers: &HeaderMap,
    messages: Vec<Value>,
    screen: &Arc<Screen>,
) -> Result<Proxied, CompletionError> {
    let screened = screen.chat(messages.clone()).await?;
    let body = if screened == messages { body.clone() } else { with_messages(body, &screened)? };
    let mut proxied = forward(chosen, &body, headers).await?;
    let kinds: Vec<String> = screen.found().iter().map(|found| found.counts.to_string()).collect();
    if let (false, Ok(kinds)) = (kinds.is_empty(), HeaderValue::from_str(&kinds.join(", "))) {
        proxied.headers.insert(PERSONAL_DATA, kinds);
    }
    Ok(proxied)
}

/// The body with other messages; every other member stays as it came.
fn with_messages(body: &Bytes, messages: &[Value]) -> Result<Bytes, CompletionError> {
    let raw = RawJson::parse(body.clone()).map_err(|error| unreadable(&error))?;
    let mut members = RawObject::parse(&raw).map_err(|error| unreadable(&error))?;
    let messages = RawJson::of(messages).map_err(|error| unreadable(&error))?;
    members.set("messages", &messages).map_err(|error| unreadable(&error))?;
    let written = members.to_raw().map_err(|error| unreadable(&error))?;
    Ok(Bytes::copy_from_slice(written.as_bytes()))
}

/// The body with another name for the model; every other byte stays.
fn with_model(body: &Bytes, model: &str) -> Result<Bytes, CompletionError> {
    let raw = RawJson::parse(body.clone()).map_err(|error| unreadable(&error))?;
    let mut members = RawObject::parse(&raw).map_err(|error| unreadable(&error))?;
    let named = RawJson::of(model).map_err(|error| unreadable(&error))?;
    let around = members.get("model").map(RawValue::get).and_then(|old| {
        let start = old.as_ptr().addr().checked_sub(raw.as_bytes().as_ptr().addr())?;
        Some((raw.as_bytes().get(..start)?, raw.as_bytes().get(start + old.len()..)?))
    });
    if let Some((before, after)) = around {
        return Ok([before, named.as_bytes(), after].concat().into());
    }
    members.set("model", &named).map_err(|error| unreadable(&error))?;
    let written = members.to_raw().map_err(|error| unreadable(&error))?;
    Ok(Bytes::copy_from_slice(written.as_bytes()))
}

fn unreadable(error: &dyn std::fmt::Display) -> BadRequest {
    BadRequest { message: format!("reading the body: {error}"), param: None }
}
