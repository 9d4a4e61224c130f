//! `OpenAI` Responses.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, call_index, fragments};
use super::{CREATED, Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let items: Vec<Value> =
        (0..reply.parts.len()).filter_map(|part| item(reply, turn, part, Stage::Done)).collect();
    response(reply, &items.into(), turn, Stage::Done)
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let mut events = Events::default();
    for kind in ["response.created", "response.in_progress"] {
        let response = response(reply, &json!([]), turn, Stage::Begun);
        events.push(FrameKind::Opening, kind, &json!({"response": response}));
    }
    for fragment in fragments(reply, &turn.delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        part_events((reply, turn), fragment.part, part, fragment.step, &mut events);
    }
    let response = whole(reply, turn);
    let kind = match reply.finish_reason() {
        Finish::Stop | Finish::Calls | Finish::Other(_) => "response.completed",
        Finish::Length | Finish::ContentFilter => "response.incomplete",
    };
    events.push(FrameKind::Finish, kind, &json!({"response": response}));
    events.0
}

/// The events so far: each has its number.
#[derive(Default)]
struct Events(Vec<Frame>);

impl Events {
    fn push(&mut self, kind: FrameKind, name: &str, members: &Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), name.into());
        event.insert("sequence_number".to_owned(), self.0.len().into());
        event.extend(
            members.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())),
        );
        self.0.push(Frame::typed(kind, &event.into()));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begun,
    Done,
}

fn part_events(
    (reply, turn): (&Reply, &Turn),
    index: usize,
    part: &Part,
    step: FragmentStep,
    events: &mut Events,
) {
    let id = item_id(reply, turn, index);
    let place = |members: Value| {
        let mut all = json!({"item_id": id, "output_index": index});
        if let (Some(all), Value::Object(members)) = (all.as_object_mut(), members) {
            all.extend(members);
        }
        all
    };
    let around = FrameKind::Around;
    match step {
        FragmentStep::Start => {
            let item = item(reply, turn, index, Stage::Begun);
            events.push(around, "response.output_item.added", &json!({"output_index": index, "item": item}));
            match part {
                Part::Reasoning { .. } => {
                    let empty = json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                    events.push(around, "response.reasoning_summary_part.added", &place(empty));
                }
                Part::Text(_) => {
                    let empty = json!({"content_index": 0, "part": output_text("")});
                    events.push(around, "response.content_part.added", &place(empty));
                }
                Part::Call(_) => {}
            }
        }
        FragmentStep::Piece(piece) => match part {
            Part::Reasoning { .. } => {
                let delta = json!({"summary_index": 0, "delta": piece});
                events.push(FrameKind::Content, "response.reasoning_summary_text.delta", &place(delta));
            }
            Part::Text(_) => {
                let delta = json!({"content_index": 0, "delta": piece, "logprobs": []});
                events.push(FrameKind::Content, "response.output_text.delta", &place(delta));
            }
            Part::Call(_) => {
                let delta = place(json!({"delta": piece}));
                events.push(FrameKind::Arguments, "response.function_call_arguments.delta", &delta);
            }
        },
        FragmentStep::End => {
            match part {
                Part::Reasoning { text, .. } => {
                    let done = json!({"summary_index": 0, "text": text});
                    events.push(around, "response.reasoning_summary_text.done", &place(done));
                    let done = json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}});
                    events.push(around, "response.reasoning_summary_part.done", &place(done));
                }
                Part::Text(text) => {
                    let done = json!({"content_index": 0, "text": text, "logprobs": []});
                    events.push(around, "response.output_text.done", &place(done));
                    let done = json!({"content_index": 0, "part": output_text(text)});
                    events.push(around, "response.content_part.done", &place(done));
                }
                Part::Call(call) => {
                    let done = place(json!({"arguments": call.arguments.text()}));
                    events.push(around, "response.function_call_arguments.done", &done);
                }
            }
            let item = item(reply, turn, index, Stage::Done);
            events.push(around, "response.output_item.done", &json!({"output_index": index, "item": item}));
        }
    }
}

/// Unique over all turns, as the API's are.
fn item_id(reply: &Reply, turn: &Turn, part: usize) -> String {
    let turn = turn.number;
    match reply.parts.get(part) {
        Some(Part::Call(_)) => format!("fc_{turn}_{}", call_index(reply, part)),
        Some(Part::Reasoning { .. }) => format!("rs_{turn}_{part}"),
        Some(Part::Text(_)) | None => format!("msg_{turn}_{part}"),
    }
}

fn item(reply: &Reply, turn: &Turn, part: usize, stage: Stage) -> Option<Value> {
    let id = item_id(reply, turn, part);
    let done = stage == Stage::Done;
    let status = if done { "completed" } else { "in_progress" };
    Some(match reply.parts.get(part)? {
        Part::Reasoning { text, signature } => {
            let summary = if done { json!([{"type": "summary_text", "text": text}]) } else { json!([]) };
            let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
            if let Some(signature) = signature {
                item["encrypted_content"] = signature.as_str().into();
            }
            item
        }
        Part::Text(text) => {
            let content = if done { json!([output_text(text)]) } else { json!([]) };
            json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
        }
        Part::Call(call) => {
            let mut item = json!({"id": id, "type": "function_call", "status": status});
            if let Some(call_id) = &call.id {
                item["call_id"] = call_id.as_str().into();
            }
            item["name"] = call.name.as_str().into();
            item["arguments"] = if done { call.arguments.text().into() } else { "".into() };
            item
        }
    })
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn response(reply: &Reply, output: &Value, turn: &Turn, stage: Stage) -> Value {
    let (status, incomplete) = match (stage, reply.finish_reason()) {
        (Stage::Begun, _) => ("in_progress", Value::Null),
        (Stage::Done, Finish::Stop | Finish::Calls | Finish::Other(_)) => ("completed", Value::Null),
        (Stage::Done, Finish::Length) => ("incomplete", json!({"reason": "max_output_tokens"})),
        (Stage::Done, Finish::ContentFilter) => ("incomplete", json!({"reason": "content_filter"})),
    };
    let wanted = stage == Stage::Done && !turn.has(Quirk::NoUsage);
    json!({
        "id": format!("resp_{}", turn.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": incomplete,
        "instructions": null,
        "max_output_tokens": null,
        "model": turn.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": if wanted { usage(reply.usage) } else { Value::Null },
        "user": null,
        "metadata": {},
    })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}
