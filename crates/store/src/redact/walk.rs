//! One pass over JSON text that finds secrets and blobs. It is not recursive, so depth does not matter.

use std::borrow::Cow;

use super::{
    QUOTED,
    containers::{Array, Container, Object},
    edits::{Edit, applied, shifted},
    encodings::Encoding,
    nesting::Ends,
    pairs,
    placeholders::{is_harmless_word, is_placeholder},
    rules::{Path, Rules},
    secret_names::Kind,
    text,
    value::{is_code_value, is_random},
};

/// The redacted JSON; `None` if nothing has to be redacted. The text must be valid JSON.
pub(super) fn redact(json: &str, rules: &Rules, paths: &[&Path]) -> Option<String> {
    let secrets = !paths.is_empty() || rules.may_hold_secret(json);
    let blobs = json.len() > SHORTEST_BLOB && rules.blobs.found_in(json);
    if !secrets && !blobs {
        return None;
    }
    applied(json, &edits(json, rules, paths, 0))
}

/// The edits, in the order of the text, which must be JSON or a prefix of it.
pub(super) fn edits(json: &str, rules: &Rules, paths: &[&Path], depth: usize) -> Vec<Edit> {
    let mut walk = Walk {
        json,
        ends: Ends::of(json),
        rules,
        paths,
        depth,
        edits: Vec::new(),
        at: 0,
        open: Vec::new(),
        path: Vec::new(),
    };
    walk.run();
    walk.edits
}

/// Shorter base64 text is kept.
pub(super) const SHORTEST_BLOB: usize = 256;

struct Walk<'a> {
    json: &'a str,
    ends: Ends,
    rules: &'a Rules,
    paths: &'a [&'a Path],
    depth: usize,
    edits: Vec<Edit>,
    at: usize,
    open: Vec<Container<'a>>,
    /// The names of the open containers.
    path: Vec<Cow<'a, str>>,
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
                (b'"', Some(Container::Object(_))) => {
                    let key = self.key();
                    self.value(key);
                }
                (_, Some(Container::Array(array))) => {
                    let index = array.next;
                    array.next += 1;
                    let key =
                        if self.paths.is_empty() { Cow::Borrowed("") } else { Cow::Owned(index.to_string()) };
                    self.value(key);
                }
                (_, None) => self.value(Cow::Borrowed("")),
                (_, Some(Container::Object(_))) => self.at += 1,
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.json.get(from..to).unwrap_or_default()
    }

    /// Reads a key and advances to its value.
    fn key(&mut self) -> Cow<'a, str> {
        let start = self.at;
        self.at = string_end(self.json, start);
        let key = unescape(self.slice(start, self.at));
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r' | b':')) {
            self.at += 1;
        }
        key
    }

    /// Reads a value, or enters it if it is an object or array that has to be searched.
    fn value(&mut self, key: Cow<'a, str>) {
        let start = self.at;
        let in_object = matches!(self.open.last(), Some(Container::Object(_)));
        if (in_object && self.rules.is_configured(&key)) || self.is_listed(&key) {
            return self.redact_value(start);
        }
        let kind = match self.open.last() {
            Some(Container::Object(object)) => object.kind_of(&key),
            Some(Container::Array(array)) => array.kind_of_element(),
            None => None,
        };
        match self.byte() {
            Some(bracket @ (b'{' | b'[')) => {
                let is_login = bracket == b'[' && key.eq_ignore_ascii_case("auth");
                if kind.is_some_and(|kind| takes_containers(kind, &key) || is_login)
                    && !pairs::is_description(self.json, start, &self.ends)
                    && !self.is_empty_at(start)
                {
                    return self.redact_value(start);
                }
                let container = if bracket == b'{' {
                    let parent = self.open.last();
                    Container::Object(Object::new(self.json, start, &self.ends, parent, &key))
                } else {
                    Container::Array(Array::new(self.json, start, &mut self.open, &key, kind))
                };
                self.enter(key, container);
            }
            Some(b'"') => {
                self.at = string_end(self.json, start);
                let string = self.slice(start, self.at);
                self.string(start, string, &key, kind);
            }
            Some(byte) => {
                self.at = value_end(self.json, start);
                let number = self.slice(start, self.at);
                let digits = number.bytes().filter(u8::is_ascii_digit).count();
                let taken = (byte.is_ascii_digit() || byte == b'-')
                    && match kind {
                        Some(Kind::Password) => {
                            !matches!(key.to_ascii_lowercase().as_str(), "pass" | "passwords")
                        }
                        Some(Kind::Secret) => !key.ends_with('s'),
                        Some(Kind::Token) => digits >= 6,
                        Some(Kind::Code) => digits >= 4,
                        Some(Kind::Random | Kind::Address) | None => false,
                    };
                if taken {
                    self.replace(start, QUOTED);
                }
                self.remember_element(None);
            }
            None => self.at = value_end(self.json, start),
        }
    }

    /// Replaces the value at `start`, whatever it is.
    fn redact_value(&mut self, start: usize) {
        self.at = value_end(self.json, start);
        self.replace(start, QUOTED);
        self.remember_element(None);
    }

    fn is_empty_at(&self, start: usize) -> bool {
        matches!(self.slice(start, self.json.len()).get(1..).map(str::trim_start), Some(rest) if rest.starts_with(['}', ']']))
    }

    fn string(&mut self, start: usize, string: &'a str, key: &str, kind: Option<Kind>) {
        let content = unescape(string);
        let kind = kind.or_else(|| self.kind_of_element(&content));
        if kind.is_some_and(|kind| is_secret(kind, &content)) || self.is_line_of_key(&content) {
            self.replace(start, QUOTED);
        } else if let Some(note) = blob_note(key, string) {
            if !self.rules.keeps_blobs {
                self.replace(start, note);
            }
        } else {
            let found = match self.password_of_user(&content) {
                Some(range) => vec![Edit::redacted(range)],
                None => text::edits(&content, self.rules, self.rules.hints_in(string), self.depth),
            };
            // Only the secrets inside the quotes are replaced; the rest of the string stays unchanged.
            let raw = inside_quotes(string);
            self.edits.extend(shifted(Encoding::Backslashes.translate(raw, found), start + 1));
        }
        self.remember_element(Some(content));
    }

    /// Keeps an element for judging the next one.
    fn remember_element(&mut self, content: Option<Cow<'a, str>>) {
        if let Some(Container::Array(array)) = self.open.last_mut() {
            if array.first.is_none() {
                array.first.clone_from(&content);
            }
            array.previous = content;
        }
    }

    /// What the previous element says about this one: `["--password", "x"]`, `[["PASSWORD", "x"]]`.
    fn kind_of_element(&self, content: &str) -> Option<Kind> {
        let Some(Container::Array(array)) = self.open.last() else { return None };
        let previous = array.previous.as_deref()?;
        if previous.len() > 64 {
            return None;
        }
        pairs::kind_after(previous, array.first.as_deref(), content, array.is_nested && array.next == 2)
    }

    /// Whether this element is a line of a private key whose first line was an earlier element.
    fn is_line_of_key(&mut self, content: &str) -> bool {
        let Some(Container::Array(array)) = self.open.last_mut() else { return false };
        if content.contains("-----") {
            array.in_private_key = content.contains("-----BEGIN ") && content.contains("PRIVATE KEY");
            return false;
        }
        array.in_private_key
    }

    /// The password of `["-u", "user:password"]`.
    fn password_of_user(&self, content: &str) -> Option<std::ops::Range<usize>> {
        let Some(Container::Array(array)) = self.open.last() else { return None };
        let previous = array.previous.as_deref()?;
        let is_flag = matches!(previous, "-u" | "--user" | "--proxy-user");
        let (user, password) = content.split_once(':').filter(|_| is_flag)?;
        let numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_port_pair = numbers(user) && numbers(password);
        (!password.is_empty() && !is_port_pair).then_some(user.len() + 1..content.len())
    }

    fn enter(&mut self, key: Cow<'a, str>, container: Container<'a>) {
        self.remember_element(None);
        // The outermost container has no path segment; an empty one keeps both stacks the same height.
        self.path.push(key);
        self.open.push(container);
        self.at += 1;
    }

    /// Whether a path rule names the value of `key` in the innermost container.
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

    fn replace(&mut self, start: usize, by: impl Into<Cow<'static, str>>) {
        self.edits.push(Edit { range: start..self.at.min(self.json.len()), by: by.into() });
    }
}

