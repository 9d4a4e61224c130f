//! The redaction rules in the form in which they are applied.

use std::collections::HashSet;

use super::{
    Redaction,
    needles::Needles,
    shapes,
    words::{Kind, classify},
};
use crate::{error::StoreError, pattern};

/// Words of which one must be in a text that holds a secret; a needle finds all words that contain it.
const HINTS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "bearer",
    "jwt",
    "cookie",
    "sess",
    "cred",
    "sig",
    "pin",
    "otp",
    "://",
    "-u",
    "dsn",
    "cvv",
    "cvc",
    "mnemonic",
    "code",
    "hmac",
    "webhook",
    "psk",
    "phrase",
    "sid",
    "conn",
    "kennwort",
    "contrase",
    "senha",
    "wachtwoord",
    "\\u00",
    "\\uff",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "--user",
    "xsrf",
    "csrf",
    "seed",
    "\"pw",
    "_pw",
    " pw",
    "pw=",
    "pw:",
    "redis",
    "curl",
    "smbclient",
    "login",
    "ssw",
    "ароль",
    "clave",
    "schl",
    "has\u{142}o",
    "parola",
    "heslo",
    "salasana",
    "l\u{f6}senord",
    "ldap",
    "mysql",
    "mariadb",
    "7z",
    "zip",
    "rar ",
    "sqlplus",
    "sudo",
    "kty",
    "sensitive",
    "community",
    "securestring",
    "openssl",
    "/user:",
];

/// Schemes of an `Authorization` header.
pub(super) const SCHEMES: &[&str] = &["bearer ", "basic "];

/// All rules, ready to use.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Text without any of these words holds nothing to take out.
    pub(super) hints: Needles,
    /// Where tokens may begin.
    pub(super) tokens: Needles,
    prefixes: HashSet<String>,
    /// Words whose presence means that there may be a base64 blob.
    pub(super) blobs: Option<Needles>,
    /// A pattern without a literal word in it may match anything.
    always: bool,
    /// Whether well-known secrets are taken out.
    pub(super) defaults: bool,
    patterns: Vec<String>,
    paths: Vec<Path>,
}

/// One place in the input or result of some tools.
#[derive(Debug)]
pub(crate) struct Path {
    server: String,
    tool: String,
    pub(super) segments: Vec<String>,
}

impl Rules {
    pub(crate) fn parse(redaction: &Redaction) -> Result<Self, StoreError> {
        let defaults = if redaction.defaults { HINTS } else { &[] };
        let prefixes = if redaction.defaults { shapes::TOKEN_PREFIXES } else { &[] };
        let schemes = if redaction.defaults { SCHEMES } else { &[] };

        let mut hints: Vec<String> = defaults.iter().map(|word| (*word).to_owned()).collect();
        let mut always = false;
        let patterns: Vec<String> = redaction.keys.iter().map(|key| key.to_ascii_lowercase()).collect();
        for key in &patterns {
            match key.split('*').max_by_key(|piece| piece.len()).filter(|piece| !piece.is_empty()) {
                Some(piece) => hints.push(piece.to_owned()),
                None => always = true,
            }
        }
        let tokens: Vec<&str> = prefixes
            .iter()
            .chain(schemes)
            .copied()
            .chain(redaction.token_prefixes.iter().map(String::as_str))
            .collect();
        hints.extend(tokens.iter().map(|token| (*token).to_owned()));
        if redaction.defaults {
            hints.extend(shapes::HINTS.iter().map(|word| (*word).to_owned()));
        } else if !patterns.is_empty() {
            hints.push("\\u00".to_owned());
        }
        Ok(Self {
            hints: Needles::new(shortest(&mut hints)),
            prefixes: tokens.iter().map(|token| (*token).to_owned()).collect(),
            tokens: Needles::new(tokens),
            blobs: redaction.blobs.then(|| Needles::new(["\"data\"", "\"blob\"", ";base64,"])),
            always,
            defaults: redaction.defaults,
            patterns,
            paths: redaction.paths.iter().map(|rule| Path::parse(rule)).collect::<Result<_, _>>()?,
        })
    }

    /// The places that hold for one tool.
    pub(crate) fn paths_of(&self, server: &str, tool: &str) -> Vec<&Path> {
        let holds =
            |path: &&Path| pattern::matches(&path.server, server) && pattern::matches(&path.tool, tool);
        self.paths.iter().filter(holds).collect()
    }

