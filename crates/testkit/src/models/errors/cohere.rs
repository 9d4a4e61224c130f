//! Cohere's errors: an id and a message.

use serde_json::{Value, json};

use super::Problem;

pub(super) fn error(problem: &Problem) -> (u16, Value) {
    let (status, message) = match problem {
        Problem::RateLimited { .. } => (
            429,
            "You are using a Trial key, which is limited to 20 API calls / minute. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'.".to_owned(),
        ),
        Problem::Server => (500, "internal server error".to_owned()),
        Problem::Unavailable | Problem::Overloaded => (503, "service unavailable, please try again".to_owned()),
        Problem::Schema(tool) => {
            (400, format!("invalid request: the parameters of the tool {tool} are no JSON Schema of type object"))
        }
        Problem::Tool(tool) => (400, format!("invalid request: {tool} is not a valid name of a tool")),
        Problem::Unauthorized | Problem::Unsigned => (401, "invalid api token".to_owned()),
        Problem::UnknownModel(model) => (
            404,
            format!(
                "model '{model}' not found, make sure the correct model ID was used and that you have access to the model."
            ),
        ),
        Problem::ContextLength => {
            (400, "too many tokens: total number of tokens in the prompt cannot exceed 256000 - received 257310. Try using a shorter prompt, or select a model with a longer context length.".to_owned())
        }
        Problem::NoRoute => (404, "page not found".to_owned()),
        Problem::Invalid(violation) => {
            (if violation.unprocessable { 422 } else { 400 }, violation.message.clone())
        }
        Problem::ScriptOver => (500, "script is over".to_owned()),
    };
    (status, json!({"id": "8f1c5e9a-63a9-4f70-bc4e-3d7b1c2f0000", "message": message}))
}
