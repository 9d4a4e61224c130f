//! Why a call gave no result, and the error that its caller gets.

use gateway_protocol::RawJson;
use gateway_upstream::CallError;
use http::StatusCode;
use serde_json::{Value, json};

use crate::errors::{ApiError, ErrorStyle, classify, code};

/// Why a call gave no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The arguments do not fit; the tool was not called.
    Arguments(String),
    /// The arguments are no JSON object, so that the request itself is wrong; the tool was not called.
    Unreadable(String),
    /// No tool has the name that the model gave.
    UnknownTool(String),
    /// Several tools have the name that was given; the tool was not called.
    Ambiguous {
        message: String,
        /// Names that lead to one each.
        candidates: Vec<String>,
    },
    /// The call may not run, or not yet; the tool was not called.
    Refused {
        code: &'static str,
        message: String,
        /// The id under which it can be approved.
        approval: Option<String>,
    },
    /// There is no room in the log, or for a result that is kept; the tool was not called.
    NoRoom(String),
    /// Too many calls of the same caller wait already; the tool was not called.
    TooMany(String),
    /// The server wants to know something first, and the caller did not say that it can be asked.
    NeedsInput(String),
    /// The upstream gave no result.
    Call(CallError),
}

impl Failure {
    /// The word for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Arguments(_) | Self::Unreadable(_) | Self::Ambiguous { .. } => code::VALIDATION_ERROR,
            Self::UnknownTool(_) => code::TOOL_NOT_FOUND,
            Self::Refused { code, .. } => code,
            Self::NoRoom(_) | Self::TooMany(_) => code::OVERLOADED,
            Self::NeedsInput(_) => code::INPUT_REQUIRED,
            Self::Call(error) => classify(error, ErrorStyle::Plain).1,
        }
    }

    /// Whether the tool certainly did not run.
    pub(crate) fn did_not_run(&self) -> bool {
        match self {
            Self::Arguments(_)
            | Self::Unreadable(_)
            | Self::UnknownTool(_)
            | Self::Ambiguous { .. }
            | Self::NoRoom(_)
            | Self::TooMany(_)
            | Self::Refused { .. } => true,
            Self::NeedsInput(_) => false,
            Self::Call(error) => !error.may_have_run(),
        }
    }

    /// The words for people and models.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Arguments(text)
            | Self::Unreadable(text)
            | Self::UnknownTool(text)
            | Self::NoRoom(text)
            | Self::TooMany(text)
            | Self::NeedsInput(text)
            | Self::Ambiguous { message: text, .. }
            | Self::Refused { message: text, .. } => text.clone(),
            Self::Call(error) => error.to_string(),
        }
    }

    /// The answer over HTTP for a caller who asked for one call.
    pub(crate) fn into_api(self, style: ErrorStyle) -> ApiError {
        let not_run = self.did_not_run();
        ApiError { not_run, ..self.described(style) }
    }

    fn described(self, style: ErrorStyle) -> ApiError {
        match self {
            Self::Arguments(text) | Self::Unreadable(text) => ApiError::bad_request(text),
            Self::Ambiguous { message, candidates } => {
                ApiError::bad_request(message).with("candidates", candidates)
            }
            Self::UnknownTool(text) => {
                let status = match style {
                    ErrorStyle::Plain => StatusCode::BAD_REQUEST,
                    ErrorStyle::Precise => StatusCode::NOT_FOUND,
                };
                ApiError::new(status, code::TOOL_NOT_FOUND, text)
            }
            Self::Refused { code, message, approval } => {
                let status = match style {
                    ErrorStyle::Plain => StatusCode::BAD_REQUEST,
                    ErrorStyle::Precise => StatusCode::FORBIDDEN,
                };
                let answer = ApiError::new(status, code, message);
                if let Some(id) = approval { answer.with("approvalId", id) } else { answer }
            }
            Self::NoRoom(text) => ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, text, 1),
            Self::TooMany(text) => ApiError::overloaded(StatusCode::TOO_MANY_REQUESTS, text, 10),
            Self::NeedsInput(text) => {
                let status = match style {
                    ErrorStyle::Plain => StatusCode::BAD_REQUEST,
                    ErrorStyle::Precise => StatusCode::CONFLICT,
                };
                ApiError::new(status, code::INPUT_REQUIRED, text)
            }
            Self::Call(error) => {
                let (status, word) = classify(&error, style);
                let mut answer = ApiError::new(status, word, error.to_string());
                if let CallError::Refused { upstream, error } = &error {
                    let error = crate::mcp::questions::attributed_error(upstream, error.clone());
                    answer = answer.with("rpcCode", error.code);
                    if let Some(data) = error.data.as_ref().and_then(|data| data.read::<Value>().ok()) {
                        answer = answer.with("data", data);
                    }
                }
                if matches!(error, CallError::Busy { .. } | CallError::Unreachable { .. }) {
                    answer.retry_after = Some(1);
                }
                answer
            }
        }
    }
}

/// A result that tells the model what went wrong.
pub(crate) fn error_result(message: &str) -> RawJson {
    RawJson::of(&json!({"content": [{"type": "text", "text": message}], "isError": true}))
        .unwrap_or_else(|_| RawJson::empty_object())
}
