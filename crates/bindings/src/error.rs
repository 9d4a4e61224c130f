//! Why an operation gave no answer.

use std::fmt::Display;

use gateway_dialects::{DialectError, DocumentError};

/// A refused operation: a code that programs compare, and the words for people. The codes are those of the HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// The code.
    pub code: &'static str,
    /// What was attempted, with which value, and what to try.
    pub message: String,
}

impl EngineError {
    /// Input that cannot be used.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: "VALIDATION_ERROR", message: message.into() }
    }

    /// Text that is no JSON; `what` is what it was to be.
    pub fn no_json(what: &str, cause: &impl Display) -> Self {
        Self::invalid(format!("reading {what} as JSON: {cause}"))
    }

    /// A bug of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: "UNKNOWN", message: message.into() }
    }
}

impl From<DialectError> for EngineError {
    fn from(error: DialectError) -> Self {
        match &error {
            DialectError::Unknown { .. } | DialectError::UnknownModel { .. } => {
                Self { code: "UNKNOWN_PROVIDER", message: error.to_string() }
            }
            _ => Self::invalid(error.to_string()),
        }
    }
}

impl From<DocumentError> for EngineError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Json(error) => Self::no_json("the tools", &error),
            error => Self::invalid(error.to_string()),
        }
    }
}
