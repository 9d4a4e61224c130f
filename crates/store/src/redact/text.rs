//! Secrets inside strings: tokens known by how they begin, `name=value` of sensitive names, passwords in addresses.

use std::ops::Range;

use super::{
    REDACTED, is_json,
    rules::{Rules, SCHEMES},
    walk,
};

/// The text without its secrets, or nothing if there are none.
pub(super) fn redact(text: &str, rules: &Rules) -> Option<String> {
    if !rules.may_hold_secret(text) {
        return None;
    }
    redact_nested(text, rules, 0)
}

/// Tools like to answer with JSON inside a string, which may hold JSON inside a string again.
const DEEPEST_NESTED_JSON: usize = 4;

pub(super) fn redact_nested(text: &str, rules: &Rules, depth: usize) -> Option<String> {
    if depth < DEEPEST_NESTED_JSON && text.trim_start().starts_with(['{', '[']) && is_json(text) {
        return walk::redact_nested(text, rules, &[], depth + 1);
    }
    let mut secrets: Vec<Range<usize>> =
        tokens(text, rules).chain(named_values(text, rules)).chain(address_passwords(text, rules)).collect();
    if secrets.is_empty() {
        return None;
    }
    secrets.sort_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        if secret.start >= copied {
            out.push_str(text.get(copied..secret.start)?);
            out.push_str(REDACTED);
        }
        copied = copied.max(secret.end);
    }
    out.push_str(text.get(copied..)?);
    Some(out)
}

/// A token has at least this many characters after its prefix, so that words that begin alike are left alone.
const SHORTEST_TOKEN: usize = 16;
/// The same after `Bearer ` within a text; a text that is nothing else may have a token of any length.
const SHORTEST_BEARER: usize = 8;

fn tokens<'a>(text: &'a str, rules: &'a Rules) -> impl Iterator<Item = Range<usize>> + 'a {
    let bytes = text.as_bytes();
    rules.tokens.positions(text).filter_map(move |(start, length)| {
        let boundary = start
            .checked_sub(1)
            .and_then(|before| bytes.get(before))
            .is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let secret = start + length;
        let end = secret + bytes.get(secret..)?.iter().take_while(|byte| is_token_byte(**byte)).count();
        let prefix = text.get(start..secret)?;
        let scheme = SCHEMES.iter().position(|scheme| prefix.eq_ignore_ascii_case(scheme));
        let shortest = match scheme {
            Some(_) if start == 0 && end == text.len() => 1,
            Some(0) => SHORTEST_BEARER,
            Some(_) | None => SHORTEST_TOKEN,
        };
        let known = scheme.is_some() || rules.is_token_prefix(prefix);
        (boundary && known && end - secret >= shortest).then_some(secret..end)
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Values after `name=`, `name:`, `"name": "…"`: lines of environment files, queries of addresses, headers.
fn named_values<'a>(text: &'a str, rules: &'a Rules) -> impl Iterator<Item = Range<usize>> + 'a {
    let bytes = text.as_bytes();
    let separators = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b':' | b'='));
    separators.filter_map(move |(at, separator)| {
        let before = bytes.get(..at)?;
        let gap = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'\\')).count();
        let name_end = at - gap;
        let length = before.get(..name_end)?.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
        let name = text.get(name_end - length..name_end)?;
        if name.is_empty() || !rules.is_sensitive(name) {
            return None;
        }
        let after = bytes.get(at + 1..)?;
        let start = at + 1 + after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let value = value_of(bytes, start, *separator, name);
        (!value.is_empty() && !bytes.get(value.start..)?.starts_with(REDACTED.as_bytes())).then_some(value)
    })
}

fn value_of(bytes: &[u8], start: usize, separator: u8, name: &str) -> Range<usize> {
    let rest = bytes.get(start..).unwrap_or_default();
    let escapes = rest.iter().take_while(|byte| **byte == b'\\').count();
    if let Some(quote) = rest.get(escapes).copied().filter(|byte| matches!(byte, b'"' | b'\'')) {
        let from = start + escapes + 1;
        let inner = bytes.get(from..).unwrap_or_default();
        let mut backslashes = 0;
        for (at, byte) in inner.iter().enumerate() {
            if *byte == quote && backslashes <= escapes {
                return from..from + at - backslashes;
            }
            backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        }
        return from..bytes.len();
    }
    let lower = name.to_ascii_lowercase();
    let whole_line = separator == b':' && (lower.ends_with("authorization") || lower.ends_with("cookie"));
    let ends = |byte: &u8| match byte {
        b'\n' | b'\r' => true,
        b' ' | b'\t' | b',' | b';' | b'&' | b'"' | b'\'' | b')' | b'}' | b']' | b'<' | b'#' => !whole_line,
        _ => false,
    };
    start..start + rest.iter().position(ends).unwrap_or(rest.len())
}

/// `user:password` of `scheme://user:password@host`.
fn address_passwords<'a>(text: &'a str, rules: &'a Rules) -> impl Iterator<Item = Range<usize>> + 'a {
    let addresses = text.match_indices("://").filter(|_| rules.is_sensitive("password"));
    addresses.filter_map(move |(at, mark)| {
        let start = at + mark.len();
        let rest = text.get(start..)?;
        let end = rest.find(|character: char| {
            character.is_whitespace() || matches!(character, '/' | '?' | '#' | '"' | '\'' | '<')
        });
        let authority = rest.get(..end.unwrap_or(rest.len()))?;
        let (user, _host) = authority.rsplit_once('@')?;
        let (name, password) = user.split_once(':')?;
        let from = start + name.len() + 1;
        (!password.is_empty()).then_some(from..start + user.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redaction;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let redaction = Redaction { token_prefixes: vec!["corp_".to_owned()], ..Redaction::default() };
        let rules = Rules::parse(&redaction).unwrap();
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
            ("corp_0123456789abcdefgh", "corp_[redacted]"),
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
