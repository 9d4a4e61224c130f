//! Errors as each provider words them.

mod bedrock;
mod cohere;
mod mistral;

pub(crate) use bedrock::exception;

use serde_json::{Value, json};

use super::wire::{Form, Wire};

/// What a provider complains about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    RateLimited {
        seconds: u64,
    },
    Server,
    Unavailable,
    Overloaded,
    /// The schema of the tool with this name has an array without items.
    Schema(String),
    /// This tool has a name that the provider does not take.
    Tool(String),
    Unauthorized,
    /// A request to AWS has no signature.
    Unsigned,
    UnknownModel(String),
    ContextLength,
    /// No such path.
    NoRoute,
    /// Something is wrong with the request.
    Invalid(Violation),
    /// The script has no more steps: no provider says so.
    ScriptOver,
}

/// What a provider would refuse, in its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) message: String,
    /// `OpenAI`'s pointer into the request.
    pub(crate) param: Option<String>,
    /// `OpenAI`'s code, and Mistral's.
    pub(crate) code: Option<&'static str>,
    /// Whether the provider calls it unprocessable, 422, rather than bad.
    pub(crate) unprocessable: bool,
}

impl Violation {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) fn unprocessable(mut self) -> Self {
        self.unprocessable = true;
        self
    }
}

/// The status and the body of a provider's error.
pub(crate) fn error(wire: Wire, form: Form, problem: &Problem) -> (u16, Value) {
    let (status, body) = match form {
        Form::Messages => anthropic(problem),
        Form::GenerateContent => google(problem),
        Form::Ollama => ollama(problem),
        Form::Mistral => mistral::error(problem),
        Form::Cohere => cohere::error(problem),
        Form::Converse => bedrock::error(problem),
        Form::Chat | Form::Functions | Form::Responses if wire == Wire::Dial => azure(problem),
        Form::Chat | Form::Functions | Form::Responses => openai(problem),
    };
    // A status is asked for by name, so it is the same on every wire.
    match problem {
        Problem::Overloaded => (529, body),
        _ => (status, body),
    }
}

/// The error inside a stream that has begun.
pub(crate) fn stream_error(wire: Wire, form: Form, sequence: usize) -> Value {
    let (_, body) = error(wire, form, &Problem::Server);
    match form {
        Form::Chat | Form::Functions | Form::GenerateContent | Form::Mistral | Form::Converse => body,
        // The stream ends like any other, but for the reason.
        Form::Cohere => {
            json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": body["message"]}})
        }
        Form::Messages => {
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        }
        Form::Responses => json!({
            "type": "error",
            "sequence_number": sequence,
            "code": "server_error",
            "message": "The server had an error while processing your request. Sorry about that!",
            "param": null,
        }),
        Form::Ollama => {
            json!({"error": "an error was encountered while running the model: unexpected EOF"})
        }
    }
}