    /// Whether a text may hold a secret at all.
    pub(super) fn may_hold_secret(&self, text: &str) -> bool {
        self.always
            || self.hints.found_in(text)
            || (self.defaults && (has_look_alikes(text) || has_long_run(text)))
    }

    /// Whether a token begins with exactly this.
    pub(super) fn is_token_prefix(&self, prefix: &str) -> bool {
        self.prefixes.contains(prefix)
    }

    /// Whether it is one of ours, not one of the configuration.
    pub(super) fn is_default_prefix(&self, prefix: &str) -> bool {
        self.defaults && shapes::TOKEN_PREFIXES.contains(&prefix)
    }

    /// Whether the configuration says that the value of this key is a secret, whatever it is.
    pub(super) fn is_configured(&self, key: &str) -> bool {
        !self.patterns.is_empty() && {
            let key = key.to_ascii_lowercase();
            self.patterns.iter().any(|pattern| pattern::matches(pattern, &key))
        }
    }

    /// What the words of a key say about its value.
    pub(super) fn kind_of(&self, key: &str) -> Option<Kind> {
        if self.defaults { classify(key) } else { None }
    }
}

impl Path {
    fn parse(rule: &str) -> Result<Self, StoreError> {
        let problem = |problem| StoreError::Rule { rule: rule.to_owned(), problem };
        let (names, path) =
            rule.split_once(":/").ok_or_else(|| problem("write it as `server/tool:/path`"))?;
        let (server, tool) =
            names.split_once('/').ok_or_else(|| problem("name the server and the tool before `:`"))?;
        if server.is_empty() || tool.is_empty() || path.is_empty() {
            return Err(problem("server, tool and path must not be empty; use `*` for any"));
        }
        let segments = path.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { server: server.to_owned(), tool: tool.to_owned(), segments })
    }
}

/// Whether letters stand there that look like others: full-width ones, known by their first two bytes, and Cyrillic ones
/// beside Latin ones.
fn has_look_alikes(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| match pair {
        [0xef, 0xbc | 0xbd] => true,
        [before, 0xd0 | 0xd1] => before.is_ascii_alphabetic(),
        _ => false,
    })
}

/// Tokens without a known beginning have at least this many characters.
const LONG_RUN: usize = 32;

/// Whether so many characters of a token stand beside each other. It looks at every 32nd byte of ordinary text only.
fn has_long_run(text: &str) -> bool {
    let bytes = text.as_bytes();
    let in_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let mut start = 0;
    while let Some(window) = bytes.get(start..start + LONG_RUN) {
        match window.iter().rposition(|byte| !in_token(byte)) {
            Some(end) => start += end + 1,
            None => return true,
        }
    }
    false
}

/// The words that contain no other word of the list: a longer one is found by the shorter one in it.
fn shortest(words: &mut Vec<String>) -> impl Iterator<Item = &str> {
    for word in words.iter_mut() {
        word.make_ascii_lowercase();
    }
    words.sort_by_key(String::len);
    words.dedup();
    words.iter().enumerate().filter_map(|(index, word)| {
        let shorter = words.get(..index).unwrap_or_default();
        (!shorter.iter().any(|other| word.contains(other.as_str()))).then_some(word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_keys_are_patterns() {
        let redaction = Redaction { keys: vec!["*_fin".to_owned()], ..Redaction::default() };
        let rules = Rules::parse(&redaction).unwrap();
        assert!(rules.is_configured("card_FIN") && !rules.is_configured("fin"));
        assert!(rules.may_hold_secret("card_fin"));
    }

    #[test]
    fn ordinary_calls_do_not_pass_the_quick_look() {
        let rules = Rules::parse(&Redaction::default()).unwrap();
        for text in [
            r#"{"a":1,"b":2}"#,
            r#"{"name":"colour","value":"blue"}"#,
            r#"{"content":[{"type":"text","text":"The weather in Oslo is fine."}],"isError":false}"#,
        ] {
            assert!(!rules.may_hold_secret(text), "{text}");
        }
    }

    #[test]
    fn a_wrong_path_rule_is_refused() {
        for rule in ["", "demo", "demo/add", "demo:/a", "/add:/a", "demo/add:/"] {
            let redaction = Redaction { paths: vec![rule.to_owned()], ..Redaction::default() };
            assert!(matches!(Rules::parse(&redaction), Err(StoreError::Rule { .. })), "{rule}");
        }
    }
}
