//! Secrets as values of names in text: environment files, YAML, headers, queries, JSON in a sentence.

use std::ops::Range;

use super::{
    REDACTED,
    line::Line,
    placeholders::is_placeholder,
    rules::Rules,
    secret_names::{Kind, LONGEST_NAME, classify},
    secrets::{Secrets, work},
    value::{Setting, is_random, is_secret},
};

/// Values after `name=`, `name:`, `name =>`, `"name": "…"`.
pub(super) fn find(text: &str, rules: &Rules, secrets: &mut Secrets) {
    let bytes = text.as_bytes();
    let mut line = Line::first(text);
    // The start of the current word.
    let mut word = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let begins = word;
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'=' | b',') {
            word = at + 1;
        }
        let length = match byte {
            b'=' if bytes.get(at + 1) == Some(&b'=') => continue,
            b'=' if at > 0 && matches!(bytes.get(at - 1), Some(b'<' | b'>')) => continue,
            b'=' => 1 + usize::from(bytes.get(at + 1) == Some(&b'>')),
            b':' if bytes.get(at + 1) == Some(&b'/') && bytes.get(at + 2) == Some(&b'/') => continue,
            // In LDIF, `name:: value` is base64.
            b':' if bytes.get(at + 1) == Some(&b':') && bytes.get(at + 2) != Some(&b' ') => continue,
            b':' if bytes.get(at + 1) == Some(&b':') => 2,
            b'-' if bytes.get(at + 1) == Some(&b'>') => 2,
            0xe2 if text.get(at..).is_some_and(|rest| rest.starts_with(['→', '⇒', '➜'])) => 3,
            b':' => 1 + usize::from(bytes.get(at + 1) == Some(&b'=')),
            b'%' if bytes.get(at..at + 3).is_some_and(|code| code.eq_ignore_ascii_case(b"%3d")) => 3,
            b'\t' => 1,
            _ => continue,
        };
        let Some(name) = Name::before(text, at, rules) else { continue };
        if *byte == b':' && is_resource_name(text, begins) {
            continue;
        }
        line.advance(text, at);
        let mut looked = 0;
        let separator = Separator { at, length, name };
        let found = secrets_at(text, separator, &line, secrets.hidden, &mut looked).unwrap_or_default();
        if !secrets.is_within_budget(looked, at + length) {
            return;
        }
        for range in found {
            secrets.push(range);
        }
    }
}

const MOST_WORDS: usize = 4;
/// The most spaces and quotes between a name and its separator.
const LONGEST_GAP: usize = 64;
/// How much text after a value is searched for the words that make it a sentence or a passphrase.
const LONGEST_REST: usize = 512;

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%' | b'$') || byte >= 0x80
}

/// A name before a separator that may have a secret as its value.
struct Name<'a> {
    text: &'a str,
    start: usize,
    /// The bytes between the name and the separator.
    gap: usize,
    kind: Option<Kind>,
    is_configured: bool,
    /// The byte before the name and its preceding words.
    before: Option<u8>,
    in_query: bool,
    /// Whether it names a secret only in a query.
    is_weak: bool,
}

impl<'a> Name<'a> {
    fn before(text: &'a str, at: usize, rules: &Rules) -> Option<Self> {
        let bytes = text.as_bytes();
        let gap_byte = |byte: &&u8| {
            matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b']' | b')' | b'?' | b'!' | b'`' | b'*' | b'=')
        };
        let before = bytes.get(at.saturating_sub(LONGEST_GAP)..at)?;
        let gap = before.iter().rev().take_while(gap_byte).count();
        let end = at - gap;
        let own = name_length(bytes, end);
        work::count(gap + own);
        if own == 0 {
            return None;
        }
        let start = text.ceil_char_boundary(end - own);
        let name = text.get(start..end)?;
        // `Access Key: x`: preceding words on the same line.
        let mut phrase_start = start;
        for _ in 1..MOST_WORDS {
            let Some(word_end) = phrase_start.checked_sub(1).filter(|end| bytes.get(*end) == Some(&b' '))
            else {
                break;
            };
            let word = name_length(bytes, word_end);
            work::count(word);
            if word == 0 {
                break;
            }
            phrase_start = text.ceil_char_boundary(word_end - word);
        }
        let phrase = text.get(phrase_start..end)?;
        let has_more = phrase.len() > name.len();
        let kind = classify(name).or_else(|| if has_more { classify(phrase) } else { None });
        let is_configured = rules.is_configured(name);
        let byte_before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let in_query = matches!(byte_before(start), Some(b'?' | b'&'));
        let is_weak = in_query
            && ["key", "sig", "code", "signature", "auth", "pass", "pw"]
                .iter()
                .any(|weak| name.eq_ignore_ascii_case(weak));
        let before = byte_before(phrase_start);
        (kind.is_some() || is_configured || is_weak).then_some(Self {
            text: name,
            start,
            gap,
            kind,
            is_configured,
            before,
            in_query,
            is_weak,
        })
    }
}

