//! One event as one line.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

use gateway_protocol::{printable, printable_json};
use jiff::Timestamp;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

const REDACTED: &str = "[redacted]";

/// Words in a field's name that mark its value as nobody's business.
const SECRET: &[&str] = &["token", "secret", "password", "authorization", "api_key", "cookie"];

/// The name under which a field is written.
fn public_name(name: &str) -> &str {
    match name {
        "correlation" | "correlation_id" => "correlationId",
        "status_code" => "statusCode",
        "duration_ms" => "duration",
        "upstream" => "server",
        other => other,
    }
}

fn is_secret(name: &str) -> bool {
    SECRET.iter().any(|word| name.contains(word))
}

/// The parts of an event.
#[derive(Default)]
struct Fields {
    message: String,
    context: Vec<(&'static str, Value)>,
}

impl Fields {
    fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        let name = field.name();
        let value = if is_secret(name) { REDACTED.into() } else { value.into() };
        self.context.push((public_name(name), value));
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.add(field, value);
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.add(field, u64::try_from(value).unwrap_or(u64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.add(field, text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.add(field, text);
        }
    }
}

/// `{timestamp, level, message, context}`.
pub(super) fn write_json(line: &mut Vec<u8>, now: Timestamp, event: &Event<'_>) {
    let fields = Fields::of(event);
    let level = match *event.metadata().level() {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        _ => "debug",
    };
    // Writing into memory has no way to fail.
    let _ = write!(line, "{{\"timestamp\":\"{now:.3}\",\"level\":\"{level}\",\"message\":");
    let _ = serde_json::to_writer(&mut *line, &fields.message);
    line.extend_from_slice(b",\"context\":{");
    for (index, (name, value)) in fields.context.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        let _ = write!(line, "\"{name}\":{value}");
    }
    line.extend_from_slice(b"}}\n");
    make_printable(line);
}

/// `12:00:00.000 WARN  Message  name=value`. Control characters are escaped, so that one event stays one line.
pub(super) fn write_text(line: &mut Vec<u8>, now: Timestamp, event: &Event<'_>) {
    let fields = Fields::of(event);
    let clock = format!("{now:.3}");
    let clock = clock.get(11..23).unwrap_or(&clock);
    let text = printable(&fields.message);
    // Writing into memory has no way to fail.
    let _ = write!(line, "{clock} {:<5} {text}", event.metadata().level());
    let mut gap = "  ";
    for (name, value) in &fields.context {
        let _ = match value {
            Value::String(word) if is_plain(word) => write!(line, "{gap}{name}={word}"),
            other => write!(line, "{gap}{name}={other}"),
        };
        gap = " ";
    }
    line.push(b'\n');
    make_printable(line);
}

/// Escapes what JSON leaves raw in strings although it acts on terminals or hides what is read.
fn make_printable(line: &mut Vec<u8>) {
    if line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return;
    }
    let escaped = match std::str::from_utf8(line).map(printable_json) {
        Ok(Cow::Owned(escaped)) => escaped,
        Ok(Cow::Borrowed(_)) | Err(_) => return,
    };
    *line = escaped.into_bytes();
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || "-_./:@[]*".contains(character))
}
