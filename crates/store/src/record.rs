//! One call as it is recorded, and one entry as it is read back.

use std::{borrow::Cow, io::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;

/// One call, recorded when it has ended.
///
/// Text that many calls share (names of servers and tools) is `Arc<str>`, so that recording copies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// When the call started; kept to the microsecond.
    pub timestamp: Timestamp,
    /// Who called, if known.
    pub caller: Option<Arc<str>>,
    /// The upstream that was called.
    pub server: Arc<str>,
    /// The tool that was called.
    pub tool: Arc<str>,
    /// The dialect of the call, if it had one.
    pub provider: Option<Arc<str>>,
    /// The arguments: JSON text.
    pub input: Bytes,
    /// How the call ended.
    pub outcome: Outcome,
    /// How long the call took; kept to the microsecond.
    pub duration: Duration,
    /// The id that ties this call to its request and trace.
    pub correlation_id: Arc<str>,
    /// How the call reached the gateway, such as `http`, `mcp` or `cli`.
    pub transport: Option<Cow<'static, str>>,
    /// The upstream that ran it, if another one took the call over.
    pub ran_on: Option<Arc<str>>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream's result: JSON text.
    Result(Bytes),
    /// The call failed.
    Error {
        /// What happened, for people.
        message: Arc<str>,
        /// What happened, for programs.
        code: Option<Arc<str>>,
        /// The tool's own result, if it reported the error: JSON text.
        result: Option<Bytes>,
    },
}

impl Outcome {
    /// A failure without a tool result.
    pub fn error(message: impl Into<Arc<str>>, code: &str) -> Self {
        Self::Error { message: message.into(), code: Some(code.into()), result: None }
    }
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Increments with every entry and is never reused: the cursor of paging and of `Last-Event-ID`.
    pub id: i64,
    /// The call, redacted and capped.
    pub call: CallRecord,
}

impl CallRecord {
    /// About how much memory the record holds.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.payload()
    }

    /// The bytes of the texts that differ from call to call.
    pub(crate) fn payload(&self) -> usize {
        let outcome = match &self.outcome {
            Outcome::Result(result) => result.len(),
            Outcome::Error { message, result, .. } => message.len() + result.as_ref().map_or(0, Bytes::len),
        };
        self.correlation_id.len() + self.input.len() + outcome
    }
}

impl StoredRecord {
    /// Appends the entry as one JSON object. The stored JSON is inlined without parsing it again.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let call = &self.call;
        out.extend_from_slice(b"{\"timestamp\":\"");
        write_display(out, format_args!("{:.3}", call.timestamp));
        out.extend_from_slice(b"\",\"server\":");
        write_string(out, &call.server);
        out.extend_from_slice(b",\"tool\":");
        write_string(out, &call.tool);
        out.extend_from_slice(b",\"provider\":");
        match &call.provider {
            Some(provider) => write_string(out, provider),
            None => out.extend_from_slice(b"null"),
        }
        write_raw(out, b",\"input\":", &call.input);
        match &call.outcome {
            Outcome::Result(result) => write_raw(out, b",\"result\":", result),
            Outcome::Error { message, code, result } => {
                if let Some(result) = result {
                    write_raw(out, b",\"result\":", result);
                }
                out.extend_from_slice(b",\"error\":");
                write_string(out, message);
                write_optional(out, b",\"code\":", code.as_deref());
            }
        }
        out.extend_from_slice(b",\"duration_ms\":");
        write_milliseconds(out, call.duration);
        out.extend_from_slice(b",\"correlation_id\":");
        write_string(out, &call.correlation_id);
        write_optional(out, b",\"caller\":", call.caller.as_deref());
        write_optional(out, b",\"transport\":", call.transport.as_deref());
        write_optional(out, b",\"ran_on\":", call.ran_on.as_deref());
        write_display(out, format_args!(",\"id\":{}}}", self.id));
    }

    /// The entry as one JSON object.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.call.weight());
        self.write_json(&mut out);
        out
    }
}

