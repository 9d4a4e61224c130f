//! The implementation of the tools.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gateway_protocol::{RawJson, RpcError, code, method, write_notification};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Number, json};
use tokio_util::sync::CancellationToken;

use crate::definitions::{LOSSLESS_RESULT, PNG};
use crate::exchange::{CallResult, Called, Exchange, SpeaksNow};
use crate::lock::lock;
use crate::message::Message;
use crate::notify::Outbox;
use crate::server::Server;

#[derive(Deserialize)]
struct Numbers {
    a: Number,
    b: Number,
}

#[derive(Deserialize)]
struct Keyed<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Loose {
    token: Option<String>,
    message: Option<String>,
    location: Option<String>,
    code: Option<i64>,
    data: Option<RawJson>,
    bytes: Option<usize>,
    times: Option<u64>,
}

/// The arguments of `slow`.
#[derive(Deserialize)]
pub(crate) struct SlowWork {
    ms: u64,
    #[serde(default)]
    progress: u32,
}

/// The arguments of `exit`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Exit {
    when: Option<String>,
    code: Option<i32>,
}

impl Exit {
    pub(crate) fn is_after_answer(&self) -> bool {
        self.when.as_deref() == Some("after")
    }

    pub(crate) fn code(&self) -> i32 {
        self.code.unwrap_or(1)
    }
}

