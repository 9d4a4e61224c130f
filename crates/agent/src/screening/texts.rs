//! Looking through texts and JSON.

use gateway_privacy::{Applied, Counts, Detector, Mode};
use serde_json::{Map, Value};

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
        && let Ok((masked, found)) = detector.mask_blocks(text)
    {
        counts.merge(found);
        return (!found.is_empty()).then(|| masked.into_owned());
    }
    let Applied::Passed { output, report } = detector.apply(text, Mode::Mask) else { return None };
    counts.add_all(&report);
    (!report.is_empty()).then(|| output.into_owned())
}

/// Looks through all texts of a message or a result of MCP, as deep as it is nested.
pub(super) fn look_through(detector: &Detector, value: &mut Value, found: Finding, counts: &mut Counts) {
    let mut look = Look { detector, found, counts: Counts::default(), is_data: false };
    look.value(value);
    counts.merge(look.counts);
}

struct Look<'a> {
    detector: &'a Detector,
    found: Finding,
    counts: Counts,
    /// Whether this is a part of a block that nobody knows.
    is_data: bool,
}

impl Look<'_> {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(masked) = masked_text(self.detector, text, &mut self.counts)
                    && self.found.is_masked()
                {
                    *text = masked;
                }
            }
            Value::Array(items) => {
                for item in &mut *items {
                    self.value(item);
                }
                self.joined(items);
            }
            Value::Object(members) => self.object(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>) {
        if self.found == Finding::MaskedUnlessSigned && is_signed(members) {
            return;
        }
        let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(skipped) = skipped_members(&kind) else {
            return self.unknown(members);
        };
        for (name, member) in members {
            let name = name.as_str();
            let is_proof = name == "signature" && self.found == Finding::MaskedUnlessSigned;
            if skipped.contains(&name) || is_proof {
                continue;
            }
            if DATA.contains(&name) && !member.is_string() {
                self.data(member);
            } else if let (Value::Object(resource), "resource", "resource") = (&mut *member, &*kind, name) {
                for (_, member) in resource.iter_mut().filter(|(name, _)| *name != "blob") {
                    self.value(member);
                }
            } else {
                self.value(member);
            }
        }
    }

    /// A block of a type that nobody knows is data: nothing of it is taken for an id or media, and names and numbers count too.
    fn unknown(&mut self, members: &mut Map<String, Value>) {
        if self.is_data {
            return members.values_mut().for_each(|member| self.value(member));
        }
        let mut masked = members.clone();
        let mut inside = Look {
            detector: self.detector,
            found: Finding::Masked,
            counts: Counts::default(),
            is_data: true,
        };
        masked.values_mut().for_each(|member| inside.value(member));
        let mut masked = Value::Object(masked);
        inside.data(&mut masked);
        self.counts.merge(inside.counts);
        if let (true, Value::Object(masked)) = (self.found.is_masked(), masked) {
            *members = masked;
        }
    }

    /// Data, in which names of members say what a number is.
    fn data(&mut self, data: &mut Value) {
        let Applied::Passed { output, report } = self.detector.apply_json(data, Mode::Mask) else { return };
        self.counts.merge(report.counts);
        if self.found.is_masked() && !report.is_empty() {
            *data = output.into_owned();
        }
    }

    /// What begins in the text of one item and ends in that of another: models read them as one.
    fn joined(&mut self, items: &mut [Value]) {
        let is_kept = |item: &&mut Value| {
            let signed = item.as_object().is_some_and(is_signed);
            self.found != Finding::MaskedUnlessSigned || !signed
        };
        let mut texts: Vec<&mut String> = items.iter_mut().filter(is_kept).filter_map(block_text).collect();
        if texts.len() < 2 {
            return;
        }
        // What each holds by itself is counted already, and masked if it may be.
        let mut counted = Counts::default();
        let alone: Vec<String> = texts
            .iter()
            .map(|text| masked_text(self.detector, text, &mut counted).unwrap_or_else(|| (**text).clone()))
            .collect();
        let Some((masked, counts)) = self.detector.mask_joined(&alone) else { return };
        self.counts.merge(counts);
        if self.found.is_masked() {
            for (text, masked) in texts.iter_mut().zip(masked) {
                **text = masked;
            }
        }
    }
}

/// Members that hold data.
const DATA: [&str; 2] = ["input", "structuredContent"];

/// The members of a block that hold no text for people: media, ids, and what their provider wants back unchanged. `None` if nobody
/// knows the type.
fn skipped_members(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "text" | "document" | "input_text" | "output_text" | "refusal" | "resource" | "resource_link" => &[],
        // Messages, and objects inside of blocks.
        "" => &["tool_call_id"],
        // Blocks of MCP; those of APIs have a source, which is one of the next.
        "image" | "audio" | "base64" => &["data"],
        "url" => &["url"],
        "image_url" | "input_image" => &["image_url", "file_id"],
        "input_audio" => &["input_audio"],
        "file" | "input_file" => &["file", "file_data", "file_id", "file_url"],
        "function" | "tool_use" | "tool_result" => &["id", "item_id", "tool_use_id", "signature"],
        "thinking" | "redacted_thinking" | "opaque" => &["signature", "data"],
        "reasoning.text" | "reasoning.summary" | "reasoning.encrypted" => &["id", "signature", "data"],
        _ => return None,
    })
}

/// The text of an item, also of a resource.
fn block_text(item: &mut Value) -> Option<&mut String> {
    let has_resource = item.get("resource").is_some_and(Value::is_object);
    let pointer = match item {
        Value::String(_) => "",
        _ if has_resource => "/resource/text",
        _ => "/text",
    };
    match item.pointer_mut(pointer)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Whether this is reasoning that its provider signed or wants back unchanged.
fn is_signed(members: &Map<String, Value>) -> bool {
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
    let has_proof = || ["signature", "payload"].iter().any(|name| members.contains_key(*name));
    match kind {
        "opaque" | "redacted_thinking" => true,
        "thinking" | "reasoning.text" => has_proof(),
        _ => false,
    }
}
