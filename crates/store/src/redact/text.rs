//! Secrets inside strings: tokens with known prefixes, values of sensitive names, passwords in URLs.

use std::{borrow::Cow, iter::Peekable, ops::Range, vec};

use super::{
    Form, assignments, code, commands,
    edits::{Edit, applied, merged, shifted},
    encodings::Encoding,
    expressions,
    hints::Hint,
    islands, markup,
    needles::begins_word,
    phrases,
    placeholders::{is_harmless_word, is_placeholder},
    rules::{Rules, SCHEMES},
    secret_names::fold,
    secrets::{Secrets, work},
    shapes, tables,
    value::{is_random, looks_like_password},
    walk,
};

/// The redacted text; `None` if it has no secrets.
pub(super) fn redact(text: &str, rules: &Rules) -> Option<String> {
    // Most texts have none. This check is cheaper than finding out which secrets a text may hold.
    if !rules.may_hold_secret(text) {
        return None;
    }
    applied(text, &edits(text, rules, rules.hints_in(text), 0))
}

/// Tools often answer with JSON inside a string, which may hold JSON inside a string again.
const DEEPEST_NESTED_JSON: usize = 6;

/// The secrets of a text with these hints, at this depth of nested texts, in the order of the text.
pub(super) fn edits(text: &str, rules: &Rules, hints: Hint, depth: usize) -> Vec<Edit> {
    if hints.is_none() {
        return Vec::new();
    }
    if depth >= DEEPEST_NESTED_JSON {
        return merged(search(text, rules, hints));
    }
    let mut found = Vec::new();
    let mut is_cut = false;
    if text.trim_start().starts_with(['{', '[', '"']) {
        match Form::of(text) {
            Form::Json => return walk::edits(text, rules, &[], depth + 1),
            // Its last string may be truncated as well, so it is searched as text too.
            Form::CutJson => {
                is_cut = true;
                found = walk::edits(text, rules, &[], depth + 1);
            }
            Form::Other => {}
        }
    }
    let mut searched = merged(search(text, rules, hints)).into_iter().peekable();
    if !is_cut {
        let names =
            hints.contains(Hint::NAMES) || hints.contains(Hint::COMMANDS) || hints.contains(Hint::MEMBERS);
        let mut at = 0;
        // Parts outside of islands may be escaped or encoded. No byte is read twice at one depth.
        for island in if names { islands::find(text) } else { Vec::new() } {
            decoded(text, at..island.range.start, rules, depth, &mut searched, &mut found);
            found.extend(island.edits(text, rules, depth + 1));
            at = island.range.end;
        }
        decoded(text, at..text.len(), rules, depth, &mut searched, &mut found);
    }
    found.extend(searched);
    merged(found)
}

/// Adds the secrets of a part of a text that is escaped or encoded. What was `searched` there before, in the order of the
/// text, is kept if the decoded text confirms it: escapes can look like values.
fn decoded(
    text: &str,
    part: Range<usize>,
    rules: &Rules,
    depth: usize,
    searched: &mut Peekable<vec::IntoIter<Edit>>,
    found: &mut Vec<Edit>,
) {
    let Range { start, end } = part;
    let part = text.get(part).unwrap_or_default();
    let Some(encoding) = Encoding::of(part) else { return };
    let decoded = encoding.decode(part);
    let inside = edits(&decoded, rules, rules.hints_in(&decoded), depth + 1);
    let inside: Vec<Edit> = shifted(encoding.translate(part, inside), start).collect();
    let lines = encoding.lines(part);
    let is_kept = |range: &Range<usize>| {
        let next = lines.partition_point(|line| start + line.end <= range.start);
        let is_encoded = lines.get(next).is_some_and(|line| start + line.start < range.end);
        let next = inside.partition_point(|edit| edit.range.end <= range.start);
        let is_confirmed = inside.get(next).is_some_and(|edit| edit.range.start < range.end);
        let is_read = || {
            let value = encoding.decode(text.get(range.clone()).unwrap_or_default());
            is_value(&value) || is_assigned(text, range, &value)
        };
        !is_encoded || is_confirmed || is_in_quotes(text, range) || is_read()
    };
    // Each edit is checked once, in the part that contains it.
    while let Some(edit) = searched.next_if(|edit| edit.range.start < start || edit.range.end <= end) {
        work::count(1);
        if edit.range.start < start || is_kept(&edit.range) {
            found.push(edit);
        }
    }
    found.extend(inside);
}

