//! What the caller is told when something is wrong.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gateway_upstream::CallError;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::idempotency::NotRun;

/// Words for programs.
pub mod code {
    /// The server cannot be reached, or went away.
    pub const CONNECTION_ERROR: &str = "CONNECTION_ERROR";
    /// No such tool.
    pub const TOOL_NOT_FOUND: &str = "TOOL_NOT_FOUND";
    /// No such resource.
    pub const RESOURCE_NOT_FOUND: &str = "RESOURCE_NOT_FOUND";
    /// The request or its arguments are wrong.
    pub const VALIDATION_ERROR: &str = "VALIDATION_ERROR";
    /// The server answered with a fault.
    pub const SERVER_ERROR: &str = "SERVER_ERROR";
    /// No answer in time.
    pub const TIMEOUT: &str = "TIMEOUT";
    /// The tool itself says that it failed.
    pub const TOOL_ERROR: &str = "TOOL_ERROR";
    /// No such server.
    pub const SERVER_NOT_FOUND: &str = "SERVER_NOT_FOUND";
    /// No such provider.
    pub const UNKNOWN_PROVIDER: &str = "UNKNOWN_PROVIDER";
    /// No such route.
    pub const NOT_FOUND: &str = "NOT_FOUND";
    /// The route has no such method.
    pub const METHOD_NOT_ALLOWED: &str = "METHOD_NOT_ALLOWED";
    /// The body is too large.
    pub const BODY_TOO_LARGE: &str = "BODY_TOO_LARGE";
    /// The body is not of a type that is read here.
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UNSUPPORTED_MEDIA_TYPE";
    /// A key is missing or wrong.
    pub const UNAUTHORIZED: &str = "UNAUTHORIZED";
    /// The Host or Origin is not one of ours.
    pub const FORBIDDEN: &str = "FORBIDDEN";
    /// Too much at once; try again later.
    pub const OVERLOADED: &str = "OVERLOADED";
    /// The tool ran, but there was no room for its result.
    pub const RESULT_DROPPED: &str = "RESULT_DROPPED";
    /// The same key with another request.
    pub const IDEMPOTENCY_CONFLICT: &str = "IDEMPOTENCY_CONFLICT";
    /// The policy, or somebody who was asked, denies the call.
    pub const TOOL_DENIED: &str = "TOOL_DENIED";
    /// Somebody has to approve the call.
    pub const APPROVAL_REQUIRED: &str = "APPROVAL_REQUIRED";
    /// The tool stands in the configuration file, which is where it is changed.
    pub const REGISTRY_CONFLICT: &str = "REGISTRY_CONFLICT";
    /// No more tools can be registered.
    pub const REGISTRY_FULL: &str = "REGISTRY_FULL";
    /// The definition that is to be accepted is another one by now, or none waits.
    pub const DEFINITION_CHANGED: &str = "DEFINITION_CHANGED";
    /// The server wants to know something that the caller did not offer to answer.
    pub const INPUT_REQUIRED: &str = "INPUT_REQUIRED";
    /// What a server wanted to know came too late, or twice.
    pub const INPUT_EXPIRED: &str = "INPUT_EXPIRED";
    /// Anything else.
    pub const UNKNOWN: &str = "UNKNOWN";
}

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

/// A JSON answer.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(axum::body::Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// How the caller wants failures of calls to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ErrorStyle {
    /// 400 for the caller's faults, 500 for a server's.
    #[default]
    Plain,
    /// 404, 502, 503, 504 where they fit.
    Precise,
}

/// The word and the status for a call that gave no result.
pub(crate) fn classify(error: &CallError, style: ErrorStyle) -> (StatusCode, &'static str) {
    let (precise, word) = match error {
        CallError::UnknownUpstream { .. } => (StatusCode::NOT_FOUND, code::SERVER_NOT_FOUND),
        CallError::UnknownTool { .. } => (StatusCode::NOT_FOUND, code::TOOL_NOT_FOUND),
        CallError::Disabled { .. } => (StatusCode::CONFLICT, code::CONNECTION_ERROR),
        CallError::Blocked { .. } => (StatusCode::FORBIDDEN, code::FORBIDDEN),
        CallError::Unreachable { .. } | CallError::Unlisted { .. } | CallError::Lost { .. } => {
            (StatusCode::BAD_GATEWAY, code::CONNECTION_ERROR)
        }
        CallError::Busy { .. } => (StatusCode::SERVICE_UNAVAILABLE, code::OVERLOADED),
        // Not 503: who tries again would run the tool again.
        CallError::ResultDropped { .. } => (StatusCode::BAD_GATEWAY, code::RESULT_DROPPED),
        CallError::Timeout { .. } => (StatusCode::GATEWAY_TIMEOUT, code::TIMEOUT),
        CallError::TooLong { .. } | CallError::Malformed { .. } | CallError::Refused { .. } => {
            (StatusCode::BAD_GATEWAY, code::SERVER_ERROR)
        }
        // The upstream crate may learn new errors.
        _ => (StatusCode::BAD_GATEWAY, code::UNKNOWN),
    };
    let status = match (style, precise.is_client_error()) {
        (ErrorStyle::Precise, _) => precise,
        (ErrorStyle::Plain, true) => StatusCode::BAD_REQUEST,
        (ErrorStyle::Plain, false) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, word)
}
