//! What providers refuse, in their words.
//!
//! Histories: no call without a result, no result without a call, in the provider's order. Definitions and parameters: what is
//! publicly known to be refused. Where a provider does not check a history by itself, the words are ours.

mod chat;
mod chat_history;
mod cohere;
mod converse;
mod generate_content;
mod google_json;
mod google_schema;
mod json_schema;
mod messages;
mod messages_history;
mod messages_strict;
mod mistral;
mod ollama;
mod openai_schema;
mod responses;

pub(crate) use converse::{access_key, is_signed};

use serde_json::Value;

use super::errors::Violation;
use super::record::RecordedRequest;
use super::wire::{Form, Wire};

type Checked = Result<(), Violation>;

/// Refuses a request that its provider would refuse.
pub(crate) fn check(request: &RecordedRequest, form: Form) -> Checked {
    let body = &request.body;
    let model = request.model().unwrap_or_default();
    let model = model.as_str();
    match form {
        // Its compatible API reads into the same types as its own, and has none of OpenAI's rules.
        Form::Chat if request.wire == Wire::Ollama => ollama::check_parameters(body)?,
        Form::Chat | Form::Functions => chat::check_parameters(request.wire, form, model, body)?,
        Form::Responses => responses::check_parameters(body)?,
        Form::Messages => messages::check_parameters(request, body)?,
        Form::GenerateContent => generate_content::check_parameters(body)?,
        Form::Ollama => ollama::check_parameters(body)?,
        Form::Mistral => mistral::check_parameters(body)?,
        Form::Cohere => cohere::check_parameters(body)?,
        Form::Converse => converse::check_parameters(body)?,
    }
    history(form, model, body)
}

/// Refuses a conversation that the provider would refuse. `body` is a whole request; rules that depend on the model read its
/// member `model`, also for Gemini, which has the model in the path: without it, thought signatures are not required.
pub fn check_history(wire: Wire, body: &Value) -> Result<(), String> {
    let form = wire.usual_form();
    history(form, text(body, "model").unwrap_or_default(), body).map_err(|violation| violation.message)
}

fn history(form: Form, model: &str, body: &Value) -> Checked {
    match form {
        Form::Chat => chat_history::check_tools(model, body),
        Form::Functions => chat_history::check_functions(body),
        Form::Responses => responses::check_history(body),
        Form::Messages => messages_history::check(body),
        Form::GenerateContent => generate_content::check_history(model, body),
        Form::Ollama => ollama::check_history(body),
        Form::Mistral => mistral::check_history(body),
        Form::Cohere => cohere::check_history(body),
        Form::Converse => converse::check_history(body),
    }
}

fn refuse(message: impl Into<String>) -> Checked {
    Err(Violation::new(message))
}

/// A member that is text.
fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The entries of a member that is a list; none if it is not.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What `OpenAI` calls the type of a value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "an integer",
        Value::Number(_) => "a decimal",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Whether a name is of letters, digits, `_` and `-`, and of these others.
fn is_name(name: &str, others: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter) || others.contains(letter))
}

/// `OpenAI`'s words for what is absent.
fn missing(param: &str) -> Violation {
    Violation::new(format!("Missing required parameter: '{param}'."))
        .at(param)
        .code("missing_required_parameter")
}

/// `OpenAI`'s words for text that is longer than allowed.
fn check_length(param: &str, value: &str, most: usize) -> Checked {
    let length = value.chars().count();
    if length <= most {
        return Ok(());
    }
    Err(Violation::new(format!(
        "Invalid '{param}': string too long. Expected a string with maximum length {most}, but got a string with length {length} instead."
    ))
    .at(param)
    .code("string_above_max_length"))
}

/// `OpenAI`'s words for a value of another type.
fn wrong_type(param: &str, expected: &str, value: &Value) -> Violation {
    Violation::new(format!(
        "Invalid type for '{param}': expected {expected}, but got {} instead.",
        type_name(value)
    ))
    .at(param)
    .code("invalid_type")
}

/// `OpenAI`'s words for an empty list.
fn empty_array(param: &str) -> Violation {
    Violation::new(format!(
        "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    ))
    .at(param)
    .code("empty_array")
}