/// Whether a name directly precedes a part of a text with nothing encoded in between, and the part begins like a value.
fn is_assigned(text: &str, part: &Range<usize>, value: &str) -> bool {
    let before = text.get(..part.start).unwrap_or_default();
    let unquoted = before.strip_suffix(['\'', '"']).unwrap_or(before);
    let name = unquoted.strip_suffix(['=', ':']).unwrap_or_default();
    let is_named = name.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let is_quoted = unquoted.len() < before.len();
    is_named && (is_quoted || value.trim_start().starts_with(char::is_alphanumeric))
}

/// Whether a part of a text is in quotes of the text itself, so that escapes in it belong to it.
fn is_in_quotes(text: &str, part: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let quote = part.start.checked_sub(1).and_then(|before| bytes.get(before));
    quote.is_some_and(|quote| matches!(quote, b'"' | b'\''))
        && bytes.get(part.end) == quote
        && part.start.checked_sub(2).and_then(|before| bytes.get(before)) != Some(&b'\\')
}

/// Whether a decoded text is a plain value, not a piece of something structured.
fn is_value(text: &str) -> bool {
    let is_structure = |letter| {
        matches!(
            letter,
            '"' | '\'' | '<' | '>' | '=' | ';' | '(' | ')' | '{' | '}' | '[' | ']' | ':' | '&' | '\n'
        )
    };
    // A `+` may be one of base64, which percent-decoding turns into a space.
    is_random(&text.replace(['+', ' '], "")) || (!text.contains(is_structure) && looks_like_password(text))
}

/// The secrets recognised by their context.
fn search(text: &str, rules: &Rules, hints: Hint) -> Vec<Edit> {
    let plain = Plain::of(text);
    let found = search_plain(&plain.text, rules, hints);
    found.into_iter().map(|range| Edit::redacted(plain.raw(range.start)..plain.raw(range.end))).collect()
}

fn search_plain(text: &str, rules: &Rules, hints: Hint) -> Vec<Range<usize>> {
    let mut found = Secrets::new(text);
    let may_have = |hint: Hint| hints.contains(hint);
    if may_have(Hint::TOKENS) {
        tokens(text, rules, &mut found);
    }
    if may_have(Hint::NAMES) {
        assignments::find(text, rules, &mut found);
    }
    if may_have(Hint::ADDRESSES) {
        address_passwords(text, &mut found);
    }
    if may_have(Hint::SHAPES) {
        expressions::find(&shapes::FINDERS, text, &mut found);
    }
    if may_have(Hint::NAMES) || may_have(Hint::COMMANDS) {
        expressions::find(&commands::FINDERS, text, &mut found);
    }
    if may_have(Hint::NAMES) {
        expressions::find(&phrases::FINDERS, text, &mut found);
        markup::find(text, &mut found);
        code::find(text, &mut found);
        tables::find(text, &mut found);
    }
    found.ranges
}

/// A text with full-width letters as ordinary ones, without terminal colours.
struct Plain<'a> {
    text: Cow<'a, str>,
    /// The original position of every byte, if anything was changed.
    positions: Vec<usize>,
}

/// The start of a terminal colour sequence.
const COLOUR: &str = "\u{1b}[";

