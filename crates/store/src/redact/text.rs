//! Secrets inside strings: tokens known by how they begin, values of sensitive names, passwords in addresses.

use std::{borrow::Cow, ops::Range};

use super::{
    REDACTED, assignments, code, commands, is_json, markup, phrases,
    rules::{Rules, SCHEMES},
    shapes, tables,
    value::{is_harmless_word, is_placeholder, is_random},
    walk,
    words::fold,
};

/// The text without its secrets, or nothing if there are none.
pub(super) fn redact(text: &str, rules: &Rules) -> Option<String> {
    if !rules.may_hold_secret(text) {
        return None;
    }
    redact_nested(text, rules, 0)
}

/// Tools like to answer with JSON inside a string, which may hold JSON inside a string again.
const DEEPEST_NESTED_JSON: usize = 6;

pub(super) fn redact_nested(text: &str, rules: &Rules, depth: usize) -> Option<String> {
    if depth < DEEPEST_NESTED_JSON && text.trim_start().starts_with(['{', '[', '"']) && is_json(text) {
        return walk::redact_nested(text, rules, &[], depth + 1);
    }
    let folded = folded(text);
    let text = &*folded;
    let mut secrets: Vec<Range<usize>> = tokens(text, rules).collect();
    assignments::find(text, rules, &mut secrets);
    if rules.defaults {
        address_passwords(text, &mut secrets);
        shapes::find(text, &mut secrets);
        phrases::find(text, &mut secrets);
        commands::find(text, &mut secrets);
        markup::find(text, &mut secrets);
        code::find(text, &mut secrets);
        tables::find(text, &mut secrets);
    }
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

/// The text with full-width letters as ordinary ones, without the colours of terminals.
fn folded(text: &str) -> Cow<'_, str> {
    if text.contains("\u{1b}[") {
        return Cow::Owned(folded(&without_colours(text)).into_owned());
    }
    if text.chars().any(|letter| matches!(letter, '\u{ff01}'..='\u{ff5e}')) {
        return Cow::Owned(text.chars().map(fold).collect());
    }
    Cow::Borrowed(text)
}

fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        // One letter ends the sequence.
        out.push_str(rest.strip_prefix(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(rest));
    }
    out
}

/// A token has at least this many characters after its prefix, so that words that begin alike are left alone.
const SHORTEST_TOKEN: usize = 12;
/// The same after `Bearer ` within a text; a text that is nothing else may have a token of any length.
const SHORTEST_BEARER: usize = 8;

fn tokens<'a>(text: &'a str, rules: &'a Rules) -> impl Iterator<Item = Range<usize>> + 'a {
    let bytes = text.as_bytes();
    rules.tokens.positions(text).filter_map(move |(start, length)| {
        let before = start.checked_sub(1).and_then(|before| bytes.get(before)).copied();
        // `\n` in a text that is still escaped is the end of a line too.
        let escaped = matches!(before, Some(b'n' | b't' | b'r'))
            && start.checked_sub(2).and_then(|before| bytes.get(before)) == Some(&b'\\');
        let boundary = escaped || before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let secret = start + length;
        let end = secret + bytes.get(secret..)?.iter().take_while(|byte| is_token_byte(**byte)).count();
        let prefix = text.get(start..secret)?;
        let rest = text.get(secret..end)?;
        let scheme = SCHEMES.iter().position(|scheme| prefix.eq_ignore_ascii_case(scheme));
        let taken = match scheme {
            Some(_) if start == 0 && end == text.len() => !rest.is_empty(),
            Some(0) => rest.len() >= SHORTEST_BEARER && rest.bytes().any(|byte| !byte.is_ascii_lowercase()),
            Some(_) => rest.len() >= SHORTEST_BEARER && is_basic(rest),
            None => {
                rules.is_token_prefix(prefix)
                    && rest.len() >= SHORTEST_TOKEN
                    && (!rules.is_default_prefix(prefix) || shapes::is_token(prefix, rest))
            }
        };
        (boundary && taken).then_some(secret..end)
    })
}

/// Whether a text is base64 of letters with a colon between them, or long enough to be a token of another kind.
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
    let bits: Vec<u32> = text.bytes().map_while(six).collect();
    let decoded = bits.chunks(4).flat_map(|chunk| {
        let word = chunk.iter().fold(0, |word, six| (word << 6) | six) << (6 * (4 - chunk.len()));
        [(word >> 16) & 255, (word >> 8) & 255, word & 255]
            .into_iter()
            .take(chunk.len().saturating_sub(1))
            .collect::<Vec<_>>()
    });
    let decoded: Vec<u32> = decoded.collect();
    decoded.contains(&u32::from(b':')) || is_random(text)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=' | b'%')
}

/// `user:password` of `scheme://user:password@host`, and a token alone before `@`.
fn address_passwords(text: &str, secrets: &mut Vec<Range<usize>>) {
    secrets.extend(text.match_indices("://").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = text.get(start..)?;
        let end = rest.find(|letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | '`' | '?' | '#' | '\\')
        });
        let span = rest.get(..end.unwrap_or(rest.len()))?;
        let authority = span.get(..span.find('/').unwrap_or(span.len()))?;
        let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A password may hold `/`; a port does not.
        let has_password = authority.contains('@')
            || authority.split_once(':').is_some_and(|(_, port_or_password)| !port(port_or_password));
        // A password may hold `?` or `#` as well, where no other part can follow it.
        let whole = rest.get(..rest.find(char::is_whitespace).unwrap_or(rest.len()))?;
        let span = if has_password && !span.contains('@') { whole } else { span };
        let (user, _host) = span.rsplit_once('@').filter(|_| has_password)?;
        match user.split_once(':') {
            Some((name, password)) => {
                let from = start + name.len() + 1;
                let is_form =
                    matches!(name, "user" | "username" | "usr" | "login") && is_harmless_word(password);
                (!is_placeholder(password) && !is_form).then_some(from..start + user.len())
            }
            None => (is_random(user) || (user.len() >= 20 && !user.contains(['.', '-', '/'])))
                .then_some(start..start + user.len()),
        }
    }));
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
