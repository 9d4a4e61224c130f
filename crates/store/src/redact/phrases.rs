//! Secrets in sentences and on command lines: `the password is hunter2`, `--token x`, `curl -u user:pass`.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    value::{
        Setting, is_code_value, is_harmless_word, is_odd, is_placeholder, is_plain_word, is_random, is_secret,
    },
    words::{Kind, classify},
};

const NOUN: &str = r"(?:password|passwd|requirepass|masterauth|passphrase|passcode|pass ?word|pwd|pass|pin(?: code| number)?|otp|secret(?: key| access key)?|(?:[a-z0-9]+ )?token|(?:api|access|private|secret|auth|encryption|license|signing|account)[ -]?key|(?:verification|security|access|login|one[- ]time|auth|authentication|2fa|mfa|door|unlock|backup|recovery)[ -]code|credentials?|jwt|cookie|session id|client secret)s?";
const VALUE: &str =
    r#"(?:"([^"\n]{1,400})"|'([^'\n]{1,400})'|`([^`\n]{1,400})`|“([^”\n]{1,400})”|([^\s"'`“]{1,400}))"#;

fn compiled(text: impl AsRef<str>) -> Option<Regex> {
    Regex::new(text.as_ref()).ok()
}

macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| compiled($text));
    };
}

// `password is x`, `password for bob was set to x`, `token: x` after more words.
expression!(
    IS,
    format!(
        r"(?i)\b({NOUN})(?:\s+(?:for|of|on|to|in)\s+(?:the\s+|my\s+|our\s+)?[\w@./-]+(?:\s+\w+)?)?\s*(?:\([^)\n]{{0,40}}\)\s*)?(?:\b(?:is|was|are|will be|has been|set to|reset to|changed to|equals|reads|remains|should be|must be|being|is now|now is)\b(?:\s+(?:now|set to|reset to|changed to|still|simply|just|currently))?\s*[:=]?|->|→|⇒|—|–)\s*{VALUE}"
    )
);
// `password hunter2`, `WITH PASSWORD 'x'`, `| password | x |`
expression!(
    BESIDE,
    format!(r"(?i)\b({NOUN}|[a-z0-9_]+_(?:password|token|secret|key|pass))(?:[ \t]*\|[ \t]*|[ \t]+){VALUE}")
);
// `use x as the password`, `x is my pin`
expression!(
    REVERSED,
    format!(
        r"(?i)([^\s]{{4,200}})[ \t]+(?:is|as|for|was)[ \t]+(?:the|my|your|our|his|her|their|a|an)?[ \t]*(?:[a-z-]+[ \t]+){{0,2}}({NOUN})\b"
    )
);
expression!(FLAG, format!(r"(?:^|[\s'\x22\[,(`])(-{{1,2}}[A-Za-z][A-Za-z0-9._-]*)[ \t]+{VALUE}"));
expression!(
    USER,
    r#"(?:^|[\s'"`])(?:-u|--user|--proxy-user|-U|--auth|-a|--basic-auth)(?:[ \t=]+|)["']?([^\s:"'@/-][^\s:"'/]{0,80}):([^\s"'`]+)"#
);
// Programs whose short options take a password.
expression!(
    SHORT,
    r#"(?m)\b(?:(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7z|7za|rar|unrar)\b[^\n|;]*?\s-p|sshpass\s+-p\s*|(?:docker|podman|helm|nerdctl|crane|oras|az|skopeo|buildah)\b[^\n|;]*?\blogin\b[^\n|;]*?\s-p[ =]?\s*|(?:zip|unzip|sqlcmd|bcp|mosquitto_pub|mosquitto_sub)\b[^\n|;]*?\s-P\s*|redis-cli\b[^\n|;]*?\s-a\s+|(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami)\b[^\n|;]*?\s-w\s*|(?:mongo|mongosh|mongodump)\b[^\n|;]*?\s-p\s*|(?:smbclient|rpcclient)\b[^\n|;]*?\s-U\s*[^\s%]+%|curl\b[^\n|;]*?\s(?:-b|--cookie)\s+|-passin\s+pass:|-passout\s+pass:)(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'-][^\s"']*))"#
);
expression!(NETRC, r"(?i)\b(?:login|machine|user|account)\s+[^\s|]+\s+password\s+([^\s|]+)");
expression!(PGPASS, r"(?m)^[^:\s]+:(?:\d{2,5}|\*):[^:\s]+:[^:\s]+:(\S+)$");
expression!(
    CREDENTIAL_PAIR,
    r"(?i)\b(?:credentials?|creds|log ?in|sign in|logged in|account|auth)\b[^\n:]{0,30}[: ]\s*[\w.@+-]{2,64}\s*(?:/|:|\|)\s*([^\s,;]{4,100})"
);
// `<password>x</password>`, also with CDATA.
expression!(ELEMENT, r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<>\]]+)");
// `name: DB_PASSWORD` with `value: x`, in YAML, XML and notations like them.
expression!(
    PAIR,
    r#"(?i)(?:\b|["'\\])(?:name|key|header|field|variable|property)["'\\]*\s*(?:[:=]|=>)\s*["'\\]*([\w.-]+(?: [\w.-]+)?)["'\\]*[\s,;]{1,60}["'\\]*(?:value|val|default)["'\\]*\s*(?:[:=]|=>)\s*(?:\\*["']([^"'\\]+)|([^\s"'\\,;}]+))"#
);

