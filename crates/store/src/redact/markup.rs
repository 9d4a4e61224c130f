//! Secrets in XML, HTML, YAML and forms, where a name and its value are separate elements.

use std::{ops::Range, sync::LazyLock};

use regex::Captures;

use super::{
    expressions::{self, Finder, Judge, any_of, compile},
    secret_names::classify,
    secrets::Secrets,
    value::{Setting, is_random, is_secret, looks_like_password},
};

pub(super) static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| compile(table()));

pub(super) fn find(text: &str, secrets: &mut Secrets) {
    expressions::find(&FINDERS, text, secrets);
    manifest(text, secrets);
}

pub(super) fn table() -> Vec<(String, Judge)> {
    vec![
        // `<password>x</password>`
        (r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>([^<>]+)</".to_owned(), named),
        // The same without its end: to the end of the line, or the next element.
        (r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>([^<>\r\n]+)".to_owned(), unclosed),
        // The same with CDATA, where the value may hold any character.
        (r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>\s*<!\[CDATA\[((?s:.*?))\]\]>".to_owned(), named),
        // `<Password><Value>x</Value>`
        (
            r"(?i)<([a-z][\w:.-]*)(?:\s[^<>]*)?>\s*<(?:value|string|text|val|plaintext)(?:\s[^<>]*)?>([^<>]+)</"
                .to_owned(),
            named,
        ),
        // `<property name="db.password">x</property>`
        (
            r#"(?i)<[a-z][\w:.-]*\s[^<>]*?\b(?:name|key|id)=["']([^"'<>]+)["'][^<>]*>\s*(?:<value>)?([^<>]+)</"#
                .to_owned(),
            named,
        ),
        // `<key>Password</key><string>x</string>`, rows of tables, lists of definitions
        (
            r"(?i)<(?:key|dt|td|th|name|label|b|strong)(?:\s[^<>]*)?>([^<>]{2,60})</\w+>\s*<(?:string|dd|td|value|code|span)(?:\s[^<>]*)?>(?:<code>)?([^<>]+)</"
                .to_owned(),
            named,
        ),
        // A part of a multipart form.
        (
            r#"(?i)form-data;[^\n]*?\bname=["']([^"'\n]+)["'][^\n]*\n(?:[^\r\n]+\r?\n)*\r?\n([^\r\n]+)"#.to_owned(),
            named,
        ),
        // `name: DB_PASSWORD` with `value: x`, in YAML, XML and similar notations.
        (
            r#"(?i)(?:\b|["'\\])(?:name|key|header|field|variable|property)["'\\]*\s*(?:[:=]|=>)\s*["'\\]*([\w.-]+(?: [\w.-]+)?)["'\\]*[\s,;]{1,60}["'\\]*(?:value|val|default)["'\\]*\s*(?:[:=]|=>)\s*(?:\\*["']([^"'\\]+)|([^\s"'\\,;}]+))"#
                .to_owned(),
            named,
        ),
        // A Terraform variable.
        (r#"\bvariable\s+"([^"\n]+)"\s*\{[^{}]*?\bdefault\s*=\s*"([^"\n]+)""#.to_owned(), named),
    ]
}

/// The first group is a name, the next one that matched its value.
fn named(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    let kind = classify(found.get(1)?.as_str().trim_end_matches([':', ' ']))?;
    let value = any_of(found, 2..found.len())?;
    is_secret(kind, value.as_str().trim(), Setting::DELIMITED).then(|| value.range())
}

/// What follows `<password>`, unless that is a placeholder itself, as in `login <user> <password> [options]`.
fn unclosed(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let range = named(found, text)?;
    let value = text.get(range.clone())?;
    let content = value.trim_start_matches(['"', '\'', '`']);
    let goes_on = content.starts_with(|letter: char| {
        letter.is_whitespace() || (letter.is_ascii_punctuation() && !matches!(letter, '$' | '#' | '!' | '*'))
    });
    let first = content.split_whitespace().next().unwrap_or_default();
    let is_prose = first.len() < content.trim_end().len() && !looks_like_password(first) && !is_random(first);
    (!goes_on && !is_prose).then_some(range)
}

/// The values of a Kubernetes secret in YAML, regardless of their names.
fn manifest(text: &str, secrets: &mut Secrets) {
    if !text.lines().any(|line| line.trim_end() == "kind: Secret") {
        return;
    }
    let mut at = 0;
    let mut block = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        if matches!(content, "data:" | "stringData:") {
            block = Some(indent);
            continue;
        }
        if content.is_empty() || block.is_none_or(|outer| indent <= outer) {
            block = block.filter(|_| content.is_empty());
            continue;
        }
        let value = content.split_once(": ").map_or(content, |(_, value)| value);
        let is_name = content.ends_with(':') || matches!(value, "|" | "|-" | ">" | ">-" | "\"\"" | "''");
        if !is_name {
            let end = start + indent + content.len();
            secrets.push(end - value.len()..end);
        }
    }
}
