//! `generateContent`: calls, results and reasoning are parts of contents.

mod history;
mod request;
mod stream;

use serde_json::{Map, Value, json};

use super::calls::{ARGS, Envelope, Layout, Malformed, Reply, inner, part_signature};
use super::functions::part;
use super::history::{Conversation, Message, PartList, Reader, Writer};
use super::request::{ModelRequest, RequestBody};
use super::results::{Media, Part, Prepared, Source};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::{ErrorStyle, MessageRules};

pub(crate) struct GenerateContent;

impl WireFormat for GenerateContent {
    fn usage(&self) -> UsageMembers {
        (&["usageMetadata"], "promptTokenCount", "candidatesTokenCount")
    }

    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        Some(Envelope::Alternatives(response.member("candidates")?.as_array()?))
    }

    /// Parts have no type: their members show what they are.
    fn read_block(&self, kind: Option<&str>, part: &Object, said: &mut Reply) -> bool {
        let others = ["functionCall", "function_call", "toolUse", "reasoningContent", "name"];
        if kind.is_some() || others.iter().any(|key| part.has(key)) {
            return false;
        }
        let signature = part_signature(part);
        let text = part.text("text");
        if text.is_none() && signature.is_none() {
            return false;
        }
        let is_thought = part.member("thought") == Some(&Value::Bool(true));
        let whole = if is_thought { &mut said.reasoning } else { &mut said.text };
        whole.push_str(text.unwrap_or_default());
        said.signature = signature.or(said.signature.take());
        true
    }

    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        Ok(inner(map, "functionCall")?.map(part))
    }

    fn bare_call(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["id", "name", "args", "thoughtSignature", "thought_signature"], ARGS)
    }

    /// Each chunk is a whole response.
    fn is_chunk(&self, chunk: &Object) -> bool {
        chunk.get("candidates").is_some_and(Value::is_array)
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn message(&self, role: &str, parts: Value) -> Value {
        json!({"role": role, "parts": parts})
    }

    fn text_part(&self, text: &str) -> Value {
        json!({"text": text})
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        match &media.source {
            Source::Data(data) => json!({"inlineData": {"mimeType": media.mime, "data": data}}),
            Source::Url(url) if media.mime.is_empty() => json!({"fileData": {"fileUri": url}}),
            Source::Url(url) => json!({"fileData": {"mimeType": media.mime, "fileUri": url}}),
        }
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        let arranged = &result.arranged;
        let failed = arranged.failed && self.marks_failure(rules.errors);
        let key = if failed { "error" } else { "output" };
        let mut has_text = false;
        let mut data = None;
        let mut media = Vec::new();
        for part in &arranged.parts {
            match part {
                Part::Text(_) => has_text = true,
                Part::Data(value) => data = data.or(Some(*value)),
                Part::Media(medium) => media.push(self.media_part(medium, 0)),
                Part::Document { .. } => {}
            }
        }
        let response = match (data, has_text) {
            (Some(data), false) if failed => json!({key: data}),
            (Some(data), false) => data.clone(),
            (Some(data), true) => json!({key: arranged.text(), "structuredContent": data}),
            (None, _) => json!({key: arranged.text()}),
        };
        let mut body = Map::new();
        if let Some(id) = result.outcome.call_id.filter(|_| rules.call_ids) {
            body.insert("id".into(), id.into());
        }
        body.insert("name".into(), result.outcome.wire_name.into());
        body.insert("response".into(), response);
        if !media.is_empty() {
            body.insert("parts".into(), media.into());
        }
        json!({"functionResponse": body})
    }

    fn to_snake_case(&self, message: &mut Value) {
        for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
            rename_members(part);
        }
    }

    fn gathers_results(&self) -> bool {
        true
    }

    fn marks_failure(&self, style: ErrorStyle) -> bool {
        style == ErrorStyle::Key
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        reader.part_lists(given, messages, "parts", history::role, history::part);
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let list = PartList {
            model: "model",
            key: "parts",
            system: |text| json!({"parts": [{"text": text}]}),
            assistant: history::model_parts,
        };
        writer.part_list(messages, &list)
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        request::write(request, body);
        true
    }
}

/// The members of a part, in camel case and in snake case. What a tool or a model wrote is inside others.
const SNAKE_CASE: [(&str, &str); 7] = [
    ("functionCall", "function_call"),
    ("functionResponse", "function_response"),
    ("inlineData", "inline_data"),
    ("fileData", "file_data"),
    ("mimeType", "mime_type"),
    ("fileUri", "file_uri"),
    ("thoughtSignature", "thought_signature"),
];

fn rename_members(part: &mut Value) {
    let Some(members) = part.as_object_mut() else { return };
    *members = std::mem::take(members)
        .into_iter()
        .map(|(name, mut value)| {
            let renamed = SNAKE_CASE.iter().find(|(camel, _)| *camel == name).map(|(_, snake)| *snake);
            if matches!(renamed, Some("inline_data" | "file_data")) {
                rename_members(&mut value);
            }
            (renamed.map_or(name, str::to_owned), value)
        })
        .collect();
}