impl Server {
    /// Runs a tool that needs no waiting.
    pub(crate) fn call(&self, message: &Message<'_>, exchange: &Exchange, out: &mut Vec<u8>) -> CallResult {
        let Some(name) = message.name() else {
            return Err(RpcError::new(code::INVALID_PARAMS, "the call names no tool"));
        };
        let arguments = message.arguments();
        let era = exchange.era;
        match name {
            "slow" | "exit" => return Ok(Called::Slow),
            "echo" => write_result(out, era, arguments, Structured::Same),
            "add" => self.arithmetic(message, era, out, i64::checked_add, |a, b| a + b),
            "multiply" => self.arithmetic(message, era, out, i64::checked_mul, |a, b| a * b),
            "get_weather" => {
                let location = loose(arguments).location.unwrap_or_default();
                let weather =
                    json!({"location": location, "temperature": 72, "conditions": "sunny", "humidity": 45});
                self.finish(name, arguments, &weather.to_string(), era, out);
            }
            "store_value" | "get_value" => self.keep(name, arguments, era, out),
            "count" | "count_idempotent" => {
                let number = self.counted.fetch_add(1, Ordering::Relaxed) + 1;
                let token = loose(arguments).token.unwrap_or_default();
                self.counter.append(format!("{name} {token}").trim_end());
                self.finish(name, arguments, &json!({ "count": number }).to_string(), era, out);
            }
            "lossless" => out.extend_from_slice(LOSSLESS_RESULT.as_bytes()),
            "fail" => {
                let text = loose(arguments).message.unwrap_or_else(|| "the tool failed as asked".to_owned());
                write_failure(out, era, &text);
            }
            "rpc_error" => {
                let Loose { code, message, data, .. } = loose(arguments);
                let message = message.unwrap_or_else(|| "refused as asked".to_owned());
                return Err(RpcError { code: code.unwrap_or(-32_001), message, data });
            }
            "big" => {
                write_result(out, era, &"x".repeat(loose(arguments).bytes.unwrap_or(1024)), Structured::None);
            }
            "image" => {
                let image = format!(r#"{{"type":"image","data":"{PNG}","mimeType":"image/png"}}"#);
                write_content(out, era, &image, "");
            }
            "mixed" => write_content(out, era, &mixed_blocks(), ""),
            "header_echo" => {
                write_result(out, era, &json!(exchange.mirrored_arguments()).to_string(), Structured::Same);
            }
            "change_tools" => {
                self.change_tools(loose(arguments).times.unwrap_or(1));
                write_result(out, era, r#"{"changed":true}"#, Structured::Same);
            }
            other if self.catalogue.has_other(other) || other.starts_with("revision_") => {
                write_result(out, era, arguments, Structured::Same);
            }
            other => {
                return Err(RpcError::new(code::INVALID_PARAMS, format!("unknown tool: {other}")));
            }
        }
        Ok(Called::Done)
    }

    fn arithmetic(
        &self,
        message: &Message<'_>,
        era: SpeaksNow,
        out: &mut Vec<u8>,
        whole: impl Fn(i64, i64) -> Option<i64>,
        broken: impl Fn(f64, f64) -> f64,
    ) {
        let arguments = message.arguments();
        let Numbers { a, b } = match serde_json::from_str(arguments) {
            Ok(numbers) => numbers,
            Err(error) => return write_failure(out, era, &format!("invalid arguments: {error}")),
        };
        let exact = a.as_i64().zip(b.as_i64()).and_then(|(a, b)| whole(a, b));
        let name = message.name().unwrap_or_default();
        let result = match (exact, a.as_f64().zip(b.as_f64())) {
            (Some(number), _) => number.to_string(),
            (None, Some((a, b))) if broken(a, b).is_finite() => broken(a, b).to_string(),
            (None, _) => "null".to_owned(),
        };
        let text = format!(r#"{{"result":{result},"operation":"{name}","a":{a},"b":{b}}}"#);
        self.finish(name, arguments, &text, era, out);
    }

    fn keep(&self, name: &str, arguments: &str, era: SpeaksNow, out: &mut Vec<u8>) {
        let Keyed { key, value } = match serde_json::from_str(arguments) {
            Ok(keyed) => keyed,
            Err(error) => return write_failure(out, era, &format!("invalid arguments: {error}")),
        };
        let text = if name == "store_value" {
            let value = value.map_or("null", RawValue::get);
            lock(&self.values).insert(key.to_string(), value.to_owned());
            format!(r#"{{"success":true,"key":{},"value":{value}}}"#, json!(key))
        } else {
            let value = lock(&self.values).get(key.as_ref()).cloned();
            format!(r#"{{"key":{},"value":{}}}"#, json!(key), value.as_deref().unwrap_or("null"))
        };
        self.finish(name, arguments, &text, era, out);
    }

    /// Writes a result and, if calls are logged, the call (S004-15).
    fn finish(&self, name: &str, arguments: &str, result: &str, era: SpeaksNow, out: &mut Vec<u8>) {
        if self.call_log.is_on() {
            self.call_log.append(&format!(
                r#"{{"timestamp":"{}","tool":{},"arguments":{arguments},"result":{result}}}"#,
                jiff::Timestamp::now(),
                json!(name)
            ));
        }
        write_result(out, era, result, Structured::None);
    }

    /// Works for a while; `None` if it was cancelled meanwhile.
    pub(crate) async fn work_slowly(
        &self,
        message: &Message<'_>,
        related: Option<&Outbox>,
        cancelled: &CancellationToken,
    ) -> Option<String> {
        let work: SlowWork =
            serde_json::from_str(message.arguments()).unwrap_or(SlowWork { ms: 0, progress: 0 });
        let id = message.id_text();
        self.counter.append(&format!("slow-started {id}"));
        let steps = u64::from(work.progress) + 1;
        for step in 1..=steps {
            tokio::select! {
                () = cancelled.cancelled() => {
                    self.counter.append(&format!("cancelled {id}"));
                    return None;
                }
                () = tokio::time::sleep(Duration::from_micros(work.ms * 1000 / steps)) => {}
            }
            if step < steps
                && let Some((token, outbox)) = message.progress_token().zip(related)
            {
                let mut note = Vec::new();
                let (progress, total) = (step.to_string(), work.progress.to_string());
                let params: [(&str, &[u8]); 4] = [
                    ("progressToken", token.get().as_bytes()),
                    ("progress", progress.as_bytes()),
                    ("total", total.as_bytes()),
                    ("message", br#""still at it""#),
                ];
                write_notification(&mut note, method::PROGRESS, &params, &[]);
                outbox.send(&note);
            }
        }
        self.counter.append(&format!("slow-finished {id}"));
        Some(json!({"waited": work.ms}).to_string())
    }
}

/// Whether a result repeats its value as structured content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structured {
    None,
    /// The text, which is JSON.
    Same,
}

/// Appends a result with one text.
pub(crate) fn write_result(out: &mut Vec<u8>, era: SpeaksNow, text: &str, structured: Structured) {
    let more = match structured {
        Structured::None => String::new(),
        Structured::Same => format!(r#","structuredContent":{text}"#),
    };
    write_content(out, era, &text_block(text), &more);
}

fn write_failure(out: &mut Vec<u8>, era: SpeaksNow, text: &str) {
    write_content(out, era, &text_block(text), r#","isError":true"#);
}

/// Appends a result: its content blocks, and more members.
fn write_content(out: &mut Vec<u8>, era: SpeaksNow, blocks: &str, more: &str) {
    let end = if era == SpeaksNow::Modern { r#","resultType":"complete"}"# } else { "}" };
    for part in [r#"{"content":["#, blocks, "]", more, end] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn text_block(text: &str) -> String {
    // A string always has a JSON form.
    format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap_or_default())
}

fn loose(arguments: &str) -> Loose {
    serde_json::from_str(arguments).unwrap_or_default()
}

fn mixed_blocks() -> String {
    [
        r#"{"type":"text","text":"one of each","annotations":{"audience":["user"],"priority":1}}"#.to_owned(),
        format!(r#"{{"type":"image","data":"{PNG}","mimeType":"image/png"}}"#),
        r#"{"type":"audio","data":"UklGRiQAAABXQVZFZm10IA==","mimeType":"audio/wav"}"#.to_owned(),
        r#"{"type":"resource_link","uri":"test://link","name":"link","mimeType":"text/plain"}"#.to_owned(),
        r#"{"type":"resource","resource":{"uri":"test://embedded","mimeType":"text/plain","text":"embedded"}}"#
            .to_owned(),
    ]
    .join(",")
}
