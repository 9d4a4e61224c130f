//! The little XML in which models write tool use.

use serde_json::{Map, Value};

use super::{
    prose::Verdict,
    typed::{guess, typed_text},
};
use crate::arguments::{Kinds, accepted_kinds, resolve};
use crate::json::from_str;

/// Elements inside elements that become objects inside objects.
const MAX_DEPTH: u32 = 64;
/// Bytes within which a tag's attributes have to end.
const MAX_TAG: usize = 512;
const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Finds where an element ends, also when more text comes later. Elements of the same name inside it are counted,
/// character data is skipped.
#[derive(Clone, Debug)]
pub(super) struct CloseFinder {
    name: String,
    at: usize,
    depth: u32,
    cdata: bool,
}

impl CloseFinder {
    /// For the element `name` whose content starts at `body`.
    pub(super) fn new(name: &str, body: usize) -> Self {
        Self { name: name.to_owned(), at: body, depth: 1, cdata: false }
    }

    /// Where the closing tag starts and ends in `text`, which only ever grows between calls.
    pub(super) fn find(&mut self, text: &str) -> Option<(usize, usize)> {
        loop {
            let rest = text.get(self.at..)?;
            if self.cdata {
                let Some(end) = rest.find(CDATA_END) else {
                    self.at = text.floor_char_boundary(text.len().saturating_sub(2).max(self.at));
                    return None;
                };
                self.at += end + CDATA_END.len();
                self.cdata = false;
                continue;
            }
            let Some(start) = rest.find('<') else {
                self.at = text.len();
                return None;
            };
            self.at += start;
            let tag = text.get(self.at..)?;
            if tag.starts_with(CDATA) {
                self.cdata = true;
                self.at += CDATA.len();
                continue;
            }
            match self.own_tag(tag) {
                OwnTag::Unclear => return None,
                OwnTag::Other => self.at += 1,
                OwnTag::Open => {
                    self.depth += 1;
                    self.at += 1;
                }
                OwnTag::Close(length) => {
                    let start = self.at;
                    self.at += length;
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some((start, self.at));
                    }
                }
            }
        }
    }

    fn own_tag(&self, tag: &str) -> OwnTag {
        let cut = |whole: &str| whole.starts_with(tag);
        if cut(CDATA) {
            return OwnTag::Unclear;
        }
        let closing = tag.strip_prefix("</");
        let Some(after) =
            closing.unwrap_or(tag.get(1..).unwrap_or_default()).strip_prefix(self.name.as_str())
        else {
            let unclear = cut(&format!("</{}", self.name)) || cut(&format!("<{}", self.name));
            return if unclear { OwnTag::Unclear } else { OwnTag::Other };
        };
        let trimmed = after.trim_start();
        match (closing.is_some(), trimmed.chars().next()) {
            (_, None) if after.len() > MAX_TAG => OwnTag::Other,
            (_, None) => OwnTag::Unclear,
            (true, Some('>')) => OwnTag::Close(tag.len() - trimmed.len() + 1),
            (false, Some('>')) => OwnTag::Open,
            // With attributes, or empty: an empty element needs no closing.
            (false, Some(_)) if trimmed.len() < after.len() => match after.find('>') {
                None if after.len() > MAX_TAG => OwnTag::Other,
                None => OwnTag::Unclear,
                Some(end) if after.get(..end).is_some_and(|inside| inside.ends_with('/')) => OwnTag::Other,
                Some(_) => OwnTag::Open,
            },
            (_, Some(_)) => OwnTag::Other,
        }
    }
}

enum OwnTag {
    Open,
    /// The length of the closing tag.
    Close(usize),
    Other,
    /// The text ends inside the tag.
    Unclear,
}

