//! Parameters of Anthropic Messages.

use serde_json::Value;

use super::json_schema::{Draft, check_metaschema, check_references};
use super::{Checked, is_name, list, messages_strict, refuse, text};
use crate::models::record::RecordedRequest;

/// The members of a request; others are refused.
const MEMBERS: [&str; 20] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
    "tools",
    "tool_choice",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "output_config",
    "output_format",
    "cache_control",
];

/// The members of a tool; others are refused.
const TOOL_MEMBERS: [&str; 10] = [
    "type",
    "name",
    "description",
    "input_schema",
    "strict",
    "cache_control",
    "input_examples",
    "defer_loading",
    "allowed_callers",
    "eager_input_streaming",
];

pub(super) fn check_parameters(request: &RecordedRequest, body: &Value) -> Checked {
    if request.header("anthropic-version").is_none() {
        return refuse("anthropic-version: header is required");
    }
    if let Some(key) = ["model", "messages", "max_tokens"].iter().find(|key| body.get(**key).is_none()) {
        return refuse(format!("{key}: Field required"));
    }
    let members = body.as_object().into_iter().flatten();
    if let Some((key, _)) = members.into_iter().find(|(key, _)| !MEMBERS.contains(&key.as_str())) {
        return refuse(format!("{key}: Extra inputs are not permitted"));
    }
    let tools = list(body, "tools");
    let uses = list(body, "messages").iter().flat_map(|message| list(message, "content"));
    let mut kinds = uses.filter_map(|block| text(block, "type"));
    if tools.is_empty() && kinds.any(|kind| matches!(kind, "tool_use" | "tool_result")) {
        return refuse("Requests which include `tool_use` or `tool_result` blocks must define tools.");
    }
    check_tools(tools)?;
    messages_strict::check_request(tools)
}

fn check_tools(tools: &[Value]) -> Checked {
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        // What Anthropic defines by itself has a type, and no schema.
        match text(tool, "type") {
            None | Some("custom") => {}
            Some(kind) if is_anthropics(kind) => continue,
            Some(kind) => {
                return refuse(format!(
                    "tools.{index}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'text_editor_20250728', 'web_search_20250305'"
                ));
            }
        }
        let at = format!("tools.{index}.custom");
        let Some(name) = text(tool, "name") else { return refuse(format!("{at}.name: Field required")) };
        if !is_name(name, "") || name.len() > 128 {
            return refuse(format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
        }
        if names.contains(&name) {
            return refuse("tools: Tool names must be unique.");
        }
        names.push(name);
        let mut members = tool.as_object().into_iter().flatten();
        if let Some((key, _)) = members.find(|(key, _)| !TOOL_MEMBERS.contains(&key.as_str())) {
            return refuse(format!("{at}.{key}: Extra inputs are not permitted"));
        }
        check_schema(&at, tool)?;
    }
    Ok(())
}

/// Its tools have a date at the end, but for those of MCP servers.
fn is_anthropics(kind: &str) -> bool {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    kind == "mcp_toolset" || kind.rsplit_once('_').is_some_and(|(_, end)| is_date(end))
}

fn check_schema(at: &str, tool: &Value) -> Checked {
    let Some(schema) = tool.get("input_schema") else {
        return refuse(format!("{at}.input_schema: Field required"));
    };
    match schema.get("type") {
        None => return refuse(format!("{at}.input_schema.type: Field required")),
        Some(kind) if kind != "object" => {
            return refuse(format!("{at}.input_schema.type: Input should be 'object'"));
        }
        Some(_) => {}
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|key| schema.get(*key).is_some()) {
        return refuse(format!(
            "{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        ));
    }
    let mut keys =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key);
    if keys.any(|key| !is_name(key, ".") || key.len() > 64) {
        return refuse(format!(
            "{at}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"
        ));
    }
    if check_metaschema(schema, Draft::TwentyTwenty).and_then(|()| check_references(schema)).is_err() {
        return refuse(format!(
            "{at}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use."
        ));
    }
    if tool.get("strict") == Some(&Value::Bool(true)) {
        messages_strict::check(&at.replace(".custom", ""), schema)?;
    }
    Ok(())
}
