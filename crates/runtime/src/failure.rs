//! Why a request or a call gave no result.

use gateway_protocol::RawJson;
use gateway_upstream::CallError;
use serde_json::json;

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
    /// The caller went away before the call ended.
    pub const CANCELLED: &str = "CANCELLED";
    /// A tool cannot be written in the provider's format, and its server is configured to refuse the list then.
    pub const CONVERSION_ERROR: &str = "CONVERSION_ERROR";
    /// What is asked for, or what came of it, has personal data in it that the configuration does not let pass.
    pub const PERSONAL_DATA: &str = "PERSONAL_DATA";
    /// The caller has no such conversation.
    pub const CONVERSATION_NOT_FOUND: &str = "CONVERSATION_NOT_FOUND";
    /// The conversation would be larger than it may be.
    pub const CONVERSATION_FULL: &str = "CONVERSATION_FULL";
    /// Somebody else was faster.
    pub const CONFLICT: &str = "CONFLICT";
    /// The store of conversations cannot be used.
    pub const STORE_ERROR: &str = "STORE_ERROR";
    /// The model gave no answer.
    pub const MODEL_ERROR: &str = "MODEL_ERROR";
    /// A bound of the loop was reached.
    pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";
    /// Anything else.
    pub const UNKNOWN: &str = "UNKNOWN";
}

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
