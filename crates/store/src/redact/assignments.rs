//! Secrets as values of names in text: lines of environment files, YAML, headers, queries, JSON in a sentence.

use std::ops::Range;

use super::{
    REDACTED,
    rules::Rules,
    value::{Setting, is_placeholder, is_random, is_secret},
    words::Kind,
};

/// Values after `name=`, `name:`, `name =>`, `"name": "…"`.
pub(super) fn find(text: &str, rules: &Rules, secrets: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let length = match byte {
            b'=' if bytes.get(at + 1) == Some(&b'=') => continue,
            b'=' if at > 0 && matches!(bytes.get(at - 1), Some(b'<' | b'>')) => continue,
            b'=' => 1 + usize::from(bytes.get(at + 1) == Some(&b'>')),
            b':' if bytes.get(at + 1) == Some(&b'/') && bytes.get(at + 2) == Some(&b'/') => continue,
            // `name:: value` is base64 in LDIF.
            b':' if bytes.get(at + 1) == Some(&b':') && bytes.get(at + 2) != Some(&b' ') => continue,
            b':' if bytes.get(at + 1) == Some(&b':') => 2,
            b'-' if bytes.get(at + 1) == Some(&b'>') => 2,
            0xe2 if text.get(at..).is_some_and(|rest| rest.starts_with(['→', '⇒', '➜'])) => 3,
            b':' => 1 + usize::from(bytes.get(at + 1) == Some(&b'=')),
            b'%' if bytes.get(at..at + 3).is_some_and(|code| code.eq_ignore_ascii_case(b"%3d")) => 3,
            b'\t' => 1,
            _ => continue,
        };
        if let Some(secret) = value_at(text, at, length, rules) {
            secrets.extend(secret);
        }
    }
}

const MOST_WORDS: usize = 4;

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%' | b'$') || byte >= 0x80
}

/// The secret after the separator at `at`, if there is one.
fn value_at(text: &str, at: usize, length: usize, rules: &Rules) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let gap_byte = |byte: &&u8| {
        matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b']' | b')' | b'?' | b'!' | b'`' | b'*' | b'=')
    };
    let gap = bytes.get(..at)?.iter().rev().take_while(gap_byte).count();
    let name_end = at - gap;
    let own = bytes.get(..name_end)?.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    if own == 0 {
        return None;
    }
    let name_start = ceil_boundary(text, name_end - own);
    let name = text.get(name_start..name_end)?;
    // `Access Key: x`: words before, on the same line.
    let line_start = text.get(..name_start)?.rfind('\n').map_or(0, |end| end + 1);
    let mut phrase_start = name_start;
    for _ in 1..MOST_WORDS {
        let Some(word_end) =
            phrase_start.checked_sub(1).filter(|end| *end > line_start && bytes.get(*end) == Some(&b' '))
        else {
            break;
        };
        let word = bytes.get(..word_end)?.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
        if word == 0 {
            break;
        }
        phrase_start = ceil_boundary(text, word_end - word);
    }
    let phrase = text.get(phrase_start..name_end)?;
    let configured = rules.is_configured(name);
    let kind = if rules.defaults { rules.kind_of(name).or_else(|| rules.kind_of(phrase)) } else { None };
    let before = phrase_start.checked_sub(1).and_then(|before| bytes.get(before)).copied();
    let in_query = matches!(name_start.checked_sub(1).and_then(|at| bytes.get(at)), Some(b'?' | b'&'));
    let weak_in_query = in_query
        && rules.defaults
        && ["key", "sig", "code", "signature", "auth", "pass", "pw"]
            .iter()
            .any(|weak| name.eq_ignore_ascii_case(weak));
    if kind.is_none() && !configured && !weak_in_query {
        return None;
    }
    let separator = *bytes.get(at)?;
    if separator == b':' && is_resource_name(text, at) {
        return None;
    }
    // `**Name:** value` is Markdown.
    let bold = if bytes.get(at + length..at + length + 2) == Some(b"**") { 2 } else { 0 };
    let after = at + length + bold;
    let start = after + bytes.get(after..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let prefix = text.get(line_start..name_start)?.trim();
    let at_line_start = prefix.is_empty()
        || matches!(
            prefix,
            "export" | "set" | "-" | "ENV" | "ARG" | "SET" | "-e" | "*" | "setx" | "#" | "//" | "\"" | "'"
        );
    let is_line = at_line_start && separator != b'\t';
    let variable_name = name.trim_start_matches('$');
    let is_variable = separator == b'='
        && !variable_name.is_empty()
        && variable_name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'%'));
    let line_end = text.get(start..)?.find(['\n', '\r']).map_or(text.len(), |end| start + end);
    let line = text.get(start..line_end)?;
    let lower = name.to_ascii_lowercase();
    // A header holds its value to the end of its line, or of the quotes around it.
    if separator == b':'
        && (lower.ends_with("authorization") || lower.ends_with("cookie"))
        && quote_at(bytes, start).is_none()
    {
        let quote = before.filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        let end = quote
            .and_then(|quote| line.bytes().position(|byte| byte == quote))
            .map_or(line_end, |end| start + end);
        let value = text.get(start..end)?;
        let is_prose = value.trim().contains(' ') && is_sentence(value);
        return (!is_placeholder(value) && value.trim().len() > 1 && !is_prose)
            .then(|| Vec::from([std::ops::Range { start, end }]));
    }
    if line.trim().is_empty() || is_block_mark(line.trim()) {
        return (separator == b':')
            .then(|| block_after(text, line_start, line_end, line.trim(), kind?))
            .flatten();
    }
    if line.starts_with('[') {
        return list_at(text, start, kind?);
    }
    let (range, quoted) =
        value_range(text, start, line_end, Style { is_line, is_variable, is_query: in_query });
    let mut value = text.get(range.clone())?;
    if value.is_empty() || value.starts_with(REDACTED) || value.starts_with("//") {
        return None;
    }
    if configured {
        return Some(vec![range]);
    }
    if weak_in_query
        && (is_random(value)
            || lower.starts_with("sig")
            || (value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit())))
    {
        return Some(vec![range]);
    }
    let kind = kind?;
    let rest = text.get(range.end..line_end).unwrap_or_default();
    // A typed declaration: the value comes after the type.
    if !quoted && is_line && separator == b':' && rest.trim_start().starts_with('=') {
        return None;
    }
    if !quoted {
        value = value.trim_end_matches(['.', ',']);
    }
    let is_arrow = matches!(separator, b'-' | 0xe2);
    if (separator == b'\t' || is_arrow) && !super::value::is_odd(value) {
        return None;
    }
    let first = if quoted { value } else { value.split(' ').next().unwrap_or(value) };
    let rest = if quoted || first.len() == value.len() {
        rest
    } else {
        value.get(first.len()..).unwrap_or_default()
    };
    // `name=value` without spaces is a setting wherever it stands.
    let is_line = is_line || in_query || (separator == b'=' && gap == 0 && start == at + 1);
    is_secret(kind, first, Setting { quoted, is_line, is_variable, rest }).then(|| vec![range])
}