/// The length of the name before `end`; a longer name is truncated at its front.
fn name_length(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(end.saturating_sub(LONGEST_NAME)..end).unwrap_or_default();
    before.iter().rev().take_while(|byte| is_name_byte(**byte)).count()
}

/// The separator between a name and its value.
struct Separator<'a> {
    at: usize,
    length: usize,
    name: Name<'a>,
}

/// The secrets after a separator. How many bytes were read to find them is added to `looked`.
///
/// Everything before `hidden` is already redacted.
fn secrets_at(
    text: &str,
    Separator { at, length, name }: Separator<'_>,
    line: &Line,
    hidden: usize,
    looked: &mut usize,
) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let separator = *bytes.get(at)?;
    // `**Name:** value` is bold Markdown.
    let bold = if bytes.get(at + length..at + length + 2) == Some(b"**") { 2 } else { 0 };
    let after = at + length + bold;
    let start = after + bytes.get(after..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let trimmed = text.get(start..line.trimmed.max(start))?.trim_start();
    let is_below = trimmed.is_empty() || is_block_mark(trimmed);
    let is_quoted = quote_at(bytes, start).is_some();
    // No other kind of value extends beyond its line.
    if line.end <= hidden && !is_below && !is_quoted && bytes.get(start) != Some(&b'[') {
        return None;
    }
    let is_line = separator != b'\t' && is_at_line_start(text, line, name.start);
    let variable_name = name.text.trim_start_matches('$');
    let is_variable = separator == b'='
        && !variable_name.is_empty()
        && variable_name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'%'));
    let lower = name.text.to_ascii_lowercase();
    if separator == b':' && (lower.ends_with("authorization") || lower.ends_with("cookie")) && !is_quoted {
        return header_value(text, start, line, name.before, looked);
    }
    if is_below {
        return (separator == b':').then(|| block_after(text, line, trimmed, name.kind?, looked)).flatten();
    }
    if bytes.get(start) == Some(&b'[') {
        return list_at(text, start, name.kind?, looked);
    }
    let (range, quoted) =
        value_range(text, start, line, Style { is_line, is_variable, is_query: name.in_query });
    *looked += range.end.saturating_sub(start);
    let mut value = text.get(range.clone())?;
    if value.is_empty() || value.starts_with(REDACTED) || value.starts_with("//") {
        return None;
    }
    if name.is_configured || (name.is_weak && is_query_secret(&lower, value)) {
        return Some(vec![range]);
    }
    let kind = name.kind?;
    let rest_end = text.floor_char_boundary(line.end.min(range.end + LONGEST_REST));
    let rest = text.get(range.end..rest_end).unwrap_or_default();
    // A typed declaration: the value follows the type.
    if !quoted && is_line && separator == b':' && rest.trim_start().starts_with('=') {
        return None;
    }
    if !quoted {
        value = value.trim_end_matches(['.', ',']);
    }
    let is_arrow = matches!(separator, b'-' | 0xe2);
    if (separator == b'\t' || is_arrow) && !super::value::looks_like_password(value) {
        return None;
    }
    let first = if quoted { value } else { value.split(' ').next().unwrap_or(value) };
    let rest = if quoted || first.len() == value.len() {
        rest
    } else {
        value.get(first.len()..).unwrap_or_default()
    };
    // `name=value` without spaces is always a setting.
    let is_line = is_line || name.in_query || (separator == b'=' && name.gap == 0 && start == at + 1);
    is_secret(kind, first, Setting { quoted, is_line, is_variable, rest }).then(|| vec![range])
}

