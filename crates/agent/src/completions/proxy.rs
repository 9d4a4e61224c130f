//! Requests that need nothing of the gateway: they go on as they came, and so do the answers.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_config::{ModelKind, ToolDialect, ToolUse};
use gateway_protocol::{RawJson, RawObject};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Response;
use serde_json::Value;
use serde_json::value::RawValue;

use super::write::DONE;
use super::{BadRequest, CompletionError, failed_stream};
use crate::error::{AgentError, ModelError, ModelFailure};
use crate::http_model::{ProxiedBody, refused};
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

/// What came of a request that is passed on.
pub(super) enum Forwarded {
    /// The answer of the first model that gave one, or the last one's refusal.
    Answer(Proxied),
    /// So many models gave no answer, and the next one's API takes no requests as callers write them.
    LeftToTheLoop(usize),
}

/// Whether a model's API takes requests as callers write them.
pub(super) fn can_proxy(chosen: &ChosenModel) -> bool {
    matches!(chosen.spec.kind, ModelKind::OpenAi | ModelKind::Dial | ModelKind::Azure)
        // Tools of the caller have to be asked for in steps, or in words from before there were tools.
        && chosen.spec.tool_use == ToolUse::Native
        && chosen.spec.tool_dialect == ToolDialect::Tools
        && chosen.spec.dialect.as_deref() != Some("argo")
}

/// Sends a request on to the first model, and to those behind it while one gives no answer. Only the name of the model is the API's own.
pub(super) async fn forward(
    chosen: &[ChosenModel],
    body: &Bytes,
    headers: &HeaderMap,
) -> Result<Forwarded, CompletionError> {
    let headers = chosen_headers(headers, &SENT, &SENT_PREFIXES);
    let mut failed = 0;
    loop {
        let Some(model) = chosen.get(failed).filter(|model| can_proxy(model)) else {
            return Ok(Forwarded::LeftToTheLoop(failed));
        };
        let body = with_model(body, &model.api_name)?;
        let answered = model.http.forward(body, &headers).await;
        let next = chosen.get(failed + 1);
        match (answered, next) {
            (Ok(response), Some(next)) if is_passing(&response) => {
                let (status, next) = (response.status().as_u16(), next.model.name());
                tracing::warn!(model = model.model.name(), status, next, "The next model is asked.");
            }
            (Err(error), Some(next)) if error.failure.is_passing() => {
                tracing::warn!(%error, next = next.model.name(), "The next model is asked.");
            }
            (Ok(response), _) => return answer(model, response).await.map(Forwarded::Answer),
            (Err(error), _) => return Err(AgentError::Model(error).into()),
        }
        failed += 1;
    }
}

/// Whether a later request, or another model, may do better.
fn is_passing(response: &Response) -> bool {
    refused(response).is_some_and(|failure| failure.is_passing())
}

