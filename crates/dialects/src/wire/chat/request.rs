//! Requests of Chat Completions.

use serde_json::Value;

use crate::wire::request::{ModelRequest, RequestBody};

/// Writes a request with `tools`.
pub(super) fn write(request: &ModelRequest<'_>, body: &mut RequestBody<'_>) {
    if let Some(tools) = request.tools {
        body.set_tools("tools", tools, ("", ""));
        body.set_some("tool_choice", request.tool_choice.chat());
    } else {
        // Refused without tools.
        body.settings.take("parallel_tool_calls");
    }
    write_common(request, body);
}

/// Writes everything but the tools.
pub(crate) fn write_common(request: &ModelRequest<'_>, body: &mut RequestBody<'_>) {
    body.set("model", request.model);
    body.set("messages", request.conversation.messages.clone());
    body.set("stream", request.stream);
    if request.stream {
        // Only then a stream says what it cost, which bounds of the loop count, whether the caller wants to know it or not.
        let mut options =
            body.settings.take("stream_options").and_then(Value::as_object).cloned().unwrap_or_default();
        options.insert("include_usage".to_owned(), true.into());
        body.set("stream_options", options);
    } else {
        body.settings.take("stream_options");
    }
    body.copy_rest();
}
