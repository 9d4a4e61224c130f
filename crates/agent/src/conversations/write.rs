//! Answers as callers get them: whole, and as server-sent events.
//!
//! A stream is `{"conversation_id"}`, chunks of text in the form of Chat Completions, a chunk that says why it ended, and `[DONE]`. Rounds
//! with tools leave no trace in it unless the caller asks for events.

use bytes::Bytes;
use gateway_dialects::stream::Usage;
use gateway_store::conversations::{Conversation, ConversationId, ConversationSummary};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::ConversationsError;
use super::request::WantedEvents;
use crate::run::{Event, Finished, Stop};

const DONE: &[u8] = b"data: [DONE]\n\n";

/// The first event.
pub(super) fn begin(id: ConversationId) -> Bytes {
    event(&json!({"conversation_id": id.to_string()}))
}

/// The event for something that happened, if the caller gets one.
pub(super) fn happened(happened: &Event, wanted: WantedEvents) -> Option<Bytes> {
    match happened {
        Event::Text(text) => Some(event(
            &json!({"choices": [{"delta": {"content": text}, "index": 0, "finish_reason": null}]}),
        )),
        Event::Reasoning(text) if wanted.reasoning => {
            Some(event(&json!({"type": "reasoning", "content": text})))
        }
        Event::CallBegins { id, name, arguments } if wanted.tool_call => {
            Some(event(&json!({"type": "tool_call", "id": id, "name": name, "arguments": parsed(arguments)})))
        }
        Event::CallEnds(report) if wanted.tool_result => {
            let mut result = json!({"type": "tool_result", "id": report.id, "name": report.name, "content": report.result});
            if let Some(code) = report.code {
                result["code"] = code.into();
            }
            Some(event(&result))
        }
        Event::RoundEnds { usage, .. } if wanted.usage => {
            let Usage { input_tokens, output_tokens, .. } = usage;
            Some(event(&json!({"type": "usage", "inputTokens": input_tokens, "outputTokens": output_tokens})))
        }
        Event::Reasoning(_) | Event::CallBegins { .. } | Event::CallEnds(_) | Event::RoundEnds { .. } => None,
    }
}

/// The last events.
pub(super) fn end(finished: &Finished) -> Vec<Bytes> {
    let reason = match &finished.stop {
        Stop::Cut(word) if word == "content_filter" => "content_filter",
        Stop::Cut(_) => "length",
        Stop::Answered | Stop::CallersTurn | Stop::Limit(_) | Stop::Stuck(_) => "stop",
    };
    let last = event(&json!({"choices": [{"delta": {}, "index": 0, "finish_reason": reason}]}));
    vec![last, Bytes::from_static(DONE)]
}

/// The end of a stream that failed after its first byte; `code` is the word for programs, `begin` what the stream lacks yet.
pub fn failed_stream(error: &ConversationsError, code: &str, begin: Option<Bytes>) -> Bytes {
    let text = error.to_string();
    let mut end = begin.unwrap_or_default().to_vec();
    end.extend_from_slice(&event(&json!({"error": text, "code": code, "detail": text})));
    end.extend_from_slice(DONE);
    end.into()
}

/// An answer in one piece.
pub(super) fn whole(id: ConversationId, finished: &Finished) -> Bytes {
    json!({"content": finished.text, "conversation_id": id.to_string()}).to_string().into()
}

/// A conversation with the messages of a range.
pub(super) fn conversation(conversation: &Conversation, range: std::ops::Range<usize>) -> Bytes {
    let messages: &[Box<RawValue>] = conversation.messages.get(range).unwrap_or_default();
    let messages: Vec<&str> = messages.iter().map(|message| message.get()).collect();
    let text = |value: &str| Value::from(value).to_string();
    // Written by hand: messages come back byte for byte.
    format!(
        r#"{{"id":{},"title":{},"messages":[{}],"created_at":{},"updated_at":{},"version":{},"message_count":{},"metadata":{}}}"#,
        text(&conversation.id.to_string()),
        text(&conversation.title),
        messages.join(","),
        text(&conversation.created_at.to_string()),
        text(&conversation.updated_at.to_string()),
        conversation.version,
        conversation.messages.len(),
        conversation.metadata.get(),
    )
    .into()
}

/// A conversation without its messages.
pub(super) fn summary(summary: &ConversationSummary) -> Value {
    json!({
        "id": summary.id.to_string(), "title": summary.title, "created_at": summary.created_at.to_string(),
        "updated_at": summary.updated_at.to_string(), "message_count": summary.message_count, "version": summary.version,
    })
}

fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into())
}