/// The replacement of a long base64 text: `data` of image and audio blocks, `blob` of resources, `data:` URLs.
fn blob_note(key: &str, string: &str) -> Option<String> {
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

/// Whether arrays and objects of this kind are secrets as a whole; those of `auth` and `session` are settings.
fn takes_containers(kind: Kind, key: &str) -> bool {
    match kind {
        Kind::Password | Kind::Secret => true,
        Kind::Token => !key.to_ascii_lowercase().ends_with("auth"),
        Kind::Code | Kind::Random | Kind::Address => false,
    }
}

/// Whether a string of this kind is a secret.
fn is_secret(kind: Kind, content: &str) -> bool {
    if is_placeholder(content) {
        return false;
    }
    match kind {
        Kind::Password => {
            let is_path =
                content.starts_with("~/") || (content.starts_with('/') && content.matches('/').count() > 1);
            !is_path && !is_harmless_word(content)
        }
        Kind::Secret | Kind::Token => !is_harmless_word(content),
        Kind::Code => is_code_value(content),
        Kind::Random => is_random(content),
        Kind::Address => content.contains('@') && content.contains(':') && !content.contains("://"),
    }
}

pub(super) fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
}

/// The content of a JSON string with quotes. The last string of a truncated text may lack its closing quote.
pub(super) fn unescape(string: &str) -> Cow<'_, str> {
    Encoding::Backslashes.decode(inside_quotes(string))
}

fn inside_quotes(string: &str) -> &str {
    let content = string.strip_prefix('"').unwrap_or(string);
    match content.strip_suffix('"') {
        // An escaped quote at the end of a truncated text does not close the string.
        Some(inner) if inner.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0 => inner,
        _ => content,
    }
}

/// The position after the string that starts at `start`.
pub(super) fn string_end(json: &str, start: usize) -> usize {
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

/// The position after the value that starts at `start`.
pub(super) fn value_end(json: &str, start: usize) -> usize {
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
