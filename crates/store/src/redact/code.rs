//! Secrets in source code: arguments of calls, typed declarations, SQL statements.

use std::{ops::Range, sync::LazyLock};

use regex::{Captures, Regex};

use super::{
    expressions::{self, Finder, Judge, compile, unless_harmless},
    placeholders::is_placeholder,
    secret_names::{Kind, classify},
    secrets::Secrets,
    value::{Setting, is_code_value, is_random, is_secret, looks_like_password},
};

pub(super) static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| compile(table()));

pub(super) fn find(text: &str, secrets: &mut Secrets) {
    expressions::find(&FINDERS, text, secrets);
    inserted(text, secrets);
}

/// A string literal, whose content is a group.
const STRING: &str = r#"[a-zA-Z@$]?["'`]([^"'`\n]+)["'`]"#;

pub(super) fn table() -> Vec<(String, Judge)> {
    vec![
        // `('password', 'x')`: a pair, or the first arguments of a call.
        (format!(r"\(\s*{STRING}\s*,\s*{STRING}\s*[,)]"), pair),
        // `getByLabel('Password').fill('x')`, `find(By.ID, "password").send_keys("x")`
        (
            format!(
                r"(?i)\((?:[\w.]+\s*,\s*)?{STRING}[^()\n]*\)\s*\.(?:fill|type|sendKeys|send_keys|setValue|set_value|pressSequentially|press_sequentially|setText)\(\s*{STRING}"
            ),
            call,
        ),
        // `auth=('eva', 'x')`, `HTTPBasicAuth('eva', 'x')`
        (format!(r"(?i)(auth)(?:\s*=\s*\w*)?\(\s*(?:user\w*=)?{STRING}\s*,\s*(?:pass\w*=)?{STRING}"), login),
        // `["password"]=> string(1) "x"`
        (r#"["'](\w+)["']\]\s*=>\s*string\(\d+\)\s*"([^"\n]+)""#.to_owned(), call),
        // `setPassword("x")`, `with_token("x")`, `.password("x")`
        (format!(r"\b(?:set|with)_?([A-Z_a-z]\w*)\(\s*{STRING}\s*\)"), call),
        (
            format!(
                r"(?i)\.(password|passphrase|secret|token|api_?key|client_?secret|bearer_?auth)\(\s*{STRING}\s*\)"
            ),
            pair,
        ),
        // `token: Some("x")`, `password = String::from("x")`
        (
            format!(
                r"\b(\w+)\s*[:=]\s*(?:Some|Ok|Just|Secret|SecretStr|SecretString|String|str|bytes|Buffer|new \w+)(?:(?:::|\.)\w+)?\(\s*{STRING}"
            ),
            call,
        ),
        // `let client_secret: &str = "x"`
        (format!(r"\b(\w+)\??\s*:\s*[&A-Za-z0-9_<>\[\], |?:.']{{1,40}}?\s*=\s*{STRING}"), call),
        // PowerShell
        (r#"(?i)()ConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\n]+)["']"#.to_owned(), secure_string),
        // `SET PASSWORD FOR 'bob'@'localhost' = 'x'`
        (r"(?i)\b(password)\s+for\s+[^\s=;]+\s*=\s*(?:password\()?'([^'\n]+)'".to_owned(), call),
    ]
}

/// The value after a name, where it is certainly a value.
fn call(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    let kind = kind_of(found.get(1)?.as_str())?;
    let value = found.get(2)?;
    is_secret(kind, value.as_str(), Setting::DELIMITED).then(|| value.range())
}

/// The same where the value may be a label or a second name.
fn pair(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let range = call(found, text)?;
    let value = text.get(range.clone())?;
    let is_call = value.contains(['(', '{', ' ']) && !is_code_value(value);
    ((looks_like_password(value) || is_random(value)) && !is_call && classify(value).is_none())
        .then_some(range)
}

fn login(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    unless_harmless(found.get(3)?)
}

fn secure_string(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    found.get(2).filter(|value| !is_placeholder(value.as_str())).map(|value| value.range())
}

/// What a name or a selector such as `#password` or `input[name=passwd]` means.
fn kind_of(name: &str) -> Option<Kind> {
    classify(name.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(|kind| !matches!(kind, Kind::Address))
}

pub(super) static INSERT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?is)(?-u:\b)into\s+[\w."`\[\]]+\s*\(([^()]*)\)\s*(?:output[^()]*)?values\s*\("#).ok()
});

/// The values of `INSERT INTO users (name, password) VALUES ('eva', 'x')`.
fn inserted(text: &str, secrets: &mut Secrets) {
    let Some(insert) = &*INSERT else { return };
    let mut statements = insert.captures_iter(text).peekable();
    while let Some(found) = statements.next() {
        let (Some(whole), Some(columns)) = (found.get(0), found.get(1)) else { continue };
        let kinds: Vec<Option<Kind>> =
            columns.as_str().split(',').map(|column| kind_of(column.trim())).collect();
        if kinds.iter().all(Option::is_none) {
            continue;
        }
        let next = statements.peek().and_then(|next| next.get(0)).map_or(text.len(), |next| next.start());
        let mut column = 0;
        let mut quoted = None;
        let mut at = whole.end();
        while let Some(byte) = text.as_bytes().get(at).filter(|_| at < next || quoted.is_some()) {
            match (byte, quoted) {
                (b'\'', None) => quoted = Some(at + 1),
                (b'\'', Some(start)) => {
                    quoted = None;
                    let kind = kinds.get(column).copied().flatten();
                    if let Some((kind, value)) = kind.zip(text.get(start..at))
                        && is_secret(kind, value, Setting::DELIMITED)
                    {
                        secrets.push(start..at);
                    }
                }
                (b',', None) => column += 1,
                // The next row.
                (b'(', None) => column = 0,
                (b';', None) => break,
                _ => {}
            }
            at += 1;
        }
        if !secrets.is_within_budget(at - whole.end(), at) {
            return;
        }
    }
}
