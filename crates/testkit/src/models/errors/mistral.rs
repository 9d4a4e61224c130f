//! Mistral's errors: flat, with codes that are numbers in text.

use serde_json::{Value, json};

use super::{Problem, Violation};

pub(super) fn error(problem: &Problem) -> (u16, Value) {
    let invalid = "invalid_request_error";
    let (status, kind, code, message) = match problem {
        Problem::RateLimited { .. } => (429, "rate_limited", Some("1300"), "Rate limit exceeded".to_owned()),
        Problem::Server => (500, "internal_server_error", Some("1000"), "Internal server error".to_owned()),
        Problem::Unavailable | Problem::Overloaded => {
            (503, "unreachable_backend", Some("1100"), "Service unavailable.".to_owned())
        }
        Problem::Schema(tool) => (
            400,
            invalid,
            None,
            format!(
                "Invalid tool schema: the parameters of {tool} are not valid under any of the given schemas"
            ),
        ),
        Problem::Tool(tool) => {
            let text = format!(
                "Function name was {tool} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64."
            );
            (400, "invalid_function_call", Some("3280"), text)
        }
        Problem::Unauthorized | Problem::Unsigned => return (401, json!({"detail": "Unauthorized"})),
        Problem::UnknownModel(model) => {
            (400, "invalid_model", Some("1500"), format!("Invalid model: {model}"))
        }
        Problem::ContextLength => {
            let text = "Prompt contains 131205 tokens and 0 draft tokens, too large for model with 131072 maximum context length";
            (400, "invalid_request_prompt", Some("3051"), text.to_owned())
        }
        Problem::NoRoute => return (404, json!({"message": "no Route matched with those values"})),
        Problem::Invalid(violation) if violation.unprocessable => return (422, unprocessable(violation)),
        Problem::Invalid(violation) => {
            let kind = match violation.code {
                Some("3230") => "invalid_request_message_order",
                Some("3240") => "invalid_request_assistant_message",
                Some("3280") => "invalid_function_call",
                _ => invalid,
            };
            (400, kind, violation.code, violation.message.clone())
        }
        Problem::ScriptOver => (500, "internal_server_error", Some("1000"), "script is over".to_owned()),
    };
    (
        status,
        json!({"object": "error", "message": message, "type": kind, "param": null, "code": code, "raw_status_code": status}),
    )
}

/// What the reader of the body says: which member, and why.
fn unprocessable(violation: &Violation) -> Value {
    let location = violation.param.as_deref().unwrap_or_default().split('.').filter(|name| !name.is_empty());
    let location = location.map(|name| name.parse::<u64>().map_or_else(|_| name.into(), Value::from));
    let location: Vec<Value> = std::iter::once("body".into()).chain(location).collect();
    let detail = json!([{
        "type": violation.code.unwrap_or("value_error"),
        "loc": location,
        "msg": violation.message,
    }]);
    json!({
        "object": "error",
        "message": {"detail": detail},
        "type": "invalid_request_error",
        "param": null,
        "code": null,
        "raw_status_code": 422,
    })
}