/// Writes entries as one JSON array.
pub fn write_json_array(entries: &[StoredRecord], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        entry.write_json(out);
    }
    out.push(b']');
}

/// Appends `text` as a JSON string.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

pub(crate) fn write_display(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing into memory cannot fail.
    let _ = out.write_fmt(text);
}

fn write_raw(out: &mut Vec<u8>, name: &[u8], json: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(if json.is_empty() { b"null" } else { json });
}

fn write_optional(out: &mut Vec<u8>, name: &[u8], text: Option<&str>) {
    if let Some(text) = text {
        out.extend_from_slice(name);
        write_string(out, text);
    }
}

/// Milliseconds with at most three decimals and no trailing zeros: `12`, `0.25`.
fn write_milliseconds(out: &mut Vec<u8>, duration: Duration) {
    let micros = duration.as_micros();
    write_display(out, format_args!("{}", micros / 1000));
    let rest = micros % 1000;
    if rest > 0 {
        let decimals = format!(".{rest:03}");
        out.extend_from_slice(decimals.trim_end_matches('0').as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> StoredRecord {
        StoredRecord {
            id: 7,
            call: CallRecord {
                timestamp: "2026-11-03T10:00:00.123999Z".parse().unwrap(),
                caller: None,
                server: "demo".into(),
                tool: "add".into(),
                provider: None,
                input: Bytes::from_static(b"{\"a\": 12345678901234567890123}"),
                outcome: Outcome::Result(Bytes::from_static(b"{\"content\":[]}")),
                duration: Duration::from_micros(1250),
                correlation_id: "c-\"1".into(),
                transport: None,
                ran_on: None,
            },
        }
    }

    #[track_caller]
    fn check(record: &StoredRecord, expected: &str) {
        assert_eq!(String::from_utf8(record.to_json()).unwrap(), expected);
        serde_json::from_str::<serde_json::Value>(expected).unwrap();
    }

    #[test]
    fn an_entry_is_written_field_by_field_with_its_json_as_it_is() {
        check(
            &record(),
            r#"{"timestamp":"2026-11-03T10:00:00.123Z","server":"demo","tool":"add","provider":null,"input":{"a": 12345678901234567890123},"result":{"content":[]},"duration_ms":1.25,"correlation_id":"c-\"1","id":7}"#,
        );
    }

    #[test]
    fn an_error_entry_has_message_and_code_and_the_optional_fields() {
        let mut record = record();
        record.call.provider = Some("openai".into());
        record.call.caller = Some("alice".into());
        record.call.transport = Some("mcp".into());
        record.call.ran_on = Some("other".into());
        record.call.input = Bytes::new();
        record.call.duration = Duration::from_millis(30);
        record.call.outcome = Outcome::error("no answer", "TIMEOUT");
        check(
            &record,
            r#"{"timestamp":"2026-11-03T10:00:00.123Z","server":"demo","tool":"add","provider":"openai","input":null,"error":"no answer","code":"TIMEOUT","duration_ms":30,"correlation_id":"c-\"1","caller":"alice","transport":"mcp","ran_on":"other","id":7}"#,
        );
    }

    #[test]
    fn a_tool_error_keeps_the_result_beside_the_message() {
        let mut record = record();
        record.call.timestamp = "2026-11-03T10:00:00Z".parse().unwrap();
        record.call.outcome = Outcome::Error {
            message: "division by zero".into(),
            code: None,
            result: Some(Bytes::from_static(b"{\"isError\":true}")),
        };
        check(
            &record,
            r#"{"timestamp":"2026-11-03T10:00:00.000Z","server":"demo","tool":"add","provider":null,"input":{"a": 12345678901234567890123},"result":{"isError":true},"error":"division by zero","duration_ms":1.25,"correlation_id":"c-\"1","id":7}"#,
        );
    }

    #[test]
    fn an_array_has_commas_between_entries_only() {
        let mut out = Vec::new();
        write_json_array(&[], &mut out);
        assert_eq!(out, b"[]");
        out.clear();
        write_json_array(&[record(), record()], &mut out);
        let parsed: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
        assert_eq!(parsed.len(), 2);
    }
}