/// Whether the colon at `at` stands in a name such as `arn:aws:secretsmanager:…:secret:prod/db`.
fn is_resource_name(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let word =
        before.rsplit(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '=' | ','));
    word.into_iter().next().is_some_and(|word| word.starts_with("arn:") || word.starts_with("urn:"))
}

/// Whether a header's name begins a sentence about it.
fn is_sentence(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    words.len() >= 3
        && value.trim_start().starts_with(char::is_lowercase)
        && words.iter().all(|word| super::value::is_plain_word(word))
}

/// The strings of the list that begins at `start`.
fn list_at(text: &str, start: usize, kind: Kind) -> Option<Vec<Range<usize>>> {
    let list = text.get(start..)?;
    let list = list.get(..list.find(']').unwrap_or(list.len()))?;
    let setting = Setting { quoted: true, is_line: true, is_variable: false, rest: "" };
    let mut at = start + 1;
    let mut found = Vec::new();
    for piece in list.get(1..)?.split([',', '\n']) {
        let value = piece.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''));
        let from = at + piece.find(value).unwrap_or_default();
        at += piece.len() + 1;
        if is_secret(kind, value, setting) {
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

/// Where the value is that begins at `start`, without its quotes, and whether it has some.
fn value_range(text: &str, start: usize, line_end: usize, style: Style) -> (Range<usize>, bool) {
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
            // `'don'\''t'`: a quote inside a word of the shell.
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
    let line = text.get(start..line_end).unwrap_or_default();
    let more = line.bytes().any(|byte| matches!(byte, b';' | b'&' | b',' | b'{' | b'"'))
        || line.matches([':', '=']).count() > 2;
    if (style.is_line || style.is_variable)
        && !style.is_query
        && !(more && (style.is_line || line.contains(';')))
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
    // A variable's value may hold signs that end others, up to the next space.
    if style.is_variable && !line.contains(';') && !line.contains('&') {
        end = line.find([' ', '\t', '"', '\'']).unwrap_or(line.len());
    }
    // Escaped ends of lines in a text that is still escaped.
    if let Some(escape) = line.get(..end).and_then(|value| value.find("\\n").or_else(|| value.find("\\r"))) {
        end = escape;
    }
    (start..start + end, false)
}

/// Whether a setting goes to the end of its line: a few words and no sentence after another name.
fn style_is_line(line: &str, style: Style) -> bool {
    style.is_line && line.split_whitespace().count() <= 12 && !line.contains("\\n")
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

/// What stands below a name without a value: a block of YAML, a list, or one line.
fn block_after(
    text: &str,
    line_start: usize,
    line_end: usize,
    mark: &str,
    kind: Kind,
) -> Option<Vec<Range<usize>>> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(text.get(line_start..line_end)?);
    let mut found = Vec::new();
    let mut at = line_end;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end + 1) {
        let end = text.get(next..)?.find('\n').map_or(text.len(), |end| next + end);
        let line = text.get(next..end)?;
        let content = line.trim();
        at = end;
        if content.is_empty() {
            continue;
        }
        let from = next + indent(line);
        if mark.is_empty() {
            let item = content.strip_prefix("- ");
            let value = item.unwrap_or(content).trim_matches(['"', '\'']);
            let is_item = item.is_some() && indent(line) >= own;
            let is_lone =
                indent(line) > own || super::value::is_odd(value) || (kind == Kind::Code && value.len() >= 4);
            let setting = Setting { quoted: true, is_line: true, is_variable: false, rest: "" };
            if value.contains(' ')
                || value.contains(": ")
                || value.ends_with(':')
                || !(is_item || is_lone)
                || !is_secret(kind, value, setting)
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

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