/// Finds the secrets of sentences and command lines.
pub(super) fn find(text: &str, secrets: &mut Vec<Range<usize>>) {
    let loose = Setting { quoted: false, is_line: false, is_variable: false, rest: "" };
    each(
        &IS,
        text,
        |found| {
            let kind = classify(found.get(1)?.as_str())?;
            let (value, quoted) = value_of(found, 2)?;
            let trimmed = value.as_str().trim_end_matches(['.', ',', ';', ')', '!']);
            let setting = Setting { quoted, ..loose };
            let taken = match kind {
                Kind::Code => is_code_value(trimmed),
                _ if quoted => is_secret(kind, value.as_str(), setting),
                _ if is_odd(trimmed) || is_random(trimmed) => true,
                Kind::Password if trimmed.len() >= 4 && trimmed.bytes().all(|byte| byte.is_ascii_digit()) => {
                    true
                }
                Kind::Password => is_lone_word(trimmed, text, value.end()),
                _ => false,
            };
            (taken && !is_placeholder(trimmed)).then(|| value.range())
        },
        secrets,
    );
    each(
        &BESIDE,
        text,
        |found| {
            let kind = classify(found.get(1)?.as_str())?;
            let (value, quoted) = value_of(found, 2)?;
            let text = value.as_str();
            let taken = match kind {
                Kind::Code => text.bytes().filter(u8::is_ascii_digit).count() >= 4 && is_code_value(text),
                Kind::Password => {
                    (quoted && !is_placeholder(text) && !is_harmless_word(text) && !text.contains(' '))
                        || (is_odd(text) && !is_call(text))
                }
                _ => {
                    is_random(text)
                        || (is_odd(text)
                            && text.len() >= 8
                            && !is_call(text)
                            && !text.contains(['=', ':', '/', '.']))
                }
            };
            (taken && !text.starts_with(['=', ':', '(', '|'])).then(|| value.range())
        },
        secrets,
    );
    each(
        &REVERSED,
        text,
        |found| {
            let value = found.get(1)?;
            let kind = classify(found.get(2)?.as_str())?;
            let trimmed = value.as_str().trim_matches(['"', '\'', '`', ',', '“', '”']);
            let taken = if kind == Kind::Code {
                is_code_value(trimmed)
            } else {
                is_odd(trimmed) && !is_call(trimmed) && !trimmed.contains("://")
            };
            (taken && !trimmed.starts_with("--")).then(|| value.range())
        },
        secrets,
    );
    each(
        &FLAG,
        text,
        |found| {
            let kind = classify(found.get(1)?.as_str().trim_start_matches('-'))?;
            let (value, quoted) = value_of(found, 2)?;
            let text = value.as_str();
            let taken = match kind {
                Kind::Code => is_code_value(text),
                Kind::Random => is_random(text),
                Kind::Address => false,
                Kind::Password | Kind::Secret | Kind::Token => !is_harmless_word(text) || quoted,
            };
            (taken && !is_placeholder(text) && !text.starts_with('-')).then(|| value.range())
        },
        secrets,
    );
    each(
        &USER,
        text,
        |found| {
            let (user, password) = (found.get(1)?, found.get(2)?);
            let whole = found.get(0)?;
            let before = text.get(..whole.start()).unwrap_or_default();
            let line = before.rsplit('\n').next().unwrap_or_default();
            let other =
                ["docker run", "docker exec", "podman run", "chown", "kubectl", "rsync", "scp", "sudo"]
                    .iter()
                    .any(|word| line.contains(word));
            let numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let is_address = password.as_str().starts_with("//");
            let needs_program = matches!(whole.as_str().trim_start().as_bytes(), [b'-', b'a' | b'U', ..]);
            let program = ["curl", "http", "wget", "xh "].iter().any(|word| line.contains(word));
            let is_port_pair = numbers(user.as_str()) && numbers(password.as_str());
            let is_candidate = program || !needs_program;
            (!other && !is_address && is_candidate && !is_port_pair && !is_placeholder(password.as_str()))
                .then(|| password.range())
        },
        secrets,
    );
    each(
        &SHORT,
        text,
        |found| {
            let value = found.get(1).or_else(|| found.get(2)).or_else(|| found.get(3))?;
            (!is_placeholder(value.as_str())).then(|| value.range())
        },
        secrets,
    );
    each(
        &NETRC,
        text,
        |found| found.get(1).filter(|value| !is_placeholder(value.as_str())).map(|value| value.range()),
        secrets,
    );
    each(&PGPASS, text, |found| found.get(1).map(|value| value.range()), secrets);
    each(
        &CREDENTIAL_PAIR,
        text,
        |found| {
            let value = found.get(1)?;
            (is_odd(value.as_str()) && !value.as_str().contains(['/', '(', '='])).then(|| value.range())
        },
        secrets,
    );
    if text.contains('<') {
        each(
            &ELEMENT,
            text,
            |found| {
                let kind = classify(found.get(1)?.as_str())?;
                let value = found.get(2)?;
                let setting = Setting { quoted: true, is_line: true, ..loose };
                is_secret(kind, value.as_str().trim(), setting).then(|| value.range())
            },
            secrets,
        );
    }
    each(
        &PAIR,
        text,
        |found| {
            let kind = classify(found.get(1)?.as_str())?;
            let value = found.get(2).or_else(|| found.get(3))?;
            is_secret(kind, value.as_str(), Setting { quoted: true, is_line: true, ..loose })
                .then(|| value.range())
        },
        secrets,
    );
}