/// The value of a header that begins at `start`: it goes to the end of its line, or of the quotes around the header.
fn header_value(
    text: &str,
    start: usize,
    line: &Line,
    before: Option<u8>,
    looked: &mut usize,
) -> Option<Vec<Range<usize>>> {
    let rest = text.get(start..line.end)?;
    *looked += rest.len();
    let quote = before.filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let end = quote
        .and_then(|quote| rest.bytes().position(|byte| byte == quote))
        .map_or(line.end, |end| start + end);
    let value = text.get(start..end)?;
    let is_prose = value.trim().contains(' ') && is_sentence(value);
    (!is_placeholder(value) && value.trim().len() > 1 && !is_prose)
        .then(|| Vec::from([std::ops::Range { start, end }]))
}

/// Whether the value of `?key=`, `?sig=` and the like is a secret: elsewhere such names are too common.
fn is_query_secret(name: &str, value: &str) -> bool {
    is_random(value)
        || name.starts_with("sig")
        || (value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether a name is the first on its line, except for a mark or a command before it.
fn is_at_line_start(text: &str, line: &Line, name_start: usize) -> bool {
    const BEFORE: &[&str] =
        &["", "export", "set", "-", "ENV", "ARG", "SET", "-e", "*", "setx", "#", "//", "\"", "'"];
    let content = line.content.min(name_start);
    // Longer than any of them plus some spaces.
    name_start - content <= 16
        && text.get(content..name_start).is_some_and(|prefix| BEFORE.contains(&prefix.trim_end()))
}

/// Whether the word at `start` is a resource name such as `arn:aws:secretsmanager:…:secret:prod/db`.
fn is_resource_name(text: &str, start: usize) -> bool {
    text.get(start..).is_some_and(|word| word.starts_with("arn:") || word.starts_with("urn:"))
}

/// Whether the text after a header's name is a sentence about it.
fn is_sentence(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    words.len() >= 3
        && value.trim_start().starts_with(char::is_lowercase)
        && words.iter().all(|word| super::value::is_plain_word(word))
}

/// The strings of the list that begins at `start`.
fn list_at(text: &str, start: usize, kind: Kind, looked: &mut usize) -> Option<Vec<Range<usize>>> {
    let list = text.get(start..)?;
    let list = list.get(..list.find(']').unwrap_or(list.len()))?;
    *looked += list.len();
    let mut at = start + 1;
    let mut found = Vec::new();
    for piece in list.get(1..)?.split([',', '\n']) {
        let value = piece.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''));
        let from = at + piece.find(value).unwrap_or_default();
        at += piece.len() + 1;
        if is_secret(kind, value, Setting::DELIMITED) {
            found.push(from..from + value.len());
        }
    }
    Some(found)
}

#[derive(Clone, Copy)]
struct Style {
    is_line: bool,
    is_variable: bool,
    is_query: bool,
}

