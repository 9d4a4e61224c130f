//! Why a request or a call gave no result.

pub mod code;

use gateway_protocol::RawJson;
use gateway_upstream::CallError;
use serde_json::json;

/// How exactly the caller wants failures to be reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStyle {
    /// The caller's faults and a server's are distinguished, no more.
    #[default]
    Plain,
    /// Each failure for itself.
    Precise,
}

/// Why a request or a call gave no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The request itself is wrong; nothing ran.
    Request(String),
    /// The request names a group that is not configured.
    UnknownGroup {
        /// The words for people.
        message: String,
        /// The names that are known.
        known: Vec<String>,
    },
    /// The request names a provider that is not known.
    UnknownProvider {
        /// The words for people.
        message: String,
        /// The names that are known.
        known: Vec<String>,
    },
    /// The request names a server that is not configured.
    UnknownServer(String),
    /// The arguments do not fit; the tool was not called.
    Arguments(String),
    /// No tool has the name that the model gave.
    UnknownTool(String),
    /// No server has the resource.
    UnknownResource(String),
    /// Several tools have the name that was given; the tool was not called.
    Ambiguous {
        /// The words for people and models.
        message: String,
        /// Names that lead to one each.
        candidates: Vec<String>,
    },
    /// The call may not run, or not yet; the tool was not called.
    Refused {
        /// The word for programs.
        code: &'static str,
        /// The words for people and models.
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
    /// Answers for a server came too late, or twice.
    InputExpired(String),
    /// What the caller goes on with belongs to somebody else.
    Foreign(String),
    /// The server's question cannot be passed on.
    BadQuestion(String),
    /// A tool cannot be written in the provider's format, and its server is configured to refuse the list then.
    Conversion(String),
    /// Our own mistake.
    Internal(String),
    /// The upstream gave no result.
    Call(CallError),
}

impl Failure {
    /// The request itself is wrong.
    pub fn request(message: impl Into<String>) -> Self {
        Self::Request(message.into())
    }

    /// Whether the server is not there, so that the call was never sent.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Call(CallError::Unreachable { .. }))
    }

    /// The word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Request(_) | Self::UnknownGroup { .. } | Self::Arguments(_) | Self::Ambiguous { .. } => {
                code::VALIDATION_ERROR
            }
            Self::UnknownProvider { .. } => code::UNKNOWN_PROVIDER,
            Self::UnknownServer(_) => code::SERVER_NOT_FOUND,
            Self::UnknownTool(_) => code::TOOL_NOT_FOUND,
            Self::UnknownResource(_) => code::RESOURCE_NOT_FOUND,
            Self::Refused { code, .. } => code,
            Self::NoRoom(_) | Self::TooMany(_) => code::OVERLOADED,
            Self::NeedsInput(_) => code::INPUT_REQUIRED,
            Self::InputExpired(_) => code::INPUT_EXPIRED,
            Self::Foreign(_) => code::FORBIDDEN,
            Self::BadQuestion(_) => code::SERVER_ERROR,
            Self::Conversion(_) => code::CONVERSION_ERROR,
            Self::Internal(_) => code::UNKNOWN,
            Self::Call(error) => call_code(error),
        }
    }

    /// Whether the tool certainly did not run.
    pub fn did_not_run(&self) -> bool {
        match self {
            Self::Request(_)
            | Self::UnknownGroup { .. }
            | Self::UnknownProvider { .. }
            | Self::UnknownServer(_)
            | Self::Arguments(_)
            | Self::UnknownTool(_)
            | Self::UnknownResource(_)
            | Self::Ambiguous { .. }
            | Self::NoRoom(_)
            | Self::TooMany(_)
            | Self::Conversion(_)
            | Self::Refused { .. } => true,
            Self::NeedsInput(_)
            | Self::InputExpired(_)
            | Self::Foreign(_)
            | Self::BadQuestion(_)
            | Self::Internal(_) => false,
            Self::Call(error) => !error.may_have_run(),
        }
    }

    /// The words for models.
    pub fn for_models(&self) -> String {
        match self {
            Self::Call(error) => error.for_models(),
            other => other.message(),
        }
    }

    /// The words for people, and for models unless [they have their own](Self::for_models).
    pub fn message(&self) -> String {
        match self {
            Self::Request(text)
            | Self::UnknownServer(text)
            | Self::Arguments(text)
            | Self::UnknownTool(text)
            | Self::UnknownResource(text)
            | Self::NoRoom(text)
            | Self::TooMany(text)
            | Self::NeedsInput(text)
            | Self::InputExpired(text)
            | Self::Foreign(text)
            | Self::BadQuestion(text)
            | Self::Conversion(text)
            | Self::Internal(text)
            | Self::UnknownGroup { message: text, .. }
            | Self::UnknownProvider { message: text, .. }
            | Self::Ambiguous { message: text, .. }
            | Self::Refused { message: text, .. } => text.clone(),
            Self::Call(error) => error.to_string(),
        }
    }
}

/// The word for a call that gave no result.
pub fn call_code(error: &CallError) -> &'static str {
    match error {
        CallError::UnknownUpstream { .. } => code::SERVER_NOT_FOUND,
        CallError::UnknownTool { .. } => code::TOOL_NOT_FOUND,
        CallError::Blocked { .. } => code::FORBIDDEN,
        CallError::Disabled { .. }
        | CallError::Misconfigured { .. }
        | CallError::Unreachable { .. }
        | CallError::Unlisted { .. }
        | CallError::Lost { .. } => code::CONNECTION_ERROR,
        CallError::Busy { .. } => code::OVERLOADED,
        CallError::ResultDropped { .. } => code::RESULT_DROPPED,
        CallError::Timeout { .. } => code::TIMEOUT,
        CallError::TooLong { .. } | CallError::Malformed { .. } | CallError::Refused { .. } => {
            code::SERVER_ERROR
        }
        // The upstream crate may learn new errors.
        _ => code::UNKNOWN,
    }
}

/// A result that says to the model what went wrong.
pub fn error_result(message: &str) -> RawJson {
    RawJson::of(&json!({"content": [{"type": "text", "text": message}], "isError": true}))
        .unwrap_or_else(|_| RawJson::empty_object())
}