fn each(
    expression: &LazyLock<Option<Regex>>,
    text: &str,
    secret: impl Fn(&regex::Captures<'_>) -> Option<Range<usize>>,
    secrets: &mut Vec<Range<usize>>,
) {
    if let Some(expression) = LazyLock::force(expression) {
        secrets.extend(expression.captures_iter(text).filter_map(|found| secret(&found)));
    }
}

/// The value in one of the five forms of [`VALUE`], and whether it has quotes.
fn value_of<'t>(found: &regex::Captures<'t>, first: usize) -> Option<(regex::Match<'t>, bool)> {
    (first..first + 4)
        .find_map(|group| found.get(group).map(|value| (value, true)))
        .or_else(|| found.get(first + 4).map(|value| (value, false)))
}

/// A word that is no participle and ends its sentence: `the password is swordfish.`
fn is_lone_word(word: &str, text: &str, end: usize) -> bool {
    let ends = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let over = ends.is_empty()
        || ends.starts_with(['\n', '\r', ',', ';', '.', ')'])
        || text.get(..end).is_some_and(|head| head.ends_with(['.', ',', '!']));
    let lower = word.to_lowercase();
    let grammar =
        ["ed", "ing", "ly", "able", "ible", "ent", "ant", "ive", "ful", "less", "ous", "al", "en", "ic"];
    over && word.chars().count() >= 6
        && is_plain_word(word)
        && !is_harmless_word(word)
        && !grammar.iter().any(|end| lower.ends_with(end))
}

/// `varchar(255)`, `get_token()`.
fn is_call(text: &str) -> bool {
    text.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_can_be_read() {
        for expression in [
            &IS,
            &BESIDE,
            &REVERSED,
            &FLAG,
            &USER,
            &SHORT,
            &NETRC,
            &PGPASS,
            &CREDENTIAL_PAIR,
            &ELEMENT,
            &PAIR,
        ] {
            assert!(expression.is_some());
        }
    }
}