/// The range of the value that begins at `start`, without quotes, and whether it is quoted.
fn value_range(text: &str, start: usize, line: &Line, style: Style) -> (Range<usize>, bool) {
    let bytes = text.as_bytes();
    if let Some((from, quote, escapes)) = quote_at(bytes, start) {
        let triple = bytes.get(from..from + 2).is_some_and(|next| next == [quote, quote]);
        if triple {
            let mark = [quote; 3];
            let inner = bytes.get(from + 2..).unwrap_or_default();
            let end = inner.windows(3).position(|window| window == mark).unwrap_or(inner.len());
            return (from + 2..from + 2 + end, true);
        }
        let mut backslashes = 0;
        for (at, byte) in bytes.get(from..).unwrap_or_default().iter().enumerate() {
            // `'don'\''t'`: an escaped quote in a shell word.
            let goes_on =
                quote == b'\'' && bytes.get(from + at..).is_some_and(|rest| rest.starts_with(b"'\\''"));
            let comes_from = at >= 2 && bytes.get(from + at - 2..from + at) == Some(b"'\\")
                || at >= 3 && bytes.get(from + at - 3..from + at) == Some(b"'\\'");
            if *byte == quote && backslashes <= escapes && !goes_on && !comes_from {
                return (from..from + at - backslashes, true);
            }
            backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        }
        return (from..text.len(), true);
    }
    let more = line.has_more(start);
    let has_semicolon = line.last_semicolon >= Some(start);
    let has_ampersand = line.last_ampersand >= Some(start);
    let line = text.get(start..line.end).unwrap_or_default();
    if (style.is_line || style.is_variable)
        && !style.is_query
        && !(more && (style.is_line || has_semicolon))
        && style_is_line(line, style)
    {
        let end = line.find(" #").or_else(|| line.find(" //")).unwrap_or(line.len());
        let line = line.get(..end).unwrap_or(line).trim_end();
        return (start..start + line.len(), false);
    }
    let ends = |letter: char| {
        letter.is_whitespace()
            || match letter {
                ';' | '&' | '"' | '\'' | ',' | '}' | ']' | ')' | '<' | '`' | '|' => true,
                '#' => style.is_query,
                _ => false,
            }
    };
    let mut end = line.find(ends).unwrap_or(line.len());
    // A variable's value may contain characters that end other values, up to the next space.
    if style.is_variable && !has_semicolon && !has_ampersand {
        end = line.find([' ', '\t', '"', '\'']).unwrap_or(line.len());
    }
    // Escaped line ends, in a text that is still escaped.
    if let Some(escape) = line.get(..end).and_then(|value| value.find("\\n").or_else(|| value.find("\\r"))) {
        end = escape;
    }
    (start..start + end, false)
}

/// Whether a setting extends to the end of its line: a few words, not a sentence.
fn style_is_line(line: &str, style: Style) -> bool {
    style.is_line && line.split_whitespace().nth(12).is_none() && !line.contains("\\n")
}

fn quote_at(bytes: &[u8], start: usize) -> Option<(usize, u8, usize)> {
    let rest = bytes.get(start..)?;
    let escapes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let prefixed = usize::from(
        escapes == 0 && matches!(rest, [b'r' | b'b' | b'f' | b'u' | b'N' | b'@' | b'$', b'"' | b'\'', ..]),
    );
    let at = escapes + prefixed;
    rest.get(at)
        .copied()
        .filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))
        .map(|quote| (start + at + 1, quote, escapes))
}

fn is_block_mark(text: &str) -> bool {
    matches!(text, "|" | ">" | "|-" | ">-" | "|+" | ">+" | "\"" | "'")
}

/// The lines below a name without a value: a YAML block, a list, or one line.
fn block_after(
    text: &str,
    line: &Line,
    mark: &str,
    kind: Kind,
    looked: &mut usize,
) -> Option<Vec<Range<usize>>> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = line.content - line.start;
    let mut found = Vec::new();
    let mut at = line.end;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end + 1) {
        let end = text.get(next..)?.find('\n').map_or(text.len(), |end| next + end);
        let line = text.get(next..end)?;
        let content = line.trim();
        *looked += end - at;
        at = end;
        if content.is_empty() {
            continue;
        }
        let from = next + indent(line);
        if mark.is_empty() {
            let item = content.strip_prefix("- ");
            let value = item.unwrap_or(content).trim_matches(['"', '\'']);
            let is_item = item.is_some() && indent(line) >= own;
            let is_lone = indent(line) > own
                || super::value::looks_like_password(value)
                || (kind == Kind::Code && value.len() >= 4);
            if value.contains(' ')
                || value.contains(": ")
                || value.ends_with(':')
                || !(is_item || is_lone)
                || !is_secret(kind, value, Setting::DELIMITED)
            {
                break;
            }
            found.push(from + (content.len() - item.unwrap_or(content).len())..from + content.len());
            if !is_item {
                break;
            }
            continue;
        }
        if indent(line) <= own {
            break;
        }
        found.push(from..from + content.len());
    }
    (!found.is_empty()).then_some(found)
}