async fn answer(model: &ChosenModel, response: Response) -> Result<Proxied, CompletionError> {
    let status = response.status();
    let headers = chosen_headers(response.headers(), &PASSED, &PREFIXES);
    let body = match status.as_u16() {
        200..=299 if is_event_stream(&headers) => {
            ended(model.model.name().to_owned(), model.http.body(response))
        }
        200..=299 => model.http.body(response),
        400..=599 => model.http.error_body(response).await,
        // Redirects and what else concerns the connection to the API are nothing for a caller to act on.
        _ => return Err(AgentError::Model(model.http.unexpected(response).await).into()),
    };
    Ok(Proxied { status: status.as_u16(), headers, body })
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// What the last event of a stream says.
const LAST: &[u8] = b"[DONE]";

/// The member of a chunk that says why the model stopped. After a text there a stream is complete, also where its server sends no last event.
const REASON: &[u8] = b"\"finish_reason\":";

/// Bytes of a stream that are looked back at: [`REASON`] may be cut, and white space follows [`LAST`].
const LOOKED_BACK: usize = 64;

/// The stream with its terminal event: where it broke off, or ended without one, a typed error stands before that.
fn ended(model: String, body: ProxiedBody) -> ProxiedBody {
    let seen = Seen { model, tail: Vec::new(), has_reason: false };
    let pieces = stream::unfold((Some(body), seen), |(body, mut seen)| async move {
        let mut body = body?;
        let broken = match body.next().await {
            Some(Ok(piece)) => {
                seen.take(&piece);
                return Some((Ok(piece), (Some(body), seen)));
            }
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        let end = seen.end(broken)?;
        Some((Ok(end), (None, seen)))
    });
    pieces.boxed()
}

/// What is known of a stream that passes.
struct Seen {
    model: String,
    /// Its last bytes.
    tail: Vec<u8>,
    has_reason: bool,
}

impl Seen {
    fn take(&mut self, piece: &[u8]) {
        self.tail.extend_from_slice(piece);
        self.has_reason = self.has_reason || has_reason(&self.tail);
        let begin = self.tail.len().saturating_sub(LOOKED_BACK);
        self.tail.drain(..begin);
    }

    /// What has to follow, if it ends here; `None` if its last event was there.
    fn end(&self, broken: Option<String>) -> Option<Bytes> {
        if self.tail.trim_ascii_end().ends_with(LAST) {
            return None;
        }
        let mut end = Vec::new();
        // What broke off in the middle of an event must not become a part of the next one.
        if !self.tail.is_empty() && !self.tail.ends_with(b"\n\n") && !self.tail.ends_with(b"\r\n\r\n") {
            end.extend_from_slice(b"\n\n");
        }
        if broken.is_none() && self.has_reason {
            end.extend_from_slice(DONE);
            return Some(end.into());
        }
        let text = broken.map_or_else(
            || "the stream ended before the reply did".to_owned(),
            |reason| format!("broke off: {reason}"),
        );
        let error =
            ModelError { model: self.model.clone(), kind: None, failure: ModelFailure::Connection(text) };
        end.extend_from_slice(&failed_stream(&AgentError::Model(error).into()));
        Some(end.into())
    }
}

/// Whether a chunk in these bytes says why the model stopped: not while the reason is `null`.
fn has_reason(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, REASON).any(|at| {
        let value = bytes.get(at + REASON.len()..).unwrap_or_default();
        value.trim_ascii_start().starts_with(b"\"")
    })
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
    chosen: &[ChosenModel],
    body: &Bytes,
    headers: &HeaderMap,
    messages: Vec<Value>,
    screen: &Arc<Screen>,
) -> Result<Forwarded, CompletionError> {
    let screened = screen.chat(messages.clone()).await?;
    let body = if screened == messages { body.clone() } else { with_messages(body, &screened)? };
    drop((messages, screened));
    let mut proxied = match forward(chosen, &body, headers).await? {
        Forwarded::Answer(proxied) => proxied,
        left @ Forwarded::LeftToTheLoop(_) => return Ok(left),
    };
    let kinds: Vec<String> = screen.found().iter().map(|found| found.counts.to_string()).collect();
    if let (false, Ok(kinds)) = (kinds.is_empty(), HeaderValue::from_str(&kinds.join(", "))) {
        proxied.headers.insert(PERSONAL_DATA, kinds);
    }
    Ok(Forwarded::Answer(proxied))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_seen_however_it_is_written_and_cut() {
        let chunk = |reason: &str| {
            format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\"{reason}}}]}}\n\n")
        };
        for (reason, expected) in
            [(":\"stop\"", true), (": \"stop\"", true), (":null", false), (": null", false)]
        {
            let text = chunk(reason);
            for at in 0..text.len() {
                let mut seen = Seen { model: String::new(), tail: Vec::new(), has_reason: false };
                seen.take(&text.as_bytes()[..at]);
                seen.take(&text.as_bytes()[at..]);
                assert_eq!(seen.has_reason, expected, "{text:?} cut at {at}");
            }
        }
    }
}
