//! Requests of the Responses API.

use serde_json::{Map, Value, json};

use crate::wire::request::{AnswerFormat, ModelRequest, RequestBody, ToolChoice};

pub(super) fn write(request: &ModelRequest<'_>, body: &mut RequestBody<'_>) {
    if let Some(tools) = request.tools {
        body.set_tools("tools", tools, ("", ""));
        let choice = match request.tool_choice {
            ToolChoice::Auto | ToolChoice::Other(_) => None,
            ToolChoice::None => Some(json!("none")),
            ToolChoice::Required => Some(json!("required")),
            ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
        };
        body.set_some("tool_choice", choice);
        body.copy(&["parallel_tool_calls"]);
    } else {
        body.settings.take("parallel_tool_calls");
    }
    body.set("model", request.model);
    body.set_some("instructions", request.conversation.system.clone());
    body.set("input", request.conversation.messages.clone());
    // Nothing is kept there, so reasoning has to travel along.
    body.set("store", false);
    body.set("include", json!(["reasoning.encrypted_content"]));
    let most = body.settings.take_first(&["max_completion_tokens", "max_tokens", "max_output_tokens"]);
    body.set_some("max_output_tokens", most.cloned());
    let effort = body.settings.take("reasoning_effort").map(|effort| json!({"effort": effort}));
    body.set_some("reasoning", effort);
    let mut text = Map::new();
    text.extend(
        body.settings.take_answer_format().map(|format| ("format".to_owned(), answer_format(format))),
    );
    text.extend(body.settings.take("verbosity").map(|value| ("verbosity".to_owned(), value.clone())));
    body.set_object("text", text);
    body.settings.take("stream_options");
    body.copy(&[
        "temperature",
        "top_p",
        "reasoning",
        "text",
        "truncation",
        "user",
        "metadata",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "top_logprobs",
        "store",
        "include",
        "previous_response_id",
    ]);
    body.set("stream", request.stream);
}

fn answer_format(format: AnswerFormat<'_>) -> Value {
    match format {
        AnswerFormat::Json => json!({"type": "json_object"}),
        AnswerFormat::Schema(format) => {
            let mut written = Map::from_iter([("type".to_owned(), json!("json_schema"))]);
            written.extend(format.iter().map(|(name, value)| (name.clone(), value.clone())));
            written.into()
        }
    }
}
