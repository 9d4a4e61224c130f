//! The tools.

use std::sync::atomic::Ordering;

use gateway_protocol::{RpcError, code};
use serde_json::{Map, Value, json};

use super::definitions::{AUDIO, DYNAMIC_TOOL, TOOLS};
use super::resources::WATCHED;
use super::{Answer, Answered, Asked, ask, failure, flows, is_there, lacks, tasks, text};
use crate::definitions::{HEADER_ECHO, PNG};
use crate::exchange::SpeaksNow;
use crate::notify::Change;

pub(super) fn list(asked: Asked<'_>) -> Answered {
    let define = |(name, description, schema): &(&str, &str, &str)| {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        json!({"name": name, "description": description, "inputSchema": schema})
    };
    let mut tools: Vec<Value> = TOOLS.iter().map(define).collect();
    // The tool of the other server mode that shows mirrored headers.
    tools.extend(serde_json::from_str::<Value>(HEADER_ECHO));
    if is_there(&asked.everything.tool_changes) {
        tools.push(define(&DYNAMIC_TOOL));
    }
    asked.page("tools", tools)
}

pub(super) fn call(asked: Asked<'_>) -> Answered {
    let Some(tool) = asked.message.name() else {
        return Err(RpcError::new(code::INVALID_PARAMS, "the call names no tool"));
    };
    if asked.takes_time() {
        return begin(asked, tool);
    }
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    let result = match tool {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!({"content": [image]}),
        "test_audio_content" => {
            json!({"content": [{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}]})
        }
        "test_embedded_resource" => {
            let embedded = "This is an embedded resource content.";
            json!({"content": [resource("test://embedded-resource", "text/plain", embedded)]})
        }
        "test_multiple_content_types" => {
            let data = r#"{"test":"data","value":123}"#;
            json!({"content": [
                {"type": "text", "text": "Multiple content types test:"},
                image,
                resource("test://mixed-content-resource", "application/json", data),
            ]})
        }
        "test_error_handling" => failure("This tool intentionally returns an error for testing"),
        "json_schema_2020_12_tool" => {
            text(format!("JSON Schema 2020-12 tool called with: {}", asked.message.arguments()))
        }
        "greet" => text(format!("Hello, {}!", asked.arguments()["name"].as_str().unwrap_or("stranger"))),
        "header_echo" => mirrored(asked),
        "test_missing_capability" => {
            if asked.capabilities()["sampling"].is_object() {
                text("Success")
            } else if asked.era() == SpeaksNow::Modern {
                return Err(lacks(&json!({"sampling": {}})));
            } else {
                failure("the client does not support sampling")
            }
        }
        "test_dynamic_tool" if is_there(&asked.everything.tool_changes) => text("Still here"),
        "test_trigger_tool_change" => changed(asked, &Change::Tools),
        "test_trigger_prompt_change" => changed(asked, &Change::Prompts),
        "test_trigger_resource_change" => changed(asked, &Change::Resources),
        "test_trigger_resource_update" => {
            let uri = asked.arguments()["uri"].as_str().unwrap_or(WATCHED).to_owned();
            changed(asked, &Change::Resource(uri))
        }
        flow => return start_flow(asked, flow),
    };
    Ok(asked.complete(result))
}

/// Errors that are known at once are returned before there is a stream, which would hide the status.
fn begin(asked: Asked<'_>, tool: &str) -> Answered {
    if tool == "test_streaming_elicitation" {
        ask::drive(asked, tool)?;
    }
    Ok(Answer::Later)
}

/// A tool that needs the client's help, or a task.
fn start_flow(asked: Asked<'_>, tool: &str) -> Answered {
    if flows::step(tool, &asked.first_round()).is_none() {
        return Err(RpcError::new(code::INVALID_PARAMS, format!("unknown tool: {tool}")));
    }
    let can_be_task = matches!(tool, "slow_compute" | "confirm_delete" | "multi_input");
    let must_be_task = matches!(tool, "failing_job" | "protocol_error_job" | "test_tool_with_task");
    if asked.era() == SpeaksNow::Modern && must_be_task && !asked.has_tasks() {
        return Err(tasks::required());
    }
    if !asked.has_tasks() || !(can_be_task || must_be_task) {
        return ask::drive(asked, tool);
    }
    let mut answers = Map::new();
    if tool == "test_tool_with_task" {
        // Asks first, and becomes a task in its last round.
        let Answer::Now(result) = ask::drive(asked, tool)? else { return Ok(Answer::Later) };
        if result["resultType"] != "complete" {
            return Ok(Answer::Now(result));
        }
        answers = ask::answers_of(asked)?;
    }
    Ok(Answer::Now(tasks::create(asked, tool, answers)))
}

/// Changes something and notifies all subscribers.
fn changed(asked: Asked<'_>, change: &Change) -> Value {
    let everything = asked.everything;
    let counter = match change {
        Change::Tools => &everything.tool_changes,
        Change::Prompts => &everything.prompt_changes,
        Change::Resources => &everything.resource_changes,
        Change::Resource(_) => &everything.resource_updates,
    };
    counter.fetch_add(1, Ordering::Relaxed);
    asked.subscribers.notify(change);
    text("changed")
}

/// The received mirrored headers, by their arguments.
fn mirrored(asked: Asked<'_>) -> Value {
    let seen = Value::Object(asked.exchange.mirrored_arguments());
    let mut result = text(seen.to_string());
    result["structuredContent"] = seen;
    result
}
