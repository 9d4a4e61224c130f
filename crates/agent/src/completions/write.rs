//! Writing answers of Chat Completions: whole, and as chunks.

use bytes::Bytes;
use gateway_dialects::calls::ToolCall;
use gateway_dialects::stream::Usage;
use serde_json::{Map, Value, json};

use crate::run::{CallReport, Finished, Stop};
use crate::screening::FoundData;

/// The frame of all chunks of one answer.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
    /// `{"id":…,"choices":[{"index":0,"delta":`, as bytes of an event.
    head: Vec<u8>,
}

/// How calls of the caller's own tools are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallsAs {
    /// As `tool_calls`.
    ToolCalls,
    /// As `function_call`, from before there were tools.
    FunctionCall,
}

/// The end of a stream.
pub(super) const DONE: &[u8] = b"data: [DONE]\n\n";

impl Frame {
    pub(super) fn new(id: String, created: i64, model: String) -> Self {
        let mut head = b"data: ".to_vec();
        let start = json!({"id": id, "object": "chat.completion.chunk", "created": created, "model": model})
            .to_string();
        head.extend_from_slice(start.trim_end_matches('}').as_bytes());
        head.extend_from_slice(b",\"choices\":[{\"index\":0,\"delta\":");
        Self { id, created, model, head }
    }

    /// The first chunk.
    pub(super) fn role(&self) -> Bytes {
        self.chunk(br#"{"role":"assistant","content":""}"#, None)
    }

    /// More text under `key`.
    pub(super) fn text(&self, key: &str, text: &str) -> Bytes {
        let mut delta = Vec::with_capacity(text.len() + key.len() + 8);
        delta.extend_from_slice(b"{\"");
        delta.extend_from_slice(key.as_bytes());
        delta.extend_from_slice(b"\":");
        if serde_json::to_writer(&mut delta, text).is_err() {
            return Bytes::new();
        }
        delta.push(b'}');
        self.chunk(&delta, None)
    }

    /// The last chunks: calls of the caller's own tools, why it ended, and what it cost.
    pub(super) fn end(
        &self,
        finished: &Finished,
        calls: CallsAs,
        include_usage: bool,
        gateway: &Value,
    ) -> Vec<Bytes> {
        let mut chunks = Vec::new();
        for (index, call) in finished.handed_back.iter().enumerate() {
            let mut written = tool_call(call);
            let delta = match calls {
                CallsAs::FunctionCall => json!({"function_call": written["function"].take()}),
                CallsAs::ToolCalls => {
                    written["index"] = index.into();
                    json!({"tool_calls": [written]})
                }
            };
            chunks.push(self.chunk(delta.to_string().as_bytes(), None));
        }
        chunks.push(self.chunk(b"{}", Some(finish_reason(&finished.stop, calls))));
        let usage = include_usage.then(|| usage_of(finished.usage));
        // Who has to come back with a continuation gets it, asked for or not.
        if usage.is_some() || gateway.get("continuation").is_some() {
            chunks.push(self.beside(usage, gateway));
        }
        chunks.push(Bytes::from_static(DONE));
        chunks
    }

    /// A call that begins or has ended.
    pub(super) fn call(&self, kind: &str, call: &Value) -> Bytes {
        self.beside(None, &json!({kind: call}))
    }

    /// A chunk without a choice.
    fn beside(&self, usage: Option<Value>, gateway: &Value) -> Bytes {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [],
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        chunk["gateway"] = gateway.clone();
        format!("data: {chunk}\n\n").into()
    }

    fn chunk(&self, delta: &[u8], finish_reason: Option<&str>) -> Bytes {
        let mut chunk = Vec::with_capacity(self.head.len() + delta.len() + 40);
        chunk.extend_from_slice(&self.head);
        chunk.extend_from_slice(delta);
        chunk.extend_from_slice(b",\"finish_reason\":");
        match finish_reason {
            Some(reason) => {
                chunk.push(b'"');
                chunk.extend_from_slice(reason.as_bytes());
                chunk.push(b'"');
            }
            None => chunk.extend_from_slice(b"null"),
        }
        chunk.extend_from_slice(b"}]}\n\n");
        chunk.into()
    }

    /// The whole answer.
    pub(super) fn whole(&self, finished: &Finished, calls: CallsAs, gateway: &Value) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        let content = if finished.text.is_empty() { Value::Null } else { finished.text.clone().into() };
        message.insert("content".to_owned(), content);
        if !finished.reasoning.is_empty() {
            message.insert("reasoning_content".to_owned(), finished.reasoning.clone().into());
        }
        match (finished.handed_back.as_slice(), calls) {
            ([], _) => {}
            ([call, ..], CallsAs::FunctionCall) => {
                message.insert("function_call".to_owned(), tool_call(call)["function"].take());
            }
            (all, CallsAs::ToolCalls) => {
                message.insert("tool_calls".to_owned(), all.iter().map(tool_call).collect());
            }
        }
        let reason = finish_reason(&finished.stop, calls);
        // Another model may have answered than the one that was asked first.
        let model = if finished.model.is_empty() { &self.model } else { &finished.model };
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": reason}],
            "usage": usage_of(finished.usage), "gateway": gateway,
        })
    }
}

