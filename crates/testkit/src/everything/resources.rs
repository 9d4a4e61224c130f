//! The resources.

use std::sync::atomic::Ordering;

use gateway_protocol::{RawJson, RpcError, code, method};
use serde_json::{Value, json};

use super::{Answer, Answered, Asked, ask, is_there};
use crate::definitions::PNG;
use crate::exchange::SpeaksNow;

/// The resource that changes on request.
pub(super) const WATCHED: &str = "test://watched-resource";
/// The resource that is read only with the user's help.
const GUARDED: &str = "test://input-required";
const DYNAMIC: &str = "test://dynamic-resource";

pub(super) fn list(asked: Asked<'_>) -> Answered {
    let entry = |uri: &str, name: &str, description: &str, kind: &str| json!({"uri": uri, "name": name, "description": description, "mimeType": kind});
    let mut resources = vec![
        entry("test://static-text", "static-text", "A static text resource for testing", "text/plain"),
        entry("test://static-binary", "static-binary", "A static image for testing", "image/png"),
        entry(WATCHED, "watched-resource", "A resource that changes on request", "text/plain"),
        entry(GUARDED, "input-required", "A resource that asks the user for a word first", "text/plain"),
    ];
    if is_there(&asked.everything.resource_changes) {
        resources.push(entry(DYNAMIC, "dynamic-resource", "It comes and goes", "text/plain"));
    }
    asked.page("resources", resources)
}

pub(super) fn list_templates(asked: Asked<'_>) -> Answered {
    let template = json!({
        "uriTemplate": "test://template/{id}/data", "name": "template",
        "description": "A resource template with a parameter", "mimeType": "application/json"
    });
    asked.page("resourceTemplates", vec![template])
}

pub(super) fn read(asked: Asked<'_>) -> Answered {
    let Some(uri) = asked.message.params.as_ref().and_then(|params| params.uri.as_deref()) else {
        return Err(RpcError::new(code::INVALID_PARAMS, "the request names no resource"));
    };
    let content = match uri {
        GUARDED => return read_guarded(asked),
        "test://static-text" => plain(uri, "This is the content of the static text resource."),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        WATCHED => {
            let updates = asked.everything.resource_updates.load(Ordering::Relaxed);
            plain(uri, &format!("Watched resource content, updated {updates} times"))
        }
        DYNAMIC if is_there(&asked.everything.resource_changes) => plain(uri, "Still here"),
        other => match other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
            Some(id) if !id.is_empty() && !id.contains('/') => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            _ => return Err(not_found(asked.era(), uri)),
        },
    };
    Ok(asked.cacheable(json!({"contents": [content]}), "private"))
}

fn read_guarded(asked: Asked<'_>) -> Answered {
    match ask::drive(asked, GUARDED)? {
        Answer::Now(result) if result["resultType"] == "complete" => {
            // A result after a question must not be cached (MCP 2026-07-28, SEP-2549).
            let mut result = result;
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
            Ok(Answer::Now(result))
        }
        other => Ok(other),
    }
}

/// A legacy client subscribes to a resource, or unsubscribes.
pub(super) fn watch(asked: Asked<'_>) -> Answered {
    let Some(uri) = asked.message.params.as_ref().and_then(|params| params.uri.as_deref()) else {
        return Err(RpcError::new(code::INVALID_PARAMS, "the request names no resource"));
    };
    if let Some(session) = &asked.exchange.session {
        session.client(|client| {
            if asked.message.method() == method::SUBSCRIBE {
                client.watched.insert(uri.to_owned());
            } else {
                client.watched.remove(uri);
            }
        });
    }
    Ok(Answer::Now(json!({})))
}

fn plain(uri: &str, text: &str) -> Value {
    json!({"uri": uri, "mimeType": "text/plain", "text": text})
}

fn not_found(era: SpeaksNow, uri: &str) -> RpcError {
    let code = match era {
        SpeaksNow::Legacy => code::LEGACY_RESOURCE_NOT_FOUND,
        SpeaksNow::Modern => code::INVALID_PARAMS,
    };
    RpcError { data: RawJson::of(&json!({ "uri": uri })).ok(), ..RpcError::new(code, "Resource not found") }
}
