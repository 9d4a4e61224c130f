//! Looking through texts and JSON.

use gateway_privacy::{Applied, Counts, Detector, Mode};
use serde_json::Value;

/// Members that hold no text for people: ids, media, and what their provider wants back unchanged.
const SKIPPED: [&str; 17] = [
    "type",
    "role",
    "id",
    "tool_call_id",
    "tool_use_id",
    "item_id",
    "mimeType",
    "mime_type",
    "media_type",
    "data",
    "blob",
    "source",
    "image_url",
    "input_audio",
    "file",
    "signature",
    "encrypted_content",
];

/// Members that hold data, in which names of members say what a number is.
const DATA: [&str; 2] = ["input", "structuredContent"];

/// What to do about findings while looking through JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Counted,
    Masked,
    /// Masked, but for reasoning that its provider signed or wants back unchanged. Only what a model said has such.
    MaskedUnlessSigned,
}

impl Finding {
    pub(super) fn is_masked(self) -> bool {
        match self {
            Self::Counted => false,
            Self::Masked | Self::MaskedUnlessSigned => true,
        }
    }
}

/// Looks through a text, which may be JSON. The text with masks, if anything was found.
pub(super) fn masked_text(detector: &Detector, text: &str, counts: &mut Counts) -> Option<String> {
    // Data in text says by the names of its members what a number is.
    if text.trim_start().starts_with(['{', '['])
        && let Ok(Applied::Passed { output, report }) = detector.apply_json_text(text, Mode::Mask)
    {
        counts.merge(report.counts);
        return (!report.is_empty()).then(|| output.into_owned());
    }
    let Applied::Passed { output, report } = detector.apply(text, Mode::Mask) else { return None };
    counts.add_all(&report);
    (!report.is_empty()).then(|| output.into_owned())
}

/// Looks through all texts of a message or a result of MCP, as deep as it is nested.
pub(super) fn look_through(detector: &Detector, value: &mut Value, found: Finding, counts: &mut Counts) {
    match value {
        Value::String(text) => {
            if let Some(masked) = masked_text(detector, text, counts)
                && found.is_masked()
            {
                *text = masked;
            }
        }
        Value::Array(items) => {
            for item in items {
                look_through(detector, item, found, counts);
            }
        }
        Value::Object(members) if found == Finding::MaskedUnlessSigned && is_signed(members) => {}
        Value::Object(members) => {
            for (name, member) in members {
                if DATA.contains(&name.as_str()) && !member.is_string() {
                    look_through_data(detector, member, found, counts);
                } else if !SKIPPED.contains(&name.as_str()) {
                    look_through(detector, member, found, counts);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn look_through_data(detector: &Detector, data: &mut Value, found: Finding, counts: &mut Counts) {
    let Applied::Passed { output, report } = detector.apply_json(data, Mode::Mask) else { return };
    counts.merge(report.counts);
    if found.is_masked() && !report.is_empty() {
        *data = output.into_owned();
    }
}

/// Whether this is reasoning that its provider signed or wants back unchanged.
fn is_signed(members: &serde_json::Map<String, Value>) -> bool {
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
    let has_proof = || ["signature", "payload"].iter().any(|name| members.contains_key(*name));
    match kind {
        "opaque" | "redacted_thinking" => true,
        "thinking" | "reasoning.text" => has_proof(),
        _ => false,
    }
}
