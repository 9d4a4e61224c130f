//! Errors of Amazon Bedrock: a message, and the name of the exception in a header.

use serde_json::{Value, json};

use super::Problem;

pub(super) fn error(problem: &Problem) -> (u16, Value) {
    let (status, message) = match problem {
        Problem::RateLimited { .. } => (429, "Too many requests, please wait before trying again.".to_owned()),
        Problem::Server => (
            500,
            "The system encountered an unexpected error during processing. Try your request again.".to_owned(),
        ),
        Problem::Unavailable | Problem::Overloaded => {
            (503, "Too many connections, please wait before trying again.".to_owned())
        }
        Problem::Schema(_) => (
            400,
            "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.".to_owned(),
        ),
        Problem::Tool(tool) => (
            400,
            format!(
                "1 validation error detected: Value '{tool}' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
            ),
        ),
        Problem::Unauthorized => (403, "The security token included in the request is invalid.".to_owned()),
        Problem::Unsigned => (403, "Missing Authentication Token".to_owned()),
        Problem::UnknownModel(_) => (400, "The provided model identifier is invalid.".to_owned()),
        Problem::ContextLength => (400, "The model returned the following errors: Input is too long for requested model.".to_owned()),
        Problem::NoRoute => (404, "The requested operation is not recognized by the service.".to_owned()),
        Problem::Invalid(violation) => (400, violation.message.clone()),
        Problem::ScriptOver => (500, "script is over".to_owned()),
    };
    (status, json!({"message": message}))
}

/// The name of the exception.
pub(crate) fn exception(problem: &Problem) -> &'static str {
    match problem {
        Problem::RateLimited { .. } => "ThrottlingException",
        Problem::Server | Problem::ScriptOver => "InternalServerException",
        Problem::Unavailable | Problem::Overloaded => "ServiceUnavailableException",
        Problem::Unauthorized => "UnrecognizedClientException",
        Problem::Unsigned => "MissingAuthenticationTokenException",
        Problem::NoRoute => "UnknownOperationException",
        Problem::Schema(_)
        | Problem::Tool(_)
        | Problem::UnknownModel(_)
        | Problem::ContextLength
        | Problem::Invalid(_) => "ValidationException",
    }
}
