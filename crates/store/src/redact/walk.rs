//! One pass over JSON text that copies it and leaves out secrets and blobs. It keeps order, numbers and spaces as
//! they are, and has no recursion, so depth does not matter.

use std::borrow::Cow;

use super::{
    REDACTED,
    rules::{Path, Rules},
    text,
};

/// The JSON without what must not be written, or nothing if it can stay as it is. The text must be valid JSON.
pub(super) fn redact(json: &str, rules: &Rules, paths: &[&Path]) -> Option<String> {
    let secrets = !paths.is_empty() || rules.may_hold_secret(json);
    let blobs = json.len() > SHORTEST_BLOB && rules.blobs.as_ref().is_some_and(|words| words.found_in(json));
    if !secrets && !blobs {
        return None;
    }
    redact_nested(json, rules, paths, 0)
}

pub(super) fn redact_nested(json: &str, rules: &Rules, paths: &[&Path], depth: usize) -> Option<String> {
    let mut walk = Walk {
        json,
        rules,
        paths,
        depth,
        out: String::new(),
        copied: 0,
        at: 0,
        open: Vec::new(),
        path: Vec::new(),
    };
    walk.run();
    (walk.copied > 0).then(|| {
        walk.out.push_str(json.get(walk.copied..).unwrap_or_default());
        walk.out
    })
}

/// Shorter base64 text is kept.
const SHORTEST_BLOB: usize = 256;

struct Walk<'a> {
    json: &'a str,
    rules: &'a Rules,
    paths: &'a [&'a Path],
    depth: usize,
    out: String,
    /// Everything before this place is in `out`; zero means that nothing was changed yet.
    copied: usize,
    at: usize,
    open: Vec<Container>,
    /// Where we are, kept only if there are rules about places.
    path: Vec<Cow<'a, str>>,
}

enum Container {
    Object,
    Array { next: usize },
}

impl<'a> Walk<'a> {
    fn run(&mut self) {
        while let Some(byte) = self.byte() {
            match (byte, self.open.last_mut()) {
                (b' ' | b'\t' | b'\n' | b'\r' | b',' | b':', _) => self.at += 1,
                (b'}' | b']', _) => {
                    self.at += 1;
                    self.open.pop();
                    self.path.pop();
                }
                (b'"', Some(Container::Object)) => {
                    let key = self.key();
                    self.value(key);
                }
                (_, Some(Container::Array { next })) => {
                    let index = *next;
                    *next += 1;
                    let key =
                        if self.paths.is_empty() { Cow::Borrowed("") } else { Cow::Owned(index.to_string()) };
                    self.value(key);
                }
                (_, None) => self.value(Cow::Borrowed("")),
                (_, Some(Container::Object)) => self.at += 1,
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.json.get(from..to).unwrap_or_default()
    }

    /// Reads a key and goes on to its value.
    fn key(&mut self) -> Cow<'a, str> {
        let start = self.at;
        self.at = string_end(self.json, start);
        let key = unescape(self.slice(start, self.at));
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r' | b':')) {
            self.at += 1;
        }
        key
    }

    /// Reads a value, or only its beginning if it is an object or array that must be looked into.
    fn value(&mut self, key: Cow<'a, str>) {
        let start = self.at;
        let in_object = matches!(self.open.last(), Some(Container::Object));
        if (in_object && self.rules.is_sensitive(&key)) || self.is_listed(&key) {
            self.at = value_end(self.json, start);
            self.replace(start, &format!("\"{REDACTED}\""));
            return;
        }
        match self.byte() {
            Some(b'{') => self.enter(key, Container::Object),
            Some(b'[') => self.enter(key, Container::Array { next: 0 }),
            Some(b'"') => {
                self.at = string_end(self.json, start);
                let string = self.slice(start, self.at);
                if let Some(note) = self.blob_note(&key, string) {
                    self.replace(start, &note);
                } else if self.rules.may_hold_secret(string)
                    && let Some(clean) = text::redact_nested(&unescape(string), self.rules, self.depth)
                {
                    self.replace(start, &serde_json::Value::from(clean).to_string());
                }
            }
            Some(_) | None => self.at = value_end(self.json, start),
        }
    }

    fn enter(&mut self, key: Cow<'a, str>, container: Container) {
        // The outermost container has no segment of its own; an empty one keeps both lists in step.
        self.path.push(key);
        self.open.push(container);
        self.at += 1;
    }

    /// Whether a rule names the value of `key` in the container that is open.
    fn is_listed(&self, key: &str) -> bool {
        self.paths.iter().any(|rule| {
            rule.segments.len() == self.path.len()
                && self
                    .path
                    .iter()
                    .skip(1)
                    .map(AsRef::as_ref)
                    .chain([key])
                    .zip(&rule.segments)
                    .all(|(here, segment)| segment == "*" || segment == here)
        })
    }

    fn replace(&mut self, start: usize, by: &str) {
        self.out.push_str(self.slice(self.copied, start));
        self.out.push_str(by);
        self.copied = self.at;
    }

    /// What stands for a long base64 text: `data` of image and audio blocks, `blob` of resources, `data:` addresses.
    fn blob_note(&self, key: &str, string: &str) -> Option<String> {
        self.rules.blobs.as_ref()?;
        let inner = string.get(1..string.len().checked_sub(1)?)?;
        if inner.len() < SHORTEST_BLOB {
            return None;
        }
        let (before, base64) = if matches!(key, "data" | "blob") && is_base64(inner) {
            ("", inner)
        } else {
            let (media_type, base64) = inner.strip_prefix("data:")?.split_once(";base64,")?;
            if media_type.len() > 128 || !is_base64(base64) {
                return None;
            }
            (inner.get(..inner.len() - base64.len())?, base64)
        };
        let bytes = base64.trim_end_matches('=').len() * 3 / 4;
        Some(format!("\"{before}[{bytes} bytes of base64]\""))
    }
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
}

/// The content of a JSON string that still has its quotes.
fn unescape(string: &str) -> Cow<'_, str> {
    if string.contains('\\')
        && let Ok(text) = serde_json::from_str::<String>(string)
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(string.get(1..string.len().saturating_sub(1)).unwrap_or_default())
}

/// The place after the string that starts at `start`.
fn string_end(json: &str, start: usize) -> usize {
    let bytes = json.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The place after the value that starts at `start`.
fn value_end(json: &str, start: usize) -> usize {
    let bytes = json.as_bytes();
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(json, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return at,
            b' ' | b'\t' | b'\n' | b'\r' if depth == 0 && at > start => return at,
            _ => at += 1,
        }
        if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
            return at;
        }
    }
    at.max(start + 1).min(bytes.len().max(start + 1))
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