fn openai_body(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

fn openai(problem: &Problem) -> (u16, Value) {
    let invalid = "invalid_request_error";
    match problem {
        Problem::RateLimited { seconds } => {
            let text = format!(
                "Rate limit reached for gpt-4o in organization org-test on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in {seconds}s. Visit https://platform.openai.com/account/rate-limits to learn more."
            );
            (429, openai_body(&text, "requests", None, Some("rate_limit_exceeded")))
        }
        Problem::Server => {
            let text = "The server had an error while processing your request. Sorry about that!";
            (500, openai_body(text, "server_error", None, None))
        }
        Problem::Unavailable | Problem::Overloaded => {
            let text = "The engine is currently overloaded, please try again later";
            (503, openai_body(text, "server_error", None, Some("overloaded")))
        }
        Problem::Schema(tool) => {
            let text = format!(
                "Invalid schema for function '{tool}': In context=('properties', 'tags'), array schema missing items."
            );
            let (param, code) = ("tools[0].function.parameters", "invalid_function_parameters");
            (400, openai_body(&text, invalid, Some(param), Some(code)))
        }
        Problem::Tool(_) => {
            let text = "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";
            (400, openai_body(text, invalid, Some("tools[0].function.name"), Some("invalid_value")))
        }
        Problem::Unauthorized | Problem::Unsigned => {
            let text = "Incorrect API key provided: sk-****. You can find your API key at https://platform.openai.com/account/api-keys.";
            (401, openai_body(text, invalid, None, Some("invalid_api_key")))
        }
        Problem::UnknownModel(model) => {
            let text = format!("The model `{model}` does not exist or you do not have access to it.");
            (404, openai_body(&text, invalid, None, Some("model_not_found")))
        }
        Problem::ContextLength => {
            let text = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.";
            (400, openai_body(text, invalid, Some("messages"), Some("context_length_exceeded")))
        }
        Problem::NoRoute => (404, openai_body("Invalid URL", invalid, None, None)),
        Problem::Invalid(Violation { message, code: Some(code @ ("3230" | "3280")), .. }) => {
            // Mistral's errors are flat, and their codes are numbers.
            let kind =
                if *code == "3230" { "invalid_request_message_order" } else { "invalid_function_call" };
            (400, json!({"object": "error", "message": message, "type": kind, "param": null, "code": code}))
        }
        Problem::Invalid(violation) => {
            (400, openai_body(&violation.message, invalid, violation.param.as_deref(), violation.code))
        }
        Problem::ScriptOver => (500, openai_body("script is over", "server_error", None, None)),
    }
}

/// Azure's gateway has its own errors; what the model's service refuses looks like `OpenAI`'s.
fn azure(problem: &Problem) -> (u16, Value) {
    let body = |code: &str, message: &str| json!({"error": {"code": code, "message": message}});
    match problem {
        Problem::RateLimited { seconds } => {
            let text = format!(
                "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after {seconds} seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit."
            );
            (429, body("429", &text))
        }
        Problem::Unauthorized => {
            let text = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.";
            (401, body("401", text))
        }
        Problem::UnknownModel(_) => {
            let text = "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.";
            (404, body("DeploymentNotFound", text))
        }
        Problem::NoRoute => (404, body("404", "Resource not found")),
        _ => openai(problem),
    }
}

fn anthropic(problem: &Problem) -> (u16, Value) {
    let invalid = "invalid_request_error";
    let (status, kind, message) = match problem {
        Problem::RateLimited { .. } => (
            429,
            "rate_limit_error",
            "This request would exceed the rate limit for your organization of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.".to_owned(),
        ),
        Problem::Server => (500, "api_error", "Internal server error".to_owned()),
        Problem::Unavailable => (503, "api_error", "Service Unavailable".to_owned()),
        Problem::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
        Problem::Schema(_) => (
            400,
            invalid,
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level".to_owned(),
        ),
        Problem::Tool(_) => (
            400,
            invalid,
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'".to_owned(),
        ),
        Problem::Unauthorized | Problem::Unsigned => (401, "authentication_error", "invalid x-api-key".to_owned()),
        Problem::UnknownModel(model) => (404, "not_found_error", format!("model: {model}")),
        Problem::ContextLength => {
            (400, invalid, "prompt is too long: 203542 tokens > 200000 maximum".to_owned())
        }
        Problem::NoRoute => (404, "not_found_error", "Not found".to_owned()),
        Problem::Invalid(violation) => (400, invalid, violation.message.clone()),
        Problem::ScriptOver => (500, "api_error", "script is over".to_owned()),
    };
    let error = json!({"type": kind, "message": message});
    (status, json!({"type": "error", "error": error, "request_id": "req_test"}))
}

fn google(problem: &Problem) -> (u16, Value) {
    let mut details = None;
    let (code, status, message) = match problem {
        Problem::RateLimited { seconds } => {
            details = Some(json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]));
            let text = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";
            (429, "RESOURCE_EXHAUSTED", text.to_owned())
        }
        Problem::Server => (
            500,
            "INTERNAL",
            "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting".to_owned(),
        ),
        Problem::Unavailable | Problem::Overloaded => {
            (503, "UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned())
        }
        Problem::Schema(_) => {
            let text = "Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.";
            details = Some(json!([{
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{
                    "field": "tools[0].function_declarations[0].parameters.properties[0].value",
                    "description": text,
                }],
            }]));
            (400, "INVALID_ARGUMENT", text.to_owned())
        }
        Problem::Tool(_) => (
            400,
            "INVALID_ARGUMENT",
            "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n".to_owned(),
        ),
        Problem::Unauthorized | Problem::Unsigned => (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.".to_owned(),
        ),
        Problem::UnknownModel(model) => (
            404,
            "NOT_FOUND",
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."
            ),
        ),
        Problem::ContextLength => (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1195021) exceeds the maximum number of tokens allowed (1048576).".to_owned(),
        ),
        Problem::NoRoute => (404, "NOT_FOUND", "Requested entity was not found.".to_owned()),
        Problem::Invalid(violation) => (400, "INVALID_ARGUMENT", violation.message.clone()),
        Problem::ScriptOver => (500, "INTERNAL", "script is over".to_owned()),
    };
    let mut error = json!({"code": code, "message": message, "status": status});
    if let Some(details) = details {
        error["details"] = details;
    }
    (code, json!({"error": error}))
}

fn ollama(problem: &Problem) -> (u16, Value) {
    let (status, text) = match problem {
        Problem::RateLimited { .. } => (429, "too many requests".to_owned()),
        Problem::Server => (500, "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details".to_owned()),
        Problem::Unavailable | Problem::Overloaded => {
            (503, "server busy, please try again.  maximum pending requests exceeded".to_owned())
        }
        Problem::Schema(_) => (
            400,
            "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.type of type string".to_owned(),
        ),
        Problem::Tool(tool) => (400, format!("invalid tool call name: {tool}")),
        Problem::Unauthorized | Problem::Unsigned => (401, "unauthorized".to_owned()),
        Problem::UnknownModel(model) => (404, format!("model '{model}' not found")),
        Problem::ContextLength => (400, "the input length exceeds the context length".to_owned()),
        Problem::NoRoute => (404, "404 page not found".to_owned()),
        Problem::Invalid(violation) => (400, violation.message.clone()),
        Problem::ScriptOver => (500, "script is over".to_owned()),
    };
    (status, json!({"error": text}))
}