impl<'a> Plain<'a> {
    fn of(text: &'a str) -> Self {
        let is_wide = |letter: char| matches!(letter, '\u{ff01}'..='\u{ff5e}');
        if !text.contains(COLOUR) && (text.is_ascii() || !text.chars().any(is_wide)) {
            return Self { text: Cow::Borrowed(text), positions: Vec::new() };
        }
        let mut out = String::with_capacity(text.len());
        let mut positions = Vec::with_capacity(text.len() + 1);
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            out.push(fold(letter));
            positions.resize(out.len(), at);
            // Removing one sequence can leave the beginning of another.
            if letter == '[' && out.ends_with(COLOUR) {
                out.truncate(out.len() - COLOUR.len());
                positions.truncate(out.len());
                while letters.next_if(|(_, letter)| letter.is_ascii_digit() || *letter == ';').is_some() {}
                // A letter ends the sequence.
                letters.next_if(|(_, letter)| letter.is_ascii_alphabetic());
            }
        }
        positions.push(text.len());
        Self { text: Cow::Owned(out), positions }
    }

    /// The original position of a byte.
    fn raw(&self, at: usize) -> usize {
        self.positions.get(at).copied().unwrap_or(at)
    }
}

/// A token has at least this many characters after its prefix, so that words with the same prefix are left alone.
const SHORTEST_TOKEN: usize = 12;
/// The same after `Bearer ` within a text; a text that is only a header may have a token of any length.
const SHORTEST_BEARER: usize = 8;

fn tokens(text: &str, rules: &Rules, secrets: &mut Secrets) {
    let bytes = text.as_bytes();
    // Several prefixes can be in one run of characters, which is measured once.
    let mut run = 0..0;
    for (start, length) in rules.tokens.positions(text) {
        let secret = start + length;
        let (Some(prefix), true) = (text.get(start..secret), begins_word(bytes, start)) else { continue };
        let scheme = SCHEMES.iter().position(|scheme| prefix.eq_ignore_ascii_case(scheme));
        if scheme.is_none() && !rules.is_token_prefix(prefix) {
            continue;
        }
        if !run.contains(&secret) {
            let rest = bytes.get(secret..).unwrap_or_default();
            run = secret..secret + rest.iter().take_while(|byte| is_token_byte(**byte)).count();
            if !secrets.is_within_budget(run.len(), start) {
                return;
            }
        }
        let end = run.end;
        let rest = text.get(secret..end).unwrap_or_default();
        if !secrets.is_within_budget(rest.len(), start) {
            return;
        }
        let taken = match scheme {
            Some(_) if start == 0 && end == text.len() => !rest.is_empty(),
            Some(0) => rest.len() >= SHORTEST_BEARER && rest.bytes().any(|byte| !byte.is_ascii_lowercase()),
            Some(_) => rest.len() >= SHORTEST_BEARER && is_basic(rest),
            None => rest.len() >= SHORTEST_TOKEN && shapes::is_token(prefix, rest),
        };
        if taken {
            secrets.push(secret..end);
        }
    }
}

/// Whether a text is base64 of `user:password`, or looks like a token of another kind.
fn is_basic(text: &str) -> bool {
    let six = |byte: u8| -> Option<u32> {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }))
    };
    let mut bits = 0_u32;
    // Of four characters, each but the first completes a byte.
    let has_colon = text.bytes().map_while(six).enumerate().any(|(index, six)| {
        bits = (bits << 6) | six;
        index % 4 > 0 && (bits >> (6 - 2 * (index % 4))) & 255 == u32::from(b':')
    });
    has_colon || is_random(text)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=' | b'%')
}

/// A part of a text that may contain several URLs, with its last `@`.
#[derive(Default)]
struct Span {
    end: usize,
    last_at: Option<usize>,
}

impl Span {
    /// The span from `start` to the first character that ends it. A span found for an earlier URL holds for all URLs in it.
    fn update(&mut self, text: &str, start: usize, ends: fn(char) -> bool) -> usize {
        if start < self.end {
            return 0;
        }
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.find(ends).unwrap_or(rest.len());
        let last_at = rest.get(..length).and_then(|span| span.rfind('@')).map(|at| start + at);
        *self = Self { end: start + length, last_at };
        length
    }

    fn at_after(&self, start: usize) -> Option<usize> {
        self.last_at.filter(|at| *at >= start)
    }
}

