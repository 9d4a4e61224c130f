//! Secrets on command lines and in protocol dialogues: `--token x`, `curl -u user:pass`, `PASS x`.

use std::{ops::Range, sync::LazyLock};

use regex::Captures;

use super::{
    expressions::{Finder, Judge, VALUE, any_of, compile, unless_harmless, value_of},
    placeholders::{is_harmless_word, is_placeholder},
    secret_names::{Kind, classify},
    value::{is_code_value, is_random, looks_like_password},
};

pub(super) static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| compile(table()));

/// Programs with the option that a password follows.
const SHORT_OPTIONS: &[&str] = &[
    r"(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7z|7za|rar|unrar)\b[^\n|;]*?\s-p",
    r"sshpass\s+-p\s*",
    r"(?:docker|podman|helm|nerdctl|crane|oras|az|skopeo|buildah)\b[^\n|;]*?\blogin\b[^\n|;]*?\s-p[ =]?\s*",
    r"(?:zip|unzip|sqlcmd|bcp|mosquitto_pub|mosquitto_sub)\b[^\n|;]*?\s-P\s*",
    r"redis-cli\b[^\n|;]*?\s-a\s+",
    r"(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami|ldapdelete|ldappasswd)\b[^\n|;]*?\s-w\s*",
    r"(?:mongo|mongosh|mongodump|mongorestore)\b[^\n|;]*?\s-p\s*",
    r"(?:smbclient|rpcclient)\b[^\n|;]*?\s-U\s*[^\s%]+%",
    r"curl\b[^\n|;]*?\s(?:-b|--cookie)\s+",
    r"passin\s+pass:",
    r"passout\s+pass:",
    r"htpasswd\s+(?:-\w+\s+)*-\w*b\w*\s+(?:-\w+\s+)*(?:[^\s-]\S*\s+){1,2}",
    r"net\s+use\b[^\n|;]*?\s/user:\S+\s+",
    r"openssl\s+enc\b[^\n|;]*?\s-[kK]\s+",
    r"sqlplus\s+(?:-\w+\s+)*[^\s/@]+/",
];

/// How far before an option its program is searched for.
const LOOK_BEHIND: usize = 256;

pub(super) fn table() -> Vec<(String, Judge)> {
    // One expression each: with a single one, a program without its option would be searched to the end of the line
    // again after every match of another.
    let short = SHORT_OPTIONS.iter().map(|option| {
        let text = format!(r#"(?m)(?:\b|\B-)(?:{option})(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'@-][^\s"'@]*))"#);
        (text, given as Judge)
    });
    short.chain(others()).collect()
}

fn others() -> Vec<(String, Judge)> {
    vec![
        // `--password x`: a flag is not the value of the flag before it.
        (
            format!(
                r"(?:^|[\s'\x22\[,(`])(-{{1,2}}[A-Za-z][A-Za-z0-9._-]*)[ \t]+(?:<<<\s*)?{}",
                VALUE.replace(r"([^\s", r"([^-\s")
            ),
            flag,
        ),
        (
            r#"(?:^|[\s'"`])(?:-u|--user|--proxy-user|-U|--auth|-a|--basic-auth)(?:[ \t=]+|)["']?([^\s:"'@/-][^\s:"'/]{0,80}):([^\s"'`]+)"#
                .to_owned(),
            user,
        ),
        // Input piped into a program that reads a password.
        (
            r#"\b(?:echo|printf)\s+(?:-\w+\s+)*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|]+))\s*\|\s*(?:sudo\s+(?:-\w+\s+)*-\w*S|[^\n|]*--password-stdin|[^\n|]*\bchpasswd|[^\n|]*\bpasswd\b|[^\n|]*--passphrase-fd)"#
                .to_owned(),
            given,
        ),
        // Credential files: `.netrc` and `.pgpass`.
        (r"(?i)\b(?:login|machine|user|account)\s+[^\s|]+\s+password\s+()()([^\s|]+)".to_owned(), given),
        (r"(?m)^[^:\s]+:(?:\d{2,5}|\*):[^:\s]+:[^:\s]+:()()(\S+)$".to_owned(), given),
        // `npm config set //registry/:_authToken x`
        (format!(r"\bconfig\s+set\s+(?:--\w+\s+)*(\S+)[ \t=]+{VALUE}"), setting),
        // SMTP, IMAP, FTP and Redis.
        (r"(?m)\bAUTH (?:PLAIN|LOGIN|XOAUTH2) ()()([A-Za-z0-9+/=]{8,})\s*$".to_owned(), given),
        (r#"(?m)\bLOGIN ["']?[^\s"']+["']? (?:"([^"\n]+)"|()([^\s"]+))\s*$"#.to_owned(), typed),
        (r"(?m)(?:^|[>:] )PASS ()()(\S+)\s*$".to_owned(), given),
        (r"(?m)(?:^|> )AUTH (?:[\w-]+ )?()()([^\s]{6,})\s*$".to_owned(), typed),
        // Routers and switches.
        (
            r"(?m)^\s*(?:enable|username \S+(?: privilege \d+)?|neighbor \S+|(?:tacacs|radius)-server|snmp-server|line \S+)\s+(?:password|secret|key|community)\s+(?:\d\s+)?()()(\S+)"
                .to_owned(),
            given,
        ),
    ]
}

fn flag(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    let kind = classify(found.get(1)?.as_str().trim_start_matches('-'))?;
    let (value, quoted) = value_of(found, 2)?;
    let text = value.as_str();
    let taken = match kind {
        Kind::Code => is_code_value(text),
        Kind::Random => is_random(text),
        Kind::Address => false,
        Kind::Password | Kind::Secret | Kind::Token => !is_harmless_word(text) || quoted,
    };
    (taken && !is_placeholder(text)).then(|| value.range())
}

/// The password of `-u user:password`, if the program is not one whose `-u` means something else.
fn user(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let (whole, user, password) = (found.get(0)?, found.get(1)?, found.get(2)?);
    let from = text.ceil_char_boundary(whole.start().saturating_sub(LOOK_BEHIND));
    let before = text.get(from..whole.start()).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let is_other =
        has(&["docker run", "docker exec", "podman run", "chown", "kubectl", "rsync", "scp", "sudo"]);
    let numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_port_pair = numbers(user.as_str()) && numbers(password.as_str());
    let needs_program = matches!(whole.as_str().trim_start().as_bytes(), [b'-', b'a' | b'U', ..]);
    let is_candidate = !needs_program || has(&["curl", "http", "wget", "xh "]);
    let is_harmless =
        is_other || is_port_pair || password.as_str().starts_with("//") || is_placeholder(password.as_str());
    (is_candidate && !is_harmless).then(|| password.range())
}

/// A value that is a secret by its position.
fn given(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    unless_harmless(any_of(found, 1..4).filter(|value| !value.is_empty()).or_else(|| found.get(3))?)
}

/// The same where the text could be a sentence too.
fn typed(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let range = given(found, text)?;
    text.get(range.clone())
        .is_some_and(|value| looks_like_password(value) || is_random(value))
        .then_some(range)
}

fn setting(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    classify(found.get(1)?.as_str())
        .filter(|kind| matches!(kind, Kind::Password | Kind::Secret | Kind::Token))?;
    unless_harmless(value_of(found, 2)?.0)
}
