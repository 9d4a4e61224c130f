//! What an API says when it gives no reply.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use gateway_builtin::http_client::explain;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::Response;
use serde_json::Value;
use url::Url;

use super::secrets::{KeySecrets, TextEnd};
use crate::error::ModelFailure;

/// Bytes of an error that are read.
const LONGEST: usize = 64 << 10;

/// Characters of it that are passed on where it is not JSON.
const SHOWN: usize = 500;

/// Reads an answer that is no success.
pub(super) async fn read(response: Response, timeout: Duration, secrets: &KeySecrets) -> ModelFailure {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers(), Timestamp::now());
    let body = first_bytes(response, timeout, secrets).await;
    let parsed: Option<Value> = serde_json::from_slice(&body).ok();
    let message = match status {
        // Whatever it says, it is not for those who do not follow.
        300..=399 => explain_status(status).to_owned(),
        _ => parsed.as_ref().and_then(message_of).unwrap_or_else(|| plain_text(&body, status)),
    };
    ModelFailure::Status { status, message, body: parsed.filter(Value::is_object).map(Box::new), retry_after }
}

/// An answer that is no success, without its words; `None` if it is one.
pub(crate) fn refused(response: &Response) -> Option<ModelFailure> {
    let status = response.status();
    let retry_after = retry_after(response.headers(), Timestamp::now());
    let message = explain_status(status.as_u16()).to_owned();
    (!status.is_success()).then(|| ModelFailure::Status {
        status: status.as_u16(),
        message,
        body: None,
        retry_after,
    })
}

impl ModelFailure {
    /// The same with the address that was asked, where that may be what is wrong.
    pub(super) fn asked_at(self, url: &Url) -> Self {
        let Self::Status { status, message, body, retry_after } = self else { return self };
        let is_about_address = matches!(status, 300..=399 | 401 | 403 | 404 | 405);
        let message = match status {
            404 if !url.path().contains("/v1") => {
                format!("{message} (asked {}; most APIs want a `baseUrl` that ends in `/v1`)", shown(url))
            }
            _ if is_about_address => format!("{message} (asked {})", shown(url)),
            _ => message,
        };
        Self::Status { status, message, body, retry_after }
    }
}

/// An address without what may be secret in it.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// The words of an error in any API's shape.
pub(crate) fn message_of(body: &Value) -> Option<String> {
    // One API sends a list with one error.
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let found = [error.get("message"), Some(error), body.get("message"), body.get("detail")];
    found.into_iter().flatten().find_map(|found| match found {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(list) if !list.is_empty() => Some(Value::from(list.clone()).to_string()),
        _ => None,
    })
}

/// Why a request could not be sent, or was not answered.
pub(super) fn not_answered(error: reqwest::Error, url: &Url) -> ModelFailure {
    let what = if error.is_connect() { "cannot be reached" } else { "gave no answer" };
    let reason = refused_connection(&error).map_or_else(|| explain(error), str::to_owned);
    ModelFailure::Connection(format!("{what} at {}: {reason}", shown(url)))
}

/// The one reason that needs no chain of causes.
fn refused_connection(error: &reqwest::Error) -> Option<&'static str> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionRefused) {
            return Some("connection refused");
        }
        cause = error.source();
    }
    None
}

/// Why an answer ended too early.
pub(super) fn broken_off(error: reqwest::Error) -> ModelFailure {
    ModelFailure::Connection(format!("broke off: {}", explain(error)))
}

/// Says what a status means where the API has no words for it.
pub(crate) fn explain_status(status: u16) -> &'static str {
    match status {
        300..=399 => "the address redirects; configure the address that it leads to",
        401 | 403 => "the key is missing or is not accepted",
        404 => "there is no such address or model; check `baseUrl` and `model`",
        429 => "too many requests",
        502..=504 => "a proxy in front of it got no answer from it",
        _ => "no further words",
    }
}

fn plain_text(body: &[u8], status: u16) -> String {
    let text = String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ");
    // A page in HTML is for browsers.
    if text.is_empty() || text.starts_with('<') {
        return explain_status(status).to_owned();
    }
    text.chars().take(SHOWN).collect()
}

/// The body of an answer, as far as it is read, without the key: errors like to repeat what they do not accept.
pub(super) async fn first_bytes(response: Response, timeout: Duration, secrets: &KeySecrets) -> Bytes {
    let mut body = BytesMut::new();
    let mut stream = response.bytes_stream();
    while body.len() < LONGEST {
        match tokio::time::timeout(timeout, stream.next()).await {
            Ok(Some(Ok(piece))) => body.extend_from_slice(&piece),
            Ok(Some(Err(_)) | None) | Err(_) => break,
        }
    }
    let end = if body.len() >= LONGEST { TextEnd::Cut } else { TextEnd::Whole };
    body.truncate(LONGEST);
    secrets.hide_bytes(body.freeze(), end)
}

/// When the API wants to be asked again: a number of seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let milliseconds =
        headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text.replace("GMT", "+0000")).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// The same failure without what must not be shown.
pub(super) fn hidden(failure: ModelFailure, secrets: &KeySecrets) -> ModelFailure {
    let hide = |text: String| secrets.hide(text, TextEnd::Whole);
    match failure {
        ModelFailure::Status { status, message, body, retry_after } => {
            // A body that shows a key is not passed on at all.
            let is_clean = |body: &Value| {
                let text = body.to_string();
                secrets.hide(text.clone(), TextEnd::Whole) == text
            };
            ModelFailure::Status {
                status,
                message: hide(message),
                body: body.filter(|body| is_clean(body)),
                retry_after,
            }
        }
        ModelFailure::Connection(text) => ModelFailure::Connection(hide(text)),
        ModelFailure::Stream(text) => ModelFailure::Stream(hide(text)),
        ModelFailure::Malformed(text) => ModelFailure::Malformed(hide(text)),
        other @ (ModelFailure::Timeout(_) | ModelFailure::Request(_)) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_apis_have_words() {
        for (body, expected) in [
            (r#"{"error":{"message":"Too long","type":"x"}}"#, Some("Too long")),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Some("Overloaded"),
            ),
            (r#"{"error":"model not found"}"#, Some("model not found")),
            (r#"[{"error":{"code":400,"message":"Unknown name"}}]"#, Some("Unknown name")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (r#"{"message":"no"}"#, Some("no")),
            (r#"{"code":1}"#, None),
        ] {
            assert_eq!(message_of(&serde_json::from_str(body).unwrap()).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn times_to_wait_have_three_forms() {
        let now: Timestamp = "2026-11-18T08:00:00Z".parse().unwrap();
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", "0.5", Some(Duration::from_millis(500))),
            ("retry-after", "Wed, 18 Nov 2026 08:00:30 GMT", Some(Duration::from_secs(30))),
            ("retry-after", "Wed, 18 Nov 2026 07:00:00 GMT", Some(Duration::ZERO)),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
        ] {
            let headers =
                HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        }
    }
}