/// `user:password` of `scheme://user:password@host`, and a token alone before `@`.
fn address_passwords(text: &str, secrets: &mut Secrets) {
    let ends_address = |letter: char| {
        letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | '`' | '?' | '#' | '\\')
    };
    let (mut address, mut word) = (Span::default(), Span::default());
    let mut hidden = 0;
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        if start < hidden {
            continue;
        }
        let looked =
            address.update(text, start, ends_address) + word.update(text, start, char::is_whitespace);
        let span = text.get(start..address.end).unwrap_or_default();
        let authority = span.get(..span.find('/').unwrap_or(span.len())).unwrap_or_default();
        if !secrets.is_within_budget(looked + authority.len(), start) {
            return;
        }
        let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A password may contain `/`; a port does not.
        let has_password = authority.contains('@')
            || authority.split_once(':').is_some_and(|(_, port_or_password)| !port(port_or_password));
        // A password may contain `?` or `#` as well, if nothing else can follow it.
        let end = address.at_after(start).or_else(|| word.at_after(start));
        let Some(end) = end.filter(|_| has_password) else { continue };
        let user = text.get(start..end).unwrap_or_default();
        if !secrets.is_within_budget(user.len(), start) {
            return;
        }
        let secret = match user.split_once(':') {
            Some((name, password)) => {
                let is_form =
                    matches!(name, "user" | "username" | "usr" | "login") && is_harmless_word(password);
                (!is_placeholder(password) && !is_form).then_some(start + name.len() + 1..end)
            }
            None => (is_random(user) || (user.len() >= 20 && !user.contains(['.', '-', '/'])))
                .then_some(start..end),
        };
        if let Some(secret) = secret {
            hidden = secret.end;
            secrets.push(secret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redaction;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let rules = Rules::parse(&Redaction::default()).unwrap();
        assert_eq!(redact(text, &rules).as_deref().unwrap_or(text), expected);
    }

    #[test]
    fn secrets_inside_strings_are_taken_out() {
        for (text, expected) in [
            ("Bearer xyz", "Bearer [redacted]"),
            ("bearer abc.def", "bearer [redacted]"),
            ("use Bearer abcdefgh12 now", "use Bearer [redacted] now"),
            ("Basic dXNlcjpwYXNz", "Basic [redacted]"),
            ("key sk-abcdefghijklmnop1234 end", "key sk-[redacted] end"),
            ("AKIAIOSFODNN7EXAMPLEAB", "AKIA[redacted]"),
            ("https://x.test/a?access_token=abc&b=1", "https://x.test/a?access_token=[redacted]&b=1"),
            ("API_KEY=abc\nNAME=x", "API_KEY=[redacted]\nNAME=x"),
            ("password: hunter2, user: bob", "password: [redacted], user: bob"),
            ("password = 'hunter 2' done", "password = '[redacted]' done"),
            ("Authorization: Digest a, b\nHost: x", "Authorization: [redacted]\nHost: x"),
            ("Cookie: a=b; c=d", "Cookie: [redacted]"),
            ("postgres://bob:s3cret@db:5432/x", "postgres://bob:[redacted]@db:5432/x"),
            (r#"log: {"token": "abc\"def"} end"#, r#"log: {"token": "[redacted]"} end"#),
            (r#"say "{\"token\": \"abc\"}" end"#, r#"say "{\"token\": \"[redacted]\"}" end"#),
            (r#"{"password":"x","n":[1]}"#, r#"{"password":"[redacted]","n":[1]}"#),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "the bearer of this letter",
            "basic authentication is used",
            "a risk-free plan with a task-abcdefghijklmnopqrstuvwxyz",
            "sk-short",
            "asia-northeast1-docker.pkg.dev",
            "max_tokens=100",
            "https://example.test/a:b@c",
            "password: ",
            "tokens are cheap, the token was lost",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn what_is_redacted_stays_as_it_is() {
        check("password: [redacted]", "password: [redacted]");
        check("Bearer [redacted]", "Bearer [redacted]");
    }
}