/// The name of the tag with which `text` starts, and where the tag ends.
pub(super) fn opening_tag(text: &str, max: usize) -> Verdict<(&str, usize)> {
    let Some(rest) = text.strip_prefix('<') else { return Verdict::No };
    let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    let name = rest.get(..length).unwrap_or_default();
    if length > max || name.starts_with(|c: char| !(c.is_ascii_alphabetic() || c == '_')) {
        return Verdict::No;
    }
    let after = rest.get(length..).unwrap_or_default();
    match after.chars().next() {
        None => Verdict::Perhaps,
        Some(_) if name.is_empty() => Verdict::No,
        Some(next) if next == '>' || next == '/' || next.is_whitespace() => match after.find(['>', '<']) {
            Some(end) if after.get(end..).is_some_and(|tail| tail.starts_with('>')) && end <= max => {
                Verdict::Yes((name, 1 + length + end + 1))
            }
            Some(_) => Verdict::No,
            None if after.len() > max => Verdict::No,
            None => Verdict::Perhaps,
        },
        Some(_) => Verdict::No,
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// The arguments in a tool's element; `None` when it is malformed or mere text in a tag.
pub(super) fn element_arguments(inner: &str, schema: Option<&Value>) -> Option<Map<String, Value>> {
    let children = children(inner)?;
    if children.is_empty() {
        let (text, _) = decode(inner);
        return match from_str(text.trim()) {
            Ok(Value::Object(map)) => Some(map),
            _ if text.trim().is_empty() => Some(Map::new()),
            _ => None,
        };
    }
    let root = schema.unwrap_or(&Value::Bool(true));
    Some(members(root, root, &children, 0))
}

fn members(root: &Value, schema: &Value, children: &[(&str, &str)], depth: u32) -> Map<String, Value> {
    let properties = resolve(root, schema).get("properties");
    let mut out: Map<String, Value> = Map::new();
    for (name, raw) in children {
        let schema = properties.and_then(|properties| properties.get(*name));
        let value = value_of(root, schema, raw, depth);
        let Some(before) = out.get_mut(*name) else {
            out.insert((*name).to_owned(), value);
            continue;
        };
        // The same parameter again is one more item of a list.
        let more = match value {
            Value::Array(items) if schema.is_some_and(|schema| wants_list(root, schema)) => items,
            other => vec![other],
        };
        match before {
            Value::Array(items) => items.extend(more),
            single => {
                let first = single.take();
                *single = Value::Array(std::iter::once(first).chain(more).collect());
            }
        }
    }
    out
}

fn wants_list(root: &Value, schema: &Value) -> bool {
    let kinds = accepted_kinds(root, schema);
    kinds.has(Kinds::ARRAY) && !kinds.has(Kinds::STRING)
}

fn value_of(root: &Value, schema: Option<&Value>, raw: &str, depth: u32) -> Value {
    let (text, verbatim) = decode(raw);
    let word = if verbatim { text.as_str() } else { text.trim() };
    let Some(schema) = schema else {
        return if verbatim { Value::String(text) } else { guess(word) };
    };
    let kinds = accepted_kinds(root, schema);
    if kinds == Kinds::ALL || kinds.has(Kinds::STRING) || depth >= MAX_DEPTH {
        return typed_text(word, kinds);
    }
    let inside = children(raw).unwrap_or_default();
    if kinds.has(Kinds::OBJECT) && !inside.is_empty() {
        return Value::Object(members(root, schema, &inside, depth + 1));
    }
    if kinds.has(Kinds::ARRAY) && !word.starts_with('[') {
        let items = resolve(root, schema).get("items").filter(|items| items.is_object());
        if !inside.is_empty() {
            return Value::Array(
                inside.iter().map(|(_, raw)| value_of(root, items, raw, depth + 1)).collect(),
            );
        }
        let single = if word.is_empty() { Vec::new() } else { vec![value_of(root, items, raw, depth + 1)] };
        return Value::Array(single);
    }
    typed_text(word, kinds)
}

/// The elements directly inside, with their raw content; `None` when one has no end.
fn children(inner: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = inner.get(at..).and_then(|rest| rest.find('<')) {
        at += start;
        let rest = inner.get(at..)?;
        if let Some(data) = rest.strip_prefix(CDATA) {
            at += CDATA.len() + data.find(CDATA_END)? + CDATA_END.len();
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            at += "<!--".len() + comment.find("-->")? + "-->".len();
        } else if rest.starts_with("</") {
            return None;
        } else if let Verdict::Yes((name, body)) = opening_tag(rest, rest.len()) {
            if rest.get(..body).is_some_and(|tag| tag.ends_with("/>")) {
                found.push((name, ""));
                at += body;
            } else {
                let (inner_end, end) = CloseFinder::new(name, body).find(rest)?;
                found.push((name, rest.get(body..inner_end)?));
                at += end;
            }
        } else {
            at += 1;
        }
    }
    Some(found)
}

/// Text with its entities and character data decoded, and whether there was character data.
fn decode(raw: &str) -> (String, bool) {
    let mut out = String::with_capacity(raw.len());
    let mut verbatim = false;
    let mut rest = raw;
    while let Some(start) = rest.find(['&', '<']) {
        out.push_str(rest.get(..start).unwrap_or_default());
        rest = rest.get(start..).unwrap_or_default();
        let data = rest.strip_prefix(CDATA).and_then(|data| data.split_once(CDATA_END));
        if let Some((data, after)) = data {
            if !verbatim {
                // White space before the first section is layout.
                out.truncate(out.trim_end().len());
                verbatim = true;
            }
            out.push_str(data);
            rest = if after.trim().is_empty() { "" } else { after };
        } else if let Some((character, length)) = entity(rest) {
            out.push(character);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let first = rest.chars().next().unwrap_or_default();
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    (out, verbatim)
}

/// The character that an entity at the start of `text` stands for, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let character = match text.get(1..end).filter(|_| text.starts_with('&'))? {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, end + 1))
}
