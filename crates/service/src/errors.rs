//! How answers are written, above all those that say what is wrong.

use std::convert::Infallible;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use gateway_upstream::CallError;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

use gateway_runtime::context::Dropped;
use gateway_runtime::failure::{ErrorStyle, Failure};
use gateway_runtime::questions::attributed_error;

pub(crate) use gateway_runtime::failure::code;

/// Error bodies up to this size are read once more, for the correlation id and for other shapes of errors.
pub(crate) const ERROR_BODY: u64 = 1 << 20;

/// Marks an answer of 5xx, or one whose calls all failed, that certainly ran nothing; put it among the extensions of the
/// response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotRun;

/// An answer that says what went wrong.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// More members of the body.
    pub(crate) extra: Vec<(String, Value)>,
    /// Seconds after which it may work.
    pub(crate) retry_after: Option<u32>,
    /// Whether certainly nothing ran, so that the same request may be tried again under its key.
    pub(crate) not_run: bool,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), extra: Vec::new(), retry_after: None, not_run: false }
    }

    /// The caller's fault.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::VALIDATION_ERROR, message)
    }

    /// A body with a repeated member.
    pub(crate) fn repeated(repeated: &gateway_protocol::Repeated) -> Self {
        Self::bad_request(format!("reading the body: {repeated}"))
    }

    /// A body that cannot be read as JSON, or has a repeated member.
    pub(crate) fn unreadable_body(body: &[u8], error: &serde_json::Error) -> Self {
        match gateway_protocol::find_repeated(body) {
            Some(repeated) => Self::repeated(&repeated),
            None => Self::bad_request(format!("reading the body as JSON: {error}")),
        }
    }

    /// Come back later.
    pub(crate) fn overloaded(status: StatusCode, message: impl Into<String>, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(status, code::OVERLOADED, message) }
    }

    /// In place of an answer that was dropped. Nothing says that it may be tried again.
    pub(crate) fn dropped(dropped: &Dropped) -> Self {
        let status = match dropped.style {
            ErrorStyle::Plain => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorStyle::Precise => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, code::RESULT_DROPPED, dropped.message())
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.push((key.to_owned(), value.into()));
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("error".to_owned(), self.message.into());
        body.insert("code".to_owned(), self.code.into());
        body.extend(self.extra);
        let mut response = json_response(self.status, Value::Object(body).to_string());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.not_run {
            response.extensions_mut().insert(NotRun);
        }
        response
    }
}

/// All bytes of a body.
pub(crate) async fn collected(body: Body) -> Result<Bytes, axum_core::Error> {
    Ok(body.collect().await?.to_bytes())
}

/// A JSON answer.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer of server-sent events; `None` is a comment that keeps the connection alive and means nothing.
pub(crate) fn event_stream(events: impl Stream<Item = Option<Bytes>> + Send + 'static) -> Response {
    let heartbeat = || Bytes::from_static(b": heartbeat\n\n");
    let events = events.map(move |event| Ok::<_, Infallible>(event.unwrap_or_else(heartbeat)));
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not wait for the end.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The type of a body, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let given = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    let end = given.bytes().position(|byte| byte == b';').unwrap_or(given.len());
    given.get(..end).unwrap_or_default().trim()
}

/// The types that a caller accepts, without their parameters, in its order.
pub(crate) fn accepted(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let given = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    given.flat_map(|value| value.split(',')).filter_map(|part| part.split(';').next()).map(str::trim)
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self::of(failure, ErrorStyle::Plain)
    }
}

impl ApiError {
    /// The answer over HTTP for a failure: 400 for the caller's faults and 500 for a server's, or each with the status
    /// that fits it best.
    pub(crate) fn of(failure: Failure, style: ErrorStyle) -> Self {
        let precise = precise_status(&failure);
        let status = match (style, &failure) {
            (ErrorStyle::Precise, _)
            | (
                _,
                // The plain statuses are a contract about tools.
                Failure::UnknownResource(_)
                | Failure::NoRoom(_)
                | Failure::TooMany(_)
                | Failure::InputExpired(_)
                | Failure::Foreign(_)
                | Failure::BadQuestion(_),
            ) => precise,
            (ErrorStyle::Plain, _) if precise.is_client_error() => StatusCode::BAD_REQUEST,
            (ErrorStyle::Plain, _) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut answer =
            Self { not_run: failure.did_not_run(), ..Self::new(status, failure.code(), failure.message()) };
        match failure {
            Failure::UnknownGroup { known, .. } => answer.with("availableGroups", known),
            Failure::UnknownProvider { known, .. } => answer.with("availableProviders", known),
            Failure::Ambiguous { candidates, .. } => answer.with("candidates", candidates),
            Failure::Refused { approval: Some(id), .. } => answer.with("approvalId", id),
            Failure::NoRoom(_) => Self { retry_after: Some(1), ..answer },
            Failure::TooMany(_) => Self { retry_after: Some(10), ..answer },
            Failure::Call(CallError::Refused { upstream, error }) => {
                let error = attributed_error(&upstream, error);
                answer = answer.with("rpcCode", error.code);
                match error.data.as_ref().and_then(|data| data.read::<Value>().ok()) {
                    Some(data) => answer.with("data", data),
                    None => answer,
                }
            }
            Failure::Call(CallError::Busy { .. } | CallError::Unreachable { .. }) => {
                Self { retry_after: Some(1), ..answer }
            }
            Failure::Request(_)
            | Failure::UnknownServer(_)
            | Failure::Arguments(_)
            | Failure::UnknownTool(_)
            | Failure::UnknownResource(_)
            | Failure::Refused { approval: None, .. }
            | Failure::NeedsInput(_)
            | Failure::InputExpired(_)
            | Failure::Foreign(_)
            | Failure::BadQuestion(_)
            | Failure::Conversion(_)
            | Failure::Internal(_)
            | Failure::Call(_) => answer,
        }
    }
}

/// The status that fits a failure best.
fn precise_status(failure: &Failure) -> StatusCode {
    match failure {
        Failure::Request(_)
        | Failure::UnknownGroup { .. }
        | Failure::UnknownProvider { .. }
        | Failure::UnknownServer(_)
        | Failure::Arguments(_)
        | Failure::Ambiguous { .. } => StatusCode::BAD_REQUEST,
        Failure::UnknownTool(_) | Failure::UnknownResource(_) => StatusCode::NOT_FOUND,
        Failure::Refused { .. } | Failure::Foreign(_) => StatusCode::FORBIDDEN,
        Failure::NoRoom(_) => StatusCode::SERVICE_UNAVAILABLE,
        Failure::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        Failure::NeedsInput(_) => StatusCode::CONFLICT,
        Failure::InputExpired(_) => StatusCode::GONE,
        Failure::BadQuestion(_) | Failure::Conversion(_) => StatusCode::BAD_GATEWAY,
        Failure::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Failure::Call(error) => call_status(error),
    }
}

/// The status that fits a call best that gave no result.
pub(crate) fn call_status(error: &CallError) -> StatusCode {
    match error {
        CallError::UnknownUpstream { .. } | CallError::UnknownTool { .. } => StatusCode::NOT_FOUND,
        CallError::Disabled { .. } | CallError::Misconfigured { .. } => StatusCode::CONFLICT,
        CallError::Blocked { .. } => StatusCode::FORBIDDEN,
        CallError::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
        CallError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
        // Also for a result that was dropped, not 503: who tries again would run the tool again. The upstream crate may
        // learn new errors.
        _ => StatusCode::BAD_GATEWAY,
    }
}