/// What the caller may want to know beside the answer: the calls that ran, and what each round cost.
pub(super) fn gateway_member(finished: &Finished, continuation: Option<&str>) -> Value {
    let stop = match &finished.stop {
        Stop::Answered | Stop::Cut(_) | Stop::CallersTurn => Value::Null,
        Stop::Limit(text) => json!({"limit": text}),
        Stop::Stuck(text) => json!({"stuck": text}),
    };
    let calls: Vec<Value> = finished.calls.iter().map(call_report).collect();
    let rounds: Vec<Value> = finished.rounds.iter().map(|usage| usage_of(*usage)).collect();
    let mut member = json!({"calls": calls, "rounds": rounds});
    let personal_data: Vec<Value> = finished.personal_data.iter().map(FoundData::to_json).collect();
    for (key, value) in [
        ("stopped", stop),
        ("continuation", json!(continuation)),
        ("ignored", json!(finished.ignored)),
        ("notices", json!(finished.notices)),
        ("personalData", personal_data.into()),
    ] {
        if !value.is_null() && value != json!([]) {
            member[key] = value;
        }
    }
    member
}

/// A call that ran here.
pub(super) fn call_report(call: &CallReport) -> Value {
    let mut entry = json!({
        "tool_name": call.name, "arguments": parsed(&call.arguments), "result": call.result, "id": call.id,
        "duration_ms": u64::try_from(call.duration.as_millis()).unwrap_or(u64::MAX),
    });
    for (key, value) in [("server", &call.server), ("tool", &call.tool), ("result_id", &call.result_id)] {
        if let Some(value) = value {
            entry[key] = value.clone().into();
        }
    }
    if let Some(code) = call.code {
        entry["code"] = code.into();
    }
    if !call.notes.is_empty() {
        entry["notes"] = call.notes.clone().into();
    }
    entry
}

/// A call that begins.
pub(super) fn call_begins(id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_name": name, "arguments": parsed(arguments), "id": id})
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into())
}

fn finish_reason(stop: &Stop, calls: CallsAs) -> &'static str {
    match stop {
        Stop::CallersTurn => match calls {
            CallsAs::ToolCalls => "tool_calls",
            CallsAs::FunctionCall => "function_call",
        },
        Stop::Cut(word) if word == "content_filter" => "content_filter",
        Stop::Cut(_) => "length",
        Stop::Answered | Stop::Limit(_) | Stop::Stuck(_) => "stop",
    }
}

/// A call of the caller's own tools, with what the model's API has beside it.
fn tool_call(call: &ToolCall) -> Value {
    let (id, arguments) = (call.id.as_str(), call.arguments.to_text());
    let mut written = if call.extra.get("type").is_some_and(|kind| kind == "custom") {
        json!({"id": id, "type": "custom", "custom": {"name": call.name, "input": arguments}})
    } else {
        json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
    };
    // Where a thought signature stands, which some clients send back.
    if let Some(content) = call.extra.get("extra_content") {
        written["extra_content"] = content.clone();
    }
    written
}

fn usage_of(usage: Usage) -> Value {
    let Usage { input_tokens, output_tokens, cached_tokens, .. } = usage;
    json!({
        "prompt_tokens": input_tokens, "completion_tokens": output_tokens, "total_tokens": input_tokens.saturating_add(output_tokens),
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    })
}
