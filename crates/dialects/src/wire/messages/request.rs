//! Requests of the Messages API.

use serde_json::{Map, Value, json};

use crate::wire::request::{MAX_TOKENS, ModelRequest, RequestBody, ToolChoice};

pub(super) fn write(request: &ModelRequest<'_>, body: &mut RequestBody<'_>) {
    let parallel = body.settings.take("parallel_tool_calls").and_then(Value::as_bool);
    if let Some(tools) = request.tools {
        body.set_tools("tools", tools, ("", ""));
        body.set_some("tool_choice", tool_choice(request.tool_choice, parallel == Some(false)));
    }
    body.set("model", request.model);
    let most = body.settings.take_first(&["max_completion_tokens", "max_tokens"]);
    body.set("max_tokens", most.cloned().unwrap_or_else(|| MAX_TOKENS.into()));
    body.set_some("system", request.conversation.system.clone());
    body.set("messages", request.conversation.messages.clone());
    let stops = body.settings.take_stops();
    body.set_some("stop_sequences", stops);
    let user = body.settings.take("user").map(|user| json!({"user_id": user}));
    body.set_some("metadata", user);
    body.settings.take("stream_options");
    body.copy(&[
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "thinking",
        "metadata",
        "service_tier",
        "output_config",
    ]);
    body.set("stream", request.stream);
}

/// `None` for what the API does anyhow.
fn tool_choice(choice: &ToolChoice, one_at_a_time: bool) -> Option<Value> {
    let mut written: Map<String, Value> = match choice {
        ToolChoice::Auto | ToolChoice::Other(_) if !one_at_a_time => return None,
        ToolChoice::Auto | ToolChoice::Other(_) => Map::from_iter([("type".to_owned(), json!("auto"))]),
        ToolChoice::None => return Some(json!({"type": "none"})),
        ToolChoice::Required => Map::from_iter([("type".to_owned(), json!("any"))]),
        ToolChoice::Named(name) => {
            Map::from_iter([("type".to_owned(), json!("tool")), ("name".to_owned(), json!(name))])
        }
    };
    if one_at_a_time {
        written.insert("disable_parallel_tool_use".to_owned(), true.into());
    }
    Some(written.into())
}
